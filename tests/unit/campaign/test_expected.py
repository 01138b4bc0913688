"""Whether a flight came out as its case expects: named failures, early ones, and those that no fault caused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from campaign_data import flight_case, result_of

from ironbird.campaign.batch import TracePolicy, fly_batch
from ironbird.campaign.expected import expected_table, expected_text, is_as_expected, is_expectation
from ironbird.campaign.result import FlightResult
from ironbird.flight.judge import Judgement
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Requirement

CRASH, FENCE, MISSION = "no_crash", "geofence", "mission"


def failed(*broken: str, **changes: Any) -> FlightResult:
    """A flight in which these requirements broke, and no other one."""
    names = dict.fromkeys([*broken, CRASH, FENCE, MISSION])
    judgements = [
        Judgement(name, "major", -1.0 if name in broken else 1.0, 3.0 if name in broken else math.nan, "")
        for name in names
    ]
    acted = [{"effective": True}]
    return replace(result_of(flight_case(), "fail"), **{"judgements": judgements, "witnesses": acted, **changes})


@pytest.mark.parametrize(
    ("table", "text"),
    [(None, None), ("pass", "pass"), ("fail", "fail"), ({"fail": ["no_crash"]}, "fail: no_crash"),
     ({"fail": ["no_crash", "my fence"]}, "fail: no_crash, my fence")],
)  # fmt: skip
def test_an_expectation_is_one_text_and_comes_back(table: Any, text: str | None) -> None:
    assert expected_text(table) == text and expected_table(text) == table
    assert is_expectation(text)


@pytest.mark.parametrize("text", ["", "void", "fail:", "fail: ", "fails", "no_crash"])
def test_other_texts_are_no_expectation(text: str) -> None:
    assert not is_expectation(text)


@pytest.mark.parametrize(
    ("broken", "expect", "right"),
    [
        ([CRASH], "fail: no_crash", True),
        ([CRASH], "fail", True),
        ([CRASH], "pass", False),
        ([CRASH], None, False),
        ([FENCE], "fail: no_crash", False),  # another one broke
        ([CRASH, FENCE], "fail: no_crash", False),  # one more broke
        ([CRASH, FENCE], "fail: no_crash, geofence", True),
        ([CRASH], "fail: no_crash, geofence", True),  # one of those that are known
        ([MISSION], "fail: mission", True),
        ([MISSION], "fail: no_crash", False),
    ],
)
def test_only_the_named_requirements_may_break(broken: list[str], expect: str | None, right: bool) -> None:
    assert is_as_expected(failed(*broken), expect) is right


def test_after_a_crash_the_mission_is_not_completed_either() -> None:
    assert is_as_expected(failed(CRASH, MISSION, crashed=True), "fail: no_crash")
    assert not is_as_expected(failed(CRASH, MISSION, crashed=False), "fail: no_crash")
    assert not is_as_expected(failed(MISSION, crashed=True), "fail: no_crash")  # nothing that is named


def test_a_mission_that_the_case_cuts_off_is_no_other_failure() -> None:
    fence = Requirement("fence", "always (height < 2 m)")
    case = flight_case(
        mission=load_mission("square"),
        mission_name="square",
        until_s=4.0,
        faults=(),
        requirements=(fence,),
        expect="fail: fence",
    )
    result = fly_batch([case], TracePolicy(None)).flights[0]
    mission = next(j for j in result.judgements if j.name == MISSION)

    assert (result.verdict, mission.holds, mission.untested) == ("fail", False, "cut off at 4 s")
    assert result.as_expected
    assert not is_as_expected(result, "fail: mission")


@pytest.mark.parametrize("expect", ["fail", "fail: no_crash"])
def test_a_failure_before_the_fault_or_without_it_is_another_one(expect: str) -> None:
    assert is_as_expected(failed(CRASH), expect)
    assert not is_as_expected(failed(CRASH, early=True), expect)
    assert not is_as_expected(failed(CRASH, witnesses=[{"effective": False}]), expect)
    assert is_as_expected(failed(CRASH, witnesses=[{"effective": False}, {"effective": True}]), expect)
    assert is_as_expected(failed(CRASH, witnesses=[]), expect)  # no fault was ordered: wind, a low battery


@pytest.mark.parametrize("verdict", ["pass", "void", "error"])
@pytest.mark.parametrize("expect", ["fail", "fail: no_crash"])
def test_no_failure_is_not_the_expected_one(verdict: str, expect: str) -> None:
    assert not is_as_expected(failed(CRASH, verdict=verdict), expect)


def test_a_result_keeps_its_expectation() -> None:
    result = failed(CRASH, expect="fail: no_crash")
    assert FlightResult.from_record(result.record()).as_expected
