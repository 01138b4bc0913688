"""The fixed wing's control: equilibrium, signs, the vector field, energy, limits, integrals."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.fixed_wing_control import GRAVITY, MOST_THROTTLE, FixedWingControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.rig import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
TRAVEL, V = 0.5, 25.0
TRIM = {"elevator_trim": -0.12, "rudder_trim": 0.001, "throttle_trim": 0.7, "pitch_trim": 0.05}
GAINS = {
    "line_gain": 0.01, "line_angle": 1.4, "orbit_gain": 1.2, "course_gain": 0.8, "max_roll": 0.8, "height_gain": 0.3,
    "height_integral": 0.05, "energy_gain": 0.02, "energy_integral": 0.2, "max_climb": 4.0, "pitch_low": -0.25,
    "pitch_high": 0.35, "roll_gain": 0.7, "roll_damping": 0.02, "roll_integral": 0.2, "pitch_gain": 3.0,
    "pitch_damping": 0.3, "pitch_integral": 0.7, "yaw_damping": 0.1,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    values = {"travel": [TRAVEL] * 3, "trim_speed": V, "lift_angle": 0.09, **TRIM, **GAINS}
    return alone(FixedWingControl(sample_s=0.004), step_s=0.004, **values)  # type: ignore[arg-type]


def attitude(roll: float = 0.0, pitch: float = 0.05, yaw: float = 0.0) -> list[float]:
    matrix = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    return [float(entry) for entry in matrix.flatten(order="F")]


def at(**inputs: object) -> dict[str, float]:
    values = {
        "p_NB_N": [0.0, 0.0, -100.0], "v_NB_N": [V, 0.0, 0.0], "R_NB": attitude(), "w_NB_B": [0.0, 0.0, 0.0],
        "airspeed": V, "height_set": 100.0, "airspeed_set": V, **inputs,
    }  # fmt: skip
    return {name: float(value[0]) for name, value in outputs_at(model(), values).items()}  # type: ignore[arg-type]


def test_in_trimmed_flight_on_the_path_the_commands_are_the_trim() -> None:
    found = at()

    assert abs(found["aileron"]) < 1e-15 and abs(found["roll_set"]) < 1e-15 and found["path_error"] == 0
    assert found["elevator"] == pytest.approx(TRIM["elevator_trim"] / TRAVEL, rel=1e-12)
    assert found["rudder"] == pytest.approx(TRIM["rudder_trim"] / TRAVEL, rel=1e-12)
    assert found["throttle"] == TRIM["throttle_trim"]
    assert found["pitch_set"] == TRIM["pitch_trim"]


@given(east=st.floats(-500, 500), course=st.floats(-3, 3), heading=st.floats(-3, 3))
@EXAMPLES
def test_course_and_bank_follow_the_field_of_a_line_whatever_its_direction(
    east: float, course: float, heading: float
) -> None:
    c, s = math.cos(course), math.sin(course)
    away = np.array([-s, c]) * east  # to the right of the line
    speed = 22.0
    chi = course + heading / 3
    found = at(
        p_NB_N=[10.0 + away[0] + 50 * c, -20.0 + away[1] + 50 * s, -100.0], path_origin=[10.0, -20.0, -100.0],
        path_course=course, v_NB_N=[speed * math.cos(chi), speed * math.sin(chi), 0.0],
    )  # fmt: skip

    assert found["path_error"] == pytest.approx(east, abs=1e-11)
    wanted = course - 1.4 * 2 / math.pi * math.atan(0.01 * east)  # [BeardMcLain] Ch. 10
    assert math.cos(found["course_set"] - wanted) == pytest.approx(1.0, abs=1e-12)
    error = math.remainder(wanted - chi, 2 * math.pi)
    bank = np.clip(math.atan(speed * 0.8 * error / GRAVITY), -0.8, 0.8)
    assert found["roll_set"] == pytest.approx(bank, abs=1e-10)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_on_the_circle_the_bank_is_that_of_a_coordinated_turn(sense: float) -> None:
    found = at(
        p_NB_N=[0.0, 150.0, -100.0], path_origin=[0.0, 0.0, -100.0], path_kind=1.0, path_radius=sense * 150.0,
        v_NB_N=[-sense * V, 0.0, 0.0],
    )  # fmt: skip

    assert found["path_error"] == pytest.approx(0.0, abs=1e-12)
    assert found["roll_set"] == pytest.approx(sense * math.atan(V**2 / (GRAVITY * 150.0)), rel=1e-12)


def test_far_from_the_circle_the_course_leads_to_its_centre() -> None:
    found = at(p_NB_N=[1e6, 0.0, -100.0], path_kind=1.0, path_radius=100.0)

    assert abs(found["course_set"]) == pytest.approx(math.pi, abs=2e-4)


def test_moments_turn_the_aircraft_back() -> None:
    assert at(R_NB=attitude(roll=0.1))["aileron"] == pytest.approx(-0.7 * 0.1 / TRAVEL, rel=1e-9)
    high = at(R_NB=attitude(pitch=0.07))
    assert high["elevator"] == pytest.approx((-0.12 + 3.0 * 0.02) / TRAVEL, rel=1e-9)  # positive pitches down
    assert at(w_NB_B=[0.2, 0.0, 0.0])["aileron"] == pytest.approx(-0.02 * 0.2 / TRAVEL, rel=1e-9)
    assert at(w_NB_B=[0.0, 0.02, 0.0])["elevator"] == pytest.approx((-0.12 + 0.3 * 0.02) / TRAVEL, rel=1e-9)
    assert at(w_NB_B=[0.0, 0.0, 0.2])["rudder"] == pytest.approx((0.001 + 0.1 * 0.2) / TRAVEL, rel=1e-9)


def test_rates_of_a_coordinated_turn_are_not_damped() -> None:
    roll, pitch = 0.5, 0.05
    turn = GRAVITY / V * math.tan(roll)
    w = turn * np.array([-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)])
    still, turning = (at(R_NB=attitude(roll, pitch), w_NB_B=rates) for rates in ([0.0, 0.0, 0.0], w))

    assert turning["rudder"] == pytest.approx(TRIM["rudder_trim"] / TRAVEL, rel=1e-9)
    assert turning["elevator"] - still["elevator"] == pytest.approx(0.3 * w[1] / TRAVEL, rel=1e-9)


def test_too_low_and_too_fast_by_the_same_energy_moves_the_pitch_only() -> None:
    fast = math.sqrt(V**2 + 2 * GRAVITY * 5.0)  # the energy of 5 m
    found = at(p_NB_N=[0.0, 0.0, -95.0], airspeed=fast)

    assert found["throttle"] == pytest.approx(0.7, rel=1e-12)
    assert found["pitch_set"] == pytest.approx(0.05 + 0.3 * 10.0 / fast, rel=1e-12)


def test_too_low_and_too_slow_by_the_same_energy_moves_the_throttle_only() -> None:
    slow = math.sqrt(V**2 - 2 * GRAVITY * 5.0)
    found = at(p_NB_N=[0.0, 0.0, -95.0], airspeed=slow)

    assert found["pitch_set"] == pytest.approx(0.05, rel=1e-12)
    assert found["throttle"] == pytest.approx(0.7 + 0.02 * 10.0, rel=1e-12)


def test_everything_stays_within_its_limits() -> None:
    for sign in (-1.0, 1.0):
        found = at(
            p_NB_N=[0.0, 4000.0 * sign, -100.0 + 900.0 * sign], R_NB=attitude(-sign, -0.5 * sign), airspeed=8.0,
            airspeed_set=8.0,
        )  # fmt: skip
        assert abs(found["roll_set"]) <= 0.8 and -0.25 <= found["pitch_set"] <= 0.35
        assert all(abs(found[name]) <= 1 for name in ("aileron", "elevator", "rudder"))
        assert 0 <= found["throttle"] <= 1


@pytest.mark.parametrize(
    ("low_m", "integral"),
    [
        (10.0, 0.1),  # the proportional part takes 0.2: the integral stops when the command reaches 1
        (50.0, 0.0),  # a long climb: the integral waits
    ],
)
def test_throttle_integral_does_not_wind_up(low_m: float, integral: float) -> None:
    state = start(model())
    inputs: dict[str, Number] = {
        "p_NB_N": [0.0, 0.0, low_m - 100.0], "v_NB_N": [V, 0.0, 0.0],
        "R_NB": np.array(attitude()).reshape(3, 3).T.tolist(), "w_NB_B": [0.0, 0.0, 0.0], "airspeed": V,
        "height_set": 100.0, "airspeed_set": V,
    }  # fmt: skip
    for name, value in inputs.items():
        state.set_input(name, value)
    log = run(state, 60.0, log_s=0.1)

    full = min(1.0, 0.7 + 0.02 * min(low_m, 4.0 / 0.3) + integral)
    assert log["block.throttle"].ravel()[-1] == pytest.approx(full, abs=1e-9)
    state.set_input("p_NB_N", [0.0, 0.0, -100.0])
    after = run(state, 60.004, log_s=0.004)["block.throttle"].ravel()[-1]
    assert after == pytest.approx(0.7 + integral, abs=2e-4)  # one sample past the limit: 0.004 s * 0.04 1/s
    assert integral < MOST_THROTTLE
