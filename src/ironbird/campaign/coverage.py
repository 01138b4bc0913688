"""Coverage of a campaign: parameter combinations, faults by flight phase, mode transitions, project tables.

Project tables are requirements and failure modes that a project provides as CSV.
"""

from __future__ import annotations

import bisect
import csv
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.campaign.case import FlightCase, Spread
from ironbird.campaign.planned import Planned
from ironbird.campaign.result import FlightResult
from ironbird.campaign.summary import planned_tables
from ironbird.errors import IronbirdError
from ironbird.files.problems import Source
from ironbird.flight.judge import requirements_of
from ironbird.flight.words import ERROR, FAIL, PASS, VOID

VACUOUS = "vacuous"  # of a flight that passed without putting a requirement to the test
OPEN, BY_TAG = "open", "by tag only"
BINS = 4  # into which a continuous parameter is divided
MOST_LEVELS = 32  # values of a parameter that count one by one where its plan is not known


def mode_name(number: float) -> str:
    """The name of a mode; an unknown number stays a number."""
    return MODES[int(number)] if 0 <= int(number) < len(MODES) else str(int(number))


@dataclass(frozen=True)
class Combinations:
    """How many combinations of levels of any t parameters were flown."""

    strength: int
    covered: int
    total: int

    @property
    def share(self) -> float:
        """Share of the combinations that were flown, 0 to 1."""
        return self.covered / self.total if self.total else 1.0


@dataclass(frozen=True)
class Levels:
    """What is counted of a varied parameter: its planned values, or ranges between edges."""

    values: tuple[float | str, ...] = ()
    edges: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """Number of levels."""
        return len(self.values) or len(self.edges) + 1

    def level(self, value: float | str) -> int:
        """Number of the level of a value; -1 if the plan does not have it."""
        if self.edges:
            return bisect.bisect_right(self.edges, float(value))
        return self.values.index(value) if value in self.values else -1


def planned_levels(planned: Sequence[FlightCase], spreads: Mapping[str, Spread] | None = None) -> dict[str, Levels]:
    """Levels of each varied parameter of a case: all values of a list or range, four equal shares of a distribution.

    `spreads` are the parameters of the case's file; without one the values of the `planned` flights count, in bins if
    they are numbers and too many.
    """
    levels = {}
    for name in sorted({name for case in planned for name in case.values}):
        spread = (spreads or {}).get(name)
        if spread is not None:
            known = spread.levels()
            shares = [cast(float, spread.at(number / BINS)) for number in range(1, BINS)] if known is None else []
            levels[name] = Levels(tuple(known or ()), tuple(shares))
            continue
        values = {case.values[name] for case in planned if name in case.values}
        numbers = sorted(value for value in values if not isinstance(value, str))
        if len(numbers) == len(values) > MOST_LEVELS:
            low, high = numbers[0], numbers[-1]
            levels[name] = Levels(edges=tuple(low + (high - low) * number / BINS for number in range(1, BINS)))
        else:
            levels[name] = Levels(tuple(sorted(values, key=lambda value: (isinstance(value, str), value))))
    return levels


def combinations(results: Sequence[FlightResult], strength: int, levels: Mapping[str, Levels]) -> Combinations:
    """How many of the planned combinations of `strength` parameters of one case were flown and judged."""
    judged = [result for result in results if result.verdict in (PASS, FAIL)]
    covered = total = 0
    for group in itertools.combinations(sorted(levels), strength):
        flown = {
            tuple(levels[n].level(r.values[n]) for n in group) for r in judged if all(n in r.values for n in group)
        }
        covered += sum(min(places) >= 0 for places in flown)
        total += math.prod(levels[name].count for name in group)
    return Combinations(strength, covered, total)


@dataclass(frozen=True)
class CaseCoverage:
    """What of one case's plan was flown and judged.

    Attributes
    ----------
    id : str
        Id of the case.
    planned : int
        Flights of the case in its file; those of the campaign if the file is not known.
    flown : int
        Flights that passed or failed.
    combinations : list of Combinations
        Values and pairs of values of the varied parameters.
    """

    id: str
    planned: int
    flown: int
    combinations: list[Combinations]

    def sentence(self) -> str:
        """Values and pairs as text."""
        words = {1: "values", 2: "pairs"}
        return "; ".join(f"{part.covered} of {part.total} {words[part.strength]}" for part in self.combinations)


def case_coverage(
    source: Mapping[str, str], cases: Iterable[FlightCase], results: Iterable[FlightResult]
) -> list[CaseCoverage]:
    """What of each case's plan was flown: `source` has the files of the suite, `cases` are the campaign's flights."""
    tables = planned_tables(source)
    planned: dict[str, list[FlightCase]] = defaultdict(list)
    for case in cases:
        planned[case.case_id].append(case)
    flown: dict[str, list[FlightResult]] = defaultdict(list)
    for result in results:
        flown[result.case_id].append(result)
    rows = []
    for case_id, flights in planned.items():
        spreads, count = _plan_of(tables.get(case_id))
        levels = planned_levels(flights, spreads)
        parts = [combinations(flown[case_id], strength, levels) for strength in (1, 2) if strength <= len(levels)]
        judged = sum(result.verdict in (PASS, FAIL) for result in flown[case_id])
        rows.append(CaseCoverage(case_id, max(count, len(flights)), judged, parts))
    return rows


def _plan_of(table: dict[str, Any] | None) -> tuple[dict[str, Spread], int]:
    """The varied parameters of a case's table and its number of flights; nothing if it cannot be read alone."""
    if table is None:
        return {}, 0
    planned = Planned(table, Source(Path(), table, ""), 0, None)
    try:
        return planned.variables, planned.count()
    except (IronbirdError, ValueError, KeyError, TypeError, AttributeError):
        return {}, 0


@dataclass
class Coverage:
    """Tables of what was flown, with results."""

    phases: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # fault -> mode -> flights
    transitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )  # fault -> verdict -> flights

    @property
    def modes(self) -> list[str]:
        """Modes in which any fault began."""
        return sorted({mode for counter in self.phases.values() for mode in counter})


def coverage(pairs: Iterable[tuple[FlightCase, FlightResult]]) -> Coverage:
    """Faults by phase, and transitions between modes, over all flights."""
    tables = Coverage()
    for case, result in pairs:
        pairs_of_flight = zip(case.faults, result.fault_modes, strict=False)
        begun = {(i.fault.id, mode_name(mode) if mode >= 0 else "not reached") for i, mode in pairs_of_flight}
        for fault, mode in begun:
            tables.phases[fault][mode] += 1
        for fault in {fault for fault, _ in begun}:
            tables.verdicts[fault][result.verdict] += 1
        names = [mode_name(mode) for _, mode in result.modes]
        tables.transitions.update(itertools.pairwise(names))
    return tables


# ---------------------------------------------------------------------- tables that a project brings along


@dataclass(frozen=True)
class TraceRow:
    """A requirement or failure mode of the project, what verifies it, and the results.

    Attributes
    ----------
    id, text : str
        The row of the project's table.
    cases : list of str
        Cases that verify it.
    verdicts : dict of str to int
        Flights by verdict on this row; `open` are not flown yet.
    formulas : list of str
        Names of the requirements of the cases that measure it; empty if cases are joined by a tag alone.
    by_tag : bool
        Whether it is a requirement that no formula measures: its cases only have one of its tags.
    """

    id: str
    text: str
    cases: list[str]
    verdicts: dict[str, int]
    formulas: list[str] = field(default_factory=list)
    by_tag: bool = False

    @property
    def status(self) -> str:
        """The worst verdict; `open` if a flight is missing, `by tag only` in place of a pass that nothing measured.

        `vacuous` if no flight put it to the test.
        """
        for verdict in (ERROR, FAIL, VOID, OPEN, PASS, VACUOUS):
            if self.verdicts.get(verdict):
                return BY_TAG if self.by_tag and verdict in (PASS, VACUOUS) else verdict
        return OPEN


def read_table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file with a header line; `id` and `tags` are required, `tags` are separated by blanks."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle)
            if reader.fieldnames is None or not {"id", "tags"} <= set(reader.fieldnames):
                raise IronbirdError(
                    f"{path}:1: the header line needs the columns 'id' and 'tags'; it has {reader.fieldnames}"
                )
            return [{key: value or "" for key, value in row.items() if key} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise IronbirdError(f"cannot read {path}: {why}; give a CSV file with the columns id, text, tags") from None


def trace_table(
    table: Sequence[Mapping[str, str]],
    cases: Iterable[FlightCase],
    results: Iterable[FlightResult],
    *,
    by_tag: bool = False,
) -> list[TraceRow]:
    """Rows of a table of requirements or failure modes, with the cases that verify them.

    A requirement of the project is measured by the requirements of cases that say so (`covers = ["ID"]`), or whose name
    is one of its tags. Cases that only have one of its tags (as a tag, their id or a fault) measure nothing; with
    `by_tag`, for failure modes, they are enough.
    """
    flights = list(cases)
    flown: dict[str, list[FlightResult]] = defaultdict(list)
    for result in results:
        flown[result.id].append(result)
    rows = []
    for entry in table:
        tags = set(entry["tags"].split())
        measures = (
            {} if by_tag else {case.id: names for case in flights if (names := _measuring(case, entry["id"], tags))}
        )
        hits = [case for case in flights if case.id in measures or (not measures and tags & _labels(case))]
        total: Counter[str] = Counter()
        for case in hits:
            judged = flown[case.id]
            total.update([_verdict(result, measures.get(case.id) or tags) for result in judged] or [OPEN])
        text = entry.get("text") or entry.get("title") or entry.get("description") or ""
        rows.append(
            TraceRow(
                entry["id"],
                text,
                sorted({case.case_id for case in hits}),
                dict(total),
                sorted(set().union(*measures.values())),
                not by_tag and not measures,
            )
        )
    return rows


def _labels(case: FlightCase) -> set[str]:
    """What a tag of a table may name of a case."""
    faults = {injection.fault.id for injection in case.faults}
    return {case.case_id, *case.tags, *(requirement.name for requirement in case.requirements)} | faults


def _measuring(case: FlightCase, id: str, tags: set[str]) -> set[str]:
    """Names of the requirements of a case that measure one of the project; `no_crash` and `mission` are such too."""
    judged = case.requirements if case.scenario else requirements_of(case)
    return {requirement.name for requirement in judged if id in requirement.covers or requirement.name in tags}


def unknown_covers(table: Sequence[Mapping[str, str]], cases: Iterable[FlightCase]) -> list[str]:
    """Ids that requirements of cases cover and the project's table does not have."""
    known = {entry["id"] for entry in table}
    covered = {id for case in cases for requirement in case.requirements for id in requirement.covers}
    return sorted(covered - known)


def _verdict(result: FlightResult, names: set[str]) -> str:
    """A flight's verdict on the requirements of these names, or on all if it has none of them."""
    if result.verdict in (ERROR, VOID):
        return result.verdict
    judgements = [j for j in result.judgements if j.name in names]
    if not judgements:
        idle = result.verdict == PASS and result.judgements and all(j.untested for j in result.judgements)
        return VACUOUS if idle else result.verdict
    if not all(j.holds for j in judgements):
        return FAIL
    return VACUOUS if all(j.untested for j in judgements) else PASS
