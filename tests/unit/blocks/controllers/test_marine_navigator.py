"""Navigators of marine craft: the moving point, and line-of-sight geometry."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.marine_navigator import MarineNavigator, PathNavigator
from ironbird.blocks.controllers.mission_table import ROWS
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at


def table(*items: list[float]) -> list[list[float]]:
    found = np.zeros((ROWS, 4))
    for number, item in enumerate(items):
        found[:, number] = item
    return found.tolist()


@functools.cache
def moving() -> CompiledModel:
    items = table([6.0, 0.0, 3.0, math.pi / 2, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    return alone(
        MarineNavigator(4, sample_s=0.1), step_s=0.1, table=items, count=2, cruise_speed=0.5, acceleration=0.1,
        arrived=0.3, yaw_rate=0.2, point_0=[0.0, 0.0, 3.0],
    )  # fmt: skip


@functools.cache
def path() -> CompiledModel:
    items = table([100.0, 0.0, 8.0, 0, 0, 0], [100.0, 60.0, 8.0, 0, 0, 0])
    return alone(
        PathNavigator(4, sample_s=0.1), step_s=0.1, table=items, count=2, cruise_speed=1.5, arrived=5.0, lookahead=10.0,
    )  # fmt: skip


def test_point_accelerates_cruises_and_stops_at_the_waypoint() -> None:
    state = start(moving())
    state.set_input("p_NB_N", [0.0, 0.0, 3.0])  # the vehicle does not come along
    log = run(state, 60.0, log_s=0.1)

    speed = np.linalg.norm(log["block.velocity_set"], axis=1)
    assert abs(speed.max() - 0.5) < 1e-9
    assert np.diff(speed).max() < 0.1 * 0.1 + 1e-9
    np.testing.assert_allclose(log["block.position_set"][-1], [6.0, 0.0, 3.0], rtol=0, atol=1e-6)
    assert abs(log["block.yaw_set"][-1] - math.pi / 2) < 1e-9
    assert np.diff(log["block.yaw_set"]).max() < 0.02 + 1e-12
    assert log["block.item"][-1] == 0.0 and log["block.done"][-1] == 0.0  # it waits for the vehicle


def test_items_follow_when_the_vehicle_was_there_and_land_means_to_surface() -> None:
    state = start(moving())
    state.set_input("p_NB_N", [6.0, 0.2, 3.0])
    first = run(state, 30.0, log_s=0.1)
    assert first["block.item"][-1] == 1.0
    state.set_input("p_NB_N", [6.0, 0.0, 0.0])
    second = run(state, 60.0, log_s=0.1)

    np.testing.assert_allclose(second["block.position_set"][-1], [6.0, 0.0, 0.0], rtol=0, atol=1e-6)
    assert second["block.done"][-1] == 1.0


@pytest.mark.parametrize("side", [-10.0, 0.0, 4.0])
def test_course_points_a_lookahead_ahead_on_the_leg(side: float) -> None:
    found = outputs_at(path(), {"p_NB_N": [30.0, side, 0.0]})

    assert abs(found["course_set"][0] - math.atan2(-side, 10.0)) < 1e-14
    assert abs(found["cross_track"][0] - side) < 1e-12
    np.testing.assert_allclose(found["position_set"][0], [30.0, 0.0, 0.3 * 8.0], rtol=0, atol=1e-12)


def test_legs_follow_each_other_when_little_of_them_is_left() -> None:
    state = start(path())
    items = []
    for place in ([94.0, 3.0, 8.0], [95.5, 3.0, 8.0], [99.0, 40.0, 8.0]):
        state.set_input("p_NB_N", place)
        log = run(state, state.time_s + 0.3, log_s=0.1)
        items.append(log["block.item"][-1])
    assert items == [0.0, 1.0, 1.0]
    assert abs(log["block.yaw_set"][-1] - math.pi / 2) < 1e-12  # east
    assert abs(log["block.cross_track"][-1] - 1.0) < 1e-12  # north is left of an easterly course, south right
    assert abs(log["block.course_set"][-1] - math.pi / 2 + math.atan2(1.0, 10.0)) < 1e-12

    state.set_input("p_NB_N", [100.0, 56.0, 8.0])
    assert run(state, state.time_s + 0.3, log_s=0.1)["block.done"][-1] == 1.0
