"""A campaign in figures: verdicts by case, worst flights, failure probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ironbird.campaign.result import FlightResult, worst_key
from ironbird.campaign.statistics import Probability, failure_probability
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
                min(flights, key=worst_key),
                failure_probability(counts[FAIL], judged, confidence),
                case_id in sampled,
            )
        )
    return summaries


def exit_code(results: Sequence[FlightResult], *, strict: bool = False) -> int:
    """0 if every flight came out as its case expects (by default pass), else 1.

    With `strict` a requirement that a flight did not put to the test counts as not met.
    """
    right = results and all(result.as_expected and not (strict and result.untested) for result in results)
    return 0 if right else 1
