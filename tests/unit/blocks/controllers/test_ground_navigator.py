"""The ground navigator with a vehicle that follows its path exactly."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ironbird.blocks.controllers.ground_navigator import GroundNavigator
from ironbird.blocks.controllers.mission_table import DISARMED, FLY, HOLD, MISSION
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.testing.alone import alone

SAMPLE_S, CRUISE, GAIN, LATERAL, RADIUS, ARRIVED = 0.02, 8.0, 1.5, 2.5, 6.0, 0.5


@functools.cache
def model() -> CompiledModel:
    return alone(
        GroundNavigator(4, sample_s=SAMPLE_S), step_s=SAMPLE_S, count=1.0, cruise_speed=CRUISE, acceleration=GAIN,
        lateral_acceleration=LATERAL, turn_radius=RADIUS, arrived=ARRIVED,
    )  # fmt: skip


def mission(*items: tuple[float, float, float]) -> RunState:
    """Items as north, east, hold time."""
    table = np.zeros((6, 4))
    for number, (north, east, hold) in enumerate(items):
        table[:, number] = [north, east, 0.0, 0.0, hold, FLY]
    state = start(model(), params={"block.count": float(len(items))})
    state.set_param("block.table", table)
    return state


@dataclass
class Drive:
    """What a vehicle did that is put on the path at each sample."""

    p: np.ndarray
    out: dict[str, np.ndarray]


def follow(state: RunState, seconds: float) -> Drive:
    plan = LogPlan.make(model(), None, SAMPLE_S)
    here, v = np.array([0.0, 0.0, -0.5]), np.zeros(3)
    places, rows = [], []
    for _ in range(round(seconds / SAMPLE_S)):
        log = advance(state, 1, inputs={"p_NB_N": here.tolist(), "v_NB_N": v.tolist()}, plan=plan)
        assert log is not None
        row = {path.partition(".")[2]: log[path][0] for path in log.signals}
        places.append(here)
        rows.append(row)
        nearest = row["position_set"]
        v = np.array([*row["tangent_set"], 0.0]) * row["speed_set"]
        here = np.array([*nearest[:2], here[2]]) + v * SAMPLE_S
    return Drive(np.array(places), {name: np.array([row[name] for row in rows]) for name in rows[0]})


def at(state: RunState, north: float, east: float) -> dict[str, np.ndarray]:
    plan = LogPlan.make(model(), None, SAMPLE_S)
    log = advance(state.branch(), 1, inputs={"p_NB_N": [north, east, -0.5], "v_NB_N": 0.0}, plan=plan)
    assert log is not None
    return {path.partition(".")[2]: log[path][0] for path in log.signals}


def test_nearest_point_of_a_leg_is_the_foot_of_the_perpendicular() -> None:
    found = at(mission((30.0, 40.0, 0.0)), 10.0 + 0.8, 40 / 3 - 0.6)  # 1 m to the left of the point at 16.7 m

    np.testing.assert_allclose(found["position_set"], [10.0, 40 / 3, -0.5], atol=1e-12)
    np.testing.assert_allclose(found["tangent_set"], [0.6, 0.8], atol=1e-12)
    assert found["curvature_set"] == 0.0 and abs(found["yaw_set"] - math.atan2(4, 3)) < 1e-12


def test_corners_are_arcs_that_touch_both_legs() -> None:
    drive = follow(mission((40.0, 0.0, 0.0), (40.0, 40.0, 0.0)), 16.0)

    bent = drive.out["curvature_set"] != 0
    np.testing.assert_allclose(drive.out["curvature_set"][bent], 1 / RADIUS, rtol=1e-12)
    centre = np.array([40 - RADIUS, RADIUS])
    distance = np.linalg.norm(drive.out["position_set"][bent][:, :2] - centre, axis=1)
    np.testing.assert_allclose(distance, RADIUS, rtol=1e-12)
    length = bent.sum() * SAMPLE_S * math.sqrt(LATERAL * RADIUS)
    assert abs(length / (RADIUS * math.pi / 2) - 1) < 0.05  # driven at the speed of the arc; one sample is 3 %
    # The path is smooth: nearest points of two samples are never further apart than the way between them
    steps = np.linalg.norm(np.diff(drive.out["position_set"][:, :2], axis=0), axis=1)
    assert steps.max() < CRUISE * SAMPLE_S * 1.05


def test_turns_to_the_left_mirror_those_to_the_right() -> None:
    right = follow(mission((30.0, 0.0, 0.0), (5.0, 20.0, 0.0)), 14.0)
    left = follow(mission((30.0, 0.0, 0.0), (5.0, -20.0, 0.0)), 14.0)

    np.testing.assert_allclose(left.p, right.p * [1, -1, 1], atol=1e-9)
    np.testing.assert_allclose(left.out["curvature_set"], -right.out["curvature_set"], atol=1e-12)


def test_speed_keeps_all_its_limits() -> None:
    drive = follow(mission((60.0, 0.0, 0.0), (60.0, 60.0, 0.0)), 40.0)

    speed, bent = drive.out["speed_set"], drive.out["curvature_set"] != 0
    assert speed.max() <= CRUISE + 1e-9 and abs(speed.max() - CRUISE) < 0.05
    assert (speed[bent] ** 2 / RADIUS).max() < LATERAL * 1.1  # a sample late at the entry of the arc
    change = np.diff(speed) / SAMPLE_S
    assert change.max() <= GAIN + 1e-9 and change[speed[1:] > 1.0].min() > -1.5 * GAIN


def test_mission_holds_where_asked_and_ends_at_the_last_item() -> None:
    drive = follow(mission((20.0, 0.0, 2.0), (20.0, 15.0, 0.0)), 40.0)

    mode, item = drive.out["mode"], drive.out["item"]
    held = np.flatnonzero(mode == HOLD)
    assert 1.9 < np.sum(mode[: held[0] + 150] == HOLD) * SAMPLE_S < 2.1
    assert np.linalg.norm(drive.p[held[0]][:2] - [20, 0]) < ARRIVED
    assert list(np.unique(item)) == [0.0, 1.0]
    assert drive.out["done"][-1] == 1.0 and drive.out["armed"][-1] == 0.0 and mode[-1] == DISARMED
    assert np.linalg.norm(drive.p[-1][:2] - [20, 15]) < ARRIVED
    assert set(mode) == {DISARMED, HOLD, MISSION}


def test_short_legs_get_tighter_arcs() -> None:
    found = follow(mission((6.0, 0.0, 0.0), (6.0, 30.0, 0.0)), 8.0).out["curvature_set"]

    np.testing.assert_allclose(found[found != 0], 1 / (0.45 * 6.0), rtol=1e-12)  # a corner takes 45 % of a leg


def test_off_the_path_it_comes_back_slowly() -> None:
    state = mission((200.0, 0.0, 0.0))
    plan = LogPlan.make(model(), None, SAMPLE_S)
    log = advance(state, 500, inputs={"p_NB_N": [20.0, 5.0, 0], "v_NB_N": [3.0, 0, 0]}, plan=plan)
    assert log is not None
    assert abs(log["block.speed_set"][-1] - 0.4 * math.sqrt(LATERAL * RADIUS)) < 1e-9


def test_without_a_place_to_go_it_stands() -> None:
    drive = follow(mission((0.0, 0.0, 1e9)), 2.0)
    assert not np.any(drive.out["speed_set"]) and not np.any(drive.out["done"])
    assert np.all(np.isfinite(drive.out["tangent_set"]))
