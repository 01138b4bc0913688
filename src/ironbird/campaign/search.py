"""Search: flights that fail, the boundary between survived and lost, and the smallest fault that still fails.

All searches fly many candidates in one batch and are repeatable: equal cases and seeds give equal results.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.campaign.batch import fly_all
from ironbird.campaign.case import FlightCase
from ironbird.campaign.margins import by_severity
from ironbird.campaign.planned import Planned
from ironbird.campaign.result import FlightResult
from ironbird.campaign.scenario_case import orders_of, scenario_faults, with_faults, without_wind
from ironbird.errors import IronbirdError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.flight.order import Weather
from ironbird.flight.systems import is_outside
from ironbird.flight.words import ERROR, FAIL, PASS

ROUND = 32  # candidates flown at once
HALVES = 2  # sections of an interval where each candidate flies alone: scenarios, control systems outside
LINE_TOLERANCE = 0.02  # of the line of a map, as a share of its parameter's range
SCORE_WEIGHT = 1e-3  # of the graded score added to the margin: distinguishes flights where the margin is yes or no


@dataclass(frozen=True)
class Candidate:
    """One flight of a search, with its result."""

    case: FlightCase
    result: FlightResult


@dataclass(frozen=True)
class Falsification:
    """Result of a search for failing flights."""

    flown: list[Candidate]

    @property
    def worst(self) -> Candidate:
        """The flight with the smallest margin, of equal ones the one with the hardest impact."""
        judged = [c for c in self.flown if c.result.verdict in (PASS, FAIL)]
        if not judged:
            raise IronbirdError(f"no flight of the search could be judged: {self.flown[0].result.sentence}")
        return min(judged, key=lambda c: _objective(c.result))

    @property
    def failing(self) -> list[Candidate]:
        """Flights that failed, in the order of the search."""
        return [c for c in self.flown if c.result.verdict == FAIL]

    def sentence(self) -> str:
        """The result as text: number of failures, and the worst flight."""
        worst = self.worst
        values = ", ".join(
            f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in worst.case.values.items()
        )
        count = f"{len(self.failing)} of {len(self.flown)} flights failed"
        return f"{count}; the worst has margin {worst.result.margin:.4g} at {values}: {worst.result.sentence}"


def _objective(result: FlightResult) -> float:
    """The margin, graded where it is yes or no: a harder impact is worse, then a lower score."""
    margin = result.margin if math.isfinite(result.margin) else math.copysign(1e6, result.margin) - result.impact_mps
    score = result.score if math.isfinite(result.score) else 0.0
    return margin + SCORE_WEIGHT * score


def falsify(
    planned: Planned, *, trials: int, seed: int = 0, progress: Callable[[float], None] | None = None
) -> Falsification:
    """Search the values of a case's varied parameters at which the requirements have the smallest margin.

    [Optuna]'s tree-structured Parzen estimator proposes points in rounds; each parameter is searched over the share of
    its distribution, so that words, levels and logarithmic ranges need nothing of their own. `ib.search` is this with a
    file's name, and shrinks what it finds.

    Parameters
    ----------
    planned : Planned
        A case of `ib.load_suite(…).cases`.
    trials : int
        Number of flights to spend.
    seed : int, default 0
        Seed of the search.
    progress : callable, optional
        Called with the share of the trials that are flown, 0 to 1.

    Returns
    -------
    Falsification
        `flown`, `failing`, `worst`, and `sentence()`.

    Raises
    ------
    IronbirdError
        If nothing varies.
    """
    import optuna

    if not planned.variables:
        raise IronbirdError(
            f"case '{planned.id}' has nothing that varies: a search needs a range, as {{ uniform = [0, 1] }}"
        )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():  # batches need the constant liar, which Optuna calls experimental
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=ROUND)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    flown: list[Candidate] = []
    while len(flown) < trials:
        proposals = [study.ask() for _ in range(min(ROUND, trials - len(flown)))]
        cases = []
        for number, trial in enumerate(proposals, start=len(flown) + 1):
            shares = {name: min(trial.suggest_float(name, 0.0, 1.0), 1.0 - 2**-53) for name in planned.variables}
            values = {name: spread.at(shares[name]) for name, spread in planned.variables.items()}
            cases.append(planned.flight(values, number, planned.seeds_at(number)[0]))
        results = fly_all(cases)
        for trial, case, result in zip(proposals, cases, results, strict=True):
            flown.append(Candidate(case, result))
            if result.verdict in (PASS, FAIL):
                study.tell(trial, _objective(result))
            else:  # void or error: says nothing about the margin
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        if progress:
            progress(len(flown) / trials)
    return Falsification(flown)


# ---------------------------------------------------------------------- boundaries


@dataclass(frozen=True)
class Boundary:
    """Value of one parameter from which on flights fail."""

    name: str
    survived: float  # last value that passes
    lost: float  # first value that fails
    flown: list[Candidate]
    monotone: bool  # whether all flights on each side agree

    @property
    def value(self) -> float:
        """The middle between the last pass and the first failure."""
        return (self.survived + self.lost) / 2.0


def boundary(
    planned: Planned, name: str, fixed: dict[str, float | str] | None = None, *, tolerance: float = 0.005
) -> Boundary | None:
    """The value of one parameter at which the case turns from pass to fail, to a share of its range.

    The others stay at `fixed`, or at the middle of their range. Sections of the interval are flown in one batch. None
    if no section has two verdicts.
    """
    if name not in planned.variables:
        raise UnknownNameError("varied parameter", name, planned.variables, f"case '{planned.id}'")
    extremes = planned.variables[name].extremes()
    low, high = min(extremes), max(extremes)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise IronbirdError(f"{name} has no bounds: give {{ uniform = [a, b] }}")
    others = {n: spread.at(0.5) for n, spread in planned.variables.items()} | dict(fixed or {})
    span, monotone = high - low, True
    known: dict[float, Candidate] = {}
    sections = _sections(planned.flight({**others, name: low}, 1, planned.seeds_at(1)[0]), ROUND // 2)
    while True:
        points = [low + (high - low) * i / sections for i in range(sections + 1)]
        new = [value for value in points if value not in known]
        candidates = _fly_values(planned, [{**others, name: value} for value in new])
        known.update(zip(new, candidates, strict=True))
        judged = [  # void and error do not count for the boundary
            (value, known[value].result.verdict == FAIL)
            for value in points
            if known[value].result.verdict in (PASS, FAIL)
        ]
        changes = [pair for pair in itertools.pairwise(judged) if pair[0][1] != pair[1][1]]
        if not changes:
            return None
        monotone &= len(changes) == 1
        (left, fails_left), (right, _) = changes[0]
        if right - left <= tolerance * span or (left, right) == (low, high):
            survived, lost = (right, left) if fails_left else (left, right)
            return Boundary(name, survived, lost, list(known.values()), monotone)
        low, high = left, right


def _sections(case: FlightCase, side_by_side: int) -> int:
    """Number of sections into which an interval is cut at once."""
    return HALVES if case.scenario or is_outside(case.control) else side_by_side


def _fly_values(planned: Planned, values: Sequence[dict[str, float | str]]) -> list[Candidate]:
    cases = [planned.flight(v, number, planned.seeds_at(1)[0]) for number, v in enumerate(values, start=1)]
    return [Candidate(case, result) for case, result in zip(cases, fly_all(cases), strict=True)]


@dataclass(frozen=True)
class Map:
    """Verdicts over two parameters, and the boundary between survived and lost."""

    across: str
    along: str
    x: list[float]
    y: list[float]
    verdicts: np.ndarray  # [y, x] of words
    margins: np.ndarray  # [y, x]
    line: list[tuple[float, float]] = field(default_factory=list)  # x, and the y at which the verdict changes


def boundary_map(
    planned: Planned,
    across: str,
    along: str,
    *,
    points: int | tuple[int, int] = 12,
    tolerance: float | None = LINE_TOLERANCE,
    progress: Callable[[float], None] | None = None,
) -> Map:
    """Fly a grid over two parameters and refine the boundary between pass and fail along the second one.

    `points` may differ across and along; without a tolerance only the grid is flown.
    """
    for name in (across, along):
        if name not in planned.variables:
            raise UnknownNameError("varied parameter", name, planned.variables, f"case '{planned.id}'")
    sides = (points, points) if isinstance(points, int) else points
    x, y = (
        np.linspace(*_limits(planned, name), count).tolist() for name, count in zip((across, along), sides, strict=True)
    )
    others = {n: spread.at(0.5) for n, spread in planned.variables.items()}
    candidates = _fly_values(planned, [{**others, across: a, along: b} for b in y for a in x])
    verdicts = np.array([c.result.verdict for c in candidates]).reshape(len(y), len(x))
    margins = np.array([c.result.margin for c in candidates]).reshape(len(y), len(x))
    line = []
    for column, value in enumerate(x):
        turn = (
            boundary(planned, along, {across: value}, tolerance=tolerance)
            if tolerance is not None and {PASS, FAIL} <= set(verdicts[:, column])
            else None
        )
        if turn is not None:
            line.append((value, turn.value))
        if progress:
            progress((column + 1) / len(x))
    return Map(across, along, x, y, verdicts, margins, line)


def _limits(planned: Planned, name: str) -> tuple[float, float]:
    extremes = planned.variables[name].extremes()
    if not extremes or not all(math.isfinite(value) for value in extremes):
        raise IronbirdError(f"{name} has no bounds: give {{ uniform = [a, b] }}")
    return min(extremes), max(extremes)


# ---------------------------------------------------------------------- shrinking


@dataclass(frozen=True)
class Shrunk:
    """A failing flight and the smallest flight that fails in the same way."""

    first: FlightCase
    case: FlightCase
    result: FlightResult
    flown: int

    def sentence(self) -> str:
        """The smallest failing flight as text."""
        case = self.case
        faults = " and ".join(_fault_words(injection) for injection in _faults(case)) or "no fault at all"
        weather = orders_of(case)[0].weather
        where = f"in {weather.describe()}" if weather != Weather() else "in calm air"
        changed = ", ".join(f"{path} = {value}" for path, value in case.settings.items())
        more = f", with {changed}" if changed else ""
        return f"{faults} {where}{more} is enough: {self.result.sentence}"


def _fault_words(injection: Injection) -> str:
    part = f" of part {injection.instance}" if injection.fault.counts_instances else ""
    lasts = f" for {injection.end_s - injection.start_s:.3g} s" if math.isfinite(injection.end_s) else ""
    return f"{injection.fault.id}{part} with severity {injection.severity:.4g}{lasts}"


def shrink(
    case: FlightCase,
    *,
    by: str | None = None,
    tolerance: float = 0.01,
    progress: Callable[[int], None] | None = None,
) -> Shrunk:
    """Make a failing flight smaller as long as it fails by the same requirement: the most severe that it breaks.

    Left out if possible: faults, wind, turbulence, settings. Then severity and duration of each fault are cut to the
    smallest that still fails; several passes, as one cut may allow another. A smaller flight that is an error (an
    autopilot that does not start) ends the search: it is not known whether that one fails.

    Parameters
    ----------
    case : FlightCase
        A flight that fails.
    by : str, optional
        Name of the requirement that must stay broken; by default the most severe, of these the one broken first.
    tolerance : float, default 0.01
        How exactly severity and duration are found, as a share of what they were.
    progress : callable, optional
        Called with the number of flights that were flown.

    Returns
    -------
    Shrunk
        The smallest flight (`case`), its `result`, the number of flights `flown`, and `sentence()`.

    Raises
    ------
    IronbirdError
        If the flight does not fail, or does not break `by`.
    """
    result = fly_all([case])[0]
    if result.verdict != FAIL:
        raise IronbirdError(f"flight {case.id} does not fail ({result.verdict}): there is nothing to shrink")
    failed = [j.name for j in by_severity(result.judgements) if j.counts_as_broken]
    if by is not None and by not in failed:
        raise UnknownNameError("broken requirement", by, failed, f"flight {case.id}")
    broken = {by or failed[0]}
    flown = 1

    def fails(candidates: Sequence[FlightCase]) -> list[FlightResult | None]:
        nonlocal flown
        results = fly_all(candidates)
        flown += len(candidates)
        if progress:
            progress(flown)
        for flight in results:
            if flight.verdict == ERROR:  # whether it fails is not known
                raise IronbirdError(f"flight {case.id} cannot be shrunk: a smaller one is an error: {flight.sentence}")
        return [r if _same(r, broken) else None for r in results]

    def whole(injection: Injection, key: str) -> float:
        """Initial severity or duration; steps are fractions of it, as fractions of the current value never end."""
        same = [f for f in _faults(case) if (f.fault.id, f.instance) == (injection.fault.id, injection.instance)]
        return max(f.severity if key == "severity" else min(f.end_s, result.ended_s) - f.start_s for f in same)

    best, best_result = case, result
    while True:
        before = best
        for smaller in (_without, _calmer):
            candidates = smaller(best)
            for candidate, hit in zip(candidates, fails(candidates) if candidates else [], strict=True):
                if hit is not None:
                    best, best_result = candidate, hit
                    break
        for number, injection in enumerate(_faults(best)):
            for key in ("severity", "end_s") if injection.fault.has_severity else ("end_s",):
                best, best_result = _cut(best, best_result, number, key, tolerance * whole(injection, key), fails)
        if best == before:
            return Shrunk(case, best, best_result, flown)


def _same(result: FlightResult, broken: set[str]) -> bool:
    return result.verdict == FAIL and any(j.name in broken and j.counts_as_broken for j in result.judgements)


def _faults(case: FlightCase) -> tuple[Injection, ...]:
    """Faults of a flight, or of all vehicles of its scenario."""
    return scenario_faults(case) if case.scenario else case.faults


def _changed(case: FlightCase, number: int, fault: Injection | None) -> FlightCase:
    """The flight with one fault replaced, or removed if `fault` is None."""
    faults = [fault if n == number else known for n, known in enumerate(_faults(case))]
    if case.scenario:
        return with_faults(case, faults)
    return replace(case, faults=tuple(known for known in faults if known is not None))


def _without(case: FlightCase) -> list[FlightCase]:
    """Flights that each lack one of the faults."""
    return [_changed(case, number, None) for number in range(len(_faults(case)))]


def _calmer(case: FlightCase) -> list[FlightCase]:
    """Flights without all unusual conditions, then without one at a time; a scenario without its wind."""
    if case.scenario:
        return [without_wind(case)] if orders_of(case)[0].weather != Weather() else []
    simpler: list[FlightCase] = []
    plain = replace(case, weather=Weather(), settings={})
    if plain != case:
        simpler.append(plain)
    if case.weather.speed_mps:
        simpler.append(replace(case, weather=replace(case.weather, speed_mps=0.0)))
    if case.weather.gust_mps:
        simpler.append(replace(case, weather=replace(case.weather, gust_mps=0.0)))
    if case.weather.turbulence_mps:
        simpler.append(replace(case, weather=replace(case.weather, turbulence_mps=0.0)))
    simpler += [replace(case, settings={p: v for p, v in case.settings.items() if p != path}) for path in case.settings]
    return simpler


def _cut(
    case: FlightCase,
    result: FlightResult,
    number: int,
    key: str,
    least: float,
    fails: Callable[[Sequence[FlightCase]], list[FlightResult | None]],
) -> tuple[FlightCase, FlightResult]:
    """Reduce the severity or duration (`key`) of fault `number` as far as the flight still fails, to within `least`.

    Each round divides the interval and flies all points in one batch. Returns the reduced case and its result.
    """
    injection = _faults(case)[number]
    if key == "end_s" and not math.isfinite(injection.end_s):
        longest = result.ended_s - injection.start_s
        if longest <= 0 or injection.when:
            return case, result
    else:
        longest = injection.end_s - injection.start_s if key == "end_s" else injection.severity
    low, high, best = 0.0, longest, (case, result)
    sections = _sections(case, ROUND)
    while high - low > least:
        points = [low + (high - low) * i / sections for i in range(1, sections)]
        candidates = []
        for value in points:
            end_s = injection.start_s + value
            smaller = replace(injection, severity=value) if key == "severity" else replace(injection, end_s=end_s)
            candidates.append(_changed(case, number, smaller))
        hits = fails(candidates)
        first = next((i for i, hit in enumerate(hits) if hit is not None), None)
        if first is None:
            low = points[-1]
            continue
        hit = hits[first]
        assert hit is not None
        best = (candidates[first], hit)
        low, high = (points[first - 1] if first else low), points[first]
    return best
