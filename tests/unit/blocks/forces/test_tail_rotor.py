"""Tail rotor against momentum theory, its gear, and the directions of its effects."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from ironbird.analysis.operating_point import OperatingPoint
from ironbird.analysis.trim import trim
from ironbird.blocks.forces.tail_rotor import TailRotor
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing import check_block
from ironbird.testing.alone import alone

# X-Cell 60, [Gavrilets2015]
RADIUS, CHORD, SLOPE, DRAG, RATIO, SPEED, DENSITY = 0.13, 0.029, 5.0, 0.024, 4.66, 167.0, 1.225
TIP, AREA = RATIO * SPEED * RADIUS, math.pi * RADIUS**2
ARM, HEIGHT, BLOCKAGE = 0.91, 0.08, 0.17
PARAMS: dict[str, Any] = {
    "blades": 2.0, "radius": RADIUS, "chord": CHORD, "lift_slope": SLOPE, "profile_drag": DRAG,
    "max_thrust_coefficient": 0.05, "position": [-ARM, 0.0, -HEIGHT], "spin": 1.0, "gear_ratio": RATIO,
    "blockage": BLOCKAGE, "pitch_0": 0.1,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(TailRotor(), **PARAMS)


def steady(thrust: float, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> OperatingPoint:
    guess: dict[str, Any] = {
        "speed": SPEED,
        "v_air_B": list(velocity),
        "w_NB_B": 0.0,
        "pitch": 0.1,
        "block.inflow": 8.0,
    }
    return trim(model(), inputs=["pitch"], require={"block.thrust": thrust}, guess=guess)


def test_block_passes_the_public_check() -> None:
    check_block(TailRotor(), params=PARAMS, inputs={"speed": SPEED, "pitch": 0.1, "v_air_B": [3.0, 1.0, -1.0]})


@pytest.mark.parametrize("sideways", [-3.0, 0.0, 4.0])
def test_inflow_is_that_of_momentum_theory_in_sideways_flight(sideways: float) -> None:
    thrust = 7.0
    point = steady(thrust, (0.0, sideways, 0.0))

    own = thrust / (1 - BLOCKAGE)
    square = own / (2 * DENSITY * AREA)
    climb = -sideways  # it pushes to the left
    np.testing.assert_allclose(point["block.induced_speed"], -climb / 2 + math.sqrt(climb**2 / 4 + square), rtol=1e-9)
    through = float(point["block.induced_speed"][0]) + climb
    size = 0.5 * DENSITY * SLOPE * 2 * CHORD * RADIUS
    pitch = 3 * (own / size + TIP * through / 2) / TIP**2
    np.testing.assert_allclose(point["pitch"], pitch - 0.1, rtol=1e-9)
    power = own * through + DRAG * 2 * CHORD / 8 * DENSITY * RADIUS * TIP**3
    np.testing.assert_allclose(point["block.shaft_power"], power, rtol=1e-9)
    np.testing.assert_allclose(point["block.torque"], power / SPEED, rtol=1e-9)  # at the main shaft


def test_thrust_turns_the_nose_to_the_right_and_its_height_rolls_to_the_left() -> None:
    point = steady(7.0)

    torque = float(point["block.torque"][0]) / RATIO
    np.testing.assert_allclose(point["block.force_B"], [0.0, -7.0, 0.0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(point["block.moment_B"], [-7.0 * HEIGHT, torque, 7.0 * ARM], rtol=1e-9)


def test_yaw_rate_is_damped_as_blades_and_momentum_together_say() -> None:
    rate, moments = 1e-3, []
    for turning in (0.0, rate):
        guess: dict[str, Any] = {
            "speed": SPEED, "v_air_B": 0.0, "w_NB_B": [0.0, 0.0, turning], "pitch": 0.13, "block.inflow": 8.0,
        }  # fmt: skip
        point = trim(model(), inputs=[], guess=guess)
        moments.append(float(point["block.moment_B"][2]))

    blades = 0.25 * DENSITY * SLOPE * 2 * CHORD * RADIUS * TIP  # N s/m, dT = -blades (dV + dv)
    air = 2 * DENSITY * AREA * float(point["block.induced_speed"][0])  # N s/m, dT = air (dV + 2 dv)
    slope = -blades * air / (2 * air + blades) * (1 - BLOCKAGE) * ARM**2  # N m s
    assert (moments[1] - moments[0]) / rate == pytest.approx(slope, rel=1e-3)
