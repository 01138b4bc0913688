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
    """A requirement or failure mode of the project, the cases that verify it, and their results."""

    id: str
    text: str
    cases: list[str]
    verdicts: dict[str, int]

    @property
    def status(self) -> str:
        """`open` without a judged case; else the worst verdict; `vacuous` if no flight tested the requirement."""
        for verdict in (ERROR, FAIL, VOID, PASS, VACUOUS):
            if self.verdicts.get(verdict):
                return verdict
        return "open"


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
    table: Sequence[Mapping[str, str]], cases: Iterable[FlightCase], results: Iterable[FlightResult]
) -> list[TraceRow]:
    """Rows of a requirement or FMEA table, with the cases that have one of their tags, or its name."""
    flown: dict[str, list[FlightResult]] = defaultdict(list)
    for result in results:
        flown[result.case_id].append(result)
    labels: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        labels[case.case_id] |= {case.case_id, *case.tags, *(r.name for r in case.requirements)}
        labels[case.case_id] |= {injection.fault.id for injection in case.faults}
    rows = []
    for entry in table:
        tags = set(entry["tags"].split())
        hits = sorted(case_id for case_id, known in labels.items() if tags & known)
        total: Counter[str] = Counter()
        for case_id in hits:
            total.update(_verdict(result, tags) for result in flown[case_id])
        text = entry.get("text") or entry.get("title") or entry.get("description") or ""
        rows.append(TraceRow(entry["id"], text, hits, dict(total)))
    return rows


def _verdict(result: FlightResult, tags: set[str]) -> str:
    """A flight's verdict on the requirements that a row names, or on all of its own."""
    judgements = [j for j in result.judgements if j.name in tags] or result.judgements
    return VACUOUS if result.verdict == PASS and judgements and all(j.untested for j in judgements) else result.verdict
