"""The crash detector: each criterion on its own, and none in a soft landing."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.testing.alone import alone

SAMPLE_S = 0.01
LEVEL = np.eye(3).flatten(order="F")


@functools.cache
def model() -> CompiledModel:
    return alone(
        CrashDetector(sample_s=SAMPLE_S), step_s=SAMPLE_S, max_impact=3.0, max_ground_tilt=math.radians(60),
        max_distance=100.0,
    )  # fmt: skip


def feed(state: RunState, samples: int = 1, **inputs: object) -> dict[str, float]:
    """Run some samples with these inputs; the last outputs come back."""
    values = {"R_NB": LEVEL, **inputs}
    plan = LogPlan.make(model(), None, SAMPLE_S)
    log = advance(state, samples, inputs=values, plan=plan)  # type: ignore[arg-type]
    assert log is not None
    return {path.partition(".")[2]: float(log[path][-1]) for path in log.signals}


@pytest.mark.parametrize(("speed", "crash"), [(2.99, 0.0), (3.01, 1.0)])
def test_touch_down_faster_than_the_limit_is_a_crash(speed: float, crash: float) -> None:
    state = start(model())
    feed(state, 5, v_NB_N=[0.0, 0.0, speed], load=0.0)
    found = feed(state, 1, v_NB_N=[0.0, 0.0, 0.5], load=20.0)  # the gear has already slowed it down

    assert found["impact_speed"] == pytest.approx(speed, rel=1e-15)
    assert found["hard_landing"] == crash
    assert feed(state, 50, v_NB_N=[0.0, 0.0, 0.0], load=14.0)["hard_landing"] == crash  # it stays


def test_speed_over_ground_counts_too() -> None:
    state = start(model())
    feed(state, 2, v_NB_N=[2.5, 0.0, 2.0], load=0.0)

    assert feed(state, 1, v_NB_N=[2.0, 0.0, 0.0], load=20.0)["impact_speed"] == pytest.approx(math.hypot(2.5, 2.0))


def test_each_touch_is_judged_anew() -> None:
    state = start(model())
    feed(state, 2, v_NB_N=[0.0, 0.0, 1.0], load=0.0)
    assert feed(state, 1, load=10.0)["impact_speed"] == pytest.approx(1.0)
    feed(state, 3, v_NB_N=[0.0, 0.0, 0.4], load=0.0)  # a bounce
    assert feed(state, 1, load=10.0)["impact_speed"] == pytest.approx(0.4)


def test_vehicle_that_starts_on_the_ground_has_not_hit_it() -> None:
    found = feed(start(model()), 3, v_NB_N=[0.0, 0.0, 0.0], load=14.0)

    assert found["impact_speed"] == 0.0
    assert found["hard_landing"] == 0.0


@pytest.mark.parametrize(("tilt_deg", "load", "crash"), [(59.0, 10.0, 0.0), (61.0, 10.0, 1.0), (170.0, 0.0, 0.0)])
def test_steep_tilt_is_a_crash_on_the_ground_only(tilt_deg: float, load: float, crash: float) -> None:
    R = Rotation.from_rotvec(math.radians(tilt_deg) * np.array([0.6, 0.8, 0.0])).as_matrix().flatten(order="F")
    found = feed(start(model()), 1, R_NB=R, load=load)

    assert found["rollover"] == crash


@pytest.mark.parametrize(("distance", "out"), [(99.9, 0.0), (100.1, 1.0)])
def test_distance_from_the_take_off_point_is_bounded_in_all_directions(distance: float, out: float) -> None:
    for way in ([1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [-0.6, 0.64, 0.48]):
        found = feed(start(model()), 1, p_NB_N=distance * np.array(way), load=0.0)
        assert found["out_of_bounds"] == out
