"""The autopilot's own log, read into plain arrays: ULog of PX4, DataFlash (.BIN) of ArduPilot.

Times are those of the autopilot's clock (`flight/autopilot_estimate.py` converts them). Values are in SI units,
frames are N (about the vehicle's home) and B; places that the autopilot counts from an origin of its own are moved to
home. What a log does not hold is simply not there; a file that cannot be read at all is a `LinkError` that says why.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import LinkError
from ironbird.protocols.dataflash import Table, read_dataflash
from ironbird.protocols.geodesy import Place, to_local
from ironbird.protocols.mavlink.numbers import ardupilot_modes
from ironbird.protocols.own_states import ARDUPILOT_RECORDS as STATE_RECORDS
from ironbird.protocols.own_states import PX4_TOPICS as STATE_TOPICS
from ironbird.protocols.own_states import Change, of_ardupilot, of_px4

# States of PX4's commander, message VehicleStatus of version 1.17 [PX4Sim], in the words that its heartbeat has.
PX4_STATES = {
    0: "MANUAL", 1: "ALTCTL", 2: "POSCTL", 3: "MISSION", 4: "LOITER", 5: "RTL", 6: "POSITION_SLOW",
    8: "ALTITUDE_CRUISE", 10: "ACRO", 12: "DESCEND", 13: "TERMINATION", 14: "OFFBOARD", 15: "STABILIZED",
    17: "TAKEOFF", 18: "LAND", 19: "FOLLOWME", 20: "PRECLAND", 21: "ORBIT", 22: "VTOL_TAKEOFF",
}  # fmt: skip
PX4_TOPICS = (
    "vehicle_local_position",
    "vehicle_attitude",
    "vehicle_status",
    "battery_status",
    "actuator_motors",
    "actuator_servos",
    "estimator_status",
    "vehicle_gps_position",
    "vehicle_air_data",
    "vehicle_local_position_groundtruth",
    "vehicle_attitude_groundtruth",
    "vehicle_angular_velocity_groundtruth",
    *STATE_TOPICS,
)
ARDUPILOT_RECORDS = (
    "XKF1", "XKQ", "ORGN", "MODE", "BAT", "RCOU", "GPS", "BARO", "SIM", "SIM2", "MSG", "VER", *STATE_RECORDS,
)  # fmt: skip
FIRMWARES = {"ArduCopter": "copter", "ArduPlane": "plane", "ArduRover": "rover", "Rover": "rover", "ArduSub": "sub"}
RATIOS = ("velocity", "position", "height", "heading")  # of `test_ratio`: above 1 the estimator rejects
FIX_3D = 3  # fix type from which on a position is worth showing
ULOG_HEADER = 16  # bytes before the first message
UNFINISHED = 255  # bytes: a last record that is cut off is usual, as the autopilot is ended while it writes
OTHER_FORM = (KeyError, ValueError, IndexError, TypeError, AttributeError)  # fields of another version, or damaged
LONGEST_S = 6 * 3600.0  # a time so far from the middle of the log is no time but damage


@dataclass(frozen=True)
class Series:
    """Samples of one quantity: values are [row, size]."""

    time_s: np.ndarray
    values: np.ndarray
    unit: str
    hold: bool = False  # steps, not to be interpolated between

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass
class AutopilotLog:
    """What an autopilot wrote down.

    `estimated` has, as far as the log does: position, velocity (N), attitude (q_NB, w x y z), output, battery,
    test_ratio (see RATIOS), estimator (number of the one in charge), gnss (position), baro (height). `received` is the
    true motion that it was sent and logged as such: velocity, position (N), attitude, rates (B).
    """

    path: Path
    kind: str  # px4 or ardupilot
    estimated: dict[str, Series] = field(default_factory=dict)
    received: dict[str, Series] = field(default_factory=dict)
    modes: list[tuple[float, str]] = field(default_factory=list)
    states: list[Change] = field(default_factory=list)  # of its estimator, sensors, failsafes, outputs
    outputs: list[str] = field(default_factory=list)  # names of the columns of `output`
    notes: list[str] = field(default_factory=list)  # what is wrong with the file

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last time of the estimates."""
        found = [s.time_s for s in (*self.estimated.values(), *self.received.values()) if len(s)]
        return (min(float(t[0]) for t in found), max(float(t[-1]) for t in found)) if found else (0.0, 0.0)


def read_autopilot_log(path: Path, home: Place) -> AutopilotLog:
    """Read a log by its name's ending; `home` is the origin of N."""
    reader = {".ulg": _read_ulog, ".bin": _read_dataflash}.get(path.suffix.lower())
    if reader is None:
        raise LinkError(f"{path.name}: an autopilot's log ends in .ulg (PX4) or .BIN (ArduPilot)")
    try:
        if path.stat().st_size == 0:
            raise LinkError(f"{path.name} is empty: the autopilot ended before it wrote its log")
        log = reader(path, home)
    except OSError as error:
        raise LinkError(f"{path.name} cannot be read: {error.strerror or error}") from None
    if not log.estimated and not log.received:
        raise LinkError(f"{path.name} holds none of the records that are looked for; is it a log of a flight?")
    return log


def _series(
    time_s: np.ndarray, columns: Sequence[np.ndarray], unit: str, *, keep: np.ndarray | None = None, hold: bool = False
) -> Series:
    """Rows in the order of time, each time once; rows with a number that is none are left out."""
    values = np.column_stack([np.asarray(column, float) for column in columns])
    good = np.isfinite(values).all(axis=1) & (np.abs(time_s - _median(time_s)) < LONGEST_S)
    if keep is not None:
        good &= keep
    time_s = np.asarray(time_s, float)
    if not good.all():
        time_s, values = time_s[good], values[good]
    if not (time_s[1:] > time_s[:-1]).all():
        _, first = np.unique(time_s, return_index=True)
        time_s, values = time_s[first], values[first]
    return Series(time_s, values, unit, hold)


def _median(numbers: np.ndarray) -> float:
    """The one in the middle, or the mean of the two; not a number if one of them is none."""
    ordered = np.sort(numbers, axis=None)  # what is no number comes last
    count = len(ordered)
    if not count or ordered[-1] != ordered[-1]:
        return math.nan
    return 0.5 * float(ordered[(count - 1) // 2]) + 0.5 * float(ordered[count // 2])


def last_before(times_s: np.ndarray, asked_s: np.ndarray) -> np.ndarray:
    """For each asked time, the last row at or before it; the first row if there is none."""
    return np.clip(np.searchsorted(times_s, asked_s, side="right") - 1, 0, None)


def changes_of(time_s: np.ndarray, numbers: np.ndarray, name: Callable[[int], str]) -> list[tuple[float, str]]:
    """Where a state changes."""
    order = np.argsort(time_s, kind="stable")
    found: list[tuple[float, str]] = []
    for row in order:
        text = name(int(numbers[row]))
        if not found or found[-1][1] != text:
            found.append((float(time_s[row]), text))
    return found


def _moved(home: Place, latitude_deg: np.ndarray, longitude_deg: np.ndarray, height_m: np.ndarray) -> np.ndarray:
    """Places on the earth as metres north, east, down of home: [row, 3]."""
    rows = zip(latitude_deg.tolist(), longitude_deg.tolist(), height_m.tolist(), strict=True)
    return np.array([to_local(home, *row) for row in rows], float).reshape(-1, 3)


# ---------------------------------------------------------------------- PX4


class _Patient(io.BufferedReader):
    """A file that refuses to be read over and over: pyulog goes round in a circle on some damaged ones."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self._left = 1000 + 2 * path.stat().st_size  # a message has three bytes at least and takes two reads

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and count."""
        self._left -= 1
        if self._left < 0:
            raise ValueError("its parts lead round in a circle")
        return super().read(size)


def open_ulog(path: Path, topics: Sequence[str] | None) -> Any:
    """A ULog file as pyulog has it, with these topics or all; whatever pyulog stumbles over is a `LinkError`."""
    from pyulog import ULog

    wanted = None if topics is None else list(topics)
    try:
        with contextlib.redirect_stdout(io.StringIO()), _Patient(path) as file:  # it prints, and leaves files open
            return ULog(file, wanted, disable_str_exceptions=True)
    except OSError:
        raise
    except Exception as error:  # a reader of others: whatever it stumbles over is the file's fault
        raise LinkError(f"{path.name} is no readable ULog file ({type(error).__name__}: {error})") from None


def begins_as_ulog(path: Path) -> bool:
    """Whether a file has the first bytes of a ULog."""
    with path.open("rb") as file:
        return file.read(4) == b"ULog"


def ulog_is_whole(path: Path) -> bool:
    """Whether the last message of a ULog ends with the file [ULog]."""
    data = path.read_bytes()
    place, end = ULOG_HEADER, len(data)
    while place + 3 <= end:
        place += 3 + data[place] + 256 * data[place + 1]
    return place == end


def _read_ulog(path: Path, home: Place) -> AutopilotLog:
    ulog = open_ulog(path, PX4_TOPICS)
    log = AutopilotLog(path, "px4")
    if ulog.file_corruption:
        log.notes.append("the file is damaged or cut off; what could be read is shown")
    lost_s = sum(dropout.duration for dropout in ulog.dropouts) / 1000
    if ulog.dropouts:
        log.notes.append(f"PX4 lost {len(ulog.dropouts)} pieces of its log, {lost_s:.1f} s in all")
    for note, part in _Px4Parts(Topics(ulog.data_list), log, home):
        try:
            part()
        except OTHER_FORM as error:
            log.notes.append(f"{note}: not in a form that is known ({error})")
    return log


class Topics:
    """Topics of a ULog by name; one without rows counts as missing."""

    def __init__(self, data_list: Sequence[Any]) -> None:
        self._found = {(d.name, d.multi_id): d.data for d in data_list if len(d.data.get("timestamp", ()))}

    def __call__(self, name: str, number: int = 0) -> Mapping[str, np.ndarray] | None:
        return self._found.get((name, number))

    def numbers(self, name: str) -> list[int]:
        """Instances of a topic."""
        return sorted(number for found, number in self._found if found == name)


def _stamps(data: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.asarray(data["timestamp"], float) * 1e-6


def _sampled(data: Mapping[str, np.ndarray]) -> np.ndarray:
    """When the measurement was made on which an estimate rests."""
    stamps = np.asarray(data.get("timestamp_sample", data["timestamp"]), float)
    return np.where(stamps > 0, stamps, data["timestamp"]) * 1e-6


def _fields(data: Mapping[str, np.ndarray], name: str, count: int) -> list[np.ndarray]:
    return [data[f"{name}[{i}]"] for i in range(count)]


@dataclass
class _Px4Parts:
    """Each quantity of a log of PX4 apart, so that one of another version does not lose the others."""

    topics: Topics
    log: AutopilotLog
    home: Place

    def __iter__(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "estimated position", lambda: self.position("vehicle_local_position", self.log.estimated, _sampled)
        yield "estimated attitude", lambda: self.attitude("vehicle_attitude", self.log.estimated, _sampled)
        yield "true position", lambda: self.position("vehicle_local_position_groundtruth", self.log.received, _stamps)
        yield "true attitude", lambda: self.attitude("vehicle_attitude_groundtruth", self.log.received, _stamps)
        yield "true rates", self.rates
        yield "modes", self.modes
        yield "battery", self.battery
        yield "outputs", self.outputs
        yield "estimator", self.estimator
        yield "GNSS", self.gnss
        yield "barometer", self.baro
        yield "own states", lambda: self.log.states.extend(of_px4(self.topics))

    def position(
        self, topic: str, into: dict[str, Series], stamps: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    ) -> None:
        data = self.topics(topic)
        if data is None:
            return
        time_s = stamps(data)
        origin = _moved(self.home, data["ref_lat"], data["ref_lon"], np.asarray(data["ref_alt"], float))
        place = origin + np.column_stack([data[axis] for axis in "xyz"])
        valid = (data["xy_valid"] > 0) & (data["z_valid"] > 0) & (data["xy_global"] > 0) & (data["z_global"] > 0)
        if valid.any():
            into["position"] = _series(time_s, list(place.T), "m", keep=valid)
        moving = (data["v_xy_valid"] > 0) & (data["v_z_valid"] > 0)
        if moving.any():
            into["velocity"] = _series(time_s, [data["vx"], data["vy"], data["vz"]], "m/s", keep=moving)

    def attitude(
        self, topic: str, into: dict[str, Series], stamps: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    ) -> None:
        data = self.topics(topic)
        if data is not None:
            into["attitude"] = _series(stamps(data), _fields(data, "q", 4), "1")

    def rates(self) -> None:
        data = self.topics("vehicle_angular_velocity_groundtruth")
        if data is not None:
            self.log.received["rates"] = _series(_stamps(data), _fields(data, "xyz", 3), "rad/s")

    def modes(self) -> None:
        data = self.topics("vehicle_status")
        if data is not None:
            self.log.modes = changes_of(_stamps(data), data["nav_state"], lambda n: PX4_STATES.get(n, f"state {n}"))

    def battery(self) -> None:
        data = self.topics("battery_status")
        if data is not None:
            self.log.estimated["battery"] = _series(_stamps(data), [data["voltage_v"]], "V")

    def outputs(self) -> None:
        names: list[str] = []
        columns: list[np.ndarray] = []
        base: np.ndarray | None = None
        for topic, word, most in (("actuator_motors", "motor", 12), ("actuator_servos", "servo", 8)):
            data = self.topics(topic)
            if data is None:
                continue
            base = _stamps(data) if base is None else base
            for i, column in enumerate(_fields(data, "control", most)):
                used = np.isfinite(column)  # PX4 writes NaN for what is not there, or stopped
                if used.any() and (word == "motor" or np.any(column[used] != 0)):
                    names.append(f"{word} {i + 1}")
                    columns.append(np.interp(base, _stamps(data), np.where(used, column, 0.0)))
        if base is not None and columns:
            self.log.outputs = names
            self.log.estimated["output"] = _series(base, columns, "1", hold=True)

    def estimator(self) -> None:
        data = self.topics("estimator_selector_status")
        if data is not None:
            self.log.estimated["estimator"] = _series(_stamps(data), [data["primary_instance"]], "1", hold=True)
        numbers = self.topics.numbers("estimator_status")
        if not numbers:
            return
        chosen = self.topics("estimator_status", numbers[0])
        assert chosen is not None
        time_s = _stamps(chosen)
        wanted = np.full(len(time_s), numbers[0])
        if data is not None:
            wanted = np.asarray(data["primary_instance"])[last_before(_stamps(data), time_s)]
        ratios = np.full((len(time_s), len(RATIOS)), np.nan)
        for number in numbers:
            one = self.topics("estimator_status", number)
            assert one is not None
            of_one = np.column_stack(
                [
                    np.interp(time_s, _stamps(one), np.asarray(one[f"{name}_test_ratio"], float))
                    for name in ("vel", "pos", "hgt", "hdg")
                ]
            )
            ratios[wanted == number] = of_one[wanted == number]
        self.log.estimated["test_ratio"] = _series(time_s, list(ratios.T), "1")

    def gnss(self) -> None:
        data = self.topics("vehicle_gps_position")
        if data is not None:
            place = _moved(self.home, data["latitude_deg"], data["longitude_deg"], data["altitude_msl_m"])
            fixed = data["fix_type"] >= FIX_3D
            self.log.estimated["gnss"] = _series(_stamps(data), list(place.T), "m", keep=fixed, hold=True)

    def baro(self) -> None:
        data = self.topics("vehicle_air_data")
        if data is not None:
            height = np.asarray(data["baro_alt_meter"], float) - self.home.height_m
            self.log.estimated["baro"] = _series(_stamps(data), [height], "m", hold=True)


# ---------------------------------------------------------------------- ArduPilot


def _read_dataflash(path: Path, home: Place) -> AutopilotLog:
    log = AutopilotLog(path, "ardupilot")
    found = read_dataflash(path, ARDUPILOT_RECORDS)
    if not found.tables:
        raise LinkError(
            f"{path.name} is no readable DataFlash log: none of its {found.skipped} bytes are a known record"
        )
    if found.skipped > UNFINISHED:
        log.notes.append(f"the file is damaged or cut off ({found.skipped} bytes); what could be read is shown")
    for note, part in _ardupilot_parts(Records(found.tables), log, home):
        try:
            part()
        except OTHER_FORM as error:
            log.notes.append(f"{note}: not in a form that is known ({error})")
    return log


class Records:
    """Tables of a DataFlash log by name, as far as there are rows."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables

    def __call__(self, name: str, **wanted: int) -> Table | None:
        """Rows of one kind of record, with fields of given values."""
        table = self._tables.get(name)
        if table is None:
            return None
        count = len(table["TimeUS"])
        if not wanted:
            return table
        keep = np.ones(count, bool)
        for key, value in wanted.items():
            keep &= table[key] == value
        return {column: values[keep] for column, values in table.items()} if keep.any() else None

    @functools.cached_property
    def _leaders(self) -> Table | None:
        return self("XKF4", C=0)

    def chosen(self, name: str) -> Table | None:
        """Rows of the estimator that was in charge at the time: field PI of XKF4."""
        table, leaders = self(name), self._leaders
        if table is None or leaders is None:
            return self(name, C=0)
        keep = table["C"] == leaders["PI"][last_before(_boot_s(leaders), _boot_s(table))]
        return {column: values[keep] for column, values in table.items()} if keep.any() else None


def _boot_s(table: Table) -> np.ndarray:
    return table["TimeUS"] * 1e-6


def _pick(table: Table, *names: str) -> list[np.ndarray]:
    return [np.asarray(table[name], float) for name in names]


def _ardupilot_parts(records: Records, log: AutopilotLog, home: Place) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each quantity apart, so that one of another version does not lose the others."""

    def plain(
        into: dict[str, Series], name: str, table: Table | None, unit: str, *columns: str, hold: bool = False
    ) -> None:
        if table is not None:
            into[name] = _series(_boot_s(table), _pick(table, *columns), unit, hold=hold)

    def position() -> None:
        table = records.chosen("XKF1")
        if table is None:
            return
        plain(log.estimated, "velocity", table, "m/s", "VN", "VE", "VD")
        origin = records("ORGN", Type=0)  # 0: of the estimator, 1: home
        if origin is None:
            log.notes.append("the estimator's origin is not in the log: its position cannot be placed")
            return
        places = _moved(home, *_pick(origin, "Lat", "Lng", "Alt"))[last_before(_boot_s(origin), _boot_s(table))]
        moved = places + np.column_stack(_pick(table, "PN", "PE", "PD"))
        log.estimated["position"] = _series(_boot_s(table), list(moved.T), "m")

    def received() -> None:
        plain(log.received, "position", records("SIM2"), "m", "PN", "PE", "PD")
        plain(log.received, "velocity", records("SIM2"), "m/s", "VN", "VE", "VD")
        plain(log.received, "attitude", records("SIM"), "1", "Q1", "Q2", "Q3", "Q4")

    def modes() -> None:
        table, told, version = records("MODE"), records("MSG"), records("VER")
        texts = [*(version["FWS"].tolist() if version else []), *(told["Message"].tolist() if told else [])]
        words = [text.decode("ascii", "replace") for text in texts]
        kind = next((kind for text in words for word, kind in FIRMWARES.items() if text.startswith(word)), "")
        names = ardupilot_modes(kind) if kind else {}
        if table is not None:
            log.modes = changes_of(_boot_s(table), table["ModeNum"], lambda n: names.get(n, f"mode {n}"))

    def outputs() -> None:
        table = records("RCOU")
        used = [i for i in range(1, 15) if table is not None and np.any(table[f"C{i}"] != 0)]  # 0: puts out nothing
        if table is not None and used:
            log.outputs = [f"output {i}" for i in used]
            columns = [1e-6 * column for column in _pick(table, *(f"C{i}" for i in used))]
            log.estimated["output"] = _series(_boot_s(table), columns, "s", hold=True)

    def gnss() -> None:
        table = records("GPS", I=0)
        if table is not None:
            place = _moved(home, *_pick(table, "Lat", "Lng", "Alt"))
            fixed = table["Status"] >= FIX_3D
            log.estimated["gnss"] = _series(_boot_s(table), list(place.T), "m", keep=fixed, hold=True)

    yield "estimated position", position
    yield (
        "estimated attitude",
        lambda: plain(log.estimated, "attitude", records.chosen("XKQ"), "1", "Q1", "Q2", "Q3", "Q4"),
    )
    yield "received motion", received
    yield "modes", modes
    yield "battery", lambda: plain(log.estimated, "battery", records("BAT", Inst=0), "V", "Volt")
    yield "outputs", outputs
    yield "estimator", lambda: plain(log.estimated, "estimator", records("XKF4", C=0), "1", "PI", hold=True)
    yield "test ratios", lambda: plain(log.estimated, "test_ratio", records.chosen("XKF4"), "1", "SV", "SP", "SH", "SM")
    yield "GNSS", gnss
    yield "barometer", lambda: plain(log.estimated, "baro", records("BARO", I=0), "m", "Alt", hold=True)
    yield "own states", lambda: log.states.extend(of_ardupilot(records, records.chosen))
