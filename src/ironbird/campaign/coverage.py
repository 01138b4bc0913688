"""Coverage of a campaign: parameter combinations, faults by flight phase, mode transitions, project tables.

Project tables are requirements and failure modes that a project provides as CSV.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.errors import IronbirdError
from ironbird.flight.words import ERROR, FAIL, PASS, VOID

VACUOUS = "vacuous"  # of a flight that passed without putting a requirement to the test
OPEN, BY_TAG = "open", "by tag only"
BINS = 4  # into which a continuous parameter is divided


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


def combinations(results: Sequence[FlightResult], strength: int) -> Combinations:
    """t-way coverage of one case's varied parameters; numbers with many values count in four bins of equal width."""
    names = sorted({name for result in results for name in result.values})
    levels: dict[str, dict[float | str, int]] = {}
    for name in names:
        values = sorted({r.values[name] for r in results if name in r.values}, key=lambda v: (isinstance(v, str), v))
        numbers = [v for v in values if isinstance(v, float | int)]
        if len(values) > BINS and len(numbers) == len(values):
            low, high = min(numbers), max(numbers)
            levels[name] = {v: min(BINS - 1, int(BINS * (v - low) / (high - low))) for v in numbers}
        else:
            levels[name] = {v: i for i, v in enumerate(values)}
    covered = total = 0
    for group in itertools.combinations(names, strength):
        flown = {tuple(levels[n][r.values[n]] for n in group) for r in results if all(n in r.values for n in group)}
        covered += len(flown)
        size = 1
        for name in group:
            size *= max(levels[name].values()) + 1
        total += size
    return Combinations(strength, covered, total)


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
        for injection, mode in zip(case.faults, result.fault_modes, strict=False):
            tables.phases[injection.fault.id][mode_name(mode) if mode >= 0 else "not reached"] += 1
            tables.verdicts[injection.fault.id][result.verdict] += 1
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
    """Names of the requirements of a case that measure a requirement of the project."""
    return {
        requirement.name for requirement in case.requirements if id in requirement.covers or requirement.name in tags
    }


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
