"""A campaign in figures: verdicts by case, worst flights, failure probabilities."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironbird.campaign.result import FlightResult, worst_key
from ironbird.campaign.statistics import Probability, failure_probability
from ironbird.files.problems import read_toml
from ironbird.flight.words import ERROR, FAIL, PASS, VERDICTS, VOID


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
        """Failures among the judged flights as text, with an interval if these are independent random draws.

        Errors and voids say nothing about the requirements: they are named, and not counted.
        """
        judged = self.probability
        text = (
            judged.sentence() if self.sampled or not judged.trials else f"{judged.failures} of {judged.trials} failed"
        )
        others = [f"{_counted(self.verdicts[verdict], verdict)}" for verdict in (ERROR, VOID) if self.verdicts[verdict]]
        verb = "is" if sum(self.verdicts[verdict] for verdict in (ERROR, VOID)) == 1 else "are"
        return f"{text}; {', '.join(others)} {verb} not counted" if others else text


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def planned_tables(source: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The tables of all cases in the files of a suite, by id, each with the keys that it takes from the defaults.

    `source` has the files of a campaign's suite; files that are no case files are ignored.
    """
    tables: list[dict[str, Any]] = []
    for text in source.values():
        with contextlib.suppress(ValueError):
            tables.append(read_toml(text))
    suites = [table["suite"] for table in tables if isinstance(table.get("suite"), dict)]
    shared: dict[str, Any] = next(
        (suite["defaults"] for suite in suites if isinstance(suite.get("defaults"), dict)), {}
    )
    lists = [table["case"] for table in tables if isinstance(table.get("case"), list)]
    return {str(case.get("id")): {**shared, **case} for cases in lists for case in cases if isinstance(case, dict)}


def sampled_cases(source: Mapping[str, str], results: Sequence[FlightResult] = ()) -> set[str]:
    """Cases whose flights are independent random draws.

    They are planned so (`monte_carlo`, each sample with its own seed), or are many seeds of one point. Samples that
    share a seed share its noise; a latin hypercube draws its points together; flights of several seeds with equal logs
    have drawn nothing: none of them is independent. `source` has the files of a campaign's suite.
    """
    planned = planned_tables(source)
    drawn = {
        case
        for case, table in planned.items()
        if isinstance(table.get("plan"), dict) and table["plan"].get("kind") == "monte_carlo" and "seeds" not in table
    }
    groups: dict[str, list[FlightResult]] = {}
    for result in results:
        groups.setdefault(result.case_id, []).append(result)
    seeded = {
        case
        for case, flights in groups.items()
        if len({flight.seed for flight in flights}) > 1 and not any(flight.values for flight in flights)
    }
    return {case for case in drawn | seeded if not _are_equal(groups.get(case, []))}


def _are_equal(flights: Sequence[FlightResult]) -> bool:
    """Whether all of several flights are the same to the bit: their seeds play no part."""
    return len(flights) > 1 and len({flight.sha256 for flight in flights}) == 1


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
                min(flights, key=worst_key),
                failure_probability(counts[FAIL], judged, confidence),
                case_id in sampled,
            )
        )
    return summaries


def exit_code(results: Sequence[FlightResult], *, strict: bool = False) -> int:
    """0 if every flight came out as its case expects (by default pass), else 1.

    With `strict` a requirement that a flight did not put to the test counts as not met, and so does a pass whose faults
    changed nothing.
    """
    right = results and all(
        result.as_expected and not (strict and (result.untested or result.changed_nothing)) for result in results
    )
    return 0 if right else 1
