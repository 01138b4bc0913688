"""Runner of a world's sensors: samples at their own rates in simulation time, with faults and their witnesses.

The runner is outside the kernel. It takes the true motion (a `Track`) and returns samples; the sample times depend on
simulation time alone, so that a run repeats at any speed.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ironbird.errors import UnknownNameError, WorldError
from ironbird.faults.spec import Injection, is_sight
from ironbird.files.problems import Problem, grammar_words, read_source, schema_problems
from ironbird.world.model import Obstacle, World
from ironbird.world.native import uniforms
from ironbird.world.rays import Scene
from ironbird.world.sensors import SENSORS
from ironbird.world.sensors.camera import RENDERER_VERSION, Camera
from ironbird.world.sensors.sensor import Data, Sensor, Sight
from ironbird.world.track import Track, turned

MOST_HELD = 64  # samples that a fault can delay
MOST_UNTOLD = 256  # samples that wait for delivery to a control system


@dataclass(frozen=True)
class Sample:
    """One sample of a sensor: its number, its time stamp, when it arrives, and the data."""

    sensor: str
    number: int
    time_s: float
    arrives_s: float
    data: Data


@dataclass
class Feed:
    """Queue of samples to a control system: the newest of each sensor, and those not delivered yet."""

    newest: dict[str, Sample] = field(default_factory=dict)
    untold: deque[tuple[Sensor, Sample]] = field(default_factory=lambda: deque(maxlen=MOST_UNTOLD))

    def put(self, sensor: Sensor, sample: Sample) -> None:
        """Add a sample that has arrived."""
        self.newest[sample.sensor] = sample
        self.untold.append((sensor, sample))

    def take(self) -> Iterator[tuple[Sensor, Sample]]:
        """Samples that were not delivered yet; each is returned once."""
        while self.untold:
            yield self.untold.popleft()


@dataclass
class SightWitness:
    """Effect of a fault on the samples of a sensor, compared with the same sensor without it."""

    injection: Injection
    samples: int = 0  # samples taken while the fault was active
    differing: int = 0
    first_s: float = math.nan

    @property
    def effective(self) -> bool:
        """Whether any sample differed."""
        return self.differing > 0

    def sentence(self) -> str:
        """The fault and its effect as a sentence."""
        name = self.injection.fault.id
        if not self.effective:
            return f"{name}: ineffective; none of {self.samples} samples of '{self.injection.instance}' differed"
        return (
            f"{name}: acted on '{self.injection.instance}' from {self.first_s:.3f} s; {self.differing} of "
            f"{self.samples} samples differed"
        )


@dataclass
class _Seat:
    """A sensor and its state in the runner."""

    sensor: Sensor
    number: int = 0
    held: list[Sample] = field(default_factory=list)  # fault-free samples, the newest last
    frozen: Data | None = None


def kind_of(injection: Injection) -> str:
    """Effect of a fault on a sensor: `frozen`, for example."""
    return injection.fault.id.removeprefix("sight.").partition("@")[0]


def sensor_of(table: Mapping[str, Any]) -> Sensor:
    """A sensor from a table with its kind: `{"kind": "rangefinder", "name": "down", …}`."""
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in SENSORS:
        raise UnknownNameError("kind of sensor", str(kind), SENSORS)
    rest = {key: value for key, value in table.items() if key != "kind"}
    try:
        return SENSORS[kind].model_validate(rest)
    except ValidationError as error:
        problems = grammar_words(SENSORS[kind], rest, error)
        raise WorldError(*(f"sensor {kind}: {'.'.join(map(str, p))}: {m}; {cure}" for p, m, cure in problems)) from None


def load_sensors(path: str | Path) -> list[Sensor]:
    """The sensors of a TOML file: `schema = 1` and a table [[sensor]] with kind and name for each."""
    return [sensor_of(table) for table in sensor_tables(path)]


def sensor_tables(path: str | Path) -> list[dict[str, Any]]:
    """The checked tables of a file of sensors."""
    source = read_source(Path(path))
    if isinstance(source, Problem):
        raise WorldError(source)
    if problems := schema_problems(source, 1):
        raise WorldError(*problems)
    tables = source.data.get("sensor")
    if set(source.data) - {"schema", "sensor"} or not isinstance(tables, list) or not tables:
        raise WorldError(source.problem((), "a file of sensors has [[sensor]] tables and nothing else", "add them"))
    for number, table in enumerate(tables):
        try:
            sensor_of(table if isinstance(table, Mapping) else {})
        except (WorldError, UnknownNameError) as error:
            message, _, cure = str(error).rpartition("; ")
            raise WorldError(source.problem(("sensor", number), message or cure, cure)) from None
    return [dict(table) for table in tables]


class WorldSensors:
    """Sensors of one vehicle in a world.

    `carrier` is the number of the body in the scene that carries them, which is invisible to them. Faults are those of
    `ironbird.faults.sight`; their instance is a sensor's name. Conditions (`when=`) need `reads_conditions`.
    """

    reads_conditions = False

    def __init__(
        self,
        world: World | Scene,
        sensors: Sequence[Sensor],
        *,
        seed: int = 1,
        faults: Iterable[Injection] = (),
        bodies: Sequence[Obstacle] = (),
        carrier: int | None = None,
    ) -> None:
        self.scene = world if isinstance(world, Scene) else Scene(world, bodies)
        names = [sensor.name for sensor in sensors]
        if len(set(names)) < len(names):
            raise WorldError(f"two sensors have one name among {', '.join(names)}; give each its own")
        self.seed = seed
        self.skip = -2 if carrier is None else self.scene.first_body + carrier
        self._seats = {sensor.name: _Seat(sensor) for sensor in sensors}
        self.witnesses = [SightWitness(injection) for injection in faults]
        for witness in self.witnesses:
            part, fault = str(witness.injection.instance), witness.injection.fault.id
            if not is_sight(witness.injection):
                raise WorldError(f"{fault} does not act on sensors of the world; 'sight.*' do")
            if part not in self._seats:
                raise UnknownNameError("sensor", part, names, fault)
            if witness.injection.when and not self.reads_conditions:
                raise WorldError(f"{fault}: a condition (when=) is not read here; give a start time")

    @property
    def sensors(self) -> list[Sensor]:
        """All sensors of the vehicle, in their order."""
        return [seat.sensor for seat in self._seats.values()]

    def sensor(self, name: str) -> Sensor:
        """The sensor with a name; raises if there is none."""
        return self._seats[name].sensor

    def frozen(self) -> list[str]:
        """Names of the sensors that a fault has frozen."""
        return [name for name, seat in self._seats.items() if seat.frozen is not None]

    def version(self) -> dict[str, Any]:
        """Versions of the world and its renderer, which are part of the identity of a flight."""
        cameras = any(isinstance(sensor, Camera) for sensor in self.sensors)
        versions: dict[str, Any] = {"world": self.scene.world.digest}
        return versions | {"renderer": RENDERER_VERSION} if cameras else versions

    def next_s(self) -> float:
        """Time in s at which the next sample is due."""
        return min(_due(seat) for seat in self._seats.values())

    def run(self, track: Track, until_s: float) -> list[Sample]:
        """All samples due until a time in s, in the order in which they are taken, without lost ones."""
        if not math.isfinite(until_s):
            raise WorldError(f"sensors run until {until_s}; give a finite time")
        samples: list[Sample] = []
        while self._seats and self.next_s() <= until_s:
            samples += self.due(track)
        return samples

    def due(self, track: Track) -> list[Sample]:
        """The samples at the next time at which one is due."""
        now = self.next_s()
        self.scene.at(now)
        made = [self._sample(seat, track, now) for seat in self._seats.values() if _due(seat) <= now + 1e-12]
        return [sample for sample in made if sample is not None]

    def _sample(self, seat: _Seat, track: Track, now_s: float) -> Sample | None:
        sensor, number = seat.sensor, seat.number
        seat.number += 1
        sight = Sight(self.scene, track, now_s, number, self.seed, self.skip)
        healthy = Sample(sensor.name, number, now_s, now_s + sensor.latency_s, sensor.measure(sight))
        ordered = {kind_of(w.injection) for w in self.witnesses if w.injection.instance == sensor.name}
        seat.held = [*seat.held[-MOST_HELD if "delayed" in ordered else -1 :], healthy]
        active = list(self.acting(sensor.name, now_s)) if ordered else []
        if not any(kind == "frozen" for _, kind, _ in active):
            seat.frozen = None
        sample: Sample | None = healthy
        for witness, kind, value in active:
            witness.samples += 1
            if sample is None:
                continue
            before = sample
            sample = self._broken(seat, sight, sample, kind, value)
            if sample is None or _differs(before, sample):
                witness.differing += 1
                witness.first_s = now_s if math.isnan(witness.first_s) else witness.first_s
        return sample

    def acting(self, sensor: str, now_s: float) -> Iterator[tuple[SightWitness, str, float]]:
        """Each active fault of a sensor at a time: its witness, its kind and its strength."""
        for witness in self.witnesses:
            injection = witness.injection
            strength = injection.strength(now_s)
            if injection.instance == sensor and strength > 0:
                yield witness, kind_of(injection), injection.fault.changes[0].value(strength * injection.severity)

    def copied(self) -> WorldSensors:
        """An independent copy of the sensors from here on; the scene is shared."""
        other = copy.copy(self)
        other._seats = {name: replace(seat, held=list(seat.held)) for name, seat in self._seats.items()}
        other.witnesses = [replace(witness) for witness in self.witnesses]
        return other

    def _broken(self, seat: _Seat, sight: Sight, sample: Sample, kind: str, value: float) -> Sample | None:
        """A sample with one fault applied; None if it is lost."""
        sensor, data, time_s, arrives_s = seat.sensor, sample.data, sample.time_s, sample.arrives_s
        if kind == "occluded":
            data = sensor.occluded(data, value)
        elif kind == "black":
            data = sensor.blinded(data)
        elif kind == "frozen":
            if seat.frozen is None:
                seat.frozen = seat.held[-2].data if len(seat.held) > 1 else data
            data = seat.frozen
        elif kind == "shifted":
            turn = turned([0.0, 0.0, value])
            data = sensor.measure(
                Sight(self.scene, sight.track, sight.time_s, sight.number, sight.seed, sight.skip, turn)
            )
        elif kind == "delayed":
            back = min(round(value * sensor.rate_hz), len(seat.held) - 1)
            data = seat.held[-1 - back].data
        elif kind == "latency":
            arrives_s += value
        elif kind == "dropout":
            chance = uniforms(self.seed, f"world/{sensor.name}/lost", sample.number, 1)[0]
            if chance < value:
                return None
        return Sample(sample.sensor, sample.number, time_s, arrives_s, data)


def _due(seat: _Seat) -> float:
    return seat.number / seat.sensor.rate_hz


def _differs(one: Sample, other: Sample) -> bool:
    if one.arrives_s != other.arrives_s:
        return True
    return any(not np.array_equal(one.data[key], other.data[key], equal_nan=_float(one.data[key])) for key in one.data)


def _float(array: np.ndarray) -> bool:
    return array.dtype.kind == "f"
