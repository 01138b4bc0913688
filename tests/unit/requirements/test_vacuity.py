"""Requirements that hold without being put to the test are told apart."""

import numpy as np
import pytest

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.requirements.trace import Trace
from ironbird.requirements.vacuity import untested

NAMES = Names({"altitude": "m", "climb": "m/s"})


def trace(*altitudes: list[float]) -> Trace:
    """Lanes with one row a second; a shorter lane ended early. The climb is 0."""
    longest = max(map(len, altitudes))
    values = np.array([[*lane, *[0.0] * (longest - len(lane))] for lane in altitudes])
    rows = np.array([len(lane) for lane in altitudes])
    return Trace(np.arange(longest, dtype=float), {"altitude": values, "climb": np.zeros_like(values)}, rows)


def said(text: str, *altitudes: list[float]) -> list[str]:
    return untested(parse_formula(text, NAMES), trace(*altitudes))


def test_a_condition_that_never_held_leaves_its_requirement_untested() -> None:
    text = "always (altitude < 1 m implies climb > -1 m/s)"
    assert said(text, [5.0, 3.0, 0.5], [5.0, 3.0, 2.0]) == ["", "its condition never held: altitude < 1 m"]


def test_what_stands_behind_the_end_of_a_lane_does_not_count() -> None:
    """The shorter lane's rows are filled with zeros, at which the condition would hold."""
    text = "always (altitude < 1 m implies climb > -1 m/s)"
    assert said(text, [5.0, 3.0, 0.5], [5.0, 3.0]) == ["", "its condition never held: altitude < 1 m"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("truth(altitude < 1 m)", "altitude < 1 m"),
        ("rise(altitude < 1 m)", "altitude < 1 m"),
        ("not altitude >= 1 m", "not altitude >= 1 m"),
        ("not (altitude >= 1 m or climb > 9 m/s)", "not (altitude >= 1 m or climb > 9 m/s)"),
        ("(altitude < 1 m) and (climb < 9 m/s)", "(altitude < 1 m) and (climb < 9 m/s)"),
    ],
)
def test_conditions_of_any_kind(condition: str, told: str) -> None:
    tested, never = said(f"always ({condition} implies climb > -1 m/s)", [5.0, 0.5], [5.0, 3.0])
    assert (tested, never) == ("", f"its condition never held: {told}")


def test_a_window_that_the_flight_did_not_reach() -> None:
    text = "always[2, 4] (altitude < 60 m)"
    assert said(text, [1.0] * 5, [1.0] * 2) == ["", "the flight ended before 2 s, from where on it looks"]


def test_the_condition_counts_only_inside_the_window() -> None:
    text = "always[0, 1] (altitude < 1 m implies climb > -1 m/s)"
    assert said(text, [0.5, 5.0, 5.0], [5.0, 5.0, 0.5]) == ["", "its condition never held: altitude < 1 m"]
    text = "always[end - 1 s, end] (altitude < 1 m implies climb > -1 m/s)"
    assert said(text, [5.0, 5.0, 0.5], [0.5, 5.0, 5.0]) == ["", "its condition never held: altitude < 1 m"]


def test_each_part_of_an_and_is_looked_at() -> None:
    text = "always (altitude < 60 m) and always (altitude < 1 m implies climb > -1 m/s)"
    assert said(text, [5.0, 3.0]) == ["its condition never held: altitude < 1 m"]


@pytest.mark.parametrize(
    "text", ["always (altitude < 60 m)", "eventually (altitude > 1 m)", "always (altitude > 9 m or altitude < 60 m)"]
)
def test_requirements_without_a_condition_are_always_tested(text: str) -> None:
    assert said(text, [5.0, 3.0]) == [""]


# ---------------------------------------------------------------------- the same, said in another way


@pytest.mark.parametrize(
    "text",
    [
        "always (altitude < 1 m implies climb > -1 m/s)",
        "always (not altitude < 1 m or climb > -1 m/s)",
        "always (climb > -1 m/s or not altitude < 1 m)",
        "always (not (altitude < 1 m and not climb > -1 m/s))",
        "not eventually (altitude < 1 m and not climb > -1 m/s)",
        "not eventually (not (altitude < 1 m implies climb > -1 m/s))",
    ],
)
def test_a_condition_that_never_held_is_found_however_it_is_written(text: str) -> None:
    assert said(text, [5.0, 3.0, 0.5], [5.0, 3.0, 2.0]) == ["", "its condition never held: altitude < 1 m"]


def test_a_condition_in_a_condition() -> None:
    text = "always (altitude < 9 m implies always[0, 1] (altitude < 1 m implies climb > -1 m/s))"
    inner, outer = "its condition never held: altitude < 1 m", "its condition never held: altitude < 9 m"
    assert said(text, [5.0, 0.5, 0.5, 9.5], [5.0, 3.0, 9.5, 9.5], [20.0, 20.0, 20.0, 20.0]) == ["", inner, outer]


# ---------------------------------------------------------------------- windows that were cut


@pytest.mark.parametrize("text", ["always[0, 5] (altitude < 60 m)", "not eventually[0, 5] (altitude > 60 m)"])
def test_a_window_that_the_flight_covered_in_part(text: str) -> None:
    assert said(text, [1.0] * 6, [1.0] * 3) == ["", "judged for 2 of 5 s: the flight ended"]


def test_a_window_that_begins_later_is_counted_from_its_beginning() -> None:
    text = "always[2, 6] (altitude < 60 m)"
    cut, never = "judged for 1 of 4 s: the flight ended", "the flight ended before 2 s, from where on it looks"
    assert said(text, [1.0] * 7, [1.0] * 4, [1.0] * 2) == ["", cut, never]


def test_a_reaction_that_had_no_time_is_counted_from_its_cause() -> None:
    """The cause comes at 1 s; the flight ends 2 s later."""
    text = "always (rise(altitude > 5 m) implies always[0, 5] (climb > -1 m/s))"
    assert said(text, [1.0] + [9.0] * 3) == ["judged for 2 of 5 s: the flight ended"]
    assert said(text, [1.0] + [9.0] * 6) == [""]


def test_that_something_holds_to_the_end_may_be_met_because_the_flight_ended() -> None:
    text = "eventually[0, 5] always (altitude > 1 m)"
    assert said(text, [9.0] * 6, [9.0] * 2) == ["", "judged for 1 of 5 s: the flight ended"]


def test_what_was_seen_needs_no_more_time() -> None:
    assert said("eventually[0, 5] (altitude > 1 m)", [9.0, 9.0]) == [""]


def test_windows_without_an_end_cannot_be_cut() -> None:
    assert said("always (altitude < 60 m)", [1.0]) == [""]


# ---------------------------------------------------------------------- until


def test_an_until_that_is_over_at_once_looks_at_nothing() -> None:
    text = "(altitude < 60 m) until (climb > -1 m/s)"
    assert said(text, [5.0, 3.0]) == ["it was over at once, before it could look at altitude < 60 m"]
    waits = "(climb > -1 m/s) until (altitude > 4 m)"
    assert said(waits, [1.0, 3.0, 5.0], [5.0, 5.0, 5.0]) == [
        "", "it was over at once, before it could look at climb > -1 m/s",
    ]  # fmt: skip
