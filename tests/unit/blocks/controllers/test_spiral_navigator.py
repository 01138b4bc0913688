"""The spiral as a mission item: the published curve, what follows it, and what ends it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import FLY, HOLD, LAND, MISSION, SPIRAL
from ironbird.blocks.controllers.spiral_navigator import SpiralNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

SAMPLE_S = 0.02
START = np.array([2.0, 0.0, -0.5])
RADIUS, TURNS, CLIMB, DURATION_S = 5.0, 3.0, 10.0, 60.0
FIXED: dict[str, Any] = {"count": 1.0, "cruise_speed": 2.0, "acceleration": 1.0}
NORTH, EAST, DOWN = range(3)


@functools.cache
def model() -> CompiledModel:
    return alone(
        SpiralNavigator(4, sample_s=SAMPLE_S), step_s=SAMPLE_S, spiral_radius=RADIUS, spiral_turns=TURNS,
        spiral_climb=CLIMB, **FIXED,
    )  # fmt: skip


def test_block_passes_the_public_check() -> None:
    check_block(SpiralNavigator(4, sample_s=SAMPLE_S), params=FIXED, step_s=SAMPLE_S)


def prepared(items: list[list[float]]) -> RunState:
    """In the mission already, at the start of the spiral."""
    table = np.zeros((6, 4))
    table[:, : len(items)] = np.array(items).T
    state = start(model(), params={"block.table": table.tolist(), "block.count": float(len(items))})
    states: dict[str, Any] = {"now": MISSION, "asked": MISSION, "point": START}
    for name, value in states.items():
        state.set_state(f"block.{name}", value)
    return state


def follow(state: RunState, until_s: float, command: float = MISSION) -> dict[str, np.ndarray]:
    """With a vehicle that is always at the set-point of the sample before."""
    plan = LogPlan.make(model(), None, SAMPLE_S)
    rows: dict[str, list[np.ndarray]] = {}
    at = START
    level = np.eye(3).flatten(order="F")
    while state.time_s < until_s - 1e-9:
        inputs: dict[str, Any] = {"p_NB_N": at, "v_NB_N": [0.0, 0.0, 0.5], "R_NB": level, "command": command}
        log = advance(state, 1, inputs=inputs, plan=plan)
        assert log is not None
        for path in log.signals:
            rows.setdefault(path.partition(".")[2], []).append(log[path][0])
        at = rows["position_set"][-1]
    return {name: np.squeeze(np.array(values)) for name, values in rows.items()}


def published(t: np.ndarray) -> np.ndarray:
    """[ProVANT] Eq. 1 in its axes north-west-up."""
    w = 2 * TURNS * np.pi / DURATION_S
    x, y, z = RADIUS * np.cos(w * t) - RADIUS + 2.0, RADIUS * np.sin(w * t), CLIMB * t / DURATION_S + 0.5
    return np.column_stack([x, y, z])


def test_point_runs_along_the_published_curve_and_then_on_with_the_mission() -> None:
    rows = follow(prepared([[*START, 0.0, DURATION_S, SPIRAL], [2.0, 0.0, -4.0, 0.0, 1e3, FLY]]), 66.0)

    moving = np.flatnonzero(np.linalg.norm(rows["velocity_set"], axis=1) > 1)
    t = SAMPLE_S * (1 + np.arange(2990))
    path = rows["position_set"][moving[0] : moving[0] + 2990] * [1, -1, -1]
    np.testing.assert_allclose(path, published(t), rtol=0, atol=1e-9)
    speed = rows["velocity_set"][moving[0] : moving[0] + 2990] * [1, -1, -1]
    slope = (published(t + 1e-5) - published(t - 1e-5)) / 2e-5
    np.testing.assert_allclose(speed, slope, rtol=0, atol=1e-7)
    # No jump at the end, and down to the next item
    assert np.abs(np.diff(rows["position_set"], axis=0)).max() < 0.04
    assert rows["position_set"][3010, DOWN] < -10.3 and rows["position_set"][-1, DOWN] > -4.5
    assert rows["item"][2990] == 0 and rows["item"][3010] == 1


@pytest.mark.parametrize("items", [1, 2])
def test_spiral_alone_ends_the_mission_and_a_landing_follows_it(items: int) -> None:
    rows = follow(prepared([[*START, 0.0, 10.0, SPIRAL], [0.0, 0.0, 0.0, 0.0, 0.0, LAND]][:items]), 12.0)

    assert rows["done"][-1] == (1.0 if items == 1 else 0.0)
    if items == 2:
        assert np.diff(rows["position_set"][-20:, DOWN]).min() > 0  # on the way down


def test_hold_ends_the_spiral_where_it_is() -> None:
    state = prepared([[*START, 0.0, DURATION_S, SPIRAL]])
    before = follow(state, 10.0)["position_set"][-1]

    after = follow(state, 20.0, command=HOLD)

    np.testing.assert_allclose(after["position_set"][5:] - before, 0, atol=0.1)
    assert np.abs(after["velocity_set"][5:]).max() == 0
