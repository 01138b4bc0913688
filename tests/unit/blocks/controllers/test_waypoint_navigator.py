"""The navigator: limits of speed and acceleration, arrival, hold, order of the items, landing."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.waypoint_navigator import FLY, LAND, WaypointNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.testing.rig import alone

SAMPLE_S = 0.02
CRUISE, ACCELERATION, SINK = 5.0, 2.0, 0.7


@functools.cache
def model() -> CompiledModel:
    return alone(
        WaypointNavigator(4, sample_s=SAMPLE_S), step_s=SAMPLE_S, count=1.0, cruise_speed=CRUISE,
        acceleration=ACCELERATION, landing_speed=SINK,
    )  # fmt: skip


def mission(items: list[list[float]]) -> RunState:
    """Items as north, east, down, yaw, hold, kind."""
    table = np.zeros((6, 4))
    table[:, : len(items)] = np.array(items).T
    return start(model(), params={"block.table": table, "block.count": float(len(items))})  # type: ignore[dict-item]


def follow(state: RunState, until_s: float, ground_z: float = math.inf) -> dict[str, np.ndarray]:
    """Run with a vehicle that is always at the set-point, but not below the ground."""
    rows: dict[str, list[np.ndarray]] = {"time": [], "point": [], "index": [], "off": [], "finished": []}
    before = state.get("block.point")
    while state.time_s < until_s - 1e-9:
        at = state.get("block.point")
        at[2] = min(at[2], ground_z)
        advance(state, 1, inputs={"p_NB_N": at, "v_NB_N": (at - before) / SAMPLE_S})  # type: ignore[dict-item]
        before = at
        rows["time"].append(np.array(state.time_s))
        for name in ("point", "index", "off", "finished"):
            rows[name].append(state.get(f"block.{name}"))
    return {name: np.squeeze(np.array(values)) for name, values in rows.items()}


def test_leg_takes_the_time_of_a_trapezoid_of_speed() -> None:
    leg = np.array([30.0, 40.0, 0.0])  # 50 m
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


def test_hold_time_is_waited_for_before_the_next_item() -> None:
    rows = follow(mission([[0.0, 0.0, -1.0, 0.0, 3.0, FLY], [0.0, 0.0, -1.0, 0.0, 1e3, FLY]]), 10.0)

    there = rows["time"][np.argmax(np.abs(rows["point"][:, 2] + 1.0) < 0.05)]
    switched = rows["time"][np.argmax(rows["index"] == 1)]
    assert abs(switched - there - 3.0) < 2.5 * SAMPLE_S


def test_item_is_not_reached_while_the_vehicle_is_away() -> None:
    state = mission([[10.0, 0.0, 0.0, 0.0, 0.0, FLY], [0.0, 0.0, 0.0, 0.0, 0.0, FLY]])
    advance(state, 1000, inputs={"p_NB_N": [8.9, 0.0, 0.0]})  # 1.1 m short, for 20 s
    assert state.get("block.index")[0] == 0.0
    np.testing.assert_allclose(state.get("block.point"), [10.0, 0.0, 0.0], rtol=0, atol=1e-9)

    advance(state, 2, inputs={"p_NB_N": [9.1, 0.0, 0.0]})  # 0.9 m counts as there
    assert state.get("block.index")[0] == 1.0


def test_landing_lowers_the_point_disarms_on_the_ground_and_finishes() -> None:
    rows = follow(mission([[0.0, 0.0, -5.0, 0.0, 0.0, FLY], [0.0, 0.0, 0.0, 0.0, 0.0, LAND]]), 30.0, ground_z=-0.12)

    landing = (rows["index"] == 1) & (rows["off"] == 0)
    sink = np.diff(rows["point"][landing][:, 2]) / SAMPLE_S
    assert sink.max() <= SINK * (1 + 1e-9)
    touched = rows["time"][landing][np.argmax(rows["point"][landing][:, 2] > -0.12)]
    disarmed = rows["time"][np.argmax(rows["off"] == 1)]
    # the point leads by up to 1 m (90 % count), then one second of standing
    assert 1.0 < disarmed - touched < 1.0 + 1.0 / SINK + 0.2
    assert rows["finished"][-1] == 1.0
    assert rows["point"][:, 2].max() <= -0.12 + 1.0 + 1e-9  # never far below the vehicle


@pytest.mark.parametrize("count", [1, 3])
def test_last_item_finishes_and_no_further_one_begins(count: int) -> None:
    rows = follow(mission([[float(i), 0.0, 0.0, 0.0, 0.0, FLY] for i in range(count)]), 10.0)

    assert rows["finished"][-1] == 1.0
    assert rows["index"][-1] == count - 1
