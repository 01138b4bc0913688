"""Control on the runway: heading by nose wheel and rudder, integrals that wait; in the air as without wheels."""

from __future__ import annotations

import functools
import math

import numpy as np

from ironbird.blocks.controllers.runway_control import RunwayControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

STEP_S = 0.004
GAINS = {
    "travel": [0.5] * 3, "trim_speed": 25.0, "elevator_trim": -0.12, "throttle_trim": 0.7, "pitch_trim": 0.05,
    "lift_angle": 0.09, "l1_period": 14.0, "max_roll": 0.8, "height_time": 3.0, "speed_time": 4.0, "max_climb": 5.0,
    "max_sink": 4.0, "min_speed": 17.0, "energy_damping": 0.5, "energy_integral": 0.3, "balance_damping": 1.0,
    "balance_integral": 0.4, "pitch_low": -0.25, "pitch_high": 0.35, "roll_gain": 0.7, "roll_damping": 0.02,
    "roll_integral": 0.2, "pitch_gain": 3.0, "pitch_damping": 0.3, "pitch_integral": 0.7, "yaw_damping": 0.1,
    "wheel_base": 0.56, "steer_travel": 0.4, "steer_gain": 4.0, "look_ahead": 10.0,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(RunwayControl(sample_s=STEP_S), step_s=STEP_S, **GAINS)  # type: ignore[arg-type]


def yawed(angle: float) -> list[float]:
    """Rotation matrix of a heading, by columns."""
    c, s = math.cos(angle), math.sin(angle)
    return [c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0]


def found(yaw: float, east: float, speed: float, rolling: float = 1.0) -> dict[str, np.ndarray]:
    return outputs_at(
        model(),
        {
            "p_NB_N": [3.0, east, -0.3], "v_NB_N": [speed, 0.0, 0.0], "R_NB": yawed(yaw), "w_NB_B": [0.0] * 3,
            "accel_B": [0.0, 0.0, -9.81], "airspeed": speed, "path_course": 0.0, "height_set": 50.0,
            "airspeed_set": 25.0, "rolling": rolling,
        },
    )  # fmt: skip


def test_block_passes_the_public_check() -> None:
    check_block(RunwayControl(sample_s=STEP_S), params=GAINS)  # type: ignore[arg-type]


def test_wheel_makes_the_yaw_rate_of_the_bicycle() -> None:
    for yaw, east, speed in ((0.05, 0.0, 10.0), (-0.05, 0.0, 20.0), (0.0, 1.0, 10.0), (0.02, -2.0, 15.0)):
        wanted = 4.0 * (-math.atan(east / 10.0) - yaw)
        expected = math.atan(0.56 * wanted / speed) / 0.4
        np.testing.assert_allclose(found(yaw, east, speed)["steering"].ravel(), expected, rtol=1e-9)


def test_rudder_helps_the_wheel_and_both_have_their_sign() -> None:
    left = found(-0.1, 0.0, 18.0)  # nose to the left: turn right; a negative rudder yaws right
    assert left["steering"] > 0 and left["rudder"] < 0
    right = found(0.1, 0.0, 18.0)
    assert right["steering"] < 0 and right["rudder"] > 0


def test_at_rest_the_wheel_stays_within_its_travel() -> None:
    assert abs(found(1.5, 5.0, 0.0)["steering"]) <= 1.0


def test_in_the_air_the_wheel_is_straight() -> None:
    assert found(0.1, 5.0, 25.0, rolling=0.0)["steering"] == 0.0


def test_integrals_wait_on_the_runway() -> None:
    for rolling, moves in ((1.0, False), (0.0, True)):
        state = start(model())
        # A bank and a pitch that are held by the ground
        held: dict[str, Number] = {
            "R_NB": [1.0, 0.0, 0.0, 0.0, 0.99875, 0.05, 0.0, -0.05, 0.99875], "airspeed": 20.0, "rolling": rolling,
            "v_NB_N": [10.0, 0.0, 0.0], "height_set": 50.0, "airspeed_set": 25.0, "path_kind": 2.0,
            "pitch_limits": [0.01, 0.01],
        }  # fmt: skip
        for name, value in held.items():
            state.set_input(name, value)
        run(state, 1.0)
        assert (abs(float(state.get("block.roll_sum")[0])) > 1e-6) is moves
        assert (abs(float(state.get("block.pitch_sum")[0])) > 1e-6) is moves
