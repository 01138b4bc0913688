"""Results: what is stored comes back, also where numbers are missing or infinite."""

import json
import math

import pytest
from campaign_data import flight_case, result_of

from ironbird.campaign.result import FlightResult
from ironbird.flight.judge import not_flown
from ironbird.flight.words import ERROR


@pytest.mark.parametrize("margin", [0.0, -0.0, 1.5, -1e-300, math.inf, -math.inf, math.nan])
def test_result_survives_json(margin: float) -> None:
    result = result_of(flight_case(), margin=margin)
    text = json.dumps(result.record(), allow_nan=False)  # strict JSON: other programs read it
    back = FlightResult.from_record(json.loads(text))
    assert back.record() == result.record()
    assert back.judgements[0].margin == margin or math.isnan(margin)
    assert isinstance(back.margin, float) and isinstance(back.judgements[0].time_s, float)


def test_a_record_has_numbers_or_null() -> None:
    record = result_of(flight_case(), "fail", margin=math.inf).record()
    assert record["margin"] is None
    [judgement] = record["judgements"]
    assert (judgement["margin"], judgement["status"], judgement["time_s"]) == (None, "broken", 2.5)
    back = FlightResult.from_record(record)
    assert (back.margin, back.judgements[0].margin) == (-math.inf, -math.inf)


def test_records_of_older_versions_have_words_for_infinities() -> None:
    record = result_of(flight_case()).record()
    [judgement] = record["judgements"]
    del judgement["status"]
    old = record | {"margin": "inf", "score": "nan"}
    old["judgements"] = [judgement | {"margin": "-inf", "time_s": "nan", "broken_s": "nan"}]
    back = FlightResult.from_record(old)
    assert back.margin == math.inf and math.isnan(back.score) and back.judgements[0].margin == -math.inf
    assert math.isnan(back.judgements[0].time_s) and math.isnan(back.judgements[0].broken_s)


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
    case = flight_case(3)
    result = FlightResult.of(case, not_flown(case, "no such part"))
    assert (result.verdict, result.sentence, result.sha256, result.judgements) == (ERROR, "no such part", "", [])
    assert (result.id, result.case_id, result.seed, result.values) == (case.id, "hover", 3, case.values)
    assert result.digest == case.digest()
    assert math.isnan(result.margin) and not result.as_expected
    assert FlightResult.from_record(json.loads(json.dumps(result.record()))).record() == result.record()


@pytest.mark.parametrize(("acted", "as_expected"), [((False,), False), ((True,), True), ((False, True), True)])
def test_a_failure_is_as_expected_only_if_a_fault_acted(acted: tuple[bool, ...], as_expected: bool) -> None:
    result = result_of(flight_case(expect="fail"), "fail", witnesses=[{"effective": effective} for effective in acted])
    assert result.as_expected is as_expected
