"""Many lanes are judged in native code, from the log as it is, with the bits of each flight judged alone."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.conditions.formula import parse_formula
from ironbird.flight.derived import DERIVED, make_trace, names_of
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of
from ironbird.requirements.lane_margins import DEEPEST, margins_of_lanes
from ironbird.requirements.robustness import robustness
from ironbird.requirements.score import CHANNELS, VELOCITIES, assess
from ironbird.requirements.trace import Trace
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import Stop

MODEL = model_of(make_order("quad_f450", control="truth"))
NAMES = names_of(MODEL)
PATHS = ["body.p_NB_N", "body.v_NB_N", "body.euler", "body.w_NB_B", "navigator.*"]
STEP_S = 0.02
NATIVE = (
    "always (depth < 3 m)",
    "always (distance <= 2 m and height <= 1.5 m)",
    "always[0.4, 1.1] (tilt < 40 deg)",
    "always[0.5, end] (position_error < 2 m)",
    "always[end - 0.3 s, end] (speed < 1 m/s)",
    "eventually[0.1, 0.7] (climb > 0.5 m/s)",
    "eventually[end - 0.2 s, end] (abs(body.p_NB_N[0]) < 0.1 m)",
    "always (crashed == 0)",
    "eventually (completed == 1)",
    "always (crashed == 1 implies time > 1 s)",
    "always (fault_active == 1 implies height > -1 m)",
    "always (fault_active == 0 or crashed == 0)",
    "always (time < 0.5 s or not (rate > 1 rad/s))",
    "always (truth(height > 0 m) or height > 1 m)",
    "always (height == 1 m within 0.8 m)",
    "eventually (height != 1 m within 0.1 m)",
    "always (mode != land)",
    "always (min(height, 2 m, climb * 1 s) > -3 m)",
    "always (max(height, 0 m) / 2 < 1 m)",
    "always (sqrt(height / 1 m) < 2)",
    "always (sin(body.euler[2]) < 0.9 and -body.euler[0] < 1 rad)",
    "always[5, 9] (height > 100 m)",
)
LEFT_TO_NUMPY = (
    "always (rise(height > 1 m) implies eventually[0, 0.2] (height > 1.2 m))",
    "height < 2 m until climb > 0 m/s",
    "(always (height < 2 m)) and (always (distance < 2 m))",
    "historically (height < 2 m)",
)


def flown(lanes: int, count: int = 75, seed: int = 0) -> Trace:
    """Wild flights as the kernel would have logged them: early ends, values that are not numbers, garbage behind."""
    random = np.random.default_rng(seed)
    plan = LogPlan.make(MODEL, PATHS, STEP_S)
    blocks = -(-lanes // 8)
    data = np.cumsum(random.normal(scale=0.2, size=(blocks, count, len(plan.index), 8)), axis=1)
    data[:, :, plan.start["navigator.mode"]] = random.integers(0, 9, (blocks, count, 8))
    reasons = ("hard landing", "mission completed", "landed")
    stops: list[Stop | None] = []
    for lane in range(lanes):
        row = int(random.integers(6, count)) if lane % 3 == 1 else count - 1
        stops.append(Stop(row * STEP_S, reasons[lane // 3 % 3]) if lane % 3 == 1 else None)
        data[lane // 8, row + 1 :, :, lane % 8] = np.nan
    if lanes > 4:
        data[0, 20, plan.start["body.p_NB_N"] + 2, 2] = np.nan
        data[0, 30, plan.start["body.euler"], 3] = np.nan
    log = Log(plan, lanes, np.arange(count) * STEP_S, data, stops)
    names = [*DERIVED, "time", "crashed", "completed", "landed", "fault_active", "navigator.mode"]
    names += [f"body.p_NB_N[{i}]" for i in range(3)] + [f"body.euler[{i}]" for i in range(3)]
    names += [name for channel in CHANNELS for name in (channel.value, channel.command) if name]
    starts = [0.0 if lane % 5 == 0 else float(random.uniform(0.0, 2.0)) for lane in range(lanes)]
    done = [stop is not None and stop.reason == "mission completed" for stop in stops]
    ends = {"completed": done, "landed": [lane % 2 == 0 for lane in range(lanes)]}
    return make_trace(log, dict.fromkeys([*names, *VELOCITIES]), starts, ends)


@pytest.mark.parametrize("text", NATIVE)
@pytest.mark.parametrize("lanes", [2, 8, 21])
def test_margins_of_many_lanes_are_those_of_each_alone(text: str, lanes: int) -> None:
    formula = parse_formula(text, NAMES)
    trace = flown(lanes, seed=lanes)
    assert margins_of_lanes(formula, trace) is not None
    together = robustness(formula, trace)
    for lane in range(lanes):
        alone = trace.lane(lane)
        assert margins_of_lanes(formula, alone) is None  # by NumPy
        assert together[lane].tobytes() == robustness(formula, alone)[0].tobytes(), lane


def test_margins_differ_between_lanes_and_some_are_broken() -> None:
    found = robustness(parse_formula("always (tilt < 40 deg)", NAMES), flown(21))
    assert len(set(found.tolist())) > 10 and (found < 0).any() and np.isneginf(found[3])


@pytest.mark.parametrize("text", LEFT_TO_NUMPY)
def test_formulas_with_more_of_time_are_left_to_numpy(text: str) -> None:
    trace, formula = flown(9), parse_formula(text, NAMES)
    assert margins_of_lanes(formula, trace) is None
    together = robustness(formula, trace)
    for lane in range(9):
        assert together[lane].tobytes() == robustness(formula, trace.lane(lane))[0].tobytes()


def test_a_formula_that_is_too_deep_for_the_native_stack_is_left_to_numpy() -> None:
    text = "height"
    for _ in range(DEEPEST + 1):
        text = f"(climb * 1 s + {text})"
    trace, formula = flown(9), parse_formula(f"always ({text} < 1 m)", NAMES)
    assert margins_of_lanes(formula, trace) is None
    assert np.isfinite(robustness(formula, trace)[0])


@pytest.mark.parametrize("lanes", [8, 21])
def test_scores_of_many_lanes_are_those_of_each_alone(lanes: int) -> None:
    trace = flown(lanes, seed=lanes + 1)
    together = assess(trace, mass_kg=1.5)
    for lane in range(lanes):
        alone = assess(trace.lane(lane), mass_kg=1.5)
        for name in ("score", "level", "shares"):
            assert getattr(together, name)[lane].tobytes() == getattr(alone, name)[0].tobytes(), (lane, name)
    assert len(set(together.score.tolist())) > 5


def test_no_column_is_made_for_what_native_code_judges() -> None:
    trace = flown(16)
    for text in NATIVE:
        robustness(parse_formula(text, NAMES), trace)
    assert not vars(trace.values)["_made"]
