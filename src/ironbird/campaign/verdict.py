"""Verdicts: what a judged flight comes to, as it is stored and reported."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

PASS, FAIL, VOID, ERROR = "pass", "fail", "void", "error"
VERDICTS = (PASS, FAIL, VOID, ERROR)


@dataclass(frozen=True)
class Judgement:
    """One requirement on one flight."""

    name: str
    severity: str
    margin: float  # robustness: negative is violated
    time_s: float  # of the worst margin; NaN if it is not tied to a time
    sentence: str  # what broke, when, by how much; empty if it holds

    @property
    def holds(self) -> bool:
        """Whether the flight meets it."""
        return self.margin >= 0.0


@dataclass(frozen=True)
class FlightResult:
    """All that is kept of one flight."""

    id: str
    case_id: str
    digest: str  # of the flight's definition
    seed: int
    values: dict[str, float | str]
    verdict: str
    sentence: str  # why, for people
    outcome: str  # how the flight ended
    crashed: bool
    ended_s: float
    impact_mps: float  # largest downward speed in the second before the end of a crashed flight, else 0
    margin: float  # smallest over all requirements
    score: float  # 1 safe, 0 lost
    level: str
    sha256: str  # of the log
    model_hash: str
    judgements: list[Judgement] = field(default_factory=list)
    witnesses: list[dict[str, Any]] = field(default_factory=list)
    modes: list[list[float]] = field(default_factory=list)  # [time, mode] at every change
    fault_modes: list[int] = field(default_factory=list)  # mode in which each fault began; -1 if it did not
    reactions: list[str] = field(default_factory=list)  # what an autopilot outside did after each fault
    expect: str | None = None
    trace: str | None = None  # file name of the trace, if one was kept

    @property
    def as_expected(self) -> bool:
        """Whether it came out as its case says; a case that says nothing expects a pass."""
        return self.verdict == (self.expect or PASS)

    def record(self) -> dict[str, Any]:
        """Plain data for files and databases: no infinities, which JSON lacks."""
        return _finite(asdict(self))

    @staticmethod
    def from_record(record: dict[str, Any]) -> FlightResult:
        """The inverse of `record`."""
        data = dict(record)
        data["judgements"] = [Judgement(**_numbers(entry, ("margin", "time_s"))) for entry in data["judgements"]]
        return FlightResult(**_numbers(data, ("margin", "score", "ended_s", "impact_mps")))


def error_result(
    id: str, case_id: str, digest: str, seed: int, values: dict[str, float | str], expect: str | None, why: str
) -> FlightResult:
    """A flight that the rig could not fly."""
    return FlightResult(
        id=id, case_id=case_id, digest=digest, seed=seed, values=values, verdict=ERROR, sentence=why,
        outcome="not flown", crashed=False, ended_s=0.0, impact_mps=0.0, margin=math.nan, score=math.nan, level="",
        sha256="", model_hash="", expect=expect,
    )  # fmt: skip


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _numbers(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: float(value) if key in keys else value for key, value in data.items()}
