"""Verdicts and results: what is stored comes back, also where numbers are missing or infinite."""

import json
import math

import pytest
from campaign_data import flight_case, result_of

from ironbird.campaign.verdict import ERROR, FlightResult, Judgement, error_result


@pytest.mark.parametrize("margin", [0.0, -0.0, 1.5, -1e-300, math.inf, -math.inf, math.nan])
def test_result_survives_json(margin: float) -> None:
    result = result_of(flight_case(), margin=margin)
    text = json.dumps(result.record(), allow_nan=False)  # strict JSON: other programs read it
    back = FlightResult.from_record(json.loads(text))
    assert back.record() == result.record()
    assert back.judgements[0].margin == margin or math.isnan(margin)
    assert isinstance(back.margin, float) and isinstance(back.judgements[0].time_s, float)


def test_a_margin_of_zero_holds_and_one_that_is_no_number_does_not() -> None:
    assert Judgement("a", "major", 0.0, math.nan, "").holds
    assert not Judgement("a", "major", -1e-12, 1.0, "").holds
    assert not Judgement("a", "major", math.nan, 1.0, "").holds


@pytest.mark.parametrize(
    ("verdict", "expect", "as_expected"),
    [
        ("pass", None, True), ("fail", None, False), ("void", None, False), ("error", None, False),
        ("fail", "fail", True), ("pass", "fail", False), ("void", "fail", False), ("pass", "pass", True),
    ],
)  # fmt: skip
def test_expectation(verdict: str, expect: str | None, as_expected: bool) -> None:
    assert result_of(flight_case(expect=expect), verdict).as_expected is as_expected


def test_a_flight_that_the_rig_could_not_fly() -> None:
    result = error_result("a/1", "a", "0" * 64, 3, {"x": 1.0}, None, "no such part")
    assert (result.verdict, result.sentence, result.sha256, result.judgements) == (ERROR, "no such part", "", [])
    assert math.isnan(result.margin) and not result.as_expected
    assert FlightResult.from_record(json.loads(json.dumps(result.record()))).record() == result.record()
