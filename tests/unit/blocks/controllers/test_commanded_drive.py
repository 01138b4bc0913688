"""Commanded navigators on the ground and in water: ways to a place, courses, velocities, sticks, loss of the stream."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from commanded_bench import Bench, heading

from ironbird.blocks.controllers.command_ports import BY_COURSE, BY_MANUAL, BY_POSITION_STICKS
from ironbird.blocks.controllers.commanded_drive import (
    CREEP,
    LEASH_M,
    CommandedGroundNavigator,
    CommandedMarineNavigator,
    CommandedPathNavigator,
)
from ironbird.blocks.controllers.mission_table import (
    ARMED,
    DISARMED,
    HOLD,
    LANDING,
    MANUAL,
    MISSION,
    OFFBOARD,
    POSITION,
    RETURN,
    MissionTable,
)
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

SAMPLE_S, SPEED, SLEWING, LOOKAHEAD = 0.1, 2.0, 0.5, 6.0
TABLE = [[20.0, 20.0], [0.0, 20.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
GROUND: dict[str, Any] = {
    "count": 2.0, "cruise_speed": SPEED, "acceleration": 1.5, "lateral_acceleration": 2.5, "turn_radius": 3.0,
    "arrived": 0.5, "slewing": SLEWING, "table": TABLE,
}  # fmt: skip
PATH: dict[str, Any] = {
    "count": 2.0, "cruise_speed": SPEED, "arrived": 2.0, "lookahead": LOOKAHEAD, "slewing": SLEWING, "table": TABLE,
}  # fmt: skip
MARINE: dict[str, Any] = {"count": 2.0, "cruise_speed": 0.5, "acceleration": 0.2, "arrived": 0.3, "table": TABLE}
KINDS: list[tuple[type[MissionTable], dict[str, Any]]] = [
    (CommandedGroundNavigator, GROUND), (CommandedPathNavigator, PATH), (CommandedMarineNavigator, MARINE),
]  # fmt: skip


@functools.cache
def model(kind: type[MissionTable]) -> CompiledModel:
    return alone(kind(2, sample_s=SAMPLE_S), step_s=SAMPLE_S, **dict(KINDS)[kind])


def ground() -> Bench:
    return Bench(model(CommandedGroundNavigator), [0.0, 0.0, 0.0])


def boat() -> Bench:
    return Bench(model(CommandedPathNavigator), [0.0, 0.0, 0.0])


def station() -> Bench:
    return Bench(model(CommandedMarineNavigator), [0.0, 0.0, 3.0], point=[0.0, 0.0, 3.0], stay=[0.0, 0.0, 3.0])


@pytest.mark.parametrize(("kind", "params"), KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_block_passes_the_public_check(kind: type[MissionTable], params: dict[str, Any]) -> None:
    check_block(kind(2, sample_s=SAMPLE_S), params=params, until_s=0.5, step_s=SAMPLE_S)


@pytest.mark.parametrize("make", [ground, boat])
def test_velocity_is_obeyed_at_once_on_the_way_to_a_place(make: Any) -> None:
    bench = make()
    bench.target(offboard_position=[50.0, 0.0, 0.0])
    bench.order(OFFBOARD)
    assert bench.after(2.0)["yaw_set"] == pytest.approx(0.0, abs=1e-12)

    bench.target(offboard_velocity=[0.0, 1.0, 0.0])
    found = bench.after()

    assert found["mode"] == OFFBOARD and found["yaw_set"] == pytest.approx(math.pi / 2)
    np.testing.assert_allclose(found["position_set"][:2], 0.0, atol=1e-12)  # no line to come back to
    assert bench.after(3.0)["speed_set"] == pytest.approx(1.0)


@pytest.mark.parametrize("make", [ground, boat])
def test_the_same_place_after_a_velocity_is_another_way_from_here(make: Any) -> None:
    bench = make()
    bench.target(offboard_position=[50.0, 0.0, 0.0])
    bench.order(OFFBOARD)
    bench.after(1.0)
    bench.target(offboard_velocity=[0.0, 1.0, 0.0])
    bench.after(1.0)
    bench.put([49.0, 1.0, 0.0])
    bench.after()
    bench.target(offboard_position=[50.0, 0.0, 0.0])
    found = bench.after()

    assert found["yaw_set"] == pytest.approx(math.atan2(-1.0, 1.0))
    assert bench.after(2.0)["speed_set"] > CREEP * SPEED


@pytest.mark.parametrize("left_m", [0.4, 1.0, 20.0])
def test_speed_on_the_way_to_a_place_is_that_of_an_even_stop_and_zero_there(left_m: float) -> None:
    bench = ground()
    bench.order(HOLD, goto=1.0, offboard_position=[50.0, 0.0, 0.0])
    bench.after()
    bench.put([50.0 - left_m, 0.3, 0.0])
    found = bench.after(10.0)

    assert found["mode"] == HOLD
    np.testing.assert_allclose(found["tangent_set"], [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found["position_set"], [50.0 - left_m, 0.0, 0.0], atol=1e-9)
    # v = sqrt(2 a s), and a little more so that the place is reached
    assert found["speed_set"] == pytest.approx(min(SPEED, math.sqrt(2 * SLEWING * left_m) + CREEP * SPEED))
    bench.put([49.9, 0.0, 0.0])
    assert bench.after(5.0)["speed_set"] == 0


def test_return_ends_at_home_and_a_mission_goes_on_from_where_it_is() -> None:
    bench = ground()
    bench.put([3.0, 4.0, 0.0])
    bench.order(RETURN)
    found = bench.after(1.0)
    np.testing.assert_allclose(found["tangent_set"], [-0.6, -0.8], rtol=1e-9)

    bench.order(MISSION, start_item=1.0)
    found = bench.after(0.5)
    assert found["mode"] == MISSION and found["item"] == 1
    np.testing.assert_allclose(found["yaw_set"], math.atan2(16.0, 17.0), rtol=1e-9)


def test_lost_stream_stops_it_and_is_told() -> None:
    bench = ground()
    bench.target(BY_COURSE, offboard_course=0.7, offboard_speed=1.0)
    bench.give(link_stamp=0.0)
    bench.order(OFFBOARD)
    assert bench.after(1.9)["speed_set"] == pytest.approx(0.9)  # v = a t

    rows = bench.rows(4.0)
    assert rows["mode"][-1] == HOLD and rows["failsafe"][-1].tolist() == [0, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(np.diff(rows["speed_set"]).min(), -2 * SLEWING * SAMPLE_S, rtol=1e-9)
    assert rows["speed_set"][-1] == 0
    bench.order(ARMED)
    assert bench.after()["failsafe"].tolist() == [0] * 6
    bench.order(DISARMED)
    assert bench.after()["armed"] == 0


def test_sticks_drive_directly_or_by_speed_and_course() -> None:
    bench = ground()
    bench.give(stick=[0.2, 0.5, 0.0, 0.1])
    bench.order(OFFBOARD, direct=float(BY_MANUAL))
    found = bench.after()
    assert found["mode"] == MANUAL and found["manual"] == 1
    np.testing.assert_allclose([found["manual_push"], found["manual_turn"]], [[0.5], [0.3]], rtol=1e-12)

    bench.give(stick=[0.0, 0.5, 0.0, 0.0], R_NB=heading(0.4))
    bench.order(OFFBOARD, direct=float(BY_POSITION_STICKS))
    found = bench.after(5.0)
    assert found["mode"] == POSITION and found["manual"] == 0
    assert found["speed_set"] == pytest.approx(0.5 * SPEED)


def test_line_of_sight_to_a_place_and_course_with_depth_in_water() -> None:
    bench = boat()
    bench.order(MISSION)
    bench.after()
    bench.order(HOLD, goto=1.0, offboard_position=[50.0, 0.0, 2.0])
    bench.after()
    bench.put([20.0, 3.0, 0.0])
    found = bench.after()
    assert found["course_set"] == pytest.approx(math.atan2(-3.0, LOOKAHEAD))  # [Fossen2021] Ch. 12
    assert found["cross_track"] == pytest.approx(3.0) and found["position_set"][2] == pytest.approx(2.0)

    bench.target(BY_COURSE, offboard_course=0.7, offboard_speed=1.0, offboard_height=-4.0)
    bench.order(OFFBOARD)
    found = bench.after(3.0)
    assert found["course_set"] == pytest.approx(0.7) and found["speed_set"] == pytest.approx(1.0)
    assert found["position_set"][2] == pytest.approx(4.0)
    np.testing.assert_allclose(found["velocity_set"], [math.cos(0.7), math.sin(0.7), 0.0], rtol=1e-9)


def test_moving_point_has_the_velocity_asked_for_and_does_not_run_away_from_the_craft() -> None:
    bench = station()
    bench.target(offboard_velocity=[0.3, 0.0, 0.0])
    bench.order(OFFBOARD)
    rows = bench.rows(30.0)
    speed = rows["velocity_set"][:, 0]
    np.testing.assert_allclose(speed[-1], 0.3, rtol=1e-9)
    np.testing.assert_allclose(np.diff(speed).max(), 0.2 * SAMPLE_S, rtol=1e-6)
    np.testing.assert_allclose(rows["position_set"][-1], [LEASH_M, 0.0, 3.0], rtol=1e-9)  # it does not come along

    bench.give(stick=[0.0, 0.0, -0.5, 0.0])
    bench.order(OFFBOARD, direct=float(BY_POSITION_STICKS))
    found = bench.after(5.0)
    assert found["mode"] == POSITION
    np.testing.assert_allclose(found["velocity_set"], [0.0, 0.0, 0.5 * 0.3], atol=1e-9)  # down


def test_craft_that_holds_its_place_surfaces_returns_at_its_depth_and_goes_where_it_is_told() -> None:
    bench = station()
    bench.order(HOLD, goto=1.0, offboard_position=[2.0, 0.0, 3.0])
    np.testing.assert_allclose(bench.after(15.0)["position_set"], [2.0, 0.0, 3.0], atol=1e-6)
    bench.order(LANDING)
    np.testing.assert_allclose(bench.after(20.0)["position_set"], [2.0, 0.0, 0.0], atol=1e-6)
    bench.order(HOLD, goto=1.0, offboard_position=[2.0, 0.0, 1.0])
    bench.after(10.0)
    bench.order(RETURN)
    found = bench.after(15.0)
    np.testing.assert_allclose(found["position_set"], [0.0, 0.0, 1.0], atol=1e-6)
    assert found["mode"] == RETURN and found["armed"] == 1
    bench.order(DISARMED)
    found = bench.after()
    assert found["armed"] == 0
    np.testing.assert_allclose(found["position_set"], [0.0, 0.0, 3.0], atol=1e-12)  # where it is


@pytest.mark.parametrize("make", [ground, boat, station])
def test_a_mission_that_is_over_is_a_hold_and_nothing_else_is(make: Any) -> None:
    bench = make()
    bench.order(MISSION)
    assert bench.after(0.5)["mode"] == MISSION
    for place in zip(*TABLE[:2], strict=True):
        bench.put([*place, 0.0])
        found = bench.after(100.0)
    assert found["mode"] == HOLD
    bench.order(RETURN)  # what comes after it is shown, though the mission was finished
    assert bench.after(0.5)["mode"] == RETURN
