"""Margins: hand-made cases, and what RTAMT cannot say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import RequirementError
from ironbird.requirements.robustness import robustness, robustness_over_time
from ironbird.requirements.trace import Trace

INF = math.inf
UNITS = {"x": "m", "y": "1", "angle": "rad", "mode": "1"}
WORDS = {"fly": 3.0, "land": 5.0}


def flights(step_s: float = 1.0, rows: list[int] | None = None, **columns: list[list[float]]) -> Trace:
    values = {name: np.array(column, dtype=float) for name, column in columns.items()}
    lanes, count = next(iter(values.values())).shape
    return Trace(np.arange(count) * step_s, values, np.array(rows or [count] * lanes))


def margins(text: str, trace: Trace) -> list[float]:
    return robustness(parse_formula(text, Names(UNITS, words=WORDS)), trace).tolist()


def margins_over_time(text: str, trace: Trace) -> list[list[float]]:
    return robustness_over_time(parse_formula(text, Names(UNITS, words=WORDS)), trace).tolist()


def test_each_lane_has_its_own_margin() -> None:
    trace = flights(x=[[1, 5, 2], [4, 4, 9], [0, 0, 0]])

    assert margins("always (x < 6 m)", trace) == [1, -3, 6]
    assert margins("eventually (x > 4 m)", trace) == [1, 5, -4]
    assert margins("not always (x < 6 m)", trace) == [-1, 3, -6]


def test_joined_conditions_take_the_least_or_the_greatest_margin() -> None:
    trace = flights(x=[[2.0], [2.0], [-1.0]], y=[[5.0], [-3.0], [-4.0]])

    assert margins("x > 0 m and y > 0", trace) == [2, -3, -4]
    assert margins("x > 0 m or y > 0", trace) == [5, 2, -1]
    assert margins("x > 0 m implies y > 0", trace) == [5, -2, 1]


def test_windows_are_closed_and_rounded_to_samples() -> None:
    trace = flights(0.02, x=[[0, 1, 2, 3, 4, 5]])

    assert margins("eventually[0, 0.06] (x > 0 m)", trace) == [3]
    assert margins("eventually[0, 0.069] (x > 0 m)", trace) == [3]
    assert margins("eventually[0, 0.071] (x > 0 m)", trace) == [4]
    assert margins("always[29 ms, 1 s] (x > 0 m)", trace) == [1]
    assert margins("always[31 ms, 1 s] (x > 0 m)", trace) == [2]


def test_a_flight_that_ended_early_is_judged_as_far_as_it_went() -> None:
    trace = flights(x=[[1, 2, 3, 4], [1, 2, 77, -77]], rows=[4, 2])

    assert margins("always (x < 3 m)", trace) == [-1, 1]
    assert margins("eventually (x > 3 m)", trace) == [1, -1]
    assert margins("always[2, 3] (x < 0 m)", trace) == [-4, INF]  # nothing to judge
    assert margins("eventually[2, 3] (x > 0 m)", trace) == [4, -INF]
    assert margins("(x > 0 m) until[2, 3] (x > 0 m)", trace) == [1, -INF]
    over_time = margins_over_time("x < 3 m", trace)
    assert over_time[0] == [2, 1, 0, -1]
    assert over_time[1][:2] == [2, 1] and np.isnan(over_time[1][2:]).all()


def test_until_needs_the_left_one_only_before_the_right_one() -> None:
    trace = flights(x=[[5, 5, -9, -9]], y=[[-1, -1, 3, -1]])

    assert margins("x > 0 m until y > 0", trace) == [3]
    assert margins("x > 0 m until[0, 1] y > 0", trace) == [-1]
    assert margins("x > 0 m until[3, 3] y > 0", trace) == [-9]


def test_the_last_seconds_of_each_flight() -> None:
    trace = flights(x=[[9, 1, 2, 3, 4], [9, 5, 6, 77, 77], [9, 77, 77, 77, 77]], rows=[5, 3, 1])

    assert margins("always[end - 2 s, end] (x < 5 m)", trace) == [1, -4, -4]
    assert margins("always[end - 1 s, end] (x < 5 m)", trace) == [1, -1, -4]
    assert margins("eventually[end, end] (x > 0 m)", trace) == [4, 6, 9]
    assert margins_over_time("eventually[end - 2 s, end] (x < 5 m)", trace)[0] == [3, 3, 3, 2, 1]


def test_words_and_whole_numbers_have_no_degrees() -> None:
    trace = flights(mode=[[3, 3, 5]], x=[[1, 1, 2]])

    assert margins_over_time("mode == land", trace)[0] == [-INF, -INF, INF]
    assert margins_over_time("mode != 3", trace)[0] == [-INF, -INF, INF]
    assert margins("always (mode == land implies x < 3 m)", trace) == [1]  # the condition leaves the margin alone


def test_equality_with_a_tolerance() -> None:
    trace = flights(x=[[3.0, 3.25, 4.0]])

    assert margins_over_time("x == 3 m within 50 cm", trace)[0] == [0.5, 0.25, -0.5]
    assert margins_over_time("x != 3 m within 50 cm", trace)[0] == [-0.5, -0.25, 0.5]


def test_truth_takes_the_degree_away() -> None:
    trace = flights(x=[[1, 2, 3]])

    assert margins_over_time("truth(x > 2 m)", trace)[0] == [-INF, INF, INF]
    assert margins("always (truth(x > 1.5 m) implies x < 2 m)", trace) == [-1]
    assert margins("always (x > 1.5 m implies x < 2 m)", trace) == [-1]
    assert margins("always (x > 2.8 m implies x < 2 m)", trace) == [pytest.approx(-0.2)]  # by its own margin
    assert margins("always (truth(x > 2.8 m) implies x < 2 m)", trace) == [-1]


def test_numbers_are_computed_in_si() -> None:
    trace = flights(angle=[[0.5]], x=[[3.0]], y=[[0.5]])

    assert margins("angle < 30 deg", trace) == [pytest.approx(math.radians(30) - 0.5, rel=1e-12)]
    assert margins("norm(x, 4 m, 12 m) <= 13 m", trace) == [0]
    assert margins("hypot(x, 4 m) - abs(-x) * 2 >= max(0, -2 m, x / 3) + min(1 m, x)", trace) == [-3]
    assert margins("acos(y) <= 90 deg", trace) == [pytest.approx(math.radians(30), rel=1e-12)]
    assert margins("acos(y * 2.0000000001) >= 0 rad", trace) == [0]
    assert margins("y <= 80 %", trace) == [pytest.approx(0.3)]
    assert margins("time + 2 s > 500 ms", trace) == [1.5]


def test_what_is_not_a_number_fails_a_requirement_that_looks_at_it() -> None:
    trace = flights(x=[[1, 1, math.nan], [1, 1, 1]])

    for text in ("always (x < 3 m)", "eventually (x < 3 m)", "not eventually (x > 3 m)", "always (x / 0 m * 0 < 1)"):
        assert margins(text, trace)[0] == -INF
    assert margins("always[0, 1] (x < 3 m)", trace) == [2, 2]
    assert margins("always (mode == land or truth(x < 3 m))", flights(x=[[math.nan]], mode=[[5]])) == [-INF]


def test_a_single_row_can_be_judged() -> None:
    trace = flights(x=[[1.0], [4.0]])

    assert margins("always (x < 3 m) and once (x < 3 m) and rise(x < 3 m)", trace) == [2, -1]
    assert margins("eventually[1, 2] (x < 3 m)", trace) == [-INF, -INF]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 60), st.integers(0, 12), st.integers(0, 70), st.integers(0, 2**32 - 1),
    st.sampled_from(["always", "eventually", "once", "historically"]),
)  # fmt: skip
def test_windows_of_every_width_choose_what_a_loop_chooses(
    lanes: int, rows: int, low: int, width: int, seed: int, operator: str
) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(lanes, rows))
    valid = random.integers(1, rows + 1, lanes)
    trace = Trace(np.arange(rows, dtype=float), {"x": x}, valid)

    found = robustness_over_time(parse_formula(f"{operator}[{low}, {low + width}] (x > 0 m)", Names(UNITS)), trace)

    least = operator in ("always", "historically")
    for lane in range(lanes):
        for row in range(valid[lane]):
            if operator in ("always", "eventually"):
                window = x[lane, row + low : min(row + low + width + 1, valid[lane])]
            else:
                window = x[lane, max(row - low - width, 0) : max(row - low + 1, 0)]
            expected = min(window, default=INF) if least else max(window, default=-INF)
            assert found[lane, row] == expected


def test_many_lanes_are_worked_on_in_groups() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(700, 600))  # more than one group
    valid = random.integers(1, 601, 700)
    trace = Trace(np.arange(600.0), {"x": x}, valid)
    formula = parse_formula("always[0, 400] eventually[0, 7] (x > 0 m)", Names(UNITS))

    together = robustness(formula, trace)

    for lane in (0, 1, 217, 218, 219, 436, 699):
        alone = Trace(trace.time_s, {"x": x[lane : lane + 1]}, valid[lane : lane + 1])
        assert robustness(formula, alone)[0] == together[lane]


def test_a_trace_without_a_needed_column_is_refused() -> None:
    with pytest.raises(RequirementError, match="unknown column 'y' in the trace; known: x"):
        margins("y > 0", flights(x=[[1.0]]))
