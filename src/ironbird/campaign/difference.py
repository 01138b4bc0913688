"""Two campaigns side by side, flight by flight: what got worse, what got better, which margins moved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.campaign.case import LABELS, FlightCase
from ironbird.campaign.identity import earlier_meaning
from ironbird.campaign.margins import unit_of
from ironbird.campaign.result import FlightResult
from ironbird.campaign.store import Campaign
from ironbird.errors import StoreError
from ironbird.flight.judge import Judgement
from ironbird.flight.words import ERROR, FAIL, PASS, VOID

RANKS = {verdict: rank for rank, verdict in enumerate((PASS, VOID, FAIL, ERROR))}  # the best first


@dataclass(frozen=True)
class Change:
    """A flight of both campaigns with a different result.

    Attributes
    ----------
    flight_id : str
        Id of the flight in the first campaign.
    before, after : FlightResult
        Its two results.
    """

    flight_id: str
    before: FlightResult
    after: FlightResult

    @property
    def newly_broken(self) -> list[str]:
        """Requirements that are broken now and were not before."""
        known = {j.name for j in self.before.judgements if not j.holds}
        return [j.name for j in self.after.judgements if not j.holds and j.name not in known]

    @property
    def newly_untested(self) -> list[str]:
        """Requirements that hold, but are no longer put to the test as they were before."""
        tested = {j.name for j in self.before.judgements if j.holds and not j.untested}
        return [j.name for j in self.after.untested if j.name in tested and j.holds]

    @property
    def is_worse(self) -> bool:
        """Whether the verdict is worse (pass, void, fail, error), or another requirement broke or went untested."""
        fell = RANKS[self.after.verdict] > RANKS[self.before.verdict]
        return fell or (self.after.verdict != ERROR and bool(self.newly_broken or self.newly_untested))

    def sentence(self) -> str:
        """What changed, as text."""
        verdicts = [self.before.verdict, *([self.after.verdict] if self.after.verdict != self.before.verdict else [])]
        broken = f", newly broken: {', '.join(self.newly_broken)}" if self.newly_broken else ""
        idle = f", no longer put to the test: {', '.join(self.newly_untested)}" if self.newly_untested else ""
        return f"{self.flight_id}: {' -> '.join(verdicts)}{broken}{idle}: {self.after.sentence}"


@dataclass(frozen=True)
class MovedMargin:
    """A requirement of a flight whose margin is not the same in both campaigns.

    Attributes
    ----------
    flight_id : str
        Id of the flight in the first campaign.
    before, after : Judgement
        The two judgements of the requirement.
    """

    flight_id: str
    before: Judgement
    after: Judgement

    @property
    def requirement(self) -> str:
        """Name of the requirement."""
        return self.before.name

    @property
    def unit(self) -> str:
        """SI unit of both margins, as far as it is known."""
        return unit_of(self.before) or unit_of(self.after)

    @property
    def margin(self) -> float:
        """Change of the margin; negative is worse."""
        return self.after.margin - self.before.margin


@dataclass(frozen=True)
class Difference:
    """Two campaigns side by side, flight by flight.

    Attributes
    ----------
    verdicts : list of Change
        Flights with another verdict, another broken requirement, or one that is no longer tested: `flight_id`,
        `before`, `after` (both `FlightResult`), `is_worse`. Those that got worse come first.
    margins : list of MovedMargin
        Margins that moved: `flight_id`, `requirement`, `unit`, `before`, `after`, `margin`; the largest movement first.
    redefined : dict of str to list of str
        What of a flight's definition is not the same, by flight.
    only_before, only_after : list of str
        Flights that only one campaign has.
    same : int
        Number of flights with equal hashes of their logs.
    """

    verdicts: list[Change]
    margins: list[MovedMargin]
    redefined: dict[str, list[str]]  # redefined parts, by flight
    only_before: list[str]
    only_after: list[str]
    same: int  # flights with equal hashes of their logs

    def __repr__(self) -> str:
        counts = {
            "worse": len(self.worse), "other verdicts": len(self.verdicts), "other margins": len(self.margins),
            "redefined": len(self.redefined), "only before": len(self.only_before),
            "only after": len(self.only_after), "same": self.same,
        }  # fmt: skip
        return f"Difference({', '.join(f'{what}: {count}' for what, count in counts.items())})"

    @property
    def worse(self) -> list[Change]:
        """Flights that got worse."""
        return [change for change in self.verdicts if change.is_worse]

    @property
    def is_worse(self) -> bool:
        """Whether a flight got worse, or is missing in the second campaign."""
        return bool(self.worse or self.only_before)

    @property
    def is_any(self) -> bool:
        """Whether anything differs."""
        return bool(self.verdicts or self.margins or self.redefined or self.only_before or self.only_after)

    def redefinitions(self) -> dict[str, int]:
        """Number of flights by redefined part."""
        return dict(Counter(", ".join(what) for what in self.redefined.values()))

    def record(self) -> dict[str, Any]:
        """Plain data; a margin that is no finite number is None."""
        return {
            "worse": self.is_worse,
            "verdicts": [
                {
                    "flight": c.flight_id, "before": c.before.verdict, "after": c.after.verdict, "worse": c.is_worse,
                    "newly_broken": c.newly_broken, "newly_untested": c.newly_untested, "why": c.after.sentence,
                }
                for c in self.verdicts
            ],
            "margins": [
                {
                    "flight": m.flight_id, "requirement": m.requirement, "unit": m.unit,
                    "before": _number(m.before.margin), "after": _number(m.after.margin),
                }
                for m in self.margins
            ],
            "redefined": self.redefined,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "same": self.same,
        }  # fmt: skip


def check_meaning(campaigns: Sequence[Campaign], cure: str) -> None:
    """Raise if verdicts of two campaigns do not mean the same; `cure` says what compares them all the same."""
    earlier = [campaign for campaign in campaigns if earlier_meaning(campaign.ironbird)]
    if len(earlier) == 1:
        why = earlier_meaning(earlier[0].ironbird)
        raise StoreError(f"campaign {earlier[0].name} has {why}; {cure} compares all the same")


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def compare(
    before: Sequence[FlightResult], after: Sequence[FlightResult], cases: Sequence[Mapping[str, FlightCase]] = ()
) -> Difference:
    """What changed between two campaigns; flights are paired by case, values and seed, requirements by name.

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
    other = [c for c in changes if c.before.verdict != c.after.verdict or c.is_worse]
    return Difference(
        verdicts=sorted(other, key=lambda c: not c.is_worse),
        margins=sorted((m for c in changes for m in _moved(c)), key=lambda m: -abs(m.margin)),
        redefined={id: _redefined(cases[0][id], cases[1][new[id].id]) if cases else [] for id in redefined},
        only_before=[id for id in old if id not in new],
        only_after=[r.id for r in after if r.id not in repeated],
        same=sum(c.before.sha256 == c.after.sha256 != "" for c in changes),
    )


def _moved(change: Change) -> list[MovedMargin]:
    """Requirements of both flights whose margins are not equal."""
    later = {j.name: j for j in change.after.judgements}
    both = [(j, later[j.name]) for j in change.before.judgements if j.name in later]
    return [MovedMargin(change.flight_id, old, new) for old, new in both if repr(old.margin) != repr(new.margin)]


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
