"""The navigator of a roadable aircraft: legs on the ground, the run, passing over, driving on after the landing."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from ironbird.blocks.controllers.fixed_wing_control import BANK
from ironbird.blocks.controllers.mission_table import HOLD, LAND, MISSION, TAKE_OFF, TAKE_OFF_ITEM
from ironbird.blocks.controllers.road_navigator import RoadNavigator
from ironbird.blocks.controllers.wing_navigator import FLARE
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

STEP_S = 0.02
PARAMS = {
    "count": 6.0, "cruise_speed": 25.0, "acceptance_radius": 60.0, "loiter_radius": 120.0, "rotate_speed": 18.0,
    "airborne": 0.0, "point_0": [0.0, 0.0, -0.3], "belly_height": 0.3, "take_off_pitch": 0.2, "take_off_height": 30.0,
    "run_length": 200.0, "landing_brake": 0.5, "runway_pitch": 0.01, "approach_height": 40.0, "glide_slope": 0.07,
}  # fmt: skip
ITEMS = [  # north, east, down, kind
    (50.0, 0.0, 0.0, 0.0), (50.0, 30.0, 0.0, 0.0), (0.0, 0.0, -40.0, TAKE_OFF_ITEM), (800.0, 0.0, -50.0, 0.0),
    (0.0, 0.0, 0.0, LAND), (200.0, 0.0, 0.0, 0.0),
]  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(RoadNavigator(6, sample_s=STEP_S), step_s=STEP_S, **PARAMS)  # type: ignore[arg-type]


def begun(**states: float) -> RunState:
    table = np.zeros((6, 6))
    for number, (north, east, down, kind) in enumerate(ITEMS):
        table[:, number] = [north, east, down, 0.0, 0.0, kind]
    state = start(model(), params={"block.table": table.tolist()})
    for name, value in states.items():
        state.set_state(f"block.{name}", value)
    return state


def at(
    state: RunState, place: Sequence[float], v: Sequence[float] = (0.0, 0.0), height: float = 0.0
) -> dict[str, float]:
    """Outputs after the vehicle has been at a place for three samples; the height is that of the wheels."""
    state.set_input("p_NB_N", [*place, -height - 0.3])
    state.set_input("v_NB_N", [*v, 0.0])
    state.set_input("airspeed", math.hypot(*v))
    state.set_input("ground_distance", height + 0.3)
    log = run(state, state.time_s + 3 * STEP_S, log_s=STEP_S)
    return {path.partition(".")[2]: float(np.atleast_1d(log[path][-1])[-1]) for path in model().signals()}


def test_block_passes_the_public_check() -> None:
    check_block(RoadNavigator(6, sample_s=STEP_S), params=PARAMS)  # type: ignore[arg-type]


def test_it_drives_to_the_first_waypoint_with_the_propeller_off() -> None:
    found = at(begun(), (0.0, 0.0))
    assert found["mode"] == MISSION and found["drive"] == 1.0 and found["brake"] == 0.0
    assert found["rolling"] == 1.0 and found["path_kind"] == BANK and found["throttle_limits"] == 0.0
    assert found["path_course"] == pytest.approx(0.0) and found["disarmed"] == 0.0


def test_the_speed_on_the_leg_is_the_law_of_steady_slowing() -> None:
    """v^2 = v_corner^2 + 2 a d, with the distance to half the radius of the waypoint."""
    asked = math.sqrt(1.5**2 + 2 * 0.7 * (10.0 - 1.5))  # 10 m before it
    state = begun()
    at(state, (0.0, 0.0))
    assert at(state, (40.0, 0.0), (asked + 0.31, 0.0))["brake"] == pytest.approx(0.01, abs=1e-9)  # 1 for each m/s
    assert at(state, (40.0, 0.0), (asked - 1.1, 0.0))["drive"] > 0.3 * 1.1 - 1e-9


def test_the_next_leg_begins_at_the_waypoint_and_a_turn_is_slow() -> None:
    state = begun()
    at(state, (0.0, 0.0))
    found = at(state, (48.0, 0.0), (3.0, 0.0))
    assert found["item"] == 1.0 and found["path_course"] == pytest.approx(math.pi / 2)
    assert found["brake"] == pytest.approx(1.0) and found["drive"] == 0.0  # 3 m/s is too fast for a corner


def test_the_take_off_run_begins_after_the_last_waypoint_on_the_ground() -> None:
    state = begun()
    for place in ((0.0, 0.0), (49.0, 0.0), (50.0, 29.0)):
        found = at(state, place, (1.0, 0.0))
    assert found["mode"] == TAKE_OFF and found["throttle_limits"] == 1.0 and found["drive"] == 0.0
    assert found["item"] == 2.0 and found["brake"] == 0.0


def test_any_other_command_stops_a_vehicle_that_drives() -> None:
    state = begun()
    at(state, (0.0, 0.0))
    state.set_input("command", float(HOLD))
    assert at(state, (20.0, 0.0), (0.5, 0.0))["brake"] == 1.0
    state.set_input("command", float(MISSION))
    assert at(state, (20.0, 0.0), (0.5, 0.0))["drive"] > 0.9


def test_in_the_air_waypoints_on_the_ground_are_passed_over() -> None:
    state = begun(aloft=1.0)
    at(state, (0.0, 0.0), (25.0, 0.0), height=60.0)
    found = at(state, (1.0, 0.0), (25.0, 0.0), height=60.0)
    assert found["item"] == 3.0 and found["drive"] == 0.0 and found["rolling"] == 0.0


def test_after_the_landing_it_rolls_out_drives_on_and_stands_at_the_end() -> None:
    state = begun(aloft=1.0, now=float(MISSION), index=4.0, stage=FLARE)
    found = at(state, (20.0, 0.0), (15.0, 0.0))
    assert found["item"] == 4.0 and found["brake"] == 0.5 and found["drive"] == 0.0
    found = at(state, (80.0, 0.0), (4.5, 0.0))
    assert found["item"] == 5.0 and found["mode"] == MISSION and found["drive"] > 0.1 and found["done"] == 0.0
    found = at(state, (199.0, 0.0), (0.2, 0.0))
    assert found["done"] == 1.0 and found["brake"] == 1.0 and found["drive"] == 0.0 and found["landed"] == 0.0
