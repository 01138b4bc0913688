"""Results of a campaign's flights: the judgement of each, with the labels of its case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.errors import StoreError
from ironbird.flight.judge import FAIL, PASS, Judged, Judgement


@dataclass(frozen=True, kw_only=True)
class FlightResult(Judged):
    """The stored result of one flight: its judgement and the labels of its case."""

    id: str
    case_id: str
    seed: int
    values: dict[str, float | str] = field(default_factory=dict)
    expect: str | None = None
    trace: str | None = None  # file name of the trace, if one was kept

    @staticmethod
    def of(case: FlightCase, judged: Judged) -> FlightResult:
        """The result of a case's flight from its judgement."""
        return FlightResult(
            **vars(judged),
            id=case.id,
            case_id=case.case_id,
            seed=case.seed,
            values=dict(case.values),
            expect=case.expect,
        )

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that its case expects; the default is a pass.

        A failure is as expected only if a fault acted, where the case has one.
        """
        idle = bool(self.witnesses) and not any(witness.get("effective", True) for witness in self.witnesses)
        return self.verdict == (self.expect or PASS) and not (self.verdict == FAIL and idle)

    @staticmethod
    def from_record(record: dict[str, Any]) -> FlightResult:
        """The result of plain data, the inverse of `record`; raises `StoreError` if they are invalid."""
        try:
            data = dict(record)
            data["judgements"] = [
                Judgement(**_numbers(entry, ("margin", "time_s", "broken_s"))) for entry in data["judgements"]
            ]
            return FlightResult(**_numbers(data, ("margin", "score", "ended_s", "impact_mps")))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise StoreError(f"a stored result cannot be read: {why}; was it written by another version?") from None


def _numbers(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: float(value) if key in keys else value for key, value in data.items()}
