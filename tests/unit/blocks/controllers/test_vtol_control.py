"""VtolControl: lift = weight, thrust, the L1 law, attitude errors at any pitch, surfaces, blending."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.vtol_control import VtolControl
from ironbird.blocks.controllers.vtol_navigator import ACCELERATES, BRAKES, FLIES, HOVERS, SLOWS
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

G, RHO = 9.80665, 1.225
MASS, SLOPE, DRAG, A0 = 5.0, 4.8, 0.65, 0.06
GAINS: dict[str, Number] = {
    "mass": MASS, "inertia": [0.5, 0.34, 0.8], "lift_slope": SLOPE, "drag_slope": DRAG, "zero_lift": A0,
    "rotor_thrust": 180.0, "max_thrust": 30.0, "blend_speed": 8.0, "transition_speed": 12.0, "transition_thrust": 20.0,
    "l1_period": 2.0, "max_roll": 0.6, "height_gain": 0.4, "max_climb": 3.0, "climb_gain": 0.4, "climb_integral": 0.1,
    "lift_gain": 2.0, "lift_integral": 0.5, "speed_gain": 0.6, "speed_integral": 0.1, "pitch_low": -0.3,
    "attitude_gain": [3.0, 4.0, 1.5], "rate_gain": [8.0, 10.0, 3.0], "rate_integral": 1.0, "max_rate": 1.5,
    "allocation": [[3.0, 0.0, 0.0], [0.0, 15.0, 0.0]], "travel": 0.5,
}  # fmt: skip
PUSHER = {"pusher_coefficient": 8.5e-6, "pusher_slope": 3500.0}
NOSE_UP = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]


def quadplane() -> VtolControl:
    return VtolControl(["aileron", "elevator"], pusher=5, sample_s=0.004)


def tail_sitter() -> VtolControl:
    return VtolControl(["aileron", "elevator"], pusher=None, sample_s=0.004)


@functools.cache
def model(pushes: bool) -> CompiledModel:
    if pushes:
        return alone(quadplane(), **GAINS, **PUSHER)  # type: ignore[arg-type]
    return alone(tail_sitter(), R_HB=NOSE_UP, **GAINS)  # type: ignore[arg-type]


def attitude(roll: float, pitch: float, yaw: float) -> np.ndarray:
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def answer(pushes: bool, stage: int, R: np.ndarray, **inputs: object) -> dict[str, np.ndarray]:
    given: dict[str, object] = {
        "p_NB_N": [0.0, 0, -40.0], "v_NB_N": [15.0, 0, 0], "w_NB_B": [0.0, 0, 0], "airspeed": 15.0, "height_set": 40.0,
        "airspeed_set": 15.0, "stage": float(stage), "R_NB": R.flatten(order="F"), **inputs,
    }  # fmt: skip
    return {name: value[0] for name, value in outputs_at(model(pushes), given).items()}  # type: ignore[arg-type]


def test_blocks_pass_the_public_check() -> None:
    check_block(quadplane(), params={**GAINS, **PUSHER})
    check_block(tail_sitter(), params={**GAINS, "R_HB": NOSE_UP})


@pytest.mark.parametrize("speed", [12.0, 15.0, 20.0])
def test_level_flight_asks_for_lift_equal_to_weight_and_thrust_equal_to_drag(speed: float) -> None:
    found = answer(True, FLIES, np.eye(3), airspeed=speed, airspeed_set=speed, v_NB_N=[speed, 0, 0])

    pressure = 0.5 * RHO * speed**2
    alpha = MASS * G / (pressure * SLOPE)  # from no lift
    assert found["pitch_set"] == pytest.approx(alpha - A0, abs=1e-12)
    assert found["thrust_wanted"] == pytest.approx(pressure * DRAG * alpha, rel=1e-12)
    assert found["throttle_5"] == pytest.approx(math.sqrt(pressure * DRAG * alpha / 8.5e-6) / 3500.0, rel=1e-12)
    assert found["rotors_armed"] == 0.0 and found["roll_set"] == 0.0


def test_too_low_means_nose_up_and_more_thrust() -> None:
    level, low = answer(True, FLIES, np.eye(3)), answer(True, FLIES, np.eye(3), height_set=42.0)

    climb = 0.4 * 2.0
    assert low["pitch_set"] - level["pitch_set"] == pytest.approx(1.4 * climb / 15.0, abs=1e-12)  # path and climb gain
    assert low["thrust_wanted"] - level["thrust_wanted"] == pytest.approx(MASS * G * climb / 15.0, rel=1e-12)


@pytest.mark.parametrize(("across", "track"), [(0.0, 0.2), (5.0, 0.0), (-8.0, 0.1), (40.0, 0.0)])
def test_bank_follows_the_l1_law(across: float, track: float) -> None:
    v = 15.0
    found = answer(
        True, FLIES, np.eye(3), p_NB_N=[100.0, across, -40.0],
        v_NB_N=[v * math.cos(track), v * math.sin(track), 0.0],
    )  # fmt: skip

    ahead = 2.0 * v  # the point of the line that is one L1 away, or nearly abeam when the line is further
    angle = math.asin(-across / ahead) if abs(across) < 0.99 * ahead else -math.atan2(across, 0.1 * ahead)
    wanted = math.atan(2 * v * v / ahead * math.sin(angle - track) / G)
    assert found["roll_set"] == pytest.approx(max(-0.6, min(0.6, wanted)), abs=1e-12)
    assert found["path_error"] == pytest.approx(across, abs=1e-12)


@pytest.mark.parametrize("yaw", [-3.0, -1.2, 0.0, 0.7, 2.9])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_nose_up_the_rates_turn_back_a_small_error_about_every_axis(yaw: float, axis: int) -> None:
    small = np.zeros(3)
    small[axis] = 0.01
    R = attitude(0.0, math.pi / 2, yaw) @ attitude(*small)
    found = answer(False, ACCELERATES, R, yaw_set=yaw, airspeed=0.0, v_NB_N=[0.0, 0, 0])

    expected = -np.array([3.0, 4.0, 1.5]) * 0.01 * np.eye(3)[axis]
    np.testing.assert_allclose(found["rate_set"], np.array(NOSE_UP) @ expected, rtol=0, atol=2e-6)  # sine of half 0.01


def test_a_tail_sitters_nose_comes_down_only_at_its_rate_and_its_rotors_carry_it() -> None:
    found = answer(False, ACCELERATES, attitude(0.0, math.pi / 2, 0.0), airspeed=0.0, v_NB_N=[0.0, 0, 0], yaw_set=0.0)

    assert found["pitch_set"] == pytest.approx(math.pi / 2, abs=1e-12)
    assert found["thrust_set"] * 180.0 == pytest.approx(MASS * G, rel=1e-9)
    assert found["rotors_armed"] == 1.0 and found["surface_share"] == 0.0


@pytest.mark.parametrize(("airspeed", "share"), [(0.0, 0.0), (8.0, 0.0), (10.0, 0.5), (12.0, 1.0)])
def test_rotors_carry_what_wings_do_not_and_surfaces_come_in_with_airspeed(airspeed: float, share: float) -> None:
    pitch = 0.03
    found = answer(True, ACCELERATES, attitude(0.0, pitch, 0.0), airspeed=airspeed, v_NB_N=[airspeed, 0, 0])

    wings = 0.5 * RHO * airspeed**2 * SLOPE * (pitch + A0)
    assert found["thrust_set"] * 180.0 == pytest.approx((MASS * G - wings) / math.cos(pitch), rel=1e-9)
    assert found["surface_share"] == pytest.approx(share, abs=1e-12)
    assert found["thrust_wanted"] == 20.0 and found["throttle_5"] > 0.3


def test_deflections_are_the_moment_over_the_dynamic_pressure() -> None:
    R = attitude(0.0, float(answer(True, FLIES, np.eye(3))["pitch_set"]), 0.0)
    slow, fast = (answer(True, FLIES, R, airspeed=v, airspeed_set=v, w_NB_B=[0.01, 0.0, 0.0]) for v in (15.0, 20.0))

    moment = 0.5 * 8.0 * -0.01
    assert slow["aileron"] == pytest.approx(3.0 * moment / (0.5 * RHO * 225) / 0.5, rel=1e-9)
    assert slow["aileron"] / fast["aileron"] == pytest.approx(400 / 225, rel=1e-9)


@pytest.mark.parametrize(("stage", "armed"), [(HOVERS, 1.0), (BRAKES, 1.0), (FLIES, 0.0), (SLOWS, 0.0)])
def test_in_hover_pusher_and_surfaces_rest_and_a_disarmed_vehicle_does_nothing(stage: int, armed: float) -> None:
    found = answer(True, stage, attitude(0.2, 0.1, 0.0), armed=armed)

    assert found["throttle_5"] == 0.0 and found["surface_share"] == 0.0
    assert found["aileron"] == 0.0 and found["elevator"] == 0.0
    assert found["rotors_armed"] == (1.0 if stage in (HOVERS, BRAKES) else 0.0)
