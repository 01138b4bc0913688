"""Runs campaigns: batches to workers, results to the store, until no flight is left.

Only this process writes to the store. A worker that dies loses at most its batch, which is flown again; if this process
dies, flights in progress are flown at the next `resume`. Batches are cut so that each takes a few seconds: that is what
a kill can lose. The number of workers and the size of batches change the speed, never a result.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import multiprocessing.context
import os
import random
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any

from ironbird.campaign.batch import (
    LANES_PER_BATCH,
    BatchResult,
    TracePolicy,
    fly_for_runner,
    get_ready,
    grouped,
    lanes_that_fit,
)
from ironbird.campaign.case import FlightCase
from ironbird.campaign.deletion import held
from ironbird.campaign.identity import definition_changed, software, software_changed
from ironbird.campaign.result import FlightResult
from ironbird.campaign.secure import dask_client
from ironbird.campaign.store import Campaign, OpenFlight, Store
from ironbird.campaign.suite import Suite
from ironbird.campaign.worker import begin_worker
from ironbird.compiler.compiled import LANES, without_collection
from ironbird.errors import IronbirdError, RunError
from ironbird.flight.judge import not_flown
from ironbird.flight.words import ERROR, VERDICTS
from ironbird.vehicles.load import Stamp

MOST_DEATHS = 3  # of workers over one batch, after which it is divided; over one flight alone, an error
PROBES = 5  # flights that are tried after many deaths in a row; if all kill their worker, the session ends
QUEUE_PER_WORKER = 2
AHEAD_PER_WORKER = 4  # the same while a campaign is stored: no more is handed out meanwhile
BATCH_S = 4.0  # target wall time of a batch, which is what a kill can lose of each worker
FIRST_LANES = 32  # of a group whose speed is not known yet
RUN_LANES = 512  # consecutive flights with the same signals, before others follow
CLUSTER_TIMEOUT = "15s"
WORKERLESS_S = 60.0  # s to wait for a cluster without any worker
DEATH_S = 2.0  # s to wait for the exit codes of a broken pool
LOOK_S = 5.0  # s between two checks of a cluster that finishes nothing
SHOWN = 3  # flights that are named in a sentence


@dataclass
class Progress:
    """Progress of a campaign, for display."""

    total: int
    done: int = 0
    flown: int = 0  # in this session
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    kernel_s: float = 0.0
    simulated_s: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    said: list[str] = field(default_factory=list)  # what happened to workers, in order

    @property
    def wall_s(self) -> float:
        """Wall time since the session began, s."""
        return time.perf_counter() - self.began

    @property
    def rate(self) -> float:
        """Flights per second in this session."""
        return self.flown / max(self.wall_s, 1e-9)

    @property
    def left_s(self) -> float:
        """Estimated remaining time at the present rate, s."""
        return (self.total - self.done) / self.rate if self.flown else float("inf")


@dataclass
class _Batch:
    numbers: list[int]
    cases: list[FlightCase]
    deaths: int = 0
    group: _Group | None = None


@dataclass
class _Group:
    """Flights that may share a batch and are not handed out yet."""

    numbers: list[int]
    cases: list[FlightCase]
    length_s: float  # of each flight
    most: int = LANES_PER_BATCH
    rate: float = 0.0  # flights a second that a worker flies; 0 until one was measured
    runs: list[int] = field(default_factory=list)  # lengths of rows of flights that keep the same signals

    def arrange(self, kept: Sequence[object]) -> None:
        """Sort flights so that those with the same logged signals are adjacent: a log holds those of all its lanes.

        Kinds alternate in runs, so that a campaign that is stopped has flown some of all.
        """
        kinds: dict[object, list[int]] = {}
        for place, kind in enumerate(kept):
            kinds.setdefault(kind, []).append(place)
        rows = [own[i : i + RUN_LANES] for i in range(0, len(kept), RUN_LANES) for own in kinds.values()]
        order = [place for row in rows for place in row]
        self.numbers, self.cases = [self.numbers[i] for i in order], [self.cases[i] for i in order]
        self.runs = [len(row) for row in rows if row]

    def shorten(self, at: int) -> None:
        """Update the runs after the flight at position `at` was removed."""
        ends = itertools.accumulate(self.runs)
        row = next((i for i, end in enumerate(ends) if at < end), None)
        if row is not None:
            self.runs[row] -= 1
            self.runs = [run for run in self.runs if run]

    def cut(self, lanes: int, workers: int) -> _Batch:
        """Take the next batch: a few seconds of work, at most half of each worker's share, so that all end together."""
        size = int(self.rate * BATCH_S) if self.rate else FIRST_LANES
        share = -(-len(self.cases) // workers)
        share = min(share, max(FIRST_LANES, -(-share // 2)))
        size = min(size, -(-share // LANES) * LANES) // LANES * LANES
        size = min(lanes, self.most, max(LANES, size))
        if self.runs and self.runs[0] >= FIRST_LANES:
            size = min(size, self.runs[0])
        left = size
        while left and self.runs:
            taken = min(left, self.runs[0])
            left, self.runs[0] = left - taken, self.runs[0] - taken
            self.runs = self.runs[1:] if not self.runs[0] else self.runs
        batch = _Batch(self.numbers[:size], self.cases[:size], group=self)
        del self.numbers[:size], self.cases[:size]
        return batch


class _Plan:
    """Flights of a campaign that are still to be flown, in groups."""

    def __init__(
        self,
        groups: Sequence[_Group],
        lanes: int,
        workers: int,
        policy: TracePolicy,
        unfit: Sequence[tuple[_Batch, BatchResult]] = (),
    ) -> None:
        self.groups = sorted(groups, key=lambda group: -len(group.cases) * group.length_s)  # long work first
        self.again: list[_Batch] = []  # after deaths; last, so that the others are not kept waiting
        self.lanes, self.workers, self.policy = lanes, workers, policy
        self.unfit = unfit  # flights that cannot be prepared, with their results
        self.handed_out: dict[str, int] = {}  # flights by case
        self.traces: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self.again or self.groups)

    def next(self) -> _Batch:
        """Take the next batch; a worker that cannot fly it returns it."""
        if not self.groups:
            return self.again.pop(0)
        batch = self.groups[0].cut(self.lanes, self.workers)
        self.groups = [group for group in self.groups if group.cases]
        return batch

    def take_over(self, before: _Plan) -> None:
        """Take over the remaining flights and counters of an earlier plan of the same campaign."""
        self.groups = [*before.groups, *self.groups]
        self.unfit = [*before.unfit, *self.unfit]
        self.again += before.again
        self.handed_out, self.traces = before.handed_out, before.traces

    def put_back(self, batches: Sequence[_Batch]) -> None:
        """Return batches that were not flown."""
        self.again += batches

    def hand_out(
        self, executor: Executor, flying: dict[Future[BatchResult], _Batch], queue: int = QUEUE_PER_WORKER
    ) -> None:
        """Give each worker enough to do; batches that cannot be submitted are returned, and the error is raised."""
        while self and len(flying) < queue * self.workers:
            batch = self.next()
            try:
                flying[executor.submit(fly_for_runner, batch.cases, self.policy_for(batch))] = batch
            except BaseException:
                self.put_back([batch])
                raise

    def one(self, draw: random.Random) -> _Batch | None:
        """Take any one flight as a batch; None if none is left."""
        places: list[_Batch | _Group] = [*self.groups, *self.again]
        if not places:
            return None
        place = draw.choice(places)
        at = draw.randrange(len(place.cases))
        single = _Batch([place.numbers.pop(at)], [place.cases.pop(at)])
        if isinstance(place, _Group):
            place.shorten(at)
        self.groups = [group for group in self.groups if group.cases]
        self.again = [batch for batch in self.again if batch.cases]
        return single

    def policy_for(self, batch: _Batch) -> TracePolicy:
        """Trace policy of a batch: over a campaign as many traces as if it flew in the largest batches."""
        left = {}
        for case in batch.cases:
            self.handed_out[case.case_id] = self.handed_out.get(case.case_id, 0) + 1
        for name in {case.case_id for case in batch.cases}:
            due = self.policy.most_per_case * (1 + (self.handed_out[name] - 1) // LANES_PER_BATCH)
            left[name] = max(0, due - self.traces.get(name, 0))
        return replace(self.policy, left=left)

    def learn(self, batch: _Batch, result: BatchResult) -> None:
        """Update the speed of a group, and the number of traces that were stored."""
        if batch.group is not None and result.wall_s > 0:
            batch.group.rate = len(batch.cases) / result.wall_s
        for flight in result.flights:
            if flight.trace is not None:
                self.traces[flight.case_id] = self.traces.get(flight.case_id, 0) + 1


def start_campaign(
    store: Store,
    crew: Crew,
    suite: Suite,
    name: str,
    policy: TracePolicy,
    chosen: Sequence[FlightCase] | None = None,
) -> tuple[Campaign, Sequence[FlightCase]]:
    """Store a campaign of a suite, or of `chosen` flights of it; the first ones fly while the others are read.

    `run_campaign` continues with it, with the same crew and policy and the returned flights.
    """
    cases: list[FlightCase] = []

    def first() -> None:
        if chosen is None:
            crew.fly_first(suite.first_flights(QUEUE_PER_WORKER * FIRST_LANES * crew.workers), policy)

    def whole() -> Sequence[FlightCase]:
        cases.extend(suite.flights() if chosen is None else chosen)
        crew.fly_ahead(cases, policy)
        return cases

    with without_collection():
        return store.create(name, suite.title, suite.sources(), whole, named=first), cases


def run_campaign(
    store: Store,
    campaign: Campaign,
    *,
    workers: int | None = None,
    dask: str | None = None,
    policy: TracePolicy | None = None,
    lanes: int = LANES_PER_BATCH,
    redefined: bool = False,
    progress: Callable[[Progress], None] | None = None,
    cases: Sequence[FlightCase] | None = None,
    crew: Crew | None = None,
) -> Progress:
    """Fly all flights of a stored campaign that are not judged yet: what `ironbird campaign resume` does.

    Ctrl-C ends it; what is stored stays. Flights whose definition, or whose Ironbird, is no longer that of the campaign
    are refused.

    Parameters
    ----------
    store : Store
        The database.
    campaign : stored campaign
        `store.campaign(name)`, or what `store.create` returns.
    workers : int, optional
        Number of processes; one per core by default.
    dask : str, optional
        Address of a Dask scheduler in place of processes.
    policy : TracePolicy, optional
        Which logs are kept; those of failing flights by default.
    lanes : int, default 512
        Largest number of flights in one batch.
    redefined : bool, default False
        Judge flights that are no longer what was defined as errors, unflown.
    progress : callable, optional
        Called with a `Progress` after every batch.
    cases : sequence of FlightCase, optional
        The flights, if the campaign was just made of them: they are then neither read again nor compared.
    crew : Crew, optional
        Workers that were begun before; `workers` and `dask` then mean nothing.

    Returns
    -------
    Progress
        Numbers of flights by verdict, rate in flights a second, times in s.

    Raises
    ------
    RunError
        If flights are no longer what was defined, or workers die again and again.
    """
    state = Progress(total=0)
    counts = store.counts(campaign)
    state.counts.update({verdict: counts[verdict] for verdict in VERDICTS})
    state.done = sum(state.counts.values())
    state.total = state.done + counts["open"]
    # workers start while this process reads what there is to fly
    begun = begun_crew(workers, dask) if crew is None and counts["open"] else contextlib.nullcontext(crew or Crew(1))
    with begun as own, held(store, campaign):
        _run(store, campaign, own, state, policy, lanes, redefined, progress, cases)
    return state


def _run(
    store: Store,
    campaign: Campaign,
    place: Crew,
    state: Progress,
    policy: TracePolicy | None,
    lanes: int,
    redefined: bool,
    progress: Callable[[Progress], None] | None,
    cases: Sequence[FlightCase] | None,
) -> None:
    flights = store.open_flights(campaign, cases)
    changed = _changed(campaign, flights) if cases is None else {}
    if changed and not redefined:
        raise RunError(_refusal(campaign, flights, changed))
    if policy is None:
        policy = TracePolicy(str(store.trace_folder(campaign.name).absolute()))
    if progress:
        progress(state)

    def finished(batch: _Batch, result: BatchResult) -> None:
        if result.software and result.software != software():
            raise RunError(
                "a worker has other code of Ironbird than this process: install the same version on all machines, then "
                f"go on with 'ironbird campaign resume {campaign.name}'"
            )
        store.write(campaign, zip(batch.numbers, result.flights, strict=True), result.wall_s)
        state.done += len(result.flights)
        state.flown += len(result.flights)
        for flight in result.flights:
            state.counts[flight.verdict] += 1
        state.kernel_s += result.kernel_s
        state.simulated_s += result.simulated_s
        if progress:
            progress(state)

    def say(text: str) -> None:
        state.said.append(text)
        if progress:
            progress(state)

    if changed:
        gone = [flight for flight in flights if flight.number in changed]
        results = [_unflown(flight.case, flight.digest, f"redefined: {changed[flight.number]}") for flight in gone]
        finished(
            _Batch([flight.number for flight in gone], [flight.case for flight in gone]),
            BatchResult(results, 0.0, 0.0, 0.0),
        )
        flights = [flight for flight in flights if flight.number not in changed]
    if not flights:
        return
    ahead, place.ahead = place.ahead, None
    if ahead is None or ahead.cases is not cases:
        ahead = _Ahead(cases or [], _plan(flights, lanes, place.workers, policy))
    for batch, result in ahead.plan.unfit:
        finished(batch, result)
    _work_off(ahead.plan, place, finished, say, ahead.flying)


def check_unchanged(store: Store, campaign: Campaign) -> None:
    """Raise if the open flights of a campaign, or Ironbird, differ from those with which it was begun."""
    flights = store.open_flights(campaign)
    if changed := _changed(campaign, flights):
        raise RunError(_refusal(campaign, flights, changed))
    if other := software_changed(campaign.ironbird, campaign.software):
        raise RunError(f"campaign '{campaign.name}' cannot continue: {other}")


def _changed(campaign: Campaign, flights: Sequence[OpenFlight]) -> dict[int, str]:
    """Reasons why flights are no longer those of the campaign, by number."""
    other = software_changed(campaign.ironbird, campaign.software)
    if other:
        return dict.fromkeys((flight.number for flight in flights), other)
    reasons = {flight.number: definition_changed(flight.case, flight.digest, campaign.files) for flight in flights}
    return {number: why for number, why in reasons.items() if why}


def _refusal(campaign: Campaign, flights: Sequence[OpenFlight], changed: dict[int, str]) -> str:
    reasons: dict[str, list[str]] = {}
    for flight in flights:
        if flight.number in changed:
            reasons.setdefault(changed[flight.number], []).append(flight.case.id)
    lines = [f"  - {why} ({_some(ids)})" for why, ids in reasons.items()]
    return (
        f"campaign '{campaign.name}' cannot continue: {len(changed)} of its {len(flights)} open flights are no longer "
        "what was defined\n"
        + "\n".join(lines)
        + "\nA campaign holds one definition flown by one version. Undo the change "
        "and resume; or fly the suite again under another name; or resume with --redefined, which judges these flights "
        "as errors, unflown"
    )


def _some(ids: Sequence[str]) -> str:
    count = f"{len(ids)} flight" + ("s" if len(ids) != 1 else "")
    return f"{count}: {', '.join(ids[:SHOWN])}" + (", …" if len(ids) > SHOWN else "")


def _unflown(case: FlightCase, digest: str, why: str) -> FlightResult:
    """The error result of a flight that is not flown, even if its vehicle does not exist."""
    nothing = float("nan")
    return FlightResult(
        digest=digest, verdict=ERROR, sentence=why, outcome="not flown", crashed=False, ended_s=0.0, impact_mps=0.0,
        margin=nothing, score=nothing, level="", sha256="", model_hash="", id=case.id, case_id=case.case_id,
        seed=case.seed, values=dict(case.values), expect=case.expect,
    )  # fmt: skip


def _plan(flights: Sequence[OpenFlight], lanes: int, workers: int, policy: TracePolicy) -> _Plan:
    """Flights grouped into batches; a flight that cannot be prepared is judged an error at once."""
    groups: dict[object, _Group] = {}
    signals_of: dict[object, list[tuple[str, ...]]] = {}  # signals of each flight of a group
    stamps: dict[str, Stamp] = {}
    unfit = []
    for flight in flights:
        try:
            key, signals = grouped(flight.case, stamps)
        except IronbirdError as error:
            failed = FlightResult.of(flight.case, not_flown(flight.case, str(error)))
            unfit.append((_Batch([flight.number], [flight.case]), BatchResult([failed], 0.0, 0.0, 0.0)))
            continue
        group = groups.setdefault(key, _Group([], [], key[3]))
        group.numbers.append(flight.number)
        group.cases.append(flight.case)
        signals_of.setdefault(key, []).append(signals)
    for of_group, group in groups.items():
        group.most = lanes_that_fit(group.cases, signals_of[of_group])
        group.arrange(signals_of[of_group])
    if policy.folder is not None:
        os.makedirs(policy.folder, exist_ok=True)
    return _Plan(list(groups.values()), lanes, workers, policy, unfit)


@dataclass
class _Ahead:
    """Flights in progress before their campaign is stored."""

    cases: Sequence[FlightCase]
    plan: _Plan
    flying: dict[Future[BatchResult], _Batch] = field(default_factory=dict)

    def continue_from(self, before: _Ahead) -> None:
        """Take over from `before`, the flights that began while the rest of the campaign was still being read.

        These are its batches in progress, its waiting flights and its counters.
        """
        self.flying.update(before.flying)
        self.plan.take_over(before.plan)


def _work_off(
    plan: _Plan,
    place: Crew,
    finished: Callable[[_Batch, BatchResult], None],
    say: Callable[[str], None],
    flying: dict[Future[BatchResult], _Batch],
) -> None:
    suspects: list[_Batch] = []
    executor, refused, in_a_row = place.first(), 0, 0
    try:
        while plan or flying:
            died: Exception | None = None
            try:
                plan.hand_out(executor, flying)
                refused = 0
            except place.deaths as error:  # a worker died since the last check
                died = error
            except OSError as error:  # one died while another was started; or none can be started at all
                died, refused = error, refused + 1
                if refused > MOST_DEATHS:
                    raise
            done, _ = wait(flying, timeout=place.look_s, return_when=FIRST_COMPLETED)
            if flying and not done:
                place.check()
            for future in done:
                batch = flying.pop(future)
                try:
                    result = future.result()
                except place.deaths as error:
                    died = error
                    again = _again(batch)
                    plan.put_back(again)
                    suspects += [] if again else [batch]
                else:
                    in_a_row = 0
                    finished(batch, result)
                    plan.learn(batch, result)
            if died is None:
                continue
            in_a_row += 1
            how = place.how(executor, died)
            say(f"a worker died: {how}; its flights are flown again")
            # batches in progress are lost with the pool: fly them again in a new one
            executor, lost = place.open_again(executor, flying)
            plan.put_back(lost)
            if in_a_row >= MOST_DEATHS and _probe(plan, place, finished, how):
                in_a_row = 0
        place.close(executor)
        for batch in suspects:
            finished(batch, _alone(batch, place, plan.policy_for(batch)))
    except BaseException as error:
        place.close(executor)
        if isinstance(error, IronbirdError) or not isinstance(error, Exception):
            raise
        raise RunError(f"the workers cannot continue: {type(error).__name__}: {error}") from error


def _probe(plan: _Plan, place: Crew, finished: Callable[[_Batch, BatchResult], None], how: str) -> bool:
    """Test whether workers can run at all, after several died in a row: fly a few random flights, each in a new worker.

    True as soon as one succeeds; False if too few flights are left to decide; `RunError` if every worker dies: these
    flights are not blamed and can be resumed. `how` describes the last death.
    """
    draw, tried = random.Random(), []
    try:
        for _ in range(PROBES):
            batch = plan.one(draw)
            if batch is None:
                return False  # too few to decide: the killers are found one by one
            executor = place.open(1)
            try:
                result = executor.submit(fly_for_runner, batch.cases, plan.policy_for(batch)).result()
            except place.deaths as error:
                how = place.how(executor, error)
                tried.append(batch)
                continue
            except BaseException:
                tried.append(batch)
                raise
            finally:
                place.close(executor)
            finished(batch, result)
            return True
    finally:
        plan.put_back(tried)
    raise RunError(
        f"every worker dies, {MOST_DEATHS} in a row and then {PROBES} over one flight each; the last one: {how}. "
        "The flights stay open: cure the cause ('ironbird doctor' looks for some), then resume"
    )


def _again(batch: _Batch) -> list[_Batch]:
    """Batches to retry after a worker died: the same, then halves; none for a single flight that failed too often."""
    batch.deaths += 1
    if batch.deaths < MOST_DEATHS:
        return [batch]
    half = len(batch.cases) // 2
    if half == 0:
        return []
    return [
        _Batch(batch.numbers[:half], batch.cases[:half], MOST_DEATHS - 1),
        _Batch(batch.numbers[half:], batch.cases[half:], MOST_DEATHS - 1),
    ]


def _alone(batch: _Batch, place: Crew, policy: TracePolicy) -> BatchResult:
    """Fly a flight that may have killed its worker with its own worker: an error if that dies each time as well."""
    how = ""
    for _ in range(MOST_DEATHS):
        executor = place.open(1)
        try:
            return executor.submit(fly_for_runner, batch.cases, policy).result()
        except place.deaths as error:
            how = place.how(executor, error)
        finally:
            place.close(executor)
    case = batch.cases[0]
    why = f"the worker died {MOST_DEATHS} times over this flight alone: {how}"
    failed = FlightResult.of(case, not_flown(case, why))
    return BatchResult([failed], 0.0, 0.0, 0.0)


def death(code: int | None) -> str:
    """How a process ended, as text, from its exit code."""
    if code is None:
        return "it did not say how"
    if code >= 0:
        return f"it ended with exit code {code}; its output is above"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hints = {
        "SIGKILL": " (by hand, or by the kernel because memory ran out: see 'dmesg', take fewer --workers)",
        "SIGBUS": " (a damaged or cut-off file in the cache of compiled models: delete the cache)",
        "SIGSEGV": " (native code went wrong: delete the cache of compiled models)",
        "SIGILL": " (native code for another processor: delete the cache of compiled models)",
    }
    return f"killed by {name}{hints.get(name, '')}"


# ---------------------------------------------------------------------- places


class _SpawnProcess(multiprocessing.context.SpawnProcess):
    """A new process that does not run the user's script again: a worker needs nothing of it.

    So a script may call `ib.campaign` without `if __name__ == "__main__"`.
    """

    def start(self) -> None:
        """Start it while the main module has no file."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _SpawnContext(multiprocessing.context.SpawnContext):
    """New processes of this kind."""

    Process = _SpawnProcess


class Crew:
    """The workers of a campaign: processes on this machine."""

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)  # errors of a future whose worker died
    look_s: float | None = None  # a pool says by itself if a worker dies

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.begun: Executor | None = None
        self.ahead: _Ahead | None = None

    def begin(self, *, copied: bool = False) -> None:
        """Start the workers of the first pool, to be ready before the first flights are handed out."""
        self.begun = self.open(copied=copied)
        if copied:
            gc.freeze()  # loaded objects are exempt from garbage collection, so that forks share their memory
        expected: tuple[type[Exception], ...] = (*self.deaths, OSError)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of copies; native threads can be left behind
                for _ in range(self.workers):
                    self.begun.submit(get_ready)
        except expected:  # the error occurs again in flight and is reported there; no fork is made later
            if copied:
                self.close(self.begun)
                self.begun = self.open()

    def look_at(self, cases: Sequence[FlightCase]) -> None:
        """Let workers that were begun load the models of some flights, while the others are read."""
        if self.begun is not None:
            with contextlib.suppress(*self.deaths, OSError):
                for _ in range(self.workers):
                    self.begun.submit(get_ready, cases)

    def fly_first(self, cases: Sequence[FlightCase], policy: TracePolicy, lanes: int = LANES_PER_BATCH) -> None:
        """Hand out the first few flights of a campaign while the others are read; `fly_ahead` continues with these."""
        flights = [OpenFlight(number, case, "") for number, case in enumerate(cases)]
        self._hand_out_ahead(_Ahead(cases, _plan(flights, lanes, 1, policy)), QUEUE_PER_WORKER * self.workers)

    def fly_ahead(self, cases: Sequence[FlightCase], policy: TracePolicy, lanes: int = LANES_PER_BATCH) -> None:
        """Hand out batches of flights whose campaign is being stored; `run_campaign` continues with them.

        Their numbers are their positions among the cases, as `Store.create` numbers them.
        """
        before = self.ahead
        first = len(before.cases) if before is not None else 0
        flights = [OpenFlight(number, cases[number], "") for number in range(first, len(cases))]
        ahead = _Ahead(cases, _plan(flights, lanes, self.workers, policy))
        if before is not None:
            ahead.continue_from(before)
        self._hand_out_ahead(ahead, AHEAD_PER_WORKER)

    def _hand_out_ahead(self, ahead: _Ahead, queue: int) -> None:
        self.begun = self.first()
        self.ahead = ahead
        with contextlib.suppress(*self.deaths, OSError):  # the error occurs again in flight and is reported there
            ahead.plan.hand_out(self.begun, ahead.flying, queue)

    def first(self) -> Executor:
        """The pool that was begun, or else a new one."""
        begun, self.begun = self.begun, None
        return begun or self.open()

    def end(self) -> None:
        """End the workers of the first pool if it was never opened."""
        if self.begun is not None:
            self.close(self.begun)

    def open(self, workers: int | None = None, *, copied: bool = False) -> Executor:
        """A pool of workers: new processes, or copies of this one."""
        context = multiprocessing.get_context("fork") if copied else _SpawnContext()
        return ProcessPoolExecutor(
            workers or self.workers, mp_context=context, initializer=begin_worker, initargs=(os.getpid(),)
        )

    def open_again(
        self, executor: Executor, flying: dict[Future[BatchResult], _Batch]
    ) -> tuple[Executor, list[_Batch]]:
        """A new pool after a death, and the batches in progress in the old one."""
        lost = list(flying.values())
        flying.clear()
        self.close(executor)
        return self.open(), lost

    def check(self) -> None:
        """Raise if no worker is alive; a pool of processes reports deaths by itself."""

    def how(self, executor: Executor, error: Exception) -> str:
        """How a worker died, as text; the pool itself ends the others with SIGTERM then."""
        if isinstance(error, OSError):
            return str(error)
        processes = list((getattr(executor, "_processes", None) or {}).values())
        deadline = time.monotonic() + DEATH_S
        while any(process.exitcode is None for process in processes) and time.monotonic() < deadline:
            time.sleep(0.01)
        codes = [process.exitcode for process in processes if process.exitcode]
        return death(next((code for code in codes if code != -signal.SIGTERM), codes[0] if codes else None))

    def close(self, executor: Executor) -> None:
        """End a pool at once: flights in progress are abandoned."""
        processes = list((getattr(executor, "_processes", None) or {}).values())
        manager = getattr(executor, "_executor_manager_thread", None)
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        if manager is not None:  # else it may close its pipe while Python, at its own end, writes into it
            manager.join(DEATH_S)


def _may_be_copied() -> bool:
    """Whether workers can be forked from this process: on Linux, without other threads that could hold a lock."""
    return sys.platform == "linux" and threading.active_count() == 1


class _Cluster(Crew):
    """A Dask cluster as crew; Dask repeats the tasks of a lost worker, and gives up after a few deaths."""

    def __init__(self, client: Any) -> None:
        from distributed.scheduler import KilledWorker

        self.client, self.begun, self.ahead = client, None, None
        self.look_s, self.seen_s = LOOK_S, time.monotonic()
        self.workers = max(1, sum(client.nthreads().values()))
        self.deaths = (KilledWorker,)

    def begin(self, *, copied: bool = False) -> None:
        """Do nothing: the workers of a cluster run already."""

    def look_at(self, cases: Sequence[FlightCase]) -> None:
        """Do nothing: workers of a cluster load models when they fly."""

    def open(self, workers: int | None = None, *, copied: bool = False) -> Executor:
        """The workers of the cluster as an executor."""
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def open_again(
        self, executor: Executor, flying: dict[Future[BatchResult], _Batch]
    ) -> tuple[Executor, list[_Batch]]:
        """Keep the executor after the death of a worker: in a cluster it affects one batch only."""
        return executor, []

    def check(self) -> None:
        """Wait for a while for a cluster whose last worker is gone, then raise."""
        if self.client.nthreads():
            self.seen_s = time.monotonic()
        elif time.monotonic() - self.seen_s > WORKERLESS_S:
            raise RunError(
                f"the Dask cluster has had no worker for {WORKERLESS_S:.0f} s: start workers there, then resume"
            )

    def how(self, executor: Executor, error: Exception) -> str:
        """How a worker of the cluster died, from Dask's error."""
        last = getattr(error, "last_worker", None)
        return f"several workers of the cluster, the last one {getattr(last, 'address', last)}; its log says why"

    def close(self, executor: Executor) -> None:
        """Cancel the batches that are not flown."""
        executor.shutdown(wait=False)


@contextlib.contextmanager
def begun_crew(workers: int | None = None, dask: str | None = None, *, copied: bool = False) -> Iterator[Crew]:
    """Context manager: workers that start at once, for `run_campaign`; they load Ironbird while a suite is read.

    With `copied` they are forked from this process, if it has one thread, and are ready at once. The caller must have
    no database open then, whose connections forks must not share.
    """
    if dask is None:
        crew = Crew(workers or os.cpu_count() or 1)
        try:  # also of an interruption between the first worker and the last
            crew.begin(copied=copied and _may_be_copied())
            yield crew
        finally:
            crew.end()
        return
    client: Any = dask_client(dask, CLUSTER_TIMEOUT)
    try:
        yield _Cluster(client)
    finally:
        client.close()
