"""Clearance: the distance, what counts as a collision, how fast it was, and what breaks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.monitors.clearance import Clearance
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.symbolic import shapes
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

SAMPLE_S = 0.005
PARAMS: dict[str, Any] = {"radius": 0.2, "centres": [[0.3, -0.3], [0.0, 0.0], [0.0, 0.0]]}


@functools.cache
def model() -> CompiledModel:
    return alone(Clearance(2, 1, sample_s=SAMPLE_S), step_s=SAMPLE_S, **PARAMS)


def ball(landing: float = 0.0) -> np.ndarray:
    """A ball of 1 m, 10 m north."""
    column = np.zeros(shapes.SLOT_ROWS)
    column[shapes.KIND], column[shapes.CENTRE], column[shapes.HALF] = shapes.BALL, 10.0, 1.0
    column[shapes.AXES : shapes.AXES + 9] = np.eye(3).flatten()
    column[shapes.LANDING] = landing
    return column


def feed(state: RunState, north: float, speed: float, **more: object) -> dict[str, float]:
    plan = LogPlan.make(model(), None, SAMPLE_S)
    inputs = {
        "p_NB_N": [north, 0.0, 0.0], "v_NB_N": [speed, 0.0, 0.0], "R_NB": np.eye(3).flatten(), "slots": ball(), **more
    }  # fmt: skip
    log = advance(state, 1, inputs=inputs, plan=plan)  # type: ignore[arg-type]
    assert log is not None
    return {path.partition(".")[2]: float(np.ravel(log[path][-1])[0]) for path in log.signals}


def test_check_block() -> None:
    check_block(Clearance(2, 1, sample_s=SAMPLE_S), params=PARAMS)


def test_the_distance_is_that_of_the_nearest_ball_of_the_hull() -> None:
    seen = feed(start(model()), 5.0, 0.0)

    assert seen["min_distance"] == pytest.approx(10.0 - 1.0 - 5.0 - 0.3 - 0.2)
    assert seen["near"] == 0.0 and seen["collision"] == 0.0


def test_the_other_vehicles_count_too() -> None:
    assert feed(start(model()), 5.0, 0.0, others_distance=1.25)["min_distance"] == 1.25
    assert feed(start(model()), 5.0, 0.0, others_hit=0.5)["collision"] == 1.0


@pytest.mark.parametrize(
    ("landing", "speed", "stop_speed", "collides"),
    [(0.0, 0.5, 0.0, 1.0), (0.0, 0.5, 1.0, 0.0), (1.0, 0.5, 0.0, 0.0), (1.0, 3.5, 0.0, 1.0)],
)
def test_a_touch_is_a_collision_unless_it_is_soft_enough(
    landing: float, speed: float, stop_speed: float, collides: float
) -> None:
    state = start(model(), params={"block.stop_speed": stop_speed})
    feed(state, 8.4, speed, slots=ball(landing))

    seen = feed(state, 8.6, speed, slots=ball(landing))

    assert seen["min_distance"] == pytest.approx(-0.1) and seen["near"] == 1.0
    assert seen["impact_speed"] == pytest.approx(speed)
    assert seen["collision"] == collides


def test_it_breaks_above_the_speed_that_breaks_and_stays_broken() -> None:
    state = start(model(), params={"block.damage_speed": 2.0})
    feed(state, 8.4, 1.5)
    assert feed(state, 8.6, 1.5)["broken"] == 0.0
    feed(state, 8.0, -1.0)
    feed(state, 8.4, 2.5)
    assert feed(state, 8.6, 2.5)["broken"] == 1.0

    assert feed(state, 5.0, 0.0)["broken"] == 1.0
