"""Advancing a run: a number of ticks at a time, or until an end, with logs, progress and interruption."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ironbird.errors import RunError
from ironbird.model.signal import Number
from ironbird.runtime.border import MOST_TICKS, ticks_of, whole
from ironbird.runtime.clock import Pace
from ironbird.runtime.handed import check_log, check_state
from ironbird.runtime.interface import EventRecord, RunArgs, check_interface
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState
from ironbird.runtime.tuning import Tuning, apply_tuning
from ironbird.runtime.watch import Code

CHUNK_TICKS = 2000  # ticks between two checks of progress and interruption
PACED_S = 0.02  # s between them in a run paced by the wall clock


def advance(
    state: RunState,
    ticks: int = 1,
    *,
    inputs: Mapping[str, Number] | None = None,
    plan: LogPlan | None = None,
    threads: int = 1,
) -> Log | None:
    """Run all lanes for a number of ticks. Lanes that have stopped stay where they are.

    Parameters
    ----------
    state : RunState
        What `ib.start` returns; it is changed.
    ticks : int, default 1
        Number of steps of the model.
    inputs : mapping, optional
        External inputs by name, held for the whole call.
    plan : LogPlan, optional
        Signals to log.
    threads : int, default 1
        Number of threads. It does not change any result.

    Returns
    -------
    Log or None
        The log of these ticks, if there is a plan.
    """
    ticks = whole(ticks, "ticks to advance by")
    for name, value in (inputs or {}).items():
        state.set_input(name, value)
    log = None if plan is None else Log.empty(plan, state, state.tick, state.tick + ticks)
    _advance(state, ticks, log, 0, threads)
    return log


def _advance(
    state: RunState, ticks: int, log: Log | None, first_row: int, threads: int, pace: Pace | None = None
) -> None:
    """Run the kernel; log rows are written from `first_row` on. With a `pace` each tick has its wall-clock time."""
    library = kernel(state)
    if state.kernel_events is None:
        state.kernel_events = kernel_events(state)
    events = state.kernel_events
    args = run_args(state, events, ticks, log, first_row)
    if pace is not None:
        pace.advance(library, args, state)
        events.note_fired(state)
        return
    blocks = int(args.last_block)
    parts = min(whole(threads, "threads", -MOST_TICKS), blocks)
    if parts <= 1:
        state.kernel_s += _run_part(library, args, 0, blocks)
    else:
        edges = [blocks * i // parts for i in range(parts + 1)]
        with ThreadPoolExecutor(parts) as pool:
            state.kernel_s += sum(pool.map(lambda i: _run_part(library, args, edges[i], edges[i + 1]), range(parts)))
    state.tick += ticks
    events.note_fired(state)


def _run_part(library: ctypes.CDLL, args: RunArgs, first: int, last: int) -> float:
    """Run some blocks; returns the processor time in s."""
    part = RunArgs.from_buffer_copy(args)
    part.first_block, part.last_block = first, last
    begin = time.thread_time()
    library.ib_run(ctypes.byref(part))
    return time.thread_time() - begin


def kernel(state: RunState) -> ctypes.CDLL:
    """The kernel library of a state's model, after a check of its interface."""
    library = state.model.library(state.width)
    check_interface(library)
    return library


def run_args(state: RunState, events: KernelEvents, ticks: int, log: Log | None, first_row: int) -> RunArgs:
    """Arguments of a kernel call for all blocks; log rows are written from `first_row` on.

    The arguments contain addresses of the arrays, which must stay alive and in place.
    """
    check_state(state)
    whole(state.tick, "tick of a run state")
    whole(state.tick + whole(ticks, "ticks"), "tick at the end of a run")
    if log is not None:
        check_log(log, state, first_row)
    args = RunArgs(
        first_block=0,
        last_block=state.x.shape[0],
        tick=state.tick,
        ticks=ticks,
        x=_address(state.x),
        xd=_address(state.xd),
        held=_address(state.held),
        param=_address(state.params),
        input=_address(state.inputs),
        seed=_address(state.seeds),
        stop_tick=_address(state.stop_tick),
        stop_reason=_address(state.stop_reason),
        stop_row=_address(state.stop_row),
        events=ctypes.addressof(events.records),
        event_first=_address(events.first),
        event_fired=_address(events.fired),
        triggers=events.code.record(),
    )
    if log is not None:
        args.log_every, args.log_rows, args.log_first = log.plan.every, log.data.shape[1], first_row
        args.log_count, args.log_index = len(log.plan.index), _address(log.plan.index)
        args.log = _address(log.data)
        if log.watches is not None and log.watches.count:
            watches = log.watches
            args.watched, args.watch_count = watches.code.record(), watches.count
            args.watch_signals, args.watch_rows = len(watches.signals), _address(watches.signals)
            args.watch_first, args.watch_list = _address(watches.first), _address(watches.order)
            args.watch = _address(watches.data)
    return args


def _address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@dataclass
class KernelEvents:
    """All events in the kernel's form, sorted by block; `first[b]` is the first of block b."""

    records: ctypes.Array[EventRecord]
    first: np.ndarray
    fired: np.ndarray
    owners: list[tuple[int, int]]  # lane and index in its list of events, for each record
    code: Code

    def note_fired(self, state: RunState) -> None:
        """Copy to the state which triggers have fired."""
        if self.code.empty:  # there are no triggers
            return
        for (lane, number), tick in zip(self.owners, self.fired[: len(self.owners)].tolist(), strict=True):
            state.fired[lane][number] = tick


def kernel_events(state: RunState) -> KernelEvents:
    """Events of all lanes with their predicates."""
    all_records: list[EventRecord] = []
    owners: list[tuple[int, int]] = []
    predicates: dict[Predicate, int] = {}
    for lane, events in enumerate(state.events):
        for number, event in enumerate(events):
            trigger = -1 if event.when is None else predicates.setdefault(event.when, len(predicates))
            own = event.record(state.model, lane % state.width, trigger)
            all_records += own
            owners += [(lane, number)] * len(own)
    counts = np.bincount([lane // state.width for lane, _ in owners], minlength=-(-state.lanes // state.width))
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    fired = [whole(state.fired[lane][number], "tick at which a trigger fired", -1) for lane, number in owners]
    return KernelEvents(
        records=(EventRecord * max(1, len(all_records)))(*all_records),
        first=first,
        fired=np.array([*fired, -1], np.int64),
        owners=owners,
        code=Code.of(predicates),
    )


def run(
    state: RunState,
    until_s: float,
    *,
    log: list[str] | None = None,
    log_s: float = 0.02,
    watch: Sequence[Sequence[Predicate]] = (),
    keep: bool = True,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    sink: Callable[[Log], None] | None = None,
    tunings: Sequence[Tuning] = (),
    pace: Pace | None = None,
    poll: Callable[[RunState], None] | None = None,
    piece_ticks: int = CHUNK_TICKS,
) -> Log:
    """Run all lanes until a time, or until all have stopped.

    Ctrl-C ends the run early; the log up to there is returned and `log.interrupted` says so.

    Parameters
    ----------
    state : RunState
        What `ib.start` returns; it is changed.
    until_s : float
        Time in s at which the run ends.
    log : list of str, optional
        Paths of signals or blocks, or prefixes with `*`; every output by default.
    log_s : float, default 0.02
        Time between rows in s, from the present time up to but not including `until_s`.
    watch : sequence of sequence of Predicate, default ()
        For each lane the programs whose extremes between rows the log keeps (`log.watches`); needs `keep`.
    keep : bool, default True
        With False nothing is kept: each piece goes to `sink`, so that memory stays flat.
    threads : int, optional
        Number of threads; chosen by the number of lanes by default. It does not change any result.
    progress : callable, optional
        Called with the share that is done, 0 to 1.
    sink : callable, optional
        Called with the log of each piece.
    tunings : sequence of Tuning, default ()
        Changes of parameters at given ticks.
    pace : Pace, optional
        Keeps the run to the wall clock.
    poll : callable, optional
        Called with the state before each piece; it may change the state.
    piece_ticks : int, default 2000
        Length of a piece in ticks; with a pace 20 ms at most.

    Returns
    -------
    Log
        The signals over time.

    Raises
    ------
    RunError
        If a signal does not exist.
    """
    model = state.model
    end = ticks_of(until_s, model.step_s, "until_s")
    if end < state.tick:
        raise RunError(f"the run is at {state.time_s:g} s already; it cannot go back to {until_s:g} s")
    plan = LogPlan.make(model, log, log_s)
    begin, total = plan.begin(state.tick, watch), max(1, end - state.tick)
    threads = threads or (os.cpu_count() or 1)
    whole = Log.empty(plan, state, state.tick, end if keep else state.tick, watch)
    coming = sorted((t for t in tunings if t.tick >= state.tick), key=lambda t: t.tick)
    chunk = piece_ticks if pace is None else min(piece_ticks, max(1, round(PACED_S / model.step_s)))
    try:
        while state.tick < end and not state.finished:
            while coming and coming[0].tick <= state.tick:
                apply_tuning(state, coming.pop(0))
            if poll is not None:
                poll(state)
            # pieces end at fixed ticks, whatever happened before
            ticks = min(chunk - state.tick % chunk, end - state.tick)
            ticks = min([ticks, *([coming[0].tick - state.tick] if coming else [])])
            piece = whole if keep else Log.empty(plan, state, state.tick, state.tick + ticks)
            first_row = plan.rows_between(begin, state.tick) if keep else 0
            _advance(state, ticks, piece, first_row, threads, pace)
            if sink is not None:
                sink(piece.between(first_row, plan.rows_between(begin, state.tick)) if keep else piece)
            if progress is not None:
                progress(1.0 - (end - state.tick) / total)
    except KeyboardInterrupt:
        whole.interrupted = True
    whole.finish(state, plan.rows_between(begin, state.tick) if keep else 0)
    return whole


def run_each(
    states: Sequence[RunState],
    ends_s: Sequence[float],
    *,
    log: list[str] | None = None,
    log_s: float = 0.02,
    watch: Sequence[Sequence[Predicate]] = (),
    poll: Callable[[RunState], None] | None = None,
    piece_ticks: int = CHUNK_TICKS,
) -> list[Log]:
    """Run many small states of one model, each to its own end; the results equal those of `run` to the bit.

    `watch` has the programs that are watched in all lanes of each state.

    Python prepares a piece of all states before any native code runs: alternating would evict Python's data from the
    processor's caches and take several times as long.
    """
    model = states[0].model
    plan = LogPlan.make(model, log, log_s)
    ends = [ticks_of(end_s, model.step_s, "until_s") for end_s in ends_s]
    programs = watch or [()] * len(states)
    begins = [plan.begin(state.tick, [own]) for state, own in zip(states, programs, strict=True)]
    logs = [
        Log.empty(plan, state, state.tick, end, [own] * state.lanes if own else ())
        for state, end, own in zip(states, ends, programs, strict=True)
    ]
    try:
        while True:
            calls: list[tuple[RunState, ctypes.CDLL, RunArgs, int]] = []
            for state, begin, end, kept in zip(states, begins, ends, logs, strict=True):
                if state.tick >= end or state.finished:
                    continue
                if poll is not None:
                    poll(state)
                ticks = min(piece_ticks - state.tick % piece_ticks, end - state.tick)
                if state.kernel_events is None:
                    state.kernel_events = kernel_events(state)
                args = run_args(state, state.kernel_events, ticks, kept, plan.rows_between(begin, state.tick))
                calls.append((state, kernel(state), args, ticks))
            if not calls:
                break
            for state, library, args, _ in calls:
                state.kernel_s += _run_part(library, args, 0, int(args.last_block))
            for state, _, _, ticks in calls:
                state.tick += ticks
                assert state.kernel_events is not None
                state.kernel_events.note_fired(state)
    except KeyboardInterrupt:
        for kept in logs:
            kept.interrupted = True
    for state, begin, kept in zip(states, begins, logs, strict=True):
        kept.finish(state, plan.rows_between(begin, state.tick))
    return logs
