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


@pytest.mark.parametrize("inner", ["truth(altitude < 1 m)", "rise(altitude < 1 m)", "not altitude >= 1 m"])
def test_conditions_of_any_kind(inner: str) -> None:
    short, long = said(f"always ({inner} implies climb > -1 m/s)", [5.0, 0.5], [5.0, 3.0])
    assert short == "" and long.startswith("its condition never held: altitude ")


def test_a_window_that_the_flight_did_not_reach() -> None:
    text = "always[2, 9] (altitude < 60 m)"
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
