"""Back-to-back test: a flight in the kernel, recorded as inputs, parameter changes and expected outputs of a part.

The closed loop flies first and gives the part's inputs at every tick; then the part alone runs in the kernel with these
inputs. The exported code must give the same outputs, bit for bit. All outputs of all ticks go into a running 64-bit
sum; full rows are stored at intervals, so that a difference can be located.

File (little endian): eight int64 (magic, version, ticks, inputs, outputs, changes, rows, row distance), uint64 seed,
then input changes, parameter changes, and rows. A change is int64 tick, int64 row, double value; a row is int64 tick,
uint64 sum up to and including this tick, and the outputs as double.
"""

from __future__ import annotations

import functools
import itertools
import struct
from dataclasses import dataclass

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ExportError
from ironbird.export.job import Job
from ironbird.export.parts import Part
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import model_of, prepare
from ironbird.runtime.interface import EFFECTS, SHAPES, EventRecord
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import KernelEvents, kernel_events, run
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.spec import CLOSE

MAGIC, VERSION = 0x3144524249, 1  # "IBRD1"
FACTOR, SPREAD = 0x100000001B3, 0x9E3779B97F4A7C15
CHUNK_TICKS = 1000
NOT_A_NUMBER = 0x7FF8000000000000
NEVER = np.iinfo(np.int64).max
CHANGE = np.dtype([("tick", "<i8"), ("row", "<i8"), ("value", "<f8")])


@dataclass(frozen=True, eq=False)
class Record:
    """Inputs, parameter changes and outputs of a part in a recorded flight."""

    ticks: int
    seed: int
    inputs: np.ndarray  # CHANGE
    params: np.ndarray  # CHANGE
    every: int
    row_ticks: np.ndarray
    sums: np.ndarray  # uint64, at these ticks
    rows: np.ndarray  # [row, output]
    input_count: int

    def data(self) -> bytes:
        """The record as bytes, in the file format that this module describes."""
        head = struct.pack(
            "<8qQ", MAGIC, VERSION, self.ticks, self.input_count, self.rows.shape[1], len(self.params), len(self.rows),
            self.every, self.seed,
        )  # fmt: skip
        rows = b"".join(
            struct.pack("<qQ", int(tick), int(total)) + row.astype("<f8").tobytes()
            for tick, total, row in zip(self.row_ticks, self.sums, self.rows, strict=True)
        )
        return head + struct.pack("<q", len(self.inputs)) + self.inputs.tobytes() + self.params.tobytes() + rows


def order_of(job: Job) -> Order:
    """Order of the recorded flight: the vehicle's own mission in calm air, with the faults of the job."""
    control = job.cut.vehicle.control
    return make_order(
        job.vehicle, control=control, faults=job.faults, seed=job.seed, until_s=job.seconds, integration=CLOSE.text()
    )


def record(job: Job, *, every_s: float = 0.5) -> Record:
    """Fly the job's flight in the kernel and record the part; full rows every `every_s` seconds."""
    part = job.cut
    model, order = part.model, order_of(job)
    whole = model_of(order)
    if whole.step_s != model.step_s:
        raise ExportError(f"flights are recorded at {whole.step_s} s a step; this part has {model.step_s} s")
    state = prepare(whole, [order])
    begin = state.branch()
    sources = sorted({source for fed in part.sources.values() for source in fed})
    log = run(state, job.seconds, log=sources or ["body"], log_s=whole.step_s, threads=1)
    ticks = log.rows(0)
    if ticks < 1:
        raise ExportError(f"the flight of '{job.vehicle}' ended at once: {state.stop_of(0)}")
    inputs = np.tile(model.flat.inputs, (ticks, 1))
    for name, fed in part.sources.items():
        rows = model.flat.u.rows(name)
        total = sum(np.asarray(log[source]).reshape(ticks, -1) for source in fed)
        inputs[:, rows] = total
    changes = _param_changes(part, begin, kernel_events(state), ticks)
    return _fly_part(job, inputs, changes, round(every_s / model.step_s))


def start_params(job: Job) -> list[tuple[int, float]]:
    """Parameters of the part that mission, weather and settings of the flight change at the start: row and value."""
    order = order_of(job)
    begin = prepare(model_of(order), [order])
    return [(int(c["row"]), float(c["value"])) for c in _param_changes(job.cut, begin, kernel_events(begin), 0)]


def _param_changes(part: Part, begin: RunState, events: KernelEvents, ticks: int) -> np.ndarray:
    """Changes of the part's parameters: values that differ from the defaults at tick 0, and later changes."""
    flat, whole = part.model.flat, begin.model.flat
    row_of: dict[int, int] = {}  # row in the closed loop -> row in the part
    for path, first in flat.p.start.items():
        source = whole.p.start[path]
        row_of |= {source + i: first + i for i in range(flat.p.signals[path].size)}
    base = {source: float(begin.params[0, source, 0]) for source in row_of}
    changes = [(0, row, base[source]) for source, row in row_of.items() if base[source] != float(flat.values[row])]
    records = [
        (event, int(fired))
        for event, fired in zip(events.records[: int(events.first[-1])], events.fired, strict=False)
        if event.param in row_of
    ]
    value = dict(base)
    for tick in _looks([r for r, _ in records], [f for _, f in records], ticks):
        now = {event.param: base[event.param] for event, _ in records}
        for event, fired in records:
            weight = _weight(event, fired, tick)
            if weight:
                now[event.param] = _changed(event, weight, now[event.param])
        for source, number in now.items():
            if number != value[source]:
                value[source] = number
                changes.append((tick, row_of[source], number))
    return np.array(sorted(changes), CHANGE)


def _looks(events: list[EventRecord], fired: list[int], ticks: int) -> list[int]:
    """Ticks at which the weight of an event may change."""
    marks: set[int] = set()
    for event, at in zip(events, fired, strict=True):
        if event.trigger >= 0 and at < 0:
            continue
        base = at if event.trigger >= 0 else 0
        first, last = base + event.start, ticks if event.end == NEVER else min(ticks, base + event.end)
        marks |= {max(0, first), last}
        if event.shape == SHAPES["ramp"]:
            marks |= set(range(max(0, first), min(first + event.rise, last) + 1))
        elif event.shape == SHAPES["intermittent"]:
            marks |= {t + part for t in range(first, last, event.period) for part in (0, event.on)}
    return sorted(mark for mark in marks if 0 <= mark < ticks)


def _weight(event: EventRecord, fired: int, tick: int) -> float:
    """Weight of an event (0 to 1) at a tick, computed as `ib_event_weight` of c/ib_loop.h."""
    if event.trigger >= 0 and fired < 0:
        return 0.0
    base = fired if event.trigger >= 0 else 0
    start, end = base + event.start, NEVER if event.end == NEVER else base + event.end
    if tick < start or tick >= end:
        return 0.0
    if event.shape == SHAPES["ramp"] and tick - start < event.rise:
        return float(tick - start) / float(event.rise)
    if event.shape == SHAPES["intermittent"]:
        return 1.0 if (tick - start) % event.period < event.on else 0.0
    return 1.0


def _changed(event: EventRecord, weight: float, value: float) -> float:
    if event.effect == EFFECTS["replace"]:
        return float(event.value) if weight == 1.0 else value + weight * (event.value - value)
    if event.effect == EFFECTS["scale"]:
        return float(value * (1.0 + weight * (event.value - 1.0)))
    return float(value + weight * event.value)


def _fly_part(job: Job, inputs: np.ndarray, changes: np.ndarray, every: int) -> Record:
    """Run the part in the kernel with these inputs and parameters, and record it."""
    model = job.cut.model
    state = start(model, seed=job.seed)
    _set(state, changes[changes["tick"] == 0])
    later = changes[changes["tick"] > 0]
    changed = np.any(inputs[1:] != inputs[:-1], axis=1) if len(inputs) > 1 else np.zeros(0, bool)
    cuts = sorted({0, *(np.flatnonzero(changed) + 1).tolist(), *later["tick"].tolist(), len(inputs)})
    total, row_ticks, sums, rows = 0, [], [], []
    done = False
    for first in range(0, len(inputs), CHUNK_TICKS):
        last = min(first + CHUNK_TICKS, len(inputs))
        stepper = Stepper(state, until_s=last * model.step_s, log_s=model.step_s)
        marks = [first, *(c for c in cuts if first < c < last), last]
        for here, there in itertools.pairwise(marks):
            _set(state, later[later["tick"] == here])
            stepper.inputs[:] = inputs[here]
            if not stepper.step(there - here) and there < len(inputs):
                done = True
                break
        log = stepper.finish()
        values = np.ascontiguousarray(log.data[0, : log.rows(0), :, 0])
        for tick, word in enumerate(tick_sums(values), first):
            total = (total * FACTOR + word) % 2**64
            if tick % every == 0:
                row_ticks.append(tick)
                sums.append(total)
                rows.append(values[tick - first])
        count = first + len(values)
        if len(values) and (done or state.finished or last == len(inputs)) and row_ticks[-1] != count - 1:
            row_ticks.append(count - 1)
            sums.append(total)
            rows.append(values[-1])
        if done or state.finished:
            break
    keep = np.concatenate([[True], changed])[:count] if count else np.zeros(0, bool)
    input_changes = [
        (tick, row, inputs[tick, row])
        for tick in np.flatnonzero(keep)
        for row in range(inputs.shape[1])
        if tick == 0 or inputs[tick, row] != inputs[tick - 1, row]
    ]
    return Record(
        count, job.seed, np.array(input_changes, CHANGE), changes[changes["tick"] < count], every, np.array(row_ticks),
        np.array(sums, np.uint64), np.array(rows), inputs.shape[1],
    )  # fmt: skip


def _set(state: RunState, changes: np.ndarray) -> None:
    labels = _labels(state.model)
    for change in changes:
        state.set_param(labels[int(change["row"])], float(change["value"]))


@functools.lru_cache(maxsize=4)
def _labels(model: CompiledModel) -> list[str]:
    return model.flat.p.labels()


def tick_sums(values: np.ndarray) -> list[int]:
    """Sum of each tick's outputs: their bits times odd numbers that differ by position."""
    bits = values.view(np.uint64).copy()
    bits[np.isnan(values)] = NOT_A_NUMBER
    places = (np.arange(values.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)) * np.uint64(SPREAD)
    with np.errstate(over="ignore"):
        return (((bits ^ (bits >> np.uint64(32))) * places).sum(axis=1, dtype=np.uint64)).tolist()
