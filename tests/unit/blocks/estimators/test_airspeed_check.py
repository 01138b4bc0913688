"""The check of an airspeed tube: speed by lift in closed form, each failure noticed, the tube believed again."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.estimators.airspeed_check import AirspeedCheck
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

STEP_S, G = 0.02, 9.80665
TRIM, ALPHA, LIFT_ANGLE = 25.0, 0.054, 0.095
FLIES = 3.0  # a mode after take-off


@functools.cache
def model() -> CompiledModel:
    return alone(
        AirspeedCheck(sample_s=STEP_S), step_s=STEP_S, trim_speed=TRIM, pitch_trim=ALPHA, lift_angle=LIFT_ANGLE,
        take_off_mode=1.0,
    )  # fmt: skip


def attitude(pitch: float, roll: float = 0.0) -> list[float]:
    """Rotation matrix by columns."""
    cp, sp, cr, sr = math.cos(pitch), math.sin(pitch), math.cos(roll), math.sin(roll)
    return [cp, 0.0, -sp, sr * sp, cr, sr * cp, cr * sp, -sr, cr * cp]


def flies(
    state: RunState, seconds: float, *, tube: float, pitch: float = ALPHA, climb: float = 0.0, roll: float = 0.0,
    load: float = 1.0, stuck: bool = False, late: bool = False, mode: float = FLIES,
) -> dict[str, float]:  # fmt: skip
    """Steady flight: what the check says at its end. The tube's pressure trembles unless it is stuck."""
    inputs: dict[str, Number] = {
        "airspeed_in": tube, "R_NB": attitude(pitch, roll), "mode": mode,
        "v_NB_N": [25.0, 0.0, -climb], "accel_B": [G * math.sin(pitch), 0.0, -G * load],
    }  # fmt: skip
    for name, value in inputs.items():
        state.set_input(name, value)
    log = None
    for n in range(round(seconds / STEP_S)):
        if not late:
            state.set_input("stamp_in", state.time_s)
        if not stuck:
            state.set_input("pressure", 380.0 + (-1) ** n)
        log = run(state, state.time_s + STEP_S, log_s=STEP_S)
    assert log is not None
    return {name: float(log[f"block.{name}"][-1]) for name in ("airspeed", "trusted", "without", "stamp")}


@pytest.mark.parametrize("speed", [18.0, 21.0, 25.0, 32.0])
def test_speed_by_lift_is_that_at_which_the_wing_carries_the_weight(speed: float) -> None:
    alpha = ALPHA - LIFT_ANGLE + LIFT_ANGLE * (TRIM / speed) ** 2  # lift equals weight
    found = flies(start(model()), 15.0, tube=speed, pitch=alpha, load=math.cos(alpha))
    assert abs(found["without"] / speed - 1) < 0.02  # thrust carries a little: cos(alpha) of the load
    assert found["trusted"] == 1.0 and found["airspeed"] == speed


def test_speed_by_lift_knows_climbs_and_turns() -> None:
    climb = 3.0
    found = flies(start(model()), 15.0, tube=TRIM, pitch=ALPHA + math.asin(climb / TRIM), climb=climb)
    assert abs(found["without"] / TRIM - 1) < 0.02
    roll = math.radians(30.0)
    load = 1 / math.cos(roll)
    alpha = ALPHA - LIFT_ANGLE + LIFT_ANGLE * load
    found = flies(
        start(model()), 15.0, tube=TRIM, pitch=math.asin(math.sin(alpha) * math.cos(roll)), roll=roll, load=load
    )
    assert abs(found["without"] / TRIM - 1) < 0.02


@pytest.mark.parametrize(
    "fault", [{"tube": 38.0}, {"tube": 5.0}, {"tube": 0.0}, {"tube": TRIM, "stuck": True}, {"tube": TRIM, "late": True}]
)
def test_bad_tube_is_replaced_and_a_good_one_believed_again(fault: dict[str, float]) -> None:
    state = start(model())
    before = flies(state, 5.0, tube=TRIM)
    assert before["trusted"] == 1.0
    found = flies(state, 6.0, **fault)  # type: ignore[arg-type]
    assert found["trusted"] == 0.0 and abs(found["airspeed"] / TRIM - 1) < 0.02
    assert found["stamp"] < state.time_s - 1.0  # the estimator gets no fresh samples of it
    assert flies(state, 5.0, tube=TRIM)["trusted"] == 0.0
    assert flies(state, 12.0, tube=TRIM)["trusted"] == 1.0


def test_small_errors_and_the_ground_leave_it_alone() -> None:
    assert flies(start(model()), 10.0, tube=1.25 * TRIM)["trusted"] == 1.0
    found = flies(start(model()), 5.0, tube=0.0, stuck=True, mode=1.0)
    assert found["trusted"] == 1.0 and found["airspeed"] == 0.0


def test_draught_that_bends_lift_alone_leaves_the_tube_alone() -> None:
    """In sinking air the angle of attack looks larger than it is, so lift tells less speed; the wind does not."""
    found = flies(start(model()), 15.0, tube=TRIM, pitch=ALPHA + 0.3)
    assert found["without"] < 0.7 * TRIM and found["trusted"] == 1.0


def test_nothing_is_judged_in_the_flare() -> None:
    state = start(model())
    flies(state, 3.0, tube=TRIM)
    state.set_input("throttle_limits", [0.0, 0.0])
    assert flies(state, 6.0, tube=0.0)["trusted"] == 1.0


def test_speed_by_lift_follows_the_accelerometer_at_once() -> None:
    state = start(model())
    flies(state, 5.0, tube=TRIM)
    state.set_input("accel_B", [G * math.sin(ALPHA) + 2.0, 0.0, -G])
    log = run(state, state.time_s + 0.5, log_s=STEP_S)
    gained = float(log["block.without"][-1] - log["block.without"][0])
    assert abs(gained - 2.0 * 0.5) < 0.15  # m/s: the lift pulls back over 3 s
    assert np.all(np.diff(log["block.without"].ravel()) > 0)


def test_tube_that_is_off_by_twice_the_tolerance_is_replaced_without_patience() -> None:
    """Three times the speed: the lagged logarithm of it passes twice the tolerance 0.79 s later."""
    tolerance, lag, reading = 0.3, 1.0, 3.0
    at_once_s = -lag * math.log(1 - 2 * tolerance / math.log(reading))
    patient_s = -lag * math.log(1 - tolerance / math.log(reading)) + 1.0  # when a smaller error would be noticed
    state = start(model())
    flies(state, 3.0, tube=TRIM)

    assert flies(state, at_once_s - 0.1, tube=reading * TRIM)["trusted"] == 1.0
    assert flies(state, 0.2, tube=reading * TRIM)["trusted"] == 0.0
    assert at_once_s + 0.1 < patient_s - 0.3
