"""Sentences that say why."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.requirements.explain import Finding, explain
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace

UNITS = {
    "terrain.height_above_ground": "m", "navigator.mode": "1", "body.euler": "rad", "limit": "m", "wing.load": "N*m",
}  # fmt: skip
ALIASES = {"altitude": "terrain.height_above_ground", "mode": "navigator.mode"}
WORDS = {"mission": 3.0, "return": 4.0, "land": 5.0}

# 0.0 to 3.0 s; the first flight climbs above 60 m, the second ends at 1.0 s
TIME_S = np.arange(7) * 0.5
TRACE = Trace(
    TIME_S,
    {
        "terrain.height_above_ground": np.array([[0, 20, 63.2, 50, 40, 30, 20], [0, 10, 20, 9e9, 9e9, 9e9, 9e9]]),
        "navigator.mode": np.array([[3, 3, 3, 3, 4, 4, 5], [3.0] * 7]),
        "body.euler[0]": np.radians([[0, 10, 35, -40, 20, 10, 0], [0, 1, 2, 3, 4, 5, 6]]),
        "limit": np.array([[60, 60, 60, 60, 35, 60, 60], [60.0] * 7]),
        "wing.load": np.array([[2e4] * 7, [1e-5] * 7]),
        "fault_active": np.array([[0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]),
    },
    np.array([7, 3]),
)


def say(text: str, lane: int = 0) -> Finding:
    formula = parse_formula(text, Names(UNITS, aliases=ALIASES, words=WORDS))
    finding = explain(formula, TRACE, lane)
    assert finding.margin == robustness(formula, TRACE)[lane]
    return finding


def test_a_finding_has_time_margin_unit_and_sentence() -> None:
    finding = say("always[0, 3] (altitude < 60 m)")

    assert (finding.time_s, finding.unit) == (1.0, "m")
    assert finding.margin == pytest.approx(-3.2)
    assert finding.sentence == ("altitude was 63.2 m at 1.00 s; required: less than 60 m (3.2 m beyond)")


@pytest.mark.parametrize(
    ("text", "lane", "sentence"),
    [
        ("always (altitude < 60 m)", 1,
         "altitude was 20 m at 1.00 s; required: less than 60 m (40 m to spare)"),
        ("always (60 m >= altitude)", 0,
         "altitude was 63.2 m at 1.00 s; required: at most 60 m (3.2 m beyond)"),
        ("not eventually (altitude > 60 m)", 0,
         "altitude was 63.2 m at 1.00 s; required: at most 60 m (3.2 m beyond)"),
        ("always (abs(body.euler[0]) <= 30 deg)", 0,
         "abs(body.euler[0]) was 40 deg at 1.50 s; required: at most 30 deg (10 deg beyond)"),
        ("always (altitude < limit)", 0,
         "altitude was 40 m and limit 35 m at 2.00 s; required: altitude less than limit"
         " (5 m beyond)"),
        ("always (altitude < 100 ft or mode == land)", 0,
         "altitude was 207.3 ft at 1.00 s; required: less than 100 ft (107.3 ft beyond)"),
        ("always (altitude < 60 m and body.euler[0] > -30 deg)", 0,
         "altitude was 63.2 m at 1.00 s; required: less than 60 m (3.2 m beyond)"),
        ("eventually (altitude > 80 m)", 0,
         "altitude was at best 63.2 m at 1.00 s; required: more than 80 m at some time from 0.00 s to"
         " 3.00 s (16.8 m beyond)"),
        ("eventually[2, end] (altitude < 10 m)", 1,
         "the flight ended at 1.00 s; the requirement looks at the time from 2.00 s on"),
        ("always[2, end] (altitude < 10 m)", 1,
         "the flight ended at 1.00 s; the requirement looks at the time from 2.00 s on"),
        ("once[1, 2] (altitude < 10 m)", 1, "at 0.00 s there was no past that the requirement could look at"),
        ("eventually[0, 1] (mode == return)", 0,
         "mode was never return from 0.00 s to 1.00 s; it was mission"),
        ("eventually[0, 1] (mode != mission)", 0, "mode was always mission from 0.00 s to 1.00 s"),
        ("eventually (mode == return)", 0,
         "mode was return at 2.00 s; required: return at some time from 0.00 s to 3.00 s"),
        ("always (mode == mission)", 0, "mode was return at 2.00 s; required: mission"),
        ("always (mode != land)", 0, "mode was land at 3.00 s; required: anything but land"),
        ("always (fault_active == 1 implies eventually[0, 0.5] (mode == return))", 0,
         "mode was never return from 1.00 s to 1.50 s; it was mission"),
        ("always (rise(fault_active == 1) implies eventually[0, 1] always (altitude < 15 m))", 0,
         "altitude was 40 m at 2.00 s; required: less than 15 m (25 m beyond)"),
        ("always[end - 1 s, end] (altitude == 25 m within 2 m)", 0,
         "altitude was 40 m at 2.00 s; required: within 2 m of 25 m (13 m beyond)"),
        ("always (truth(altitude > 60 m) implies abs(body.euler[0]) < 30 deg)", 0,
         "abs(body.euler[0]) was 35 deg at 1.00 s; required: less than 30 deg (5 deg beyond)"),
        ("altitude < 60 m until mode == return", 0,
         "altitude was 63.2 m at 1.00 s; required: less than 60 m (3.2 m beyond)"),
        ("altitude < 90 m until[0, 1] mode == return", 0,
         "mode was never return from 0.00 s to 1.00 s; it was mission"),
        ("always (wing.load < 10000 N*m)", 0,
         "wing.load was 20000 N*m at 0.00 s; required: less than 10000 N*m (10000 N*m beyond)"),
        ("always[1, 1] fall(altitude < 60 m)", 0,
         "altitude was 63.2 m at 1.00 s; required: at least 60 m (3.2 m to spare)"),
    ],
)  # fmt: skip
def test_sentences(text: str, lane: int, sentence: str) -> None:
    assert say(text, lane).sentence == sentence


def test_what_is_not_a_number_is_called_so() -> None:
    trace = Trace(TIME_S[:2], {"limit": np.array([[1.0, math.nan]])}, np.array([2]))
    formula = parse_formula("always (limit < 3 m)", Names(UNITS))

    finding = explain(formula, trace, 0)

    assert finding.margin == -math.inf
    assert finding.sentence == "limit was not a number at 0.50 s; required: less than 3 m"


def test_the_deciding_sample_has_the_margin_of_the_whole() -> None:
    """A second way to the same number: the comparison at the sample found, evaluated alone."""
    random = np.random.default_rng(7)
    trace = Trace(np.arange(60) * 0.5, {"limit": random.normal(size=(20, 60))}, random.integers(20, 61, 20))
    for text in (
        "always[0, 20] (limit < 1 m)",
        "eventually[3, 20] always[0, 2] (limit < 1 m)",
        "(limit < 2 m) until[1, 8] (limit < -1 m)",
        "always[5, 25] (once[0, 3] (limit > 0 m) and not historically[1, 4] (limit > 0 m))",
    ):
        formula = parse_formula(text, Names(UNITS))
        for lane, margin in enumerate(robustness(formula, trace)):
            finding = explain(formula, trace, lane)
            assert finding.margin == margin
            value = trace.values["limit"][lane, round(finding.time_s / 0.5)]
            assert min(abs(abs(value - edge) - abs(margin)) for edge in (-1.0, 0.0, 1.0, 2.0)) < 1e-12  # rounding


@pytest.mark.parametrize(
    ("text", "worst_s", "first_s"),
    [
        ("always (altitude < 25 m)", 1.0, 1.0),  # 63.2 m is both the first and the worst
        ("always (altitude > 25 m)", 0.0, 0.0),
        ("always[1, 3] (altitude > 45 m)", 3.0, 2.0),  # 40 m at 2.0 s, 20 m at 3.0 s
        ("always[end - 1 s, end] (altitude > 45 m)", 3.0, 2.0),
        ("always (altitude < 70 m) and always[1, 3] (altitude > 45 m)", 3.0, 2.0),
        ("eventually (altitude > 90 m)", 1.0, 3.0),  # nearest at 1.0 s; until the end it might have come true
        ("eventually[0, 2] (altitude > 90 m)", 1.0, 2.0),
    ],
)
def test_when_a_requirement_was_first_broken(text: str, worst_s: float, first_s: float) -> None:
    formula = parse_formula(text, Names(UNITS, aliases=ALIASES, words=WORDS))
    assert (say(text).time_s, explain(formula, TRACE, 0).broken_s) == (worst_s, first_s)
