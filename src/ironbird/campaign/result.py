"""Results of a campaign's flights: the judgement of each, with the labels of its case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.campaign.expected import is_as_expected
from ironbird.errors import StoreError
from ironbird.files.json_text import number_of
from ironbird.flight.judge import Judged, Judgement
from ironbird.flight.words import ERROR, FAIL


@dataclass(frozen=True, kw_only=True)
class FlightResult(Judged):
    """All that is kept of one flight of a campaign.

    Attributes
    ----------
    id : str
        The flight's id, for example `motor-loss/0007/s3`.
    case_id : str
        Id of its case.
    seed : int
        Seed of all noise.
    values : dict
        The varied parameters by name.
    expect : str or None
        The verdict that its case says, `fail: NAME, …` with the requirements that should break; None is pass.
    trace : str or None
        File name of its log in the folder `traces`, if it was kept.
    digest, verdict, sentence, outcome, crashed, ended_s, impact_mps, margin, score, level, sha256, model_hash
        As in `Judged`.
    judgements, witnesses, modes, fault_modes, reactions, early, impact_sideways_mps, healthy, caused, steps
        As in `Judged`.
    """

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
        """Whether it came out as its case expects; the default is a pass."""
        return is_as_expected(self, self.expect)

    @staticmethod
    def from_record(record: dict[str, Any]) -> FlightResult:
        """The inverse of `record`; raises `StoreError` if it is none. Older records have "inf" and "nan" as texts."""
        try:
            data = dict(record)
            judgements = [_judgement(entry) for entry in data["judgements"]]
            data["judgements"] = judgements
            if data["margin"] is None:
                broken = data["verdict"] == FAIL or any(judgement.margin == -math.inf for judgement in judgements)
                unflown = data["verdict"] == ERROR and not judgements
                data["margin"] = math.nan if unflown else -math.inf if broken else math.inf
            data["ended_s"] = float(data["ended_s"])
            return FlightResult(**_numbers(data, ("margin", "score", "impact_mps", "impact_sideways_mps")))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise StoreError(f"a stored result cannot be read: {why}; was it written by another version?") from None


def worst_key(result: FlightResult) -> tuple[float, float, float]:
    """Sort key that puts the worst flight first: by margin, of equal ones by the speed of the impact, then by score.

    A requirement that is true or false, such as no_crash, has the margin -inf in every flight that breaks it.
    """
    margin = math.inf if math.isnan(result.margin) else result.margin
    return margin, -result.impact_mps, math.inf if math.isnan(result.score) else result.score


def _judgement(entry: dict[str, Any]) -> Judgement:
    """One requirement; a margin that is null lies beyond all numbers, on the side that `status` says."""
    data = {key: value for key, value in entry.items() if key != "status"}
    if data.get("margin", 0.0) is None:
        data["margin"] = -math.inf if entry.get("status") == "broken" else math.inf
    return Judgement(**_numbers(data, ("margin", "time_s", "broken_s")))


def _numbers(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: number_of(value) if key in keys else value for key, value in data.items()}
