"""World sensors in flights: they measure from the vehicle's pose while it flies, and their samples are passed on.

They run outside the kernel, in simulation time, between two pieces of a run (inside every 20 ms, with an external
control system at every exchange). A sample belongs to the exact time k / rate: poses in between are interpolated
linearly. The nearest range of the newest sample is a signal (`sight/NAME.range`) for logs, requirements and triggers;
the whole sample goes to the control system (`Feed`) and to the flight's folder. Faults are parameters of `sight/NAME`,
scheduled and triggered by the kernel. All memory belongs to the run state, so that twins have their own.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ironbird.blocks.sensors.sight import SIGHT
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import WorldError
from ironbird.faults.spec import Injection, is_sight
from ironbird.flight.witness import Witness
from ironbird.rotations import from_matrices
from ironbird.runtime.lanes import lanes_of
from ironbird.runtime.state import RUNNING, RunState
from ironbird.runtime.step import advance
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import SIGHT_INPUTS
from ironbird.world.rays import Scene
from ironbird.world.runner import Feed, Sample, SightWitness, WorldSensors, kind_of, sensor_of
from ironbird.world.sensors.camera import RENDERER_VERSION, Camera
from ironbird.world.sensors.sensor import Sensor
from ironbird.world.track import Track

MOST_KEPT = 2 << 30  # bytes of samples that one flight keeps
LOOK_BACK_S = 0.1  # history kept beyond what a sensor needs


def sensors_of(tables: Sequence[Mapping[str, Any]]) -> list[Sensor]:
    """The world sensors that an order names."""
    return list(_sensors(json.dumps([dict(table) for table in tables], sort_keys=True))) if tables else []


@functools.lru_cache(maxsize=256)
def _sensors(text: str) -> tuple[Sensor, ...]:
    return tuple(sensor_of(table) for table in json.loads(text))


def digest_of(tables: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Data of sensors for an order's digest: every key of each, and with cameras the renderer's version."""
    sensors = sensors_of(tables)
    data: list[Any] = [
        {"kind": table["kind"], **sensor.model_dump(), **sensor.taken()}
        for table, sensor in zip(tables, sensors, strict=True)
    ]
    return [*data, {"renderer": RENDERER_VERSION}] if any(isinstance(s, Camera) for s in sensors) else data


class FlownSensors(WorldSensors):
    """The sensors of one flight, disturbed as the kernel's present outputs say."""

    reads_conditions = True
    amounts: Mapping[str, np.ndarray] = {}  # fault values of each sensor, in the order of `SIGHT`

    def acting(self, sensor: str, now_s: float) -> Iterator[tuple[SightWitness, str, float]]:
        """Each kind of fault that acts now; of several of one kind, the last one that has begun counts as its cause."""
        for kind, amount in zip(SIGHT, self.amounts[sensor].tolist(), strict=True):
            if amount > 0:
                of_kind = [
                    witness
                    for witness in self.witnesses
                    if witness.injection.instance == sensor and kind_of(witness.injection) == kind
                ]
                begun = [w for w in of_kind if w.injection.when or w.injection.start_s <= now_s]
                if begun:
                    yield begun[-1], kind, amount

    @property
    def span_s(self) -> float:
        """How long after the time of a sample its sensors still measure, s."""
        return max(sensor.span_s for sensor in self.sensors)


class Sights:
    """Runs the cameras, lidars and rangefinders of flights that are computed side by side, lane i for the i-th flight.

    `pick` copies their state, for a branch of a flight.
    """

    def __init__(
        self,
        scene: Scene,
        model: CompiledModel,
        tables: Sequence[Sequence[Mapping[str, Any]]],
        seeds: Sequence[int],
        faults: Sequence[Sequence[Injection]],
        *,
        carriers: Sequence[int] | None = None,
        keep: bool = False,
    ) -> None:
        flat = model.flat
        self._pose = flat.held.rows(at.POSE("position")), flat.held.rows(at.POSE("attitude"))
        self._inputs: dict[str, tuple[int, ...]] = {}
        self._states: dict[str, slice] = {}
        self.lanes: list[FlownSensors] = []
        for lane, own in enumerate(tables):
            flown = FlownSensors(
                scene,
                sensors_of(own),
                seed=seeds[lane],
                faults=[fault for fault in faults[lane] if is_sight(fault)],
                carrier=carriers[lane] if carriers is not None else None,
            )
            self.lanes.append(flown)
            for sensor in flown.sensors:
                part = at.sight(sensor.name)
                self._inputs[sensor.name] = tuple(flat.u.rows(part(name)).start for name in SIGHT_INPUTS)
                self._states[sensor.name] = flat.held.rows(part("state"))
        back = [1.0 / sensor.rate_hz + sensor.span_s for flown in self.lanes for sensor in flown.sensors]
        self._back_s = max(back) + LOOK_BACK_S
        self._span_s = [flown.span_s for flown in self.lanes]
        self._past: list[tuple[float, np.ndarray, np.ndarray]] = []  # time, places (lanes, 3), attitudes (lanes, 4)
        self._waiting: list[list[tuple[float, int, str, Sample]]] = [[] for _ in self.lanes]  # heaps by arrival
        self._counts: list[dict[str, int]] = [{} for _ in self.lanes]
        self.feeds = [Feed() for _ in self.lanes]
        self.kept: list[list[Sample]] = [[] for _ in self.lanes]
        self._keeps = keep
        self._bytes = 0

    # ------------------------------------------------------------------ what goes with a run state

    def pick(self, lanes: Sequence[int]) -> Sights:
        """An independent copy of the state of some lanes, which stores and sends nothing."""
        other = Sights.__new__(Sights)
        other._pose, other._inputs, other._states, other._back_s = self._pose, self._inputs, self._states, self._back_s
        other.lanes = [self.lanes[lane].copied() for lane in lanes]  # type: ignore[misc]
        other._span_s = [self._span_s[lane] for lane in lanes]
        chosen = list(lanes)
        other._past = [(time_s, places[chosen], turns[chosen]) for time_s, places, turns in self._past]
        other._waiting = [list(self._waiting[lane]) for lane in lanes]
        other._counts = [dict(self._counts[lane]) for lane in lanes]
        other.feeds, other.kept, other._keeps, other._bytes = [Feed() for _ in lanes], [[] for _ in lanes], False, 0
        return other

    def content(self, lane: int) -> bytes:
        """Bytes that identify the state of a lane: sensors, waiting samples, and frozen values."""
        flown = self.lanes[lane]
        sensors = [sensor.model_dump_json() for sensor in flown.sensors]
        waits = [(due_s, number, name) for due_s, number, name, _ in self._waiting[lane]]
        return repr((sensors, waits, self._counts[lane], flown.frozen())).encode()

    # ------------------------------------------------------------------ between two pieces of a run

    def begin(self, state: RunState) -> None:
        """Take the samples of the start; until its first one arrives, a sensor reports its largest range."""
        for lane, flown in enumerate(self.lanes):
            block, place = divmod(lane, state.width)
            for sensor in flown.sensors:
                state.inputs[block, self._inputs[sensor.name][0], place] = sensor.farthest_m
        ahead = state.branch()  # poses are held from the first step on
        advance(ahead, 1)
        self._look(ahead, state, 0.0)

    def look(self, state: RunState) -> None:
        """Take the samples that are due, and pass on those that have arrived."""
        if state.tick:
            self._look(state, state, (state.tick - 1) * state.model.step_s)  # the time of the poses that are held

    def _look(self, seen: RunState, state: RunState, now_s: float) -> None:
        self._remember(seen, now_s)
        running = seen.stop_tick.reshape(-1)[: seen.lanes] == RUNNING
        for lane, flown in enumerate(self.lanes):
            if not running[lane]:
                continue
            if flown.next_s() + self._span_s[lane] <= now_s:
                self._sample(seen, lane, now_s)
            waiting = self._waiting[lane]
            while waiting and waiting[0][0] <= now_s:
                self._arrive(state, lane, heapq.heappop(waiting)[3])

    def _remember(self, state: RunState, now_s: float) -> None:
        if self._past and self._past[-1][0] >= now_s:
            return
        places, turns = (lanes_of(state, state.held, rows) for rows in self._pose)
        attitudes = from_matrices(turns.reshape(-1, 3, 3).transpose(0, 2, 1))  # they stand column by column
        self._past.append((now_s, places, attitudes))
        while len(self._past) > 2 and self._past[1][0] < now_s - self._back_s:
            del self._past[0]

    def _sample(self, state: RunState, lane: int, now_s: float) -> None:
        flown = self.lanes[lane]
        block, place = divmod(lane, state.width)
        flown.amounts = {sensor.name: state.held[block, self._states[sensor.name], place] for sensor in flown.sensors}
        times, places, turns = zip(*((time_s, p[lane], q[lane]) for time_s, p, q in self._past), strict=True)
        track = Track(times, np.stack(places), np.stack(turns))
        while flown.next_s() + self._span_s[lane] <= now_s:
            for sample in flown.due(track):
                heapq.heappush(self._waiting[lane], (sample.arrives_s, sample.number, sample.sensor, sample))

    def _arrive(self, state: RunState, lane: int, sample: Sample) -> None:
        sensor = self.lanes[lane].sensor(sample.sensor)
        counts = self._counts[lane]
        counts[sample.sensor] = counts.get(sample.sensor, 0) + 1
        nearest = sensor.nearest_m(sample.data)
        valid = not math.isnan(nearest)
        values = (nearest if valid else sensor.farthest_m, float(valid), sample.time_s, float(counts[sample.sensor]))
        block, place = divmod(lane, state.width)
        for row, value in zip(self._inputs[sample.sensor], values, strict=True):
            state.inputs[block, row, place] = value
        self.feeds[lane].put(sensor, sample)
        if self._keeps:
            self._bytes += sum(array.nbytes for array in sample.data.values())
            if self._bytes > MOST_KEPT:
                raise WorldError(
                    f"the samples of sensors fill {MOST_KEPT >> 30} GiB at {sample.time_s:.1f} s of the flight; lower "
                    "their rates or sizes, or end the flight earlier"
                )
            self.kept[lane].append(sample)

    # ------------------------------------------------------------------ afterwards

    def witness(self, witness: Witness, lane: int = 0) -> Witness:
        """Evidence of a fault of a world sensor from its samples; witnesses of other faults are returned unchanged."""
        for own in self.lanes[lane].witnesses:
            if own.injection == witness.injection:
                text = f"sight/{own.injection.instance}, {own.differing} of {own.samples} samples"
                size = float(own.differing)
                return Witness(own.injection, text, "samples", own.first_s, size, size, witness.ended_s)
        return witness


def sha256_of(samples: Sequence[Sample]) -> str:
    """Hash of samples, to the last bit."""
    whole = hashlib.sha256()
    for sample in samples:
        whole.update(repr((sample.sensor, sample.number, sample.time_s, sample.arrives_s)).encode())
        for key, array in sample.data.items():
            whole.update(key.encode())
            whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()
