"""Faults on logged sensor values, by the fault taps of vehicles, between a record and a program.

Each tap runs by itself in the kernel, one tick for a logged sample, so a fault means what it means in a flight: its
delays count samples, its drift counts their time, its noise comes from the seed. Values that no fault touches stay as
they were logged, bit for bit. Axes are those of the messages: for tail-sitters PX4's, level in hover.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ironbird.autopilots.px4.groups import ACCEL, BARO, DIFF_PRESSURE, GAUSS_T, GYRO, MAG
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.compiler.compiled import compile_model
from ironbird.constants import TROPOSPHERE_LAPSE_KPM
from ironbird.errors import FaultError
from ironbird.faults.spec import Injection
from ironbird.flight.prepare import inject
from ironbird.host.virtual_time.record import STREAM, Entry
from ironbird.model.diagram import Diagram
from ironbird.protocols import atmosphere
from ironbird.protocols.geodesy import Place, to_geodetic, to_local
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.transport.frames import FrameReader
from ironbird.vehicles import places as at

HECTOPASCAL_PA, CM_M = 100.0, 0.01


@dataclass(frozen=True)
class Group:
    """Values of a message that are one signal of a sensor."""

    tap: Callable[[int], str]  # path of its fault tap, by the sensor's number from 1 on
    unit: str
    first: int  # index of its first value in the message
    size: int
    factor: float = 1.0  # from the message to the tap's unit
    bits: int = 0  # of fields_updated that say that it is there


HIL_SENSOR, HIL_GPS = dialect.HIL_SENSOR.id, dialect.HIL_GPS.id
GROUPS = {  # message -> index of the sensor's number, its groups
    HIL_SENSOR: (
        15,
        (
            Group(lambda n: at.imu(n).accel.path, "m/s^2", 1, 3, bits=ACCEL),
            Group(lambda n: at.imu(n).gyro.path, "rad/s", 4, 3, bits=GYRO),
            Group(lambda n: at.magnetometer(n).tap.path, "T", 7, 3, GAUSS_T, MAG),
            Group(lambda n: at.barometer(n).tap.path, "Pa", 10, 1, HECTOPASCAL_PA, BARO),
            Group(lambda n: at.airspeed(n).tap.path, "Pa", 11, 1, HECTOPASCAL_PA, DIFF_PRESSURE),
        ),
    ),
    HIL_GPS: (
        13,
        (
            Group(lambda n: at.gnss(n).position.path, "m", 1, 3),
            Group(lambda n: at.gnss(n).velocity.path, "m/s", 7, 3, CM_M),
        ),
    ),
    dialect.DISTANCE_SENSOR.id: (5, (Group(lambda n: at.rangefinder(n).tap.path, "m", 3, 1, CM_M),)),
}


@dataclass
class Acted:
    """What a fault did to logged values."""

    unit: str
    first_s: float = math.nan
    largest: float = 0.0
    lost: int = 0  # samples that did not arrive

    def sentence(self) -> str:
        """When and how much, in words; that it did nothing, if so."""
        if math.isnan(self.first_s):
            return "it changed nothing"
        lost = f", {self.lost} samples lost" if self.lost else ""
        return f"acted from {self.first_s:.3f} s; largest difference {self.largest:.4g} {self.unit}{lost}"


class _Tap:
    """One fault tap with the samples of a log."""

    def __init__(
        self, path: str, group: Group, times_s: Sequence[float], faults: Sequence[Injection], seed: int
    ) -> None:
        period_s = round(max(float(np.median(np.diff(times_s))), 1e-6), 6) if len(times_s) > 1 else 0.1
        diagram = Diagram("logged sensor")
        tap = diagram.add(path, SignalFault(group.size, group.unit, sample_s=period_s))
        for name in ("value_in", "stamp_in"):
            diagram.export(tap[name], name)
        state = start(compile_model(diagram, step_s=period_s), seed=seed)
        for fault in faults:
            begin, end = (np.searchsorted(times_s, moment - 1e-9) for moment in (fault.start_s, fault.end_s))
            if end > begin:
                end_s = end * period_s if math.isfinite(fault.end_s) else math.inf
                inject(state, replace(fault, start_s=begin * period_s, end_s=end_s))
        self._stepper = Stepper(state, until_s=len(times_s) * period_s, log=[], log_s=period_s)
        self._value, self._stamp = (
            self._stepper.held[self._stepper.held_rows(f"{path}.{n}")] for n in ("value", "stamp")
        )
        row = self._stepper.input_row("value_in")
        self._in, self._stamp_in = slice(row, row + group.size), self._stepper.input_row("stamp_in")
        self.acted = Acted(group.unit)

    def pass_on(self, values: np.ndarray, time_s: float) -> np.ndarray | None:
        """The values with faults; None if this sample does not arrive."""
        self._stepper.inputs[self._in] = values
        self._stepper.inputs[self._stamp_in] = time_s
        self._stepper.step(1)
        lost = float(self._stamp[0]) != time_s
        out = self._value.copy()
        if lost or not np.array_equal(out, values):
            acted = self.acted
            acted.first_s = time_s if math.isnan(acted.first_s) else acted.first_s
            acted.lost += lost
            acted.largest = max(acted.largest, 0.0 if lost else float(np.linalg.norm(out - values)))
        return None if lost else out


@dataclass
class FaultyEntries:
    """Entries of a recording of PX4 with faults in the sensor values of its simulator link."""

    entries: Callable[[], Iterable[Entry]]
    faults: Sequence[Injection]
    seed: int = 0
    begin_s: float = 0.0  # time of the messages at which times of faults count from
    taps: dict[str, _Tap] = field(default_factory=dict)
    witnesses: dict[tuple[str, str], _Tap] = field(default_factory=dict)  # each fault alone, by its text and tap

    def __post_init__(self) -> None:
        found = self._found() if self.faults else {}
        for fault in self.faults:
            _check(fault, list(found))
        for path, (group, times_s) in found.items():
            own = {fault.text(): _only(fault, path) for fault in self.faults if path in map(_block, fault.targets)}
            if own:
                self.taps[path] = _Tap(path, group, times_s, list(own.values()), self.seed)
            for text, fault in own.items():
                one = len(own) == 1
                self.witnesses[text, path] = self.taps[path] if one else _Tap(path, group, times_s, [fault], self.seed)

    def acted(self, fault: Injection) -> Acted:
        """What a fault did by itself, after all entries were taken; of several taps the one that differs most."""
        own = [self.witnesses[fault.text(), _block(target)].acted for target in fault.targets]
        return max(own, key=lambda acted: (not math.isnan(acted.first_s), acted.largest))

    def _found(self) -> dict[str, tuple[Group, list[float]]]:
        """Taps of all sensors in the recording, with the times of their samples."""
        found: dict[str, tuple[Group, list[float]]] = {}
        clock, reader = _Clock(self.begin_s), FrameReader()
        for entry in self.entries():
            for number, values in _messages(entry, reader):
                time_s = clock.look(number, values)
                for path, group in _groups(number, values):
                    found.setdefault(path, (group, []))[1].append(time_s)
        return found

    def __iter__(self) -> Iterator[Entry]:
        if not self.taps:
            yield from self.entries()
            return
        clock, reader, packer, origin = _Clock(self.begin_s), FrameReader(), Packer(), _Origin()
        for entry in self.entries():
            if entry.kind != STREAM:
                yield entry
                continue
            for number, values in _messages(entry, reader):
                time_s = clock.look(number, values)
                changed = self._changed(number, list(values), time_s, origin)
                if changed is not None:
                    packer.add(dialect.MESSAGES[number], *changed)
            yield replace(entry, data=bytes(packer.take()))

    def _changed(self, number: int, values: list[Any], time_s: float, origin: _Origin) -> list[Any] | None:
        """A message's values with the faults; None if the message does not arrive."""
        before = list(values)
        for path, group in _groups(number, before):
            tap = self.taps.get(path)
            if tap is None:
                continue
            there = slice(group.first, group.first + group.size)
            position = number == HIL_GPS and group.unit == "m"
            logged = origin.local(before[there]) if position else group.factor * np.array(before[there], float)
            out = tap.pass_on(logged, time_s)
            for (_, place), witness in self.witnesses.items():
                if place == path and witness is not tap:
                    witness.pass_on(logged, time_s)
            if out is None and number == HIL_SENSOR:
                values[14] &= ~group.bits
                values[there] = [0.0] * group.size
            elif out is None and group.unit == "m":
                return None
            elif out is not None and not np.array_equal(out, logged):
                values[there] = origin.geodetic(out) if position else _as_sent(number, out / group.factor)
                _follow(number, group, values)
        return values


class _Clock:
    """Time of the messages: HIL_SENSOR of number 0 sets it."""

    def __init__(self, begin_s: float) -> None:
        self._begin_s = self._time_s = begin_s

    def look(self, number: int, values: Sequence[Any]) -> float:
        """The time with this message."""
        if number == HIL_SENSOR and not values[15]:
            self._time_s = values[0] * 1e-6
        return self._time_s - self._begin_s


class _Origin:
    """Origin of metres: the first fix."""

    def __init__(self) -> None:
        self._home: Place | None = None

    def local(self, values: Sequence[int]) -> np.ndarray:
        """North, east, down in m of latitude and longitude (1e-7 degrees) and height (mm)."""
        place = values[0] * 1e-7, values[1] * 1e-7, values[2] * 1e-3
        self._home = self._home or _Home(*place)
        return np.array(to_local(self._home, *place))

    def geodetic(self, position_N: np.ndarray) -> list[int]:
        """The inverse."""
        assert self._home is not None
        latitude, longitude, height = to_geodetic(self._home, position_N)
        return [round(1e7 * latitude), round(1e7 * longitude), round(1e3 * height)]


@dataclass(frozen=True)
class _Home:
    latitude_deg: float
    longitude_deg: float
    height_m: float


def _messages(entry: Entry, reader: FrameReader) -> Iterator[tuple[int, tuple[Any, ...]]]:
    if entry.kind == STREAM:
        for frame in reader.feed(entry.data):
            yield frame.id, dialect.MESSAGES[frame.id].unpack(frame.payload)


def _groups(number: int, values: Sequence[Any]) -> Iterator[tuple[str, Group]]:
    """Paths of the taps of the signals in a message."""
    if number in GROUPS:
        index, groups = GROUPS[number]
        for group in groups:
            if not group.bits or values[14] & group.bits == group.bits:
                yield group.tap(int(values[index]) + 1), group


def _as_sent(number: int, values: np.ndarray) -> list[float]:
    return values.tolist() if number == HIL_SENSOR else [round(value) for value in values.tolist()]


def _follow(number: int, group: Group, values: list[Any]) -> None:
    """Set the fields that follow from changed ones: height and temperature from pressure, speed and course."""
    if number == HIL_SENSOR and group.bits == BARO:
        values[12] = atmosphere.pressure_height_m(max(HECTOPASCAL_PA * values[10], 1.0))
        values[13] = atmosphere.SEA_LEVEL_C - TROPOSPHERE_LAPSE_KPM * values[12]
    elif number == HIL_GPS and group.unit == "m/s":
        north, east = values[7], values[8]
        values[6] = min(round(math.hypot(north, east)), 65535)
        values[10] = round(100 * math.degrees(math.atan2(east, north)) % 36000)


def _block(target: str) -> str:
    return target.rpartition(".")[0]


def _only(fault: Injection, path: str) -> Injection:
    """The fault with its changes at one tap."""
    changes = tuple(
        change for change, target in zip(fault.fault.changes, fault.targets, strict=True) if _block(target) == path
    )
    return replace(fault, fault=replace(fault.fault, changes=changes))


def _check(fault: Injection, taps: Sequence[str]) -> None:
    if fault.when:
        raise FaultError(f"{fault.text()}: a replay has no conditions on the vehicle: give start and end in s")
    missing = [target for target in fault.targets if _block(target) not in taps]
    if missing or fault.taps or not fault.targets:
        known = ", ".join(taps) or "none"
        raise FaultError(
            f"{fault.text()} acts on {missing[0] if missing else 'a signal of the vehicle'}, which is no logged sensor "
            f"value; those of this recording are {known} (faults imu.accel_*, imu.gyro_*, mag.*, baro.*, "
            "gnss.position_*, gnss.velocity_*, airspeed.*, range.* with their instances)"
        )
