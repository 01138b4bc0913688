"""Results and flights as a store keeps them: JSON of another version, or by another hand."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt, json_of, now_and_then
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult

WORDS = (
    '"judgements": [', '"name": "a"', '"severity": "major"', '"margin": ', '"time_s": ', '"violation": ""', '"verdict": "pass"',
    '"witnesses": []', '"crashed": ', '"Infinity"', '"nan"', "null", "{}", "[]", '"faults": []', '"wind": {}', '"mission": null',
)  # fmt: skip
MOST = 3000
FORMAT = "json"
_look = now_and_then(8)


def check(data: bytes) -> bool | None:
    """What is accepted is written and read back."""
    record = json_of(data)
    return _check(record, whole=True) if isinstance(record, dict) else False


def check_table(table: Any) -> bool | None:
    """The same below json."""
    return _check(table, whole=_look()) if isinstance(table, dict) else False


def _check(record: dict[str, Any], *, whole: bool) -> bool | None:
    result = attempt(FlightResult.from_record, record)
    if isinstance(result, FlightResult) and whole:
        again = FlightResult.from_record(result.record())
        assert again.record() == result.record()
    case = attempt(FlightCase.from_record, record)
    if not isinstance(case, Refused) and whole:
        assert FlightCase.from_record(case.record()).record() == case.record()
    return None
