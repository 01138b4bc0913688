"""Margins of requirements in words: unit, degrees, order of severity."""

from __future__ import annotations

import math

import pytest

from ironbird.campaign.margins import by_severity, margin_text
from ironbird.flight.judge import Judgement


def judged(formula: str, margin: float, unit: str = "") -> Judgement:
    return Judgement("own", "major", margin, math.nan, "", formula, unit)


@pytest.mark.parametrize(
    ("formula", "margin", "unit", "words"),
    [
        ("always (tilt < 30 deg)", -math.pi / 18, "rad", "-10 deg"),  # as it is written
        ("always (tilt < 0.5 rad)", -0.1, "rad", "-0.1 rad"),
        ("always (tilt < 30 deg)", math.pi / 36, "", "5 deg"),  # it holds: its limits say the unit
        ("always (abs(yaw_rate) < 90deg/s)", -math.pi / 2, "rad/s", "-90 deg/s"),
        ("always (altitude > 1e1 m and altitude < 60 m)", 0.25, "", "0.25 m"),
        ("always (altitude < 60 m and tilt < 30 deg)", 0.25, "", "0.25"),  # of either
        ("always (crashed == 0)", 1.0, "1", "1"),
        ("always (crashed == 0)", -math.inf, "", "-∞"),
        ("always (tilt < 30 deg)", math.nan, "rad", "none"),
    ],
)
def test_a_margin_has_the_unit_of_its_requirement(formula: str, margin: float, unit: str, words: str) -> None:
    assert margin_text(judged(formula, margin, unit)) == words


def test_the_most_severe_comes_first_then_what_broke_first() -> None:
    names = [("late", "major", 3.0), ("low", "minor", 1.0), ("unknown", "major", math.nan), ("dead", "critical", 9.0)]
    found = by_severity([Judgement(n, s, -1.0, at, "", "", "", at) for n, s, at in (*names, ("early", "major", 2.0))])
    assert [j.name for j in found] == ["dead", "early", "late", "unknown", "low"]
    assert by_severity([judged("a < 1", 1.0)]) == []
