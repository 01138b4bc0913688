"""Thrusters: lag, square law in both directions, inflow, place, faults."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.actuators.thruster import ForceActuator, Thruster
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

AHEAD, ASTERN, TOP, REVERSE, LAG_S = 0.01108, 0.006445, 103.93, 101.74, 0.1
POSITION, AXIS = np.array([0.156, 0.111, 0.085]), np.array([0.6, -0.8, 0.0])


@functools.cache
def thruster() -> CompiledModel:
    return alone(
        Thruster(), position=POSITION.tolist(), axis=AXIS.tolist(), max_speed=TOP, max_reverse=REVERSE,
        thrust_coefficient=AHEAD, reverse_coefficient=ASTERN, time_constant=LAG_S, torque_coefficient=1e-4,
    )  # fmt: skip


@functools.cache
def actuator() -> CompiledModel:
    return alone(
        ForceActuator(), limit=1.5, time_constant=LAG_S, axis=[0.0, 0.0, 0.0], turning=[0.0, 0.0, 1.0],
        position=POSITION.tolist(),
    )  # fmt: skip


def step(model: CompiledModel, command: float, until_s: float = 3.0, **params: float) -> Log:
    state = start(model, params={f"block.{name}": value for name, value in params.items()})
    state.set_input("command", command)
    if "water_speed" in model.inputs():
        state.set_input("water_speed", 0.0)
    return run(state, until_s, log_s=1e-3)


@pytest.mark.parametrize(("command", "speed"), [(1.0, TOP), (0.5, 0.5 * TOP), (-0.5, -0.5 * REVERSE), (-2.0, -REVERSE)])
def test_shaft_follows_the_command_with_a_lag(command: float, speed: float) -> None:
    log = step(thruster(), command, 1.0)

    exact = speed * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(log["block.speed"], exact, rtol=0, atol=1e-8 * TOP)  # RK4 at T / 100: 1e-10
    k = AHEAD if command > 0 else ASTERN
    np.testing.assert_allclose(log["block.thrust"], k * abs(exact) * exact, rtol=0, atol=1e-6)


def test_force_and_moment_act_at_the_place() -> None:
    log = step(thruster(), 1.0)

    thrust = AHEAD * TOP**2
    np.testing.assert_allclose(log["block.force_B"][-1], thrust * AXIS, rtol=1e-11, atol=1e-11)
    moment = np.cross(POSITION, thrust * AXIS) + 1e-4 * TOP**2 * AXIS
    np.testing.assert_allclose(log["block.moment_B"][-1], moment, rtol=1e-11, atol=1e-11)


def test_water_speed_takes_thrust_away_ahead_only() -> None:
    for command, loss in ((1.0, 0.2 * TOP * 1.5), (-1.0, 0.0)):
        state = start(thruster(), params={"block.inflow_loss": 0.2})
        state.set_input("command", command)
        state.set_input("water_speed", 1.5)
        lost = step(thruster(), command)["block.thrust"][-1] - run(state, 3.0, log_s=1e-3)["block.thrust"][-1]
        assert abs(lost - loss) < 1e-9


@pytest.mark.parametrize("model", [thruster, actuator])
def test_faults_act_as_those_of_a_motor(model: functools._lru_cache_wrapper[CompiledModel]) -> None:
    healthy = step(model(), 0.8)["block.thrust"][-1]
    share = 0.25 if model is thruster else 0.5  # the propeller's thrust goes with the square of its speed

    assert step(model(), 0.8, health=0.5)["block.thrust"][-1] == pytest.approx(share * healthy, rel=1e-12)
    assert step(model(), 0.8, health=0.0)["block.thrust"][-1] == 0.0
    assert step(model(), 0.8, stuck=1.0)["block.thrust"][-1] == 0.0
    runaway = step(model(), 0.0, override=1.0, override_throttle=0.8)["block.thrust"][-1]
    assert runaway == healthy


def test_force_actuator_is_linear_with_limit() -> None:
    for command, force in ((0.4, 0.6), (-1.0, -1.5), (7.0, 1.5)):
        log = step(actuator(), command)
        np.testing.assert_allclose(log["block.thrust"], force * (1 - np.exp(-log.time() / LAG_S)), rtol=0, atol=1e-9)
        np.testing.assert_allclose(log["block.moment_B"][-1], [0, 0, force], rtol=1e-11)
        assert np.all(log["block.force_B"] == 0.0)
