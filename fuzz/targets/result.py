"""Results and flights as a store keeps them: JSON of another version, or by another hand."""

from __future__ import annotations

from fuzz.target import Refused, attempt, json_of
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult

WORDS = (
    '"judgements": [', '"name": "a"', '"severity": "major"', '"margin": ', '"time_s": ', '"violation": ""', '"verdict": "pass"',
    '"witnesses": []', '"crashed": ', '"Infinity"', '"nan"', "null", "{}", "[]", '"faults": []', '"wind": {}', '"mission": null',
)  # fmt: skip
MOST = 3000


def check(data: bytes) -> None:
    """What is accepted is written and read back."""
    record = json_of(data)
    if not isinstance(record, dict):
        return
    result = attempt(FlightResult.from_record, record)
    if isinstance(result, FlightResult):
        again = FlightResult.from_record(result.record())
        assert again.record() == result.record()
    case = attempt(FlightCase.from_record, record)
    if not isinstance(case, Refused):
        assert FlightCase.from_record(case.record()).record() == case.record()
