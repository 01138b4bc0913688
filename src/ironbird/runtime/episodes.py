"""Episodes for learning: lanes that begin and end at their own times.

A run state has one time for all its lanes, and noise, events and sample times depend on it. Here each block of lanes
has its own time: vehicles that begin together share a block, and one that begins later gets a place in another block.
So an episode is bit for bit the run that `start` and `advance` give for its seed and values, whatever happens in other
lanes. The cost: a block takes the same time with one lane as with all, so many lanes of different ages are slower.

Every `every` ticks the requested signals are logged; a command computed from them acts from the next tick on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from ironbird.compiler.compiled import LANES, CompiledModel
from ironbird.errors import RunError
from ironbird.runtime.border import MOST_SEED, whole
from ironbird.runtime.events import NEVER, ParamEvent
from ironbird.runtime.interface import EventRecord, RunArgs
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import RUNNING, RunState, Stop, start
from ironbird.runtime.step import KernelEvents, kernel, run_args
from ironbird.runtime.watch import Code

EVENT = np.dtype([(name, np.float64 if name == "value" else np.int64) for name, *_ in EventRecord._fields_])
_COLUMNS = ("x", "xd", "held", "params", "inputs")  # arrays of a lane, besides its seed and stop


@dataclass(frozen=True)
class _Parts:
    """Blocks that run, and for each thread the ranges of blocks that it runs."""

    blocks: np.ndarray
    shares: list[list[list[int]]]


class Episodes:
    """Vehicles of one model by number from 0, each with a time of its own: `begin` starts some, `step` moves all.

    The engine of the learning environments (`ironbird.gym`).

    Parameters
    ----------
    model : CompiledModel
        The model.
    count : int
        Number of vehicles.
    paths : list of str
        Signals that `step` returns.
    every : int
        Ticks of one step.
    varied : sequence of str, default ()
        Parameters that `begin` sets for each vehicle.
    events : int, default 0
        Largest number of events of a vehicle.
    threads : int, default 1
        Number of threads. It does not change any result.
    """

    def __init__(
        self,
        model: CompiledModel,
        count: int,
        *,
        paths: list[str],
        every: int,
        varied: Sequence[str] = (),
        events: int = 0,
        threads: int = 1,
    ) -> None:
        """`paths` are logged every `every` ticks; parameters in `varied` differ from episode to episode.

        `events` is the most scalars that the events of one episode may change.
        """
        self.model, self.count = model, whole(count, "number of vehicles", 1)
        self.every, self.slots = whole(every, "ticks of a step", 1), whole(events, "events", 0)
        self.width = 1 if self.count == 1 else LANES
        self.plan = LogPlan.make(model, paths, self.every * model.step_s)
        self._varied_rows(varied)
        flat = model.flat
        self._fresh = {
            "x": flat.initial_x,
            "xd": flat.initial_xd,
            "held": np.zeros(flat.held.size),
            "params": flat.values,
            "inputs": flat.inputs,
        }
        self.place = np.full(self.count, -1, np.int64)  # lane of each vehicle
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._threads = max(1, threads)
        self._scratch: Episodes | None = None
        self._plan: _Parts | None = None  # of all vehicles, until the next `begin`
        self.state: RunState
        self.records: np.ndarray  # events, [block, place, slot]
        self.ticks: np.ndarray  # current tick of each block
        self.used: np.ndarray  # number of lanes in use of each block
        self._data: np.ndarray
        self._make(-(-self.count // self.width))

    def _varied_rows(self, varied: Sequence[str]) -> None:
        """Find the rows of the varied parameters, and of the states that they initialise."""
        flat = self.model.flat
        self.varied: dict[str, slice] = {}  # columns of the values that `begin` takes
        rows: list[int] = []
        copies: dict[str, tuple[list[int], list[int]]] = {"x": ([], []), "xd": ([], [])}  # state rows, value columns
        for path in varied:
            own = self.model.param_rows(path)
            columns = slice(len(rows), len(rows) + own.stop - own.start)
            self.varied[path] = columns
            rows += range(own.start, own.stop)
            for state, source in flat.initial_of.items():
                if source == path:
                    kind, column = ("x", flat.x) if state in flat.x.start else ("xd", flat.xd)
                    copies[kind][0].extend(range(column.rows(state).start, column.rows(state).stop))
                    copies[kind][1].extend(range(columns.start, columns.stop))
        self._rows = np.array(rows, np.int64)
        self._copies = {kind: (np.array(a, np.int64), np.array(b, np.int64)) for kind, (a, b) in copies.items() if a}
        signals = [flat.p.signals[path.partition("[")[0]] for path in varied]
        sizes = [part.stop - part.start for part in self.varied.values()]
        self._low = np.repeat([signal.low for signal in signals], sizes)
        self._high = np.repeat([signal.high for signal in signals], sizes)

    # ------------------------------------------------------------------ memory

    def _make(self, blocks: int) -> None:
        """Allocate arrays for a number of blocks; existing content is kept."""
        old: RunState | None = getattr(self, "state", None)
        kept = 0 if old is None else old.x.shape[0]
        lanes = blocks * self.width
        self.state = start(self.model, lanes=lanes, seed=[0] * lanes)
        self.state.stop_tick[:] = 0
        self.log = Log.empty(self.plan, self.state, 0, 1)
        records = np.zeros((blocks, self.width, self.slots), EVENT)
        records["lane"] = np.arange(self.width)[None, :, None]
        records["trigger"], records["rise"], records["period"], records["on"] = -1, 1, 2, 1
        records["start"] = records["end"] = NEVER
        ticks, used = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
        if old is not None:
            for name in (*_COLUMNS, "seeds", "stop_tick", "stop_reason", "stop_row"):
                getattr(self.state, name)[:kept] = getattr(old, name)
            self.log.data[:kept] = self._data
            records[:kept], ticks[:kept], used[:kept] = self.records, self.ticks, self.used
        self.records, self.ticks, self.used = records, ticks, used
        self._data = self.log.data
        width = max(1, self.slots * self.width)
        memory: Any = records if records.size else np.zeros(1, EVENT)
        self._events = KernelEvents(
            records=(EventRecord * max(1, records.size)).from_buffer(memory),
            first=np.arange(blocks + 1, dtype=np.int64) * self.slots * self.width,
            fired=np.full(blocks * width, -1, np.int64),
            owners=[],
            code=Code.of([]),
        )
        self._run = kernel(self.state).ib_run
        args = run_args(self.state, self._events, 0, self.log, 0)
        self._args = [RunArgs.from_buffer_copy(args) for _ in range(self._threads)]
        self._pointers = [ctypes.byref(args) for args in self._args]

    def _take_blocks(self, count: int) -> np.ndarray:
        free = np.flatnonzero(self.used == 0)
        if len(free) < count:
            self._make(max(len(self.used) + count - len(free), min(2 * len(self.used), self.count)))
            free = np.flatnonzero(self.used == 0)
        return free[:count]

    # ------------------------------------------------------------------ episodes

    def begin(
        self,
        vehicles: np.ndarray,
        seeds: Sequence[int],
        values: np.ndarray,
        *,
        states: dict[str, np.ndarray] | None = None,
        inputs: np.ndarray | None = None,
        events: Sequence[Sequence[ParamEvent]] | None = None,
    ) -> None:
        """Reset some vehicles and run their first tick.

        `values` are [vehicle, column] of the varied parameters in their order; `states` [vehicle, size] by path;
        `inputs` [vehicle, row] hold until the first step.
        """
        vehicles = np.asarray(vehicles, np.int64)
        number = len(vehicles)
        if number == 0:
            return
        if values.shape != (number, len(self._rows)) or not np.isfinite(values).all():
            raise RunError(
                f"values of {number} episodes are {values.shape}, not {(number, len(self._rows))} and finite"
            )
        if (values < self._low).any() or (values > self._high).any():
            column = int(np.argwhere((values < self._low) | (values > self._high))[0, 1])
            path = next(p for p, part in self.varied.items() if part.start <= column < part.stop)
            low, high = self._low[column], self._high[column]
            raise RunError(
                f"{path} = {values[:, column].min():g} .. {values[:, column].max():g} of an episode is outside "
                f"its range {low:g} .. {high:g}"
            )
        self._free(vehicles)
        blocks = self._take_blocks(-(-number // self.width))
        order = np.arange(number)
        block, place = blocks[order // self.width], order % self.width
        self.place[vehicles] = block * self.width + place
        state = self.state
        for name in _COLUMNS:
            getattr(state, name)[block, :, place] = self._fresh[name]
        state.params[block[:, None], self._rows, place[:, None]] = values
        for name, (rows, columns) in self._copies.items():
            getattr(state, name)[block[:, None], rows, place[:, None]] = values[:, columns]
        for path, table in (states or {}).items():
            array, rows_of = state.place(path)
            array[block, rows_of, place] = table.reshape(number, -1)
        if inputs is not None:
            state.inputs[block, :, place] = inputs
        state.seeds[block, place] = [whole(seed, "seed", 0, MOST_SEED) for seed in seeds]
        state.stop_tick[block, place], state.stop_reason[block, place], state.stop_row[block, place] = RUNNING, 0, 0
        self.records["start"][block, place] = self.records["end"][block, place] = NEVER
        self.records["param"][block, place] = 0
        for i, ordered in enumerate(events or ()):
            self._order(int(block[i]), int(place[i]), ordered)
        np.add.at(self.used, block, 1)
        self.ticks[blocks] = 0
        self._plan = None
        self._advance(self._parts(blocks), 1)

    def _free(self, vehicles: np.ndarray) -> None:
        old = self.place[vehicles]
        old = old[old >= 0]
        block = old // self.width
        np.subtract.at(self.used, block, 1)
        self.state.stop_tick.reshape(-1)[old] = 0
        self.place[vehicles] = -1
        if self.width > 1:
            self._pack(np.unique(self.ticks[block[self.used[block] > 0]]))

    def _pack(self, ticks: np.ndarray) -> None:
        """Move lanes of equal age together, so that fewer blocks run."""
        for tick in ticks:
            mates = np.flatnonzero((self.ticks == tick) & (self.used > 0))
            mates = mates[np.argsort(self.used[mates], kind="stable")]
            if len(mates) < 2 or self.used[mates[0]] + self.used[mates[1]] > self.width:
                continue
            full = int(self.used[mates].sum())
            keep = mates[::-1][: -(-full // self.width)]  # the fullest blocks stay
            moved = np.flatnonzero(np.isin(self.place // self.width, mates) & (self.place >= 0))
            moved = moved[~np.isin(self.place[moved] // self.width, keep)]
            taken = set(self.place[self.place >= 0].tolist())
            holes = [lane for b in keep for lane in range(b * self.width, (b + 1) * self.width) if lane not in taken]
            self._move(moved, np.array(holes[: len(moved)], np.int64))

    def _move(self, vehicles: np.ndarray, lanes: np.ndarray) -> None:
        state, old = self.state, self.place[vehicles]
        (from_block, from_place), (block, place) = np.divmod(old, self.width), np.divmod(lanes, self.width)
        for name in _COLUMNS:
            array = getattr(state, name)
            array[block, :, place] = array[from_block, :, from_place]
        self._data[block, :, :, place] = self._data[from_block, :, :, from_place]
        for name in ("seeds", "stop_tick", "stop_reason", "stop_row"):
            array = getattr(state, name)
            array[block, place] = array[from_block, from_place]
        for name in EVENT.names or ():
            if name != "lane":
                self.records[name][block, place] = self.records[name][from_block, from_place]
        state.stop_tick[from_block, from_place] = 0
        np.subtract.at(self.used, from_block, 1)
        np.add.at(self.used, block, 1)
        self.place[vehicles] = lanes

    def _order(self, block: int, place: int, events: Sequence[ParamEvent]) -> None:
        records = [record for event in events for record in event.record(self.model, place)]
        if any(event.when is not None for event in events):
            raise RunError("an event of an episode cannot wait for a condition; give it a time")
        if len(records) > self.slots:
            raise RunError(f"the events of an episode change {len(records)} values, there is room for {self.slots}")
        for slot, record in enumerate(records):
            self.records[block, place, slot] = tuple(getattr(record, name) for name in EVENT.names or ())

    # ------------------------------------------------------------------ time

    def step(self, inputs: np.ndarray, columns: Sequence[int] | np.ndarray) -> None:
        """Set some rows of the inputs of all vehicles, [vehicle, len(columns)], and advance by `every` ticks."""
        lanes = len(self.used) * self.width
        by_lane = np.zeros((len(columns), lanes))  # lanes without a vehicle stay at zero: they are stopped
        by_lane[:, self.place] = np.asarray(inputs).T
        self.state.inputs[:, np.asarray(columns)] = by_lane.reshape(len(columns), -1, self.width).swapaxes(0, 1)
        self.go_on()

    def go_on(self) -> None:
        """Advance all vehicles by `every` ticks, with the inputs that they have."""
        if self._plan is None:
            self._plan = self._parts(np.flatnonzero(self.used > 0))
        self._advance(self._plan, self.every)

    def _parts(self, blocks: np.ndarray) -> _Parts:
        """How threads share blocks (in rising order): adjacent blocks of equal age are one call of the kernel."""
        if not len(blocks):
            return _Parts(blocks, [])
        breaks = (np.diff(blocks) != 1) | (np.diff(self.ticks[blocks]) != 0)
        ends = np.append(np.flatnonzero(breaks), len(blocks) - 1)
        firsts = blocks[np.append(0, ends[:-1] + 1)]
        runs = np.stack([firsts, blocks[ends] + 1], axis=1)
        parts = 1 if self._pool is None or len(blocks) < self._threads else self._threads
        return _Parts(blocks, [share.tolist() for share in _shares(runs, parts)])

    def _advance(self, plan: _Parts, ticks: int) -> None:
        if len(plan.shares) > 1 and self._pool is not None:
            list(self._pool.map(lambda i: self._run_all(i, plan.shares[i], ticks), range(len(plan.shares))))
        elif plan.shares:
            self._run_all(0, plan.shares[0], ticks)
        self.ticks[plan.blocks] += ticks

    def _run_all(self, thread: int, runs: list[list[int]], ticks: int) -> None:
        args, pointer = self._args[thread], self._pointers[thread]
        args.ticks = ticks
        for first, last in runs:
            args.first_block, args.last_block, args.tick = first, last, self.ticks[first]
            self._run(pointer)

    # ------------------------------------------------------------------ results

    def logged(self) -> np.ndarray:
        """The last logged row of every vehicle, [vehicle, column]; NaN for a vehicle that stopped before it.

        Columns are contiguous in memory, so that computations use vector instructions.
        """
        by_lane = self._data[:, 0].swapaxes(0, 1).reshape(len(self.plan.index), -1)
        return np.asarray(by_lane.take(self.place, axis=1).T)

    def stopped(self) -> np.ndarray:
        """Whether the model has stopped each vehicle, [vehicle]."""
        return np.asarray(self.state.stop_tick.reshape(-1)[self.place] != RUNNING)

    def stop_of(self, vehicle: int) -> Stop | None:
        """Why and when a vehicle stopped, or None."""
        return self.state.stop_of(int(self.place[vehicle]))

    def time_s(self) -> np.ndarray:
        """Time in s since the begin of each vehicle's episode, at the logged row."""
        return np.asarray((self.ticks[self.place // self.width] - 1) * self.model.step_s)

    def content(self, vehicle: int) -> bytes:
        """All values of a vehicle as bytes, in the form of `RunState.content`."""
        return self.state.content(int(self.place[vehicle]))

    def where_stopped(self, vehicles: np.ndarray) -> np.ndarray:
        """The logged signals at the moment the vehicles were stopped, [vehicle, column]."""
        if self._scratch is None:
            self._scratch = Episodes(self.model, self.width, paths=list(self.plan.start), every=self.every)
        other, rows = self._scratch, np.empty((len(vehicles), len(self.plan.index)))
        for begin in range(0, len(vehicles), self.width):
            part = vehicles[begin : begin + self.width]
            (block, place), lanes = np.divmod(self.place[part], self.width), np.arange(len(part))
            for name in (*_COLUMNS, "seeds"):
                getattr(other.state, name)[0, ..., lanes] = getattr(self.state, name)[block, ..., place]
            other.state.stop_tick[:] = 0
            other.state.stop_tick[0, lanes] = RUNNING
            other.ticks[0] = 0
            other._advance(other._parts(np.zeros(1, np.int64)), 1)
            rows[begin : begin + len(part)] = other._data[0, 0][:, lanes].T
        return rows

    def close(self) -> None:
        """End the worker threads. May be called twice."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> Episodes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _shares(runs: np.ndarray, parts: int) -> list[np.ndarray]:
    """The runs of blocks divided into parts with about equal numbers of blocks."""
    total = int((runs[:, 1] - runs[:, 0]).sum())
    shares: list[list[list[int]]] = [[] for _ in range(parts)]
    done = 0
    for first, last in runs.tolist():
        while first < last:
            part = min(done * parts // total, parts - 1)
            until = min(last, first + max(1, -(-(part + 1) * total // parts) - done))
            shares[part].append([first, until])
            done += until - first
            first = until
    return [np.array(share) for share in shares if share]
