"""The navigator: legs with limited speed and acceleration, holds, landing, modes and failsafes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import (
    DESCEND,
    DISARMED,
    FLY,
    HOLD,
    LAND,
    LANDING,
    MISSION,
    OFFBOARD,
    RETURN,
    TAKE_OFF,
    TERMINATED,
)
from ironbird.blocks.controllers.navigator import BLIND, BY_VELOCITY, PRESS, Navigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.testing.alone import alone

SAMPLE_S = 0.02
CRUISE, ACCELERATION, SINK = 5.0, 2.0, 0.7
LEVEL = np.eye(3).flatten(order="F")
HERE = [[0.0, 0.0, -10.0, 0.0, 1e6, FLY]]


@functools.cache
def model() -> CompiledModel:
    return alone(
        Navigator(4, sample_s=SAMPLE_S), step_s=SAMPLE_S, count=1.0, cruise_speed=CRUISE, acceleration=ACCELERATION,
        landing_speed=SINK,
    )  # fmt: skip


def mission(items: list[list[float]], *, flying: bool = True, **params: Any) -> RunState:
    """Items as north, east, down, yaw, hold, kind; a flying vehicle is in its mission already, at the origin."""
    table = np.zeros((6, 4))
    table[:, : len(items)] = np.array(items).T
    values = {"table": table, "count": float(len(items)), **params}
    state = start(model(), params={f"block.{name}": value for name, value in values.items()})
    if flying:
        state.set_state("block.now", float(MISSION))
        state.set_state("block.asked", float(MISSION))
    return state


def follow(state: RunState, until_s: float, *, ground_z: float = math.inf, **inputs: Any) -> dict[str, np.ndarray]:
    """Run with a vehicle that is always at the set-point, but not below the ground."""
    plan = LogPlan.make(model(), None, SAMPLE_S)
    states = ("point", "index", "off", "finished", "now")
    rows: dict[str, list[np.ndarray]] = {"time": []}
    before = state.get("block.point")
    while state.time_s < until_s - 1e-9:
        at = state.get("block.point")
        at[2] = min(at[2], ground_z)
        values = {"p_NB_N": at, "v_NB_N": (at - before) / SAMPLE_S, "R_NB": LEVEL, **inputs}
        log = advance(state, 1, inputs=values, plan=plan)
        assert log is not None
        before = at
        rows["time"].append(np.array(state.time_s))
        for name in states:
            rows.setdefault(name, []).append(state.get(f"block.{name}"))
        for path in log.signals:
            rows.setdefault(path.partition(".")[2], []).append(log[path][0])
    return {name: np.squeeze(np.array(values)) for name, values in rows.items()}


# ---------------------------------------------------------------------- legs


def test_leg_takes_the_time_of_a_trapezoid_of_speed() -> None:
    leg = [30.0, 40.0, 0.0]  # 50 m
    rows = follow(mission([[*leg, 0.0, 0.0, FLY], [*leg, 0.0, 1e3, FLY]]), 20.0)

    arrival = rows["time"][np.argmax(rows["index"] == 1)]
    trapezoid = 50.0 / CRUISE + CRUISE / ACCELERATION
    last = math.sqrt(2 * 0.05 / ACCELERATION)  # the item is reached 5 cm before the end
    assert abs(arrival - (trapezoid - last)) < 1.5 * SAMPLE_S


def test_point_keeps_to_the_line_the_speed_and_the_acceleration() -> None:
    leg = np.array([30.0, 40.0, 0.0])
    rows = follow(mission([[*leg, 0.0, 1e3, FLY]]), 15.0)

    along = rows["point"] @ leg / 50.0
    np.testing.assert_allclose(rows["point"], np.outer(along / 50.0, leg), rtol=0, atol=1e-12)  # m: on the line
    speed = np.diff(np.concatenate([[0.0], along])) / SAMPLE_S
    assert speed.max() <= CRUISE * (1 + 1e-12)
    assert np.diff(speed).max() <= ACCELERATION * SAMPLE_S * (1 + 1e-9)  # speeding up
    moving = speed[1:] > 0.5
    assert np.diff(speed)[moving].min() >= -1.05 * ACCELERATION * SAMPLE_S  # slowing down: the root law, sampled
    assert abs(along[-1] - 50.0) < 1e-9


def test_velocity_set_is_how_the_point_moves() -> None:
    rows = follow(mission([[30.0, 40.0, 0.0, 0.0, 1e3, FLY]]), 5.0)

    moved = np.diff(rows["position_set"], axis=0) / SAMPLE_S
    np.testing.assert_allclose(rows["velocity_set"][1:], moved, rtol=0, atol=1e-12)


def test_hold_time_is_waited_for_before_the_next_item() -> None:
    rows = follow(mission([[0.0, 0.0, -1.0, 0.0, 3.0, FLY], [0.0, 0.0, -1.0, 0.0, 1e3, FLY]]), 10.0)

    there = rows["time"][np.argmax(np.abs(rows["point"][:, 2] + 1.0) < 0.05)]
    switched = rows["time"][np.argmax(rows["index"] == 1)]
    assert abs(switched - there - 3.0) < 2.5 * SAMPLE_S


def test_item_is_not_reached_while_the_vehicle_is_away() -> None:
    state = mission([[10.0, 0.0, 0.0, 0.0, 0.0, FLY], [0.0, 0.0, 0.0, 0.0, 0.0, FLY]])
    advance(state, 1000, inputs={"p_NB_N": [8.9, 0.0, 0.0], "R_NB": LEVEL})  # type: ignore[dict-item]
    assert state.get("block.index")[0] == 0.0  # 1.1 m short, for 20 s
    np.testing.assert_allclose(state.get("block.point"), [10.0, 0.0, 0.0], rtol=0, atol=1e-9)

    advance(state, 2, inputs={"p_NB_N": [9.1, 0.0, 0.0]})  # 0.9 m counts as there
    assert state.get("block.index")[0] == 1.0


@pytest.mark.parametrize("count", [1, 3])
def test_last_item_finishes_and_no_further_one_begins(count: int) -> None:
    rows = follow(mission([[float(i), 0.0, 0.0, 0.0, 0.0, FLY] for i in range(count)]), 10.0)

    assert rows["finished"][-1] == 1.0
    assert rows["index"][-1] == count - 1


def test_landing_lowers_the_point_disarms_on_the_ground_and_finishes() -> None:
    rows = follow(mission([[0.0, 0.0, -5.0, 0.0, 0.0, FLY], [0.0, 0.0, 0.0, 0.0, 0.0, LAND]]), 30.0, ground_z=-0.12)

    landing = (rows["index"] == 1) & (rows["off"] == 0)
    sink = np.diff(rows["point"][landing][:, 2]) / SAMPLE_S
    assert np.median(sink) == pytest.approx(SINK)
    assert sink.max() <= PRESS * SINK * (1 + 1e-9)  # faster as long as the vehicle does not sink
    touched = rows["time"][landing][np.argmax(rows["point"][landing][:, 2] > -0.12)]
    disarmed = rows["time"][np.argmax(rows["off"] == 1)]
    # the point leads by up to 1 m (90 % count), then one second of standing
    assert 1.0 < disarmed - touched < 1.0 + 1.0 / SINK + 0.2
    assert rows["finished"][-1] == 1.0
    assert rows["armed"][-1] == 0.0
    first_grounded = rows["time"][np.argmax(rows["grounded"] == 1)]
    assert touched < first_grounded < disarmed  # the motors idle while it stands


# ---------------------------------------------------------------------- modes


def test_mission_from_the_ground_begins_with_a_take_off() -> None:
    rows = follow(mission(HERE, flying=False), 20.0)

    order = [int(m) for i, m in enumerate(rows["now"]) if i == 0 or m != rows["now"][i - 1]]
    assert order == [TAKE_OFF, MISSION]
    climbed = rows["point"][np.argmax(rows["now"] == MISSION), 2]
    assert abs(climbed + 10.0) < 0.06  # m: 10 if not set
    assert np.all(rows["armed"][1:] == 1.0)


def test_vehicle_does_not_arm_before_its_time_or_with_a_failed_estimator() -> None:
    early = follow(mission(HERE, flying=False, arm_time=3.0), 2.9)
    failed = follow(mission(HERE, flying=False), 5.0, healthy=0.0)

    for rows in (early, failed):
        assert np.all(rows["now"] == DISARMED)
        assert np.all(rows["armed"] == 0.0)


def test_return_climbs_flies_home_and_lands() -> None:
    state = mission([[40.0, 0.0, -5.0, 0.0, 1e6, FLY]], return_height=15.0)
    follow(state, 15.0)
    rows = follow(state, 90.0, ground_z=-0.1, command=float(RETURN))

    away = np.linalg.norm(rows["point"][:, :2], axis=1)
    moving_home = (away < 35) & (away > 5) & (rows["now"] == RETURN)
    assert np.all(rows["point"][moving_home][:, 2] < -14.4)  # m: it climbed first
    order = [int(m) for i, m in enumerate(rows["now"]) if i == 0 or m != rows["now"][i - 1]]
    assert order == [RETURN, LANDING, DISARMED]
    assert away[-1] < 1.0
    assert rows["landed"][-1] == 1.0


def test_hold_stops_where_it_is() -> None:
    state = mission([[100.0, 0.0, 0.0, 0.0, 0.0, FLY]])
    follow(state, 5.0)
    where = state.get("block.point")
    rows = follow(state, 15.0, command=float(HOLD))

    assert np.all(rows["now"] == HOLD)
    assert np.linalg.norm(rows["point"][-1] - where) < 0.2  # m: one sample at speed and back


def test_offboard_set_points_are_passed_on() -> None:
    state = mission(HERE)
    rows = follow(
        state, 2.0, command=float(OFFBOARD), offboard_kind=1.0, offboard_velocity=[1.0, 2.0, -0.5], offboard_yaw=0.7
    )

    assert rows["control_kind"][-1] == 1.0
    np.testing.assert_array_equal(rows["velocity_set"][-1], [1.0, 2.0, -0.5])
    assert rows["yaw_set"][-1] == 0.7


# ---------------------------------------------------------------------- failsafes


@pytest.mark.parametrize(
    ("inputs", "params", "mode"),
    [
        ({"battery_remaining": 0.19}, {}, RETURN),
        ({"battery_remaining": 0.09}, {}, LANDING),
        ({"gnss_age": 3.1}, {}, DESCEND),
        ({"healthy": 0.0}, {}, DESCEND),
        ({"link_stamp": 0.0}, {}, RETURN),  # silent since time zero
        ({}, {"fence_height": 5.0}, RETURN),
        ({"R_NB": np.diag([1.0, -1.0, -1.0]).flatten(order="F")}, {"tilt_time": 0.5}, TERMINATED),
    ],
)
def test_failsafe_leads_to_its_mode(inputs: dict[str, Any], params: dict[str, Any], mode: int) -> None:
    state = mission([[50.0, 0.0, -10.0, 0.0, 1e6, FLY]])
    follow(state, 20.0)  # far from home
    assert state.get("block.now")[0] == MISSION
    for name, value in params.items():
        state.set_param(f"block.{name}", value)
    rows = follow(state, 23.0, **inputs)

    assert mode in rows["now"]
    assert rows["failsafe"].max() == 1.0


def test_stronger_failsafe_goes_before_a_gentler_one() -> None:
    state = mission([[50.0, 0.0, -10.0, 0.0, 1e6, FLY]])
    follow(state, 20.0)
    follow(state, 21.0, battery_remaining=0.15)
    assert state.get("block.now")[0] == RETURN
    follow(state, 22.0, battery_remaining=0.15, gnss_age=5.0)
    assert state.get("block.now")[0] == DESCEND


def test_a_battery_that_was_low_stays_so_when_its_voltage_recovers_and_a_fix_that_came_back_is_good() -> None:
    state = mission([[50.0, 0.0, -10.0, 0.0, 1e6, FLY]])
    follow(state, 20.0)
    low = follow(state, 21.0, battery_remaining=0.15, gnss_age=5.0)["failsafe"][-1]
    np.testing.assert_array_equal(low[:2], [1.0, 1.0])

    after = follow(state, 22.0, battery_remaining=0.5, gnss_age=0.0)["failsafe"][-1]  # the load fell, the fix came back

    np.testing.assert_array_equal(after[:2], [1.0, 0.0])


def test_descent_without_position_brakes_and_then_sinks_level_at_its_speed() -> None:
    state = mission(HERE, descent_speed=0.8)
    follow(state, 1.0)
    rows = follow(state, 3.0, gnss_age=5.0, v_NB_N=[0.0, 0.0, 0.8])
    assert rows["control_kind"][-1] == BY_VELOCITY  # dead reckoning still good
    rows = follow(state, 4.0, gnss_age=6.0, healthy=0.0, v_NB_N=[0.0, 0.0, 0.8])

    assert rows["control_kind"][-1] == BLIND
    np.testing.assert_array_equal(rows["velocity_set"][-1], [0.0, 0.0, 0.8])


def test_descent_in_which_the_position_is_believed_again_becomes_a_landing() -> None:
    state = mission(HERE)
    follow(state, 1.0)
    sinks = [0.0, 0.0, 0.8]
    follow(state, 2.0, gnss_age=5.0, v_NB_N=sinks)
    assert state.get("block.now")[0] == DESCEND
    follow(state, 3.5, gnss_age=0.1, v_NB_N=sinks)
    assert state.get("block.now")[0] == DESCEND  # not at the first good fix
    follow(state, 5.0, gnss_age=0.1, v_NB_N=sinks)

    assert state.get("block.now")[0] == LANDING


def test_return_stays_below_the_height_limit() -> None:
    state = mission([[50.0, 0.0, -10.0, 0.0, 1e6, FLY]], fence_height=12.0, return_height=15.0)
    follow(state, 15.0)
    rows = follow(state, 25.0, battery_remaining=0.15)

    assert rows["now"][-1] == RETURN and -rows["point"][:, 2].min() <= 10.0 + 1e-6  # 2 m below the limit


def test_blind_descent_ends_by_the_sink_rate_that_can_be_believed() -> None:
    state = mission(HERE)
    follow(state, 1.0)
    falling: dict[str, Any] = {
        "gnss_age": 6.0,
        "healthy": 0.0,
        "v_NB_N": [0.0, 0.0, 30.0],
    }  # so says an estimate that is lost
    follow(state, 3.0, **falling, sink_rate=1.0)
    assert state.get("block.now")[0] == DESCEND
    follow(state, 6.0, **falling, sink_rate=0.02)

    assert state.get("block.now")[0] == DISARMED


def test_terminated_vehicle_is_disarmed_for_good() -> None:
    state = mission(HERE, tilt_time=0.1)
    upside_down = np.diag([1.0, -1.0, -1.0]).flatten(order="F")
    follow(state, 1.0, R_NB=upside_down)
    rows = follow(state, 3.0, command=float(MISSION))

    assert np.all(rows["armed"] == 0.0)
