"""RunState: everything that changes during a run, for one vehicle or thousands; can be saved and branched."""

from __future__ import annotations

import copy
import json
import operator
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ironbird.compiler.compiled import LANES, CompiledModel
from ironbird.errors import IronbirdError, RunError, UnknownNameError
from ironbird.model.diagram import as_column
from ironbird.model.signal import Number
from ironbird.runtime.border import MOST_LANES, MOST_SEED, MOST_TICKS, whole
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.predicate import Predicate

RUNNING = -1  # stop tick of a lane that still runs
DIVERGED = -1  # stop reason


@dataclass(frozen=True)
class Stop:
    """Why and when a lane stopped before the end of the run."""

    time_s: float
    reason: str


class Beside(Protocol):
    """State outside the kernel that belongs to the lanes (sensors of the world, say) and is copied with them."""

    def pick(self, lanes: Sequence[int]) -> Beside:
        """An independent copy for some lanes, in the given order."""

    def content(self, lane: int) -> bytes:
        """Bytes that determine how a lane continues."""

    def look(self, state: RunState) -> None:
        """Called between two pieces of a run: reads the lanes and sets their inputs."""


@dataclass
class RunState:
    """All values of a run: states, parameters, inputs, time. `ib.start` makes one.

    `state.get(path)` reads a signal, `state.set_param(path, value)` changes a parameter, `state.branch()` copies the
    run, `state.save(path)` writes it to a file.

    Attributes
    ----------
    model : CompiledModel
        The model.
    lanes : int
        Number of vehicles side by side.
    width : int
        Lanes that the native code works on at once.
    tick : int
        Number of steps that are done.
    x, xd, held, params, inputs : array
        Continuous states, sampled states, held outputs, parameters, inputs: [block, row, lane in block].
    seeds : array
        Seed of each lane.
    stop_tick, stop_reason, stop_row : array
        When and why each lane stopped.
    events : list of list of ParamEvent
        Changes of parameters of each lane.
    fired : list of list of int
        Tick at which the trigger of each event fired; -1 before.
    kernel_s : float
        Processor time of all threads in native code so far, in s.
    kernel_events : object
        Events in the form of the native code.
    beside : Beside or None
        What runs beside it, for example sensors of the world.
    """

    model: CompiledModel
    lanes: int
    width: int
    tick: int
    x: np.ndarray
    xd: np.ndarray
    held: np.ndarray
    params: np.ndarray
    inputs: np.ndarray
    seeds: np.ndarray
    stop_tick: np.ndarray
    stop_reason: np.ndarray
    stop_row: np.ndarray
    events: list[list[ParamEvent]] = field(default_factory=list)
    fired: list[list[int]] = field(default_factory=list)  # tick at which each event's trigger fired; -1 before
    kernel_s: float = 0.0  # s of processor time of all threads in native code so far
    kernel_events: Any = None  # events in the kernel's form, built at first use
    beside: Beside | None = None  # sensors of the world, for example

    def __repr__(self) -> str:
        lanes = f"{self.lanes} lane{'s' * (self.lanes > 1)}"
        return f"<RunState of '{self.model.name}': {lanes} at {self.time_s:g} s>"

    @property
    def time_s(self) -> float:
        """Simulation time of the state in s."""
        return self.tick * self.model.step_s

    # ------------------------------------------------------------------ values by name

    def place(self, path: str) -> tuple[np.ndarray, slice]:
        """The array that holds a state or a sampled block's output, and its rows there."""
        flat = self.model.flat
        for column, array in ((flat.x, self.x), (flat.xd, self.xd), (flat.held, self.held)):
            if path in column.start:
                return array, column.rows(path)
        known = [*flat.x.start, *flat.xd.start, *flat.held.start]
        raise UnknownNameError("state", path, known, f"model '{self.model.name}'")

    def get(self, path: str, lane: int = 0) -> np.ndarray:
        """Value of a state or of a sampled block's output in one lane, as a column."""
        array, rows = self.place(path)
        block, place = self._lane(lane)
        return array[block, rows, place].copy()

    def set_state(self, path: str, value: Number | np.ndarray, lane: int | None = None) -> None:
        """Overwrite a state, in one lane or in all."""
        array, rows = self.place(path)
        signal = self.model.states().get(path)
        if signal is None:
            raise RunError(f"{path} is an output, not a state; it cannot be set")
        column = as_column(value, signal, path)
        self._write(array, rows, column, lane)

    def set_param(self, path: str, value: Number | np.ndarray, lane: int | None = None) -> None:
        """Change a parameter's base value, in one lane or in all; a state that it initialises follows at tick 0."""
        rows = self.model.param_rows(path)
        column = self.model.check_value(path, value)
        signal = self.model.flat.p.signals[path.partition("[")[0]]
        if self.tick > 0 and not getattr(signal, "tunable", False):
            raise RunError(f"parameter {path} is not tunable: it can be set only before the run starts")
        self._write(self.params, rows, column, lane)
        blocks, places = (slice(None), slice(None)) if lane is None else self._lane(lane)
        self._begin_from(path, blocks, places)

    def set_param_of(self, path: str, values: Mapping[int, Number | np.ndarray]) -> None:
        """Set a parameter's base value before the run, in some lanes, each to its own value."""
        if self.tick > 0:
            raise RunError(f"parameter {path}: values of many lanes can be set only before the run starts")
        rows = self.model.param_rows(path)
        columns = self.model.check_values(path, list(values.values()))
        blocks, places = np.divmod([self._checked(lane) for lane in values], self.width)
        self.params[blocks, rows, places] = columns
        self._begin_from(path, blocks, places)

    def _begin_from(self, path: str, blocks: Any, places: Any) -> None:
        """Set states that a parameter initialises to its value, in some lanes, at tick 0."""
        if self.tick > 0:
            return
        source = path.partition("[")[0]
        for state, of in self.model.flat.initial_of.items():
            if of == source:
                array, state_rows = self.place(state)
                array[blocks, state_rows, places] = self.params[blocks, self.model.flat.p.rows(source), places]

    def set_input(self, name: str, value: Number | np.ndarray, lane: int | None = None) -> None:
        """Set an external input; it is held until set again."""
        flat = self.model.flat
        if name not in flat.u.start:
            raise UnknownNameError("input", name, flat.u.start, f"model '{self.model.name}'")
        self._write(self.inputs, flat.u.rows(name), as_column(value, flat.u.signals[name], name), lane)

    def add_event(self, event: ParamEvent, lane: int | None = None) -> None:
        """Schedule a parameter event, in one lane or in all."""
        event.record(self.model, 0)  # raises if it does not fit the model
        lane = lane if lane is None else self._checked(lane)
        for number in range(self.lanes) if lane is None else [lane]:
            self.events[number].append(event)
            self.fired[number].append(-1)
        self.kernel_events = None

    def stop_of(self, lane: int = 0) -> Stop | None:
        """Why and when a lane stopped early, or None."""
        block, place = self._lane(lane)
        tick = int(self.stop_tick[block, place])
        if tick == RUNNING:
            return None
        reason = int(self.stop_reason[block, place])
        if reason == DIVERGED:
            row = int(self.stop_row[block, place])
            text = f"diverged: state {self.model.state_at(row)} is not a number or beyond 1e12"
        else:
            text = self.model.flat.stop_names[reason]
        return Stop(tick * self.model.step_s, text)

    @property
    def finished(self) -> bool:
        """Whether every lane has stopped."""
        return bool((self.stop_tick.reshape(-1)[: self.lanes] != RUNNING).all())

    # ------------------------------------------------------------------ lanes

    def _checked(self, lane: int) -> int:
        try:
            number = operator.index(lane)
        except TypeError:
            raise RunError(f"lane {lane!r} is not a whole number") from None
        if not 0 <= number < self.lanes:
            raise RunError(f"lane {lane} does not exist; there are {self.lanes}")
        return number

    def _lane(self, lane: int) -> tuple[int, int]:
        return divmod(self._checked(lane), self.width)

    def _write(self, array: np.ndarray, rows: slice, column: np.ndarray, lane: int | None) -> None:
        if lane is None:
            array[:, rows, :] = column[None, :, None]
        else:
            block, place = self._lane(lane)
            array[block, rows, place] = column

    # ------------------------------------------------------------------ snapshots

    def branch(self) -> RunState:
        """An independent copy that continues from here; the model is shared."""
        other = copy.copy(self)
        for name in _ARRAYS:
            setattr(other, name, getattr(self, name).copy())
        other.beside = self.beside.pick(range(self.lanes)) if self.beside is not None else None
        other.events = [list(events) for events in self.events]
        other.fired = [list(fired) for fired in self.fired]
        other.kernel_events = None
        return other

    def pick(self, lanes: Sequence[int]) -> RunState:
        """An independent copy of some lanes in the given order; the model is shared."""
        if not lanes:
            raise RunError("pick at least one lane")
        other = copy.copy(self)
        blocks = -(-len(lanes) // self.width)
        sources = np.zeros(blocks * self.width, np.int64)
        sources[: len(lanes)] = [self._checked(lane) for lane in lanes]
        block, place = np.divmod(sources, self.width)
        for name in _ARRAYS:
            values = getattr(self, name)[block, ..., place]  # [lane, row] or [lane]
            values = values.reshape(blocks, self.width, *values.shape[1:])
            setattr(other, name, np.ascontiguousarray(np.moveaxis(values, 1, -1)))
        other.stop_tick.reshape(-1)[len(lanes) :] = 0  # lanes that only pad the last block never run
        other.lanes = len(lanes)
        other.beside = self.beside.pick(lanes) if self.beside is not None else None
        other.events = [list(self.events[lane]) for lane in lanes]
        other.fired = [list(self.fired[lane]) for lane in lanes]
        other.kernel_s, other.kernel_events = 0.0, None
        return other

    def seed_of(self, lane: int) -> int:
        """Random seed of a lane, 64 bits."""
        return int(self.seeds[self._lane(lane)])

    def content(self, lane: int) -> bytes:
        """All values of a lane as bytes: lanes with equal content and events continue equally."""
        block, place = self._lane(lane)
        values = b"".join(getattr(self, name)[block, ..., place].tobytes() for name in _ARRAYS)
        return values if self.beside is None else values + self.beside.content(lane)

    def save(self, path: str | Path) -> None:
        """Write a snapshot: plain numbers and text, no code; `restore` reads it for the same model."""
        if self.beside is not None:
            raise RunError("a run with sensors of a world cannot be saved: their samples are not in a snapshot")
        head = {
            "snapshot": SNAPSHOT,
            "model": self.model.model_hash,
            "tick": self.tick,
            "lanes": self.lanes,
            "events": [[asdict(event) for event in events] for events in self.events],
            "fired": self.fired,
        }
        text = np.frombuffer(json.dumps(head).encode(), np.uint8)
        np.savez_compressed(path, head=text, **{name: getattr(self, name) for name in _ARRAYS})


SNAPSHOT = 1  # version of the file format
_ARRAYS = ("x", "xd", "held", "params", "inputs", "seeds", "stop_tick", "stop_reason", "stop_row")


def restore(model: CompiledModel, path: str | Path) -> RunState:
    """Read a snapshot of a run that `RunState.save` wrote.

    Parameters
    ----------
    model : CompiledModel
        The model of the run.
    path : str or Path
        The file.

    Returns
    -------
    RunState
        The run as it was, to the last bit.

    Raises
    ------
    RunError
        If the snapshot is of another model, or damaged.

    Examples
    --------
    >>> state = ib.restore(model, "at_12_s.npz")  # doctest: +SKIP
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
            head = json.loads(data["head"].tobytes())
            arrays = {name: np.ascontiguousarray(data[name]) for name in _ARRAYS}
    except (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise RunError(f"{path} is not a snapshot: {error}") from error
    return restored(model, head, arrays, path)


def restored(model: CompiledModel, head: Any, arrays: dict[str, np.ndarray], path: str | Path) -> RunState:
    """The run state of a snapshot that was read: its head, and its arrays by name."""
    try:
        version, saved_by = head["snapshot"], head["model"]
    except (KeyError, TypeError) as error:
        raise RunError(f"{path} is not a snapshot: {error}") from error
    if version != SNAPSHOT:
        raise RunError(f"{path} is a snapshot of version {version!r}; this version of Ironbird reads {SNAPSHOT}")
    if saved_by != model.model_hash:
        raise RunError(f"{path} was saved by another model ({str(saved_by)[:12]}, not {model.model_hash[:12]})")
    try:
        state = start(model, lanes=_whole(head["lanes"], 1, arrays["seeds"].size))
        for name, values in arrays.items():
            own = getattr(state, name)
            if values.shape != own.shape or values.dtype != own.dtype:
                raise RunError(f"{name} is {values.dtype} {values.shape}, the model has {own.dtype} {own.shape}")
            setattr(state, name, values)
        _check_stops(state)
        state.tick = _whole(head["tick"])
        if len(head["events"]) != state.lanes or len(head["fired"]) != state.lanes:
            raise RunError(f"events of {len(head['events'])} lanes, not of {state.lanes}")
        for lane, (events, fired) in enumerate(zip(head["events"], head["fired"], strict=True)):
            for table, tick in zip(events, fired, strict=True):
                event = dict(table)
                when = event.pop("when")
                state.add_event(ParamEvent(**event, when=Predicate.read(when) if when is not None else None), lane)
                state.fired[lane][-1] = _whole(tick, -1)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IronbirdError) as error:
        raise RunError(f"{path} is a damaged snapshot: {error}") from error
    return state


def _whole(value: object, low: int = 0, high: int = MOST_TICKS) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise RunError(f"{value!r} is not a whole number from {low} to {high}")
    return value


def _check_stops(state: RunState) -> None:
    """Raise unless the stop ticks and reasons of a snapshot's lanes are valid for the model."""
    flat = state.model.flat
    ticks, reasons, rows = (a.reshape(-1) for a in (state.stop_tick, state.stop_reason, state.stop_row))
    if (ticks < RUNNING).any() or (ticks > MOST_TICKS).any() or (ticks[state.lanes :] == RUNNING).any():
        raise RunError(f"stop ticks of the lanes must be {RUNNING} (running) or from 0 to {MOST_TICKS}")
    stopped = np.flatnonzero(ticks[: state.lanes] != RUNNING)
    if (reasons[stopped] < DIVERGED).any() or (reasons[stopped] >= len(flat.stop_names)).any():
        raise RunError(f"a stop reason is not one of the model's {len(flat.stop_names)} reasons")
    if (rows < 0).any() or (rows[stopped] >= max(1, flat.x.size + flat.xd.size)).any():
        raise RunError(f"a lane diverged in a state row beyond the model's {flat.x.size + flat.xd.size} rows")


def _seeds(seed: int | Sequence[int], lanes: int) -> np.ndarray:
    """One 64-bit random seed per lane, as an array."""
    if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes):
        if len(seed) != lanes:
            raise RunError(f"{len(seed)} seeds for {lanes} lanes: give one seed, or one per lane")
        return np.array([whole(one, "seed", 0, MOST_SEED) for one in seed], np.uint64)
    first = whole(seed, "seed", 0, MOST_SEED)
    whole(first + lanes - 1, "seed of the last lane", 0, MOST_SEED)
    return np.arange(lanes, dtype=np.uint64) + np.uint64(first)


def start(
    model: CompiledModel,
    *,
    lanes: int = 1,
    seed: int | Sequence[int] = 0,
    params: Mapping[str, Number] | None = None,
) -> RunState:
    """A run state at time zero.

    A lane's results depend on its seed, parameters and events alone, never on its place or on the other lanes.

    Parameters
    ----------
    model : CompiledModel
        The model.
    lanes : int, default 1
        Number of vehicles side by side.
    seed : int or sequence of int, default 0
        One number (lane i gets seed + i), or one for each lane.
    params : mapping, optional
        Parameters by path, in SI units.

    Returns
    -------
    RunState
        All values of the run.

    Raises
    ------
    RunError
        If a parameter does not exist or is outside its range.

    Examples
    --------
    >>> model = ib.compile_model(ib.load_vehicle("quad_f450", control="truth").diagram)
    >>> state = ib.start(model, lanes=4, seed=1)
    >>> ib.run(state, until_s=0.5, log=["body.p_NB_N"]).lanes
    4
    """
    lanes = whole(lanes, "lanes", 1, MOST_LANES)
    width = 1 if lanes == 1 else LANES
    blocks = -(-lanes // width)
    flat = model.flat
    seeds = np.zeros(blocks * width, np.uint64)
    seeds[:lanes] = _seeds(seed, lanes)
    stop_tick = np.full(blocks * width, RUNNING, np.int64)
    stop_tick[lanes:] = 0  # lanes that only pad the last block never run

    def spread(column: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(column[None, :, None], (blocks, column.size, width)).copy())

    state = RunState(
        model=model,
        lanes=lanes,
        width=width,
        tick=0,
        x=spread(flat.initial_x),
        xd=spread(flat.initial_xd),
        held=spread(np.zeros(flat.held.size)),
        params=spread(flat.values),
        inputs=spread(flat.inputs),
        seeds=seeds.reshape(blocks, width),
        stop_tick=stop_tick.reshape(blocks, width),
        stop_reason=np.zeros((blocks, width), np.int64),
        stop_row=np.zeros((blocks, width), np.int64),
        events=[[] for _ in range(lanes)],
        fired=[[] for _ in range(lanes)],
    )
    for path, value in (params or {}).items():
        state.set_param(path, value)
    return state
