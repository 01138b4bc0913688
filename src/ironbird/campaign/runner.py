"""Runs campaigns: batches to workers, results to the store, until no flight is left.

This process alone writes to the store. A worker that dies takes at most its batch with it, which is flown again; if
this process dies, what was in flight is flown at the next `resume`. The number of workers and the size of batches
change the speed, never a result.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from ironbird.campaign.batch import LANES_PER_BATCH, BatchResult, TracePolicy, fly_batch, group_key, lanes_that_fit
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.secure import dask_client
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.worker import begin_worker
from ironbird.compiler.compiled import LANES
from ironbird.errors import IronbirdError, RunError
from ironbird.flight.judge import VERDICTS, not_flown

MOST_DEATHS = 3  # of workers over one batch, after which it is divided; over one flight alone, an error
QUEUE_PER_WORKER = 2
CLUSTER_TIMEOUT = "15s"


@dataclass
class Progress:
    """Where a campaign is, for people who wait."""

    total: int
    done: int = 0
    flown: int = 0  # in this session
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    kernel_s: float = 0.0
    simulated_s: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    @property
    def wall_s(self) -> float:
        """Since the session began."""
        return time.perf_counter() - self.began

    @property
    def rate(self) -> float:
        """Flights a second in this session."""
        return self.flown / max(self.wall_s, 1e-9)

    @property
    def left_s(self) -> float:
        """Time left at this rate."""
        return (self.total - self.done) / self.rate if self.flown else float("inf")


@dataclass
class _Batch:
    numbers: list[int]
    cases: list[FlightCase]
    deaths: int = 0


def run_campaign(
    store: Store,
    campaign: Campaign,
    *,
    workers: int | None = None,
    dask: str | None = None,
    policy: TracePolicy | None = None,
    lanes: int = LANES_PER_BATCH,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Fly all flights of a campaign that are not judged yet. Ctrl-C ends it; what is stored stays, `resume` goes on."""
    state = Progress(total=0)
    counts = store.counts(campaign)
    state.counts.update({verdict: counts[verdict] for verdict in VERDICTS})
    state.done = sum(state.counts.values())
    state.total = state.done + counts["open"]
    if policy is None:
        policy = TracePolicy(str(store.trace_folder(campaign.name).absolute()))
    if policy.folder is not None:
        os.makedirs(policy.folder, exist_ok=True)
    if progress:
        progress(state)

    def finished(batch: _Batch, result: BatchResult) -> None:
        store.write(campaign, zip(batch.numbers, result.flights, strict=True))
        state.done += len(result.flights)
        state.flown += len(result.flights)
        for flight in result.flights:
            state.counts[flight.verdict] += 1
        state.kernel_s += result.kernel_s
        state.simulated_s += result.simulated_s
        if progress:
            progress(state)

    cases = store.open_cases(campaign)
    if cases:
        with _place(workers, dask) as place:
            _work_off(_batches(cases, lanes, place.workers, finished), place, policy, finished)
    return state


def _batches(
    cases: Sequence[tuple[int, FlightCase]], lanes: int, workers: int, finished: Callable[[_Batch, BatchResult], None]
) -> list[_Batch]:
    """Flights that fit together, large batches first; a flight that cannot be prepared is judged an error at once."""
    groups: dict[object, _Batch] = {}
    for number, case in cases:
        try:
            key = group_key(case)
        except IronbirdError as error:
            failed = FlightResult.of(case, not_flown(case, str(error)))
            finished(_Batch([number], [case]), BatchResult([failed], 0.0, 0.0, 0.0))
            continue
        group = groups.setdefault(key, _Batch([], []))
        group.numbers.append(number)
        group.cases.append(case)
    batches = []
    for group in groups.values():
        share = -(-len(group.cases) // workers)  # small groups are split among the workers
        size = min(lanes, lanes_that_fit(group.cases), max(LANES, -(-share // LANES) * LANES))
        for first in range(0, len(group.cases), size):
            batches.append(_Batch(group.numbers[first : first + size], group.cases[first : first + size]))
    return sorted(batches, key=lambda batch: -len(batch.cases) * group_key(batch.cases[0])[3])


def _work_off(
    batches: list[_Batch], place: _Place, policy: TracePolicy, finished: Callable[[_Batch, BatchResult], None]
) -> None:
    waiting = list(reversed(batches))
    suspects: list[_Batch] = []
    flying: dict[Future[BatchResult], _Batch] = {}
    executor, refused = place.open(), 0
    try:
        while waiting or flying:
            died = False
            try:
                while waiting and len(flying) < QUEUE_PER_WORKER * place.workers:
                    flying[executor.submit(fly_batch, waiting[-1].cases, policy)] = waiting[-1]
                    waiting.pop()
                refused = 0
            except place.deaths:  # a worker died since we last looked
                died = True
            except OSError:  # one died while another was started; or none can be started at all
                died, refused = True, refused + 1
                if refused > MOST_DEATHS:
                    raise
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                batch = flying.pop(future)
                try:
                    result = future.result()
                except place.deaths:
                    died = True
                    again = _again(batch)
                    waiting[:0] = again  # last, so that the others are not kept waiting
                    suspects += [] if again else [batch]
                else:
                    finished(batch, result)
            if died:  # all that was in flight here is lost with the pool: fly it again in a new one
                executor, lost = place.open_again(executor, flying)
                waiting[:0] = lost
        place.close(executor)
        for batch in suspects:
            finished(batch, _alone(batch, place, policy))
    except BaseException as error:
        place.close(executor)
        if isinstance(error, IronbirdError) or not isinstance(error, Exception):
            raise
        raise RunError(f"the workers cannot go on: {type(error).__name__}: {error}") from error


def _again(batch: _Batch) -> list[_Batch]:
    """A batch whose worker died: again, then in halves; nothing of a single flight that was there too often."""
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


def _alone(batch: _Batch, place: _Place, policy: TracePolicy) -> BatchResult:
    """A flight suspected of killing its worker, with a worker of its own: an error if that dies each time as well."""
    for _ in range(MOST_DEATHS):
        executor = place.open(1)
        try:
            return executor.submit(fly_batch, batch.cases, policy).result()
        except place.deaths:
            continue
        finally:
            place.close(executor)
    case = batch.cases[0]
    why = f"the worker died {MOST_DEATHS} times over this flight alone"
    failed = FlightResult.of(case, not_flown(case, why))
    return BatchResult([failed], 0.0, 0.0, 0.0)


# ---------------------------------------------------------------------- places


class _Place:
    """Processes on this machine."""

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)  # what a future says if its worker died

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.context = multiprocessing.get_context("spawn")

    def open(self, workers: int | None = None) -> Executor:
        """A pool of workers."""
        return ProcessPoolExecutor(
            workers or self.workers, mp_context=self.context, initializer=begin_worker, initargs=(os.getpid(),)
        )

    def open_again(
        self, executor: Executor, flying: dict[Future[BatchResult], _Batch]
    ) -> tuple[Executor, list[_Batch]]:
        """A new pool after a death, and what was in flight in the old one."""
        lost = list(flying.values())
        flying.clear()
        self.close(executor)
        return self.open(), lost

    def close(self, executor: Executor) -> None:
        """End a pool at once: nobody waits for what is still in flight."""
        processes = list((getattr(executor, "_processes", None) or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()


class _Cluster(_Place):
    """A Dask cluster; it repeats by itself what a lost worker had, and gives up after a few deaths."""

    def __init__(self, client: Any) -> None:
        from distributed.scheduler import KilledWorker

        self.client = client
        self.workers = max(1, sum(client.nthreads().values()))
        self.deaths = (KilledWorker,)

    def open(self, workers: int | None = None) -> Executor:
        """Its workers as an executor."""
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def open_again(
        self, executor: Executor, flying: dict[Future[BatchResult], _Batch]
    ) -> tuple[Executor, list[_Batch]]:
        """The same one: a death there touches one batch."""
        return executor, []

    def close(self, executor: Executor) -> None:
        """Take back what is not flown."""
        executor.shutdown(wait=False)


@contextlib.contextmanager
def _place(workers: int | None, dask: str | None) -> Iterator[_Place]:
    """Where to fly."""
    if dask is None:
        yield _Place(workers or os.cpu_count() or 1)
        return
    client: Any = dask_client(dask, CLUSTER_TIMEOUT)
    try:
        yield _Cluster(client)
    finally:
        client.close()
