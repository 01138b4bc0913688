"""The steering actuator: lag, limits, faults."""

from __future__ import annotations

import functools

import numpy as np

from ironbird.blocks.actuators.steering import Steering
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.record import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.rig import alone

LAG_S, RANGE, RATE = 0.05, 0.91, 0.4


@functools.cache
def model() -> CompiledModel:
    return alone(Steering(), time_constant=LAG_S, max_angle=RANGE, max_rate=RATE)


def step(command: float, seconds: float = 1.0, **params: float) -> Log:
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})
    state.set_input("command", command)
    return run(state, seconds, log_s=1e-3)


def test_a_small_step_is_the_first_order_solution() -> None:
    log = step(0.02)  # needs 0.36 rad/s at first, within the limit

    exact = 0.02 * RANGE * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(log["block.angle"], exact, atol=1e-10)  # RK4 at T / 50
    np.testing.assert_allclose(log["block.rate"], (0.02 * RANGE - exact) / LAG_S, atol=1e-8)


def test_a_large_step_runs_at_the_limit_and_stays_in_range() -> None:
    log = step(-1.7, 4.0)

    t = log.time()
    ramp = t < (RANGE - RATE * LAG_S) / RATE - 1e-3
    np.testing.assert_allclose(log["block.angle"][ramp], -RATE * t[ramp], atol=1e-12)
    assert np.abs(log["block.rate"]).max() <= RATE
    assert -RANGE - 1e-12 < log["block.angle"].min() < -RANGE + 1e-9


def test_faults_scale_freeze_and_take_over() -> None:
    assert abs(step(0.5, 3.0, health=0.4)["block.angle"][-1] - 0.4 * 0.5 * RANGE) < 1e-9
    assert np.all(step(0.5, angle_0=0.1, stuck=1.0)["block.angle"] == 0.1)
    assert abs(step(0.5, 4.0, override=1.0, override_angle=-0.3)["block.angle"][-1] + 0.3) < 1e-9
