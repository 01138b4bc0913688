"""Main rotor against momentum theory, a second solution of its equations, and closed forms of its flapping."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from ironbird.analysis.linear import linearize
from ironbird.analysis.operating_point import OperatingPoint
from ironbird.analysis.trim import trim
from ironbird.blocks.forces.main_rotor import MainRotor
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

# X-Cell 60, [Gavrilets2015]
RADIUS, CHORD, SLOPE, DRAG, SPEED, DENSITY = 0.775, 0.058, 5.5, 0.024, 167.0, 1.225
HEIGHT, STIFFNESS, LOCK, GAIN, MU_GAIN = 0.235, 54.0, 0.8, 4.2, 0.2
TIP, AREA, SOLIDITY = SPEED * RADIUS, math.pi * RADIUS**2, 2 * CHORD / (math.pi * RADIUS)
LAG_S = 16 / (LOCK * SPEED)
WEIGHT = 80.4  # N
HOVER_INDUCED = math.sqrt(WEIGHT / (2 * DENSITY * AREA))
PARAMS: dict[str, Any] = {
    "blades": 2.0, "radius": RADIUS, "chord": CHORD, "lift_slope": SLOPE, "profile_drag": DRAG,
    "max_thrust_coefficient": 0.0055, "position": [0.0, 0.0, -HEIGHT], "spin": -1.0, "inertia": 0.095,
    "hub_stiffness": STIFFNESS, "bar_lock_number": LOCK, "cyclic_gain": GAIN, "nominal_speed": SPEED,
    "speed_gain": MU_GAIN,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(MainRotor(), **PARAMS)


def steady(
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0), thrust: float = WEIGHT, wake: float = 1.0, **inputs: float
) -> OperatingPoint:
    """At rest in the flow, with the collective pitch that gives a thrust."""
    guess: dict[str, Any] = {
        "speed": SPEED,
        "v_air_B": list(velocity),
        "w_NB_B": 0.0,
        "collective": 0.1,
        "block.inflow": 4.0,
    }
    return trim(
        model(), inputs=["collective"], require={"block.thrust": thrust}, guess={**guess, **inputs},
        params={"block.wake_factor": wake},
    )  # fmt: skip


def test_block_passes_the_public_check() -> None:
    check_block(MainRotor(), params=PARAMS, inputs={"speed": SPEED, "collective": 0.1, "v_air_B": [3.0, 1.0, -1.0]})


def test_hover_has_the_induced_speed_and_ideal_power_of_momentum_theory() -> None:
    point = steady()

    assert float(point["block.induced_speed"][0]) == pytest.approx(4.17, abs=0.005)
    np.testing.assert_allclose(point["block.induced_speed"], HOVER_INDUCED, rtol=1e-9)
    profile = SOLIDITY * DRAG / 8 * DENSITY * AREA * TIP**3  # W, from C_P = s C_D0 / 8
    ideal = float(point["block.shaft_power"][0]) - profile
    assert ideal == pytest.approx(335.0, abs=0.6)
    assert ideal == pytest.approx(WEIGHT**1.5 / math.sqrt(2 * DENSITY * AREA), rel=1e-9)
    assert profile == pytest.approx(716.0, abs=1.0)  # on top of it, C_D0 = 0.024


@pytest.mark.parametrize("wake", [0.8, 0.9])
def test_a_wake_that_is_not_uniform_raises_the_induced_speed(wake: float) -> None:
    np.testing.assert_allclose(steady(wake=wake)["block.induced_speed"], HOVER_INDUCED / math.sqrt(wake), rtol=1e-9)


@pytest.mark.parametrize("climb", [-1.0, 0.5, 2.0, 5.0, 10.0])
def test_climb_inflow_is_that_of_momentum_theory(climb: float) -> None:
    point = steady((0.0, 0.0, -climb))

    expected = -climb / 2 + math.sqrt(climb**2 / 4 + HOVER_INDUCED**2)  # [Leishman2006] Ch. 2
    np.testing.assert_allclose(point["block.induced_speed"], expected, rtol=1e-9)


@pytest.mark.parametrize("velocity", [(3.0, 0.0, 0.0), (10.0, 0.0, 0.0), (0.0, -12.0, 0.0), (12.0, 16.0, 0.0)])
def test_forward_inflow_is_that_of_glauert(velocity: tuple[float, float, float]) -> None:
    point = steady(velocity)

    square = float(np.dot(velocity, velocity))
    expected = math.sqrt(-square / 2 + math.sqrt(square**2 / 4 + HOVER_INDUCED**4))  # v^4 + V^2 v^2 = v_h^4
    np.testing.assert_allclose(point["block.induced_speed"], expected, rtol=1e-9)


@pytest.mark.parametrize(("mu", "mu_z", "pitch"), [(0.0, 0.0, 0.1), (0.08, 0.0, 0.11), (0.15, -0.02, 0.13)])
def test_thrust_and_torque_are_those_of_a_second_solution_in_coefficients(mu: float, mu_z: float, pitch: float) -> None:
    def blades(inflow: float) -> float:
        return SLOPE * SOLIDITY / 2 * (pitch * (1 / 3 + mu**2 / 2) + (mu_z - inflow) / 2)

    inflow = brentq(lambda x: blades(x) / (2 * 0.9 * math.hypot(mu, x - mu_z)) - x, 1e-3, 0.2, xtol=1e-15)
    ct = blades(inflow)
    cq = ct * (inflow - mu_z) + DRAG * SOLIDITY / 8 * (1 + 7 / 3 * mu**2)
    expected = ct * DENSITY * AREA * TIP**2
    velocity = (mu * TIP, 0.0, mu_z * TIP)
    point = steady(velocity, expected, 0.9)

    np.testing.assert_allclose(point["collective"], pitch, rtol=1e-9)
    np.testing.assert_allclose(point["block.induced_speed"], inflow * TIP, rtol=1e-9)
    np.testing.assert_allclose(point["block.torque"], cq * DENSITY * AREA * RADIUS * TIP**2, rtol=1e-9)


def test_stall_limits_the_thrust() -> None:
    log = flown(1.0, collective=0.4)

    most = 0.0055 * DENSITY * AREA * TIP**2
    np.testing.assert_allclose(log["block.thrust"].ravel()[-1], most, rtol=1e-12)
    assert most == pytest.approx(2.6 * 8.2 * 9.81, rel=0.02)  # more than twice the weight, as published


def test_air_above_the_disc_follows_with_the_time_constant_of_its_mass() -> None:
    point = steady()
    at = linearize(model(), point, inputs=["collective"])

    damping = 4 * DENSITY * AREA * HOVER_INDUCED + DENSITY * SLOPE * CHORD * 2 * RADIUS * TIP / 4  # N s/m
    rate = damping / (8 / 3 * DENSITY * RADIUS**3)
    row = at.states.index("block.inflow")
    np.testing.assert_allclose(at.A[row, row], -rate, rtol=1e-9)
    assert 1 / rate == pytest.approx(0.026, abs=0.001)  # s


def flown(until_s: float, **inputs: float | list[float]) -> Log:
    state = start(model())
    given: dict[str, float | list[float]] = {"speed": SPEED, "v_air_B": 0.0, "w_NB_B": 0.0, "collective": 0.1}
    for name, value in {**given, **inputs}.items():
        state.set_input(name, value)
    return run(state, until_s, log_s=1e-3)


@pytest.mark.parametrize(("name", "entry"), [("longitudinal", 0), ("lateral", 1)])
def test_disc_follows_cyclic_pitch_with_the_fly_bar_s_time_constant(name: str, entry: int) -> None:
    log = flown(1.2, **{name: 0.01})

    expected = GAIN * 0.01 * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(log["block.tilt"][:, entry], expected, rtol=0, atol=1e-11)  # RK4
    np.testing.assert_array_equal(log["block.tilt"][:, 1 - entry], 0.0)
    assert pytest.approx(0.1, abs=0.02) == LAG_S  # s, as published


def test_turning_body_leaves_the_disc_behind_by_lag_times_rate() -> None:
    tilt = flown(3.0, w_NB_B=[0.5, -0.3, 0.0], speed=SPEED, density=1e-9)["block.tilt"][-1]

    # The hub moves through the air as it turns about the centre of mass: blow-back of some 1e-5 is left
    np.testing.assert_allclose(tilt, [0.3 * LAG_S, -0.5 * LAG_S], rtol=0, atol=3e-4)


def test_flight_blows_the_disc_back_and_sideways_flight_to_the_other_side() -> None:
    point = steady((8.0, 5.0, 0.0))

    pitch, inflow = float(point["collective"][0]), float(point["block.induced_speed"][0]) / TIP
    per_mu = 2 * MU_GAIN * (4 / 3 * pitch - inflow)
    np.testing.assert_allclose(point["block.tilt"], [per_mu * 8 / TIP, -per_mu * 5 / TIP], rtol=1e-9)
    assert point["block.tilt"][0] > 0


def test_hub_spring_and_tilted_thrust_turn_the_body() -> None:
    point = steady(longitudinal=0.01, lateral=-0.02)

    tilt = GAIN * np.array([0.01, -0.02])
    per_tilt = STIFFNESS + WEIGHT * HEIGHT  # N m/rad
    np.testing.assert_allclose(point["block.moment_B"][:2], per_tilt * tilt[::-1], rtol=1e-9)
    np.testing.assert_allclose(point["block.force_B"], WEIGHT * np.array([-tilt[0], tilt[1], -1.0]), rtol=1e-9)
    # clockwise rotor: the body is turned to the left
    np.testing.assert_allclose(point["block.moment_B"][2], -point["block.torque"][0], rtol=1e-12)


def test_rotor_at_rest_gives_nothing() -> None:
    log = flown(0.1, speed=0.0, longitudinal=0.05)

    for name in ("force_B", "moment_B", "torque", "tilt"):
        np.testing.assert_array_equal(log[f"block.{name}"], 0.0)


def test_stall_limits_the_thrust_in_thin_air_at_the_same_coefficient() -> None:
    thin = DENSITY / 2
    log = flown(1.0, collective=0.4, density=thin)
    np.testing.assert_allclose(log["block.thrust"].ravel()[-1], 0.0055 * thin * AREA * TIP**2, rtol=1e-12)
