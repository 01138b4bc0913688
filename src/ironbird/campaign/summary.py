"""A campaign in figures: verdicts by case, worst margins, failure probabilities; and comparison of two campaigns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.campaign.case import LABELS, FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.statistics import Probability, failure_probability
from ironbird.errors import StoreError
from ironbird.files.problems import read_toml
from ironbird.flight.words import FAIL, PASS, VERDICTS


@dataclass(frozen=True)
class CaseSummary:
    """Figures of all flights of one case."""

    case_id: str
    verdicts: dict[str, int]
    expected: int  # flights with the expected verdict
    flights: int
    worst: FlightResult
    probability: Probability  # of failing, among flights that passed or failed
    sampled: bool = False  # its flights are independent random draws: only then has a probability an interval

    @property
    def as_expected(self) -> bool:
        """Whether every flight has the verdict that the case expects."""
        return self.expected == self.flights

    def failures(self) -> str:
        """Number of failures as text; with an interval if the flights were drawn at random."""
        if self.sampled or not self.probability.trials:
            return self.probability.sentence()
        return f"{self.probability.failures} of {self.probability.trials} failed"


def sampled_cases(source: Mapping[str, str], results: Sequence[FlightResult] = ()) -> set[str]:
    """Cases whose flights are independent random draws: planned so (`monte_carlo`), or many seeds of one point.

    `source` has the files of a campaign's suite; files that are no case files are ignored.
    """
    cases = set()
    for text in source.values():
        try:
            data = read_toml(text)
        except ValueError:
            continue
        shared = data.get("suite", {})
        usual = shared.get("defaults", {}).get("plan") if isinstance(shared, dict) else None
        for case in data.get("case", []) if isinstance(data.get("case"), list) else []:
            plan = case.get("plan", usual) if isinstance(case, dict) else None
            if isinstance(plan, dict) and plan.get("kind") == "monte_carlo":
                cases.add(str(case.get("id")))
    seeds: dict[str, set[int]] = {}
    varied = {result.case_id for result in results if result.values}
    for result in results:
        seeds.setdefault(result.case_id, set()).add(result.seed)
    return cases | {case for case, numbers in seeds.items() if len(numbers) > 1 and case not in varied}


def by_case(
    results: Sequence[FlightResult], confidence: float = 0.95, sampled: Container[str] = ()
) -> list[CaseSummary]:
    """Summaries in the order in which the cases first appear; `sampled` ones are random draws."""
    groups: dict[str, list[FlightResult]] = {}
    for result in results:
        groups.setdefault(result.case_id, []).append(result)
    summaries = []
    for case_id, flights in groups.items():
        counts = Counter(flight.verdict for flight in flights)
        judged = counts[PASS] + counts[FAIL]
        summaries.append(
            CaseSummary(
                case_id,
                {v: counts[v] for v in VERDICTS},
                sum(f.as_expected for f in flights),
                len(flights),
                min(flights, key=_margin),
                failure_probability(counts[FAIL], judged, confidence),
                case_id in sampled,
            )
        )
    return summaries


def _margin(result: FlightResult) -> float:
    return math.inf if math.isnan(result.margin) else result.margin


def exit_code(results: Sequence[FlightResult], *, strict: bool = False) -> int:
    """0 if every flight came out as its case expects (by default pass), else 1.

    With `strict` a requirement that a flight did not put to the test counts as not met.
    """
    right = results and all(result.as_expected and not (strict and result.untested) for result in results)
    return 0 if right else 1


@dataclass(frozen=True)
class Change:
    """A flight of both campaigns with a different result."""

    flight_id: str
    before: FlightResult
    after: FlightResult

    @property
    def margin(self) -> float:
        """Change of the margin; negative is worse."""
        if self.before.margin == self.after.margin or (
            math.isnan(self.before.margin) and math.isnan(self.after.margin)
        ):
            return 0.0
        return self.after.margin - self.before.margin


@dataclass(frozen=True)
class Difference:
    """Two campaigns side by side, flight by flight.

    Attributes
    ----------
    verdicts : list of Change
        Flights whose verdict changed: `flight_id`, `before`, `after` (both `FlightResult`).
    margins : list of Change
        Flights with the same verdict and another margin; the largest movement first.
    redefined : dict of str to list of str
        What of a flight's definition is not the same, by flight.
    only_before, only_after : list of str
        Flights that only one campaign has.
    same : int
        Number of flights with equal hashes of their logs.
    """

    verdicts: list[Change]  # changed verdicts
    margins: list[Change]  # same verdict, another margin; largest movement first
    redefined: dict[str, list[str]]  # redefined parts, by flight
    only_before: list[str]
    only_after: list[str]
    same: int  # flights with equal hashes of their logs

    def __repr__(self) -> str:
        counts = {
            "other verdicts": len(self.verdicts), "other margins": len(self.margins), "redefined": len(self.redefined),
            "only before": len(self.only_before), "only after": len(self.only_after), "same": self.same,
        }  # fmt: skip
        return f"Difference({', '.join(f'{what}: {count}' for what, count in counts.items())})"

    def redefinitions(self) -> dict[str, int]:
        """Number of flights by redefined part."""
        return dict(Counter(", ".join(what) for what in self.redefined.values()))

    def record(self) -> dict[str, Any]:
        """Plain data; a margin that is no finite number is None."""
        return {
            "verdicts": [[c.flight_id, c.before.verdict, c.after.verdict] for c in self.verdicts],
            "margins": [[c.flight_id, _number(c.before.margin), _number(c.after.margin)] for c in self.margins],
            "redefined": self.redefined,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "same": self.same,
        }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def compare(
    before: Sequence[FlightResult], after: Sequence[FlightResult], cases: Sequence[Mapping[str, FlightCase]] = ()
) -> Difference:
    """Changed verdicts and margins between two campaigns; flights are paired by case, values and seed.

    A changed vehicle, parameter or requirement does not separate a pair: that is what a comparison is for. With the two
    campaigns' `cases` by id redefined parts are reported too. Campaigns without a common flight cannot be compared.
    """
    old, new = {r.id: r for r in before}, _partners(before, after)
    repeated = {partner.id for partner in new.values()}
    both = [id for id in old if id in new]
    if not both:
        raise StoreError("the two campaigns have no flight in common: there is nothing to compare")
    changes = [Change(id, old[id], new[id]) for id in both]
    redefined = [id for id in both if old[id].digest != new[id].digest]
    moved = [c for c in changes if c.before.verdict == c.after.verdict and c.margin != 0.0]
    return Difference(
        verdicts=[c for c in changes if c.before.verdict != c.after.verdict],
        margins=sorted(moved, key=lambda c: -abs(c.margin) if not math.isnan(c.margin) else 0.0),
        redefined={id: _redefined(cases[0][id], cases[1][new[id].id]) if cases else [] for id in redefined},
        only_before=[id for id in old if id not in new],
        only_after=[r.id for r in after if r.id not in repeated],
        same=sum(c.before.sha256 == c.after.sha256 != "" for c in changes),
    )


def _partners(before: Sequence[FlightResult], after: Sequence[FlightResult]) -> dict[str, FlightResult]:
    """The later flight that repeats each earlier one: by case, varied values and seed, else by id.

    A range with more steps gives its points other numbers; a point is identified by its values.
    """
    places: dict[object, list[FlightResult]] = {}
    for result in after:
        places.setdefault(_point(result), []).append(result)
    ids = {result.id: result for result in after}
    partners: dict[str, FlightResult] = {}
    used: set[str] = set()
    for by_values in (True, False):
        for result in before:
            same = places.get(_point(result), []) if by_values else []
            partner = same[0] if len(same) == 1 else None if by_values else ids.get(result.id)
            if result.id not in partners and partner is not None and partner.id not in used:
                partners[result.id] = partner
                used.add(partner.id)
    return partners


def _point(result: FlightResult) -> object:
    return result.case_id, result.seed, tuple(sorted(result.values.items(), key=lambda item: item[0]))


def _redefined(before: FlightCase, after: FlightCase) -> list[str]:
    """Parts of a definition that changed: the tables of its order that differ, else the vehicle's file."""
    old, new = before.record(), after.record()
    parts = [key for key in old if key not in (*LABELS, "tags", "vehicle") and old[key] != new.get(key)]
    if Path(before.vehicle).stem != Path(after.vehicle).stem:
        return [f"vehicle {Path(before.vehicle).stem} -> {Path(after.vehicle).stem}", *parts]
    return parts or [f"vehicle file {Path(after.vehicle).stem}"]
