"""Batches: flights of cases that can share one run of the kernel are flown together and judged."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import itertools
import operator
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ironbird.campaign.case import FlightCase
from ironbird.campaign.identity import software
from ironbird.campaign.result import FlightResult
from ironbird.campaign.scenario_case import judged_scenario
from ironbird.campaign.scenarios import scenario_in
from ironbird.compiler.compiled import LANES
from ironbird.errors import IronbirdError, LinkError, UnknownNameError
from ironbird.flight.duration import end_s
from ironbird.flight.flight import fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import Judged, judge, load_native_code, log_paths, not_flown
from ironbird.flight.prepare import fit, fit_key, fit_of
from ironbird.flight.systems import is_outside
from ironbird.flight.words import PASS
from ironbird.runtime.log import Log
from ironbird.scenario.run import fly_scenario
from ironbird.vehicles.load import Stamp

if TYPE_CHECKING:
    from ironbird.flight.healthy import KeptHealthy

LANES_PER_BATCH = 512
LOG_BYTES = 400e6  # of one batch, at most: each worker holds one


KEPT = ("failing", "all", "none")
MOST_TRACES = 1_000_000_000  # of a case, if all are kept


@dataclass(frozen=True)
class TracePolicy:
    """Which traces of a campaign are stored as Parquet files."""

    folder: str | None = None
    failing: bool = True
    share_of_passing: float = 0.01
    most_per_case: int = 20  # in LANES_PER_BATCH flights
    left: Mapping[str, int] = field(default_factory=dict)  # in this batch, of cases that have had some already

    @classmethod
    def of(cls, kept: str, folder: str) -> TracePolicy:
        """The policy for a value of `--traces`: `failing` (and one of a hundred that pass), `all` or `none`."""
        if kept not in KEPT:
            raise UnknownNameError("choice of --traces", kept, KEPT)
        if kept == "all":
            return cls(folder, share_of_passing=1.0, most_per_case=MOST_TRACES)
        return cls(folder if kept == "failing" else None)

    def wants(self, result: FlightResult, kept: int) -> bool:
        """Whether the trace of this flight is to be stored, after `kept` of its case."""
        if self.folder is None or kept >= self.left.get(result.case_id, self.most_per_case):
            return False
        if result.verdict != PASS:
            return self.failing
        # A fair and repeatable draw: by the flight's digest
        return int(result.digest[:8], 16) < self.share_of_passing * 2**32


@dataclass(frozen=True)
class BatchResult:
    """Results of a batch: its flights, kernel time, wall time and simulated time."""

    flights: list[FlightResult]
    kernel_s: float  # s of processor time in native code
    wall_s: float
    simulated_s: float
    software: str = ""  # hash of the code that flew it, if a worker says so


class Grouped(NamedTuple):
    """Key of a flight's group, and its logged signals: flights with equal keys can share a batch."""

    key: tuple[Any, ...]  # the model, the distance of rows, the length (which comes last)
    signals: tuple[str, ...]  # that its log is kept for; flights side by side log those of all


def grouped(case: FlightCase, stamps: dict[str, Stamp] | None = None) -> Grouped:
    """The group of a flight; `stamps` are time stamps of vehicle files that were read just before."""
    if case.scenario:
        return Grouped(((case.digest(),), "", case.log_s, case.until_s), ())
    key = fit_key(case, stamps)
    model = fit_of(key).model
    signals = log_paths(case, model)  # an invalid formula is this flight's error, not its batch's
    return Grouped((key, repr(case.tunings), case.log_s, end_s(case, model)), signals)


def lanes_that_fit(cases: Sequence[FlightCase], signals: Iterable[tuple[str, ...]] | None = None) -> int:
    """Number of lanes of a batch whose log stays within its share of memory; 1 for external control systems.

    `signals` are those of each flight, if they are known already.
    """
    first = cases[0]
    if first.scenario or is_outside(first.control) or any(case.tunings for case in cases):
        return 1
    model = fit(first).model
    known = model.signals()
    signals = (log_paths(case, model) for case in cases) if signals is None else signals
    row = 8 * sum(known[path].size for path in {path for own in set(signals) for path in own})
    rows = end_s(first, model) / first.log_s
    return min(LANES_PER_BATCH, max(LANES, int(LOG_BYTES / (row * rows)) // LANES * LANES))


def fly_batch(cases: Sequence[FlightCase], policy: TracePolicy | None = None, threads: int = 1) -> BatchResult:
    """Fly and judge flights of one group (`grouped`). A flight that cannot be flown is judged an error."""
    begin = time.perf_counter()
    policy = policy or TracePolicy()
    first = cases[0]
    places = list(range(len(cases)))  # order of the lanes: those with the same signals are adjacent, for their hashes
    signals: list[tuple[str, ...] | None] = [None] * len(cases)  # of each trace; None: all that the log has
    try:
        if first.scenario:
            flown = fly_scenario(scenario_in(first.scenario, first.case_id), workers=threads, keep=False)
            log, judged, kernel_s = flown.vehicles[0].log, [judged_scenario(first, flown)], 0.0
        elif is_outside(first.control):
            flight_log, verdict = _flown_outside(first)
            log, judged, kernel_s = flight_log, [verdict], 0.0
        else:
            model = fit(first).model
            own = [log_paths(case, model) for case in cases]
            signals, places = list(own), sorted(places, key=own.__getitem__)
            lanes = fly_lanes([cases[place] for place in places], model, threads=threads)
            log, kernel_s = lanes[0].log, sum(lane.kernel_s for lane in lanes)
            in_turn = sorted(zip(places, judge(lanes, model), strict=True), key=operator.itemgetter(0))
            judged = [one for _, one in in_turn]
    except Exception as error:
        if len(cases) > 1:  # find the ones that cannot be flown; the others must not be affected
            parts = [fly_batch([case], policy, threads) for case in cases]
            flights = [flight for part in parts for flight in part.flights]
            simulated_s = sum(part.simulated_s for part in parts)
            return BatchResult(flights, sum(part.kernel_s for part in parts), time.perf_counter() - begin, simulated_s)
        failed = FlightResult.of(first, not_flown(first, _why(error)))
        return BatchResult([failed], 0.0, time.perf_counter() - begin, 0.0)
    if log.interrupted:
        raise KeyboardInterrupt
    results = [FlightResult.of(case, verdict) for case, verdict in zip(cases, judged, strict=True)]
    results = _keep_traces(results, log, policy, places, signals)
    return BatchResult(results, kernel_s, time.perf_counter() - begin, sum(result.ended_s for result in results))


def _flown_outside(case: FlightCase) -> tuple[Log, Judged]:
    """Fly a case under a control system outside; with the option `twin` beside the healthy flights of its order."""
    if not (case.options.get("twin") and case.faults):
        flight = fly(case)
        return flight.log, flight.judged
    from ironbird.flight.cause import cause_of, with_cause

    with tempfile.TemporaryDirectory() as folder:
        flight = fly(case, folder=Path(folder))
        if flight.log.interrupted:
            raise KeyboardInterrupt
        try:
            return flight.log, with_cause(flight.judged, cause_of(flight, _healthy().of(case)))
        except LinkError:  # no log to compare: the flight itself is valid, and nothing is known of causes
            return flight.log, flight.judged


@functools.cache
def _healthy() -> KeptHealthy:
    """Healthy flights that this process has flown; its flights come in the order of their healthy ones."""
    from ironbird.flight.healthy import KeptHealthy

    return KeptHealthy()


def get_ready(cases: Sequence[FlightCase] = ()) -> None:
    """First task of a worker: load all modules, and the models of some flights, before it gets any.

    Loaded objects are exempt from garbage collection. An error here will occur again in flight, where it is reported.
    """
    software()
    with contextlib.suppress(Exception):
        import pyarrow.parquet  # noqa: F401

        load_native_code()
        for case in cases:
            if not case.scenario and not is_outside(case.control):
                fit(case).model.library(LANES)
    gc.freeze()


def fly_for_runner(cases: Sequence[FlightCase], policy: TracePolicy) -> BatchResult:
    """Task of a worker: `fly_batch`, with the hash of the code that flies."""
    return replace(fly_batch(cases, policy), software=software())


def fly_all(cases: Sequence[FlightCase], threads: int | None = None) -> list[FlightResult]:
    """Fly and judge flights in this process, without a store.

    Parameters
    ----------
    cases : sequence of FlightCase
        For example `ib.load_suite("mine.toml").flights()`.
    threads : int, optional
        Number of threads; one per core by default. It does not change any result.

    Returns
    -------
    list of FlightResult
        In the order of the cases.

    Raises
    ------
    IronbirdError
        If a flight cannot be prepared.

    Examples
    --------
    >>> flights = ib.load_suite("regression").flights()
    >>> [result.verdict for result in ib.fly_all(flights[:2])]  # doctest: +SKIP
    ['pass', 'pass']
    """
    groups: dict[Any, dict[int, tuple[str, ...]]] = {}
    for number, case in enumerate(cases):
        key, signals = grouped(case)
        groups.setdefault(key, {})[number] = signals
    results: dict[int, FlightResult] = {}
    for members in groups.values():
        numbers = list(members)
        size = lanes_that_fit([cases[n] for n in numbers], members.values())
        for part in (numbers[i : i + size] for i in range(0, len(numbers), size)):
            batch = fly_batch([cases[n] for n in part], threads=threads or os.cpu_count() or 1)
            results.update(zip(part, batch.flights, strict=True))
    return [results[number] for number in range(len(cases))]


def draw_over_cases(flights: Sequence[FlightCase], count: int) -> list[FlightCase]:
    """A sample of `count` flights over all cases in turn, so that few still cover every case; deterministic."""
    groups: dict[str, list[FlightCase]] = {}
    for flight in sorted(flights, key=lambda flight: hashlib.sha256(flight.id.encode()).digest()):
        groups.setdefault(flight.case_id, []).append(flight)
    order = sorted(groups.values(), key=lambda group: hashlib.sha256(group[0].case_id.encode()).digest())
    turns = itertools.chain.from_iterable(itertools.zip_longest(*order))
    chosen = {flight.id for flight in itertools.islice((flight for flight in turns if flight is not None), count)}
    return [flight for flight in flights if flight.id in chosen]


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, IronbirdError) else f"the rig failed: {type(error).__name__}: {error}"


def _keep_traces(
    results: list[FlightResult],
    log: Log,
    policy: TracePolicy,
    places: Sequence[int],
    signals: Sequence[tuple[str, ...] | None],
) -> list[FlightResult]:
    """Write the traces that the policy selects; `places` are the results of the log's lanes.

    Each trace holds the signals of its own flight, whatever the others log.
    """
    if policy.folder is not None:
        Path(policy.folder).mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    final = []
    lanes = sorted(range(len(places)), key=places.__getitem__)
    for lane, result, own in zip(lanes, results, signals, strict=True):
        if policy.wants(result, counts.get(result.case_id, 0)):
            counts[result.case_id] = counts.get(result.case_id, 0) + 1
            assert policy.folder is not None
            name = trace_name(result.id)
            log.meta = {"ironbird.flight": result.id, "ironbird.sha256": result.sha256}
            log.to_parquet(Path(policy.folder) / name, lane, own)  # whole or not at all, also if the worker is killed
            result = replace(result, trace=name)
        final.append(result)
    return final


def trace_name(flight_id: str) -> str:
    """A valid file name for a flight's trace, for any id."""
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in flight_id)[:80]
    return f"{plain}-{hashlib.sha256(flight_id.encode()).hexdigest()[:8]}.parquet"
