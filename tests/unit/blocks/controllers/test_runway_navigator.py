"""The navigator on wheels: brakes, run, rotation, climb, a rejected run, the roll after the landing."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ironbird.blocks.controllers.fixed_wing_control import BANK
from ironbird.blocks.controllers.mission_table import LAND, LANDING, MISSION, TAKE_OFF
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

STEP_S = 0.02
PARAMS = {
    "count": 2.0, "cruise_speed": 25.0, "acceptance_radius": 60.0, "loiter_radius": 120.0, "rotate_speed": 18.0,
    "airborne": 0.0, "point_0": [0.0, 0.0, -0.3], "belly_height": 0.3, "take_off_pitch": 0.2, "take_off_height": 30.0,
    "run_length": 200.0, "landing_brake": 0.5, "runway_pitch": 0.01, "approach_height": 40.0, "glide_slope": 0.07,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(RunwayNavigator(4, sample_s=STEP_S), step_s=STEP_S, **PARAMS)  # type: ignore[arg-type]


def begun(**params: float) -> RunState:
    table = np.zeros((6, 4))
    table[:, 0] = [800.0, 0.0, -50.0, 0.0, 0.0, 0.0]
    table[:, 1] = [0.0, 0.0, 0.0, 0.0, 0.0, float(LAND)]
    return start(model(), params={"block.table": table.tolist(), **{f"block.{k}": v for k, v in params.items()}})


def at(
    state: RunState, north: float, height: float, v: Sequence[float], airspeed: float, samples: int = 3
) -> dict[str, np.ndarray]:
    """Outputs after the vehicle has been at a place for some samples; the height is that of the wheels."""
    state.set_input("p_NB_N", [north, 0.0, -height - 0.3])
    state.set_input("v_NB_N", list(v))
    state.set_input("airspeed", airspeed)
    state.set_input("ground_distance", height + 0.3)
    log = run(state, state.time_s + samples * STEP_S, log_s=STEP_S)
    return {path.partition(".")[2]: np.atleast_1d(log[path][-1]) for path in model().signals()}


def test_block_passes_the_public_check() -> None:
    check_block(RunwayNavigator(4, sample_s=STEP_S), params=PARAMS)  # type: ignore[arg-type]


def test_brakes_hold_until_the_take_off_begins() -> None:
    state = begun(arm_time=1.0)
    found = at(state, 0.0, 0.0, (0.0, 0.0, 0.0), 0.0)
    assert found["brake"] == 1.0 and found["throttle_limits"][1] == 0.0 and found["disarmed"] == 1.0
    found = at(state, 0.0, 0.0, (0.0, 0.0, 0.0), 0.0, samples=55)
    assert found["mode"] == TAKE_OFF and found["brake"] == 0.0 and found["throttle_limits"][0] == 1.0


def test_nose_stays_down_to_the_speed_of_rotation_and_up_from_there_on() -> None:
    state = begun()
    for speed in (5.0, 12.0, 17.9):
        found = at(state, speed, 0.0, (speed, 0.0, 0.0), speed)
        assert found["rolling"] == 1.0 and found["path_kind"] == BANK and found["bank_set"] == 0.0
        np.testing.assert_allclose(found["pitch_limits"], [0.01, 0.01])
    np.testing.assert_allclose(at(state, 40.0, 0.0, (18.1, 0.0, 0.0), 18.1)["pitch_limits"], [0.2, 0.2])
    # A gust that takes speed does not lower it again; wings stay level up to the clear height
    found = at(state, 45.0, 0.5, (18.0, 0.0, -1.0), 16.0)
    np.testing.assert_allclose(found["pitch_limits"], [0.2, 0.2])
    assert found["rolling"] == 1.0
    found = at(state, 70.0, 3.0, (20.0, 0.0, -2.0), 20.0)
    assert found["rolling"] == 0.0 and found["path_kind"] == 0.0 and found["mode"] == TAKE_OFF
    assert at(state, 300.0, 31.0, (25.0, 0.0, -2.0), 25.0)["mode"] == MISSION


def test_run_without_airspeed_is_rejected_and_braked() -> None:
    state = begun()
    assert at(state, 199.0, 0.0, (25.0, 0.0, 0.0), 0.0)["brake"] == 0.0
    found = at(state, 201.0, 0.0, (25.0, 0.0, 0.0), 0.0)
    assert found["brake"] == 1.0 and found["throttle_limits"][1] == 0.0 and found["rolling"] == 1.0
    found = at(state, 210.0, 0.0, (20.0, 0.0, 0.0), 19.0)  # an airspeed that comes back changes nothing
    assert found["brake"] == 1.0 and found["pitch_limits"][1] == 0.01 and found["landed"] == 0.0
    assert at(state, 280.0, 0.0, (0.0, 0.0, 0.0), 0.0, samples=130)["landed"] == 1.0


def test_after_the_flare_it_rolls_with_brakes_until_it_stands() -> None:
    state = begun(airborne=1.0)
    at(state, 790.0, 50.0, (25.0, 0.0, 0.0), 25.0)
    centre = at(state, -571.0, 40.0, (25.0, 0.0, 0.0), 21.0)  # at the circle's entry, on the landing course
    assert centre["mode"] == LANDING
    for north, height in ((-560.0, 40.0), (-300.0, 21.0), (-40.0, 2.9), (-15.0, 0.9)):
        found = at(state, north, height, (20.0, 0.0, 1.4), 20.0)
    assert found["throttle_limits"][1] == 0.0 and found["rolling"] == 0.0 and found["brake"] == 0.0
    found = at(state, 0.0, 0.05, (18.0, 0.0, 0.0), 18.0)
    assert found["rolling"] == 1.0 and found["brake"] == 0.5 and found["pitch_limits"][1] == 0.01
    assert at(state, 60.0, 0.0, (0.0, 0.0, 0.0), 0.0, samples=130)["done"] == 1.0
    assert at(state, 60.0, 0.0, (0.0, 0.0, 0.0), 0.0)["brake"] == 1.0
