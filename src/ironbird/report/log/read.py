"""Any log as a `FlightLog`: ULog, DataFlash, Ironbird's Parquet, and tables of other programs (Parquet, CSV)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ironbird.blocks.controllers.mission_table import FAILSAFES, MODES
from ironbird.credibility.readers import read_record
from ironbird.errors import IronbirdError, RecordError
from ironbird.files.log_kind import CSV, DATAFLASH, PARQUET, ULOG, log_kind
from ironbird.protocols.ardupilot_flight import read_ardupilot_flight
from ironbird.protocols.autopilot_log import changes_of
from ironbird.protocols.flight_log import FlightLog, Topic, length_of
from ironbird.protocols.px4_flight import read_px4_flight
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at

MOST_BYTES = 1 << 30
_COMMAND = re.compile(r"(.+)/command(?:_fault)?\.value")
_AXES, _ANGLES = ("north", "east", "down"), ("roll", "pitch", "yaw")
TABLE_COLUMNS: dict[str, tuple[str, ...]] = {  # quantity: names of its columns in a table
    "position": _AXES,
    "position_set": tuple(f"wanted_{axis}" for axis in _AXES),
    "velocity": tuple(f"velocity_{axis}" for axis in _AXES),
    "velocity_set": tuple(f"wanted_velocity_{axis}" for axis in _AXES),
    "attitude": _ANGLES,
    "attitude_set": tuple(f"wanted_{angle}" for angle in _ANGLES),
    "rates": tuple(f"{angle}_rate" for angle in _ANGLES),
    "rates_set": tuple(f"wanted_{angle}_rate" for angle in _ANGLES),
    "acceleration": tuple(f"specific_force_{axis}" for axis in "xyz"),
    "battery_voltage": ("battery_voltage",),
    "battery_current": ("battery_current",),
    "battery_used": ("battery_used",),
    "battery_remaining": ("battery_remaining",),
    "gnss_position": tuple(f"gnss_{axis}" for axis in _AXES),
    "satellites": ("gnss_satellites",),
    "fix": ("gnss_fix",),
    "hdop": ("gnss_hdop",),
    "airspeed": ("airspeed",),
    "range": ("range",),
    "baro_height": ("baro_height",),
}


def read_flight_log(path: Path) -> FlightLog:
    """Read a log by what its first bytes are; a file that is no log is a `RecordError` with what it is."""
    kind = log_kind(path)
    if not kind.is_log:
        raise RecordError(
            f"{kind.sentence(path)}; a log is ULog (.ulg, PX4), DataFlash (.BIN, ArduPilot), Parquet or CSV"
        )
    if path.stat().st_size > MOST_BYTES:
        raise RecordError(f"{path.name} is larger than {MOST_BYTES >> 30} GiB")
    reader = {ULOG: read_px4_flight, DATAFLASH: read_ardupilot_flight, PARQUET: _parquet, CSV: _table}[kind.name]
    try:
        with np.errstate(all="ignore"):  # a damaged file may hold any number
            log = reader(path)
    except RecordError:
        raise
    except IronbirdError as error:
        raise RecordError(str(error)) from None
    except OSError as error:
        raise RecordError(f"{path.name} cannot be read: {error.strerror or error}") from None
    if not log.topics:
        raise RecordError(f"{path.name} is {kind.what} without a single sample: nothing was logged")
    return log


# ---------------------------------------------------------------------- Ironbird's own


def _parquet(path: Path) -> FlightLog:
    log = read_log(path)
    return _own(path, log) if at.BODY.position in log or at.BODY.euler in log else _table(path, log)


def _own(path: Path, log: Log) -> FlightLog:
    """The flight.parquet of a flight."""
    found = FlightLog(path, PARQUET, "log of Ironbird", is_simulated=True)
    time_s = log.time() - (float(log.time()[0]) if log.rows() else 0.0)
    for key in ("vehicle", "control", "seed", "faults"):
        if text := log.meta.get(f"ironbird.{key}", ""):
            found.facts[key] = text
    found.topics = _topics(log, time_s)
    if not log.rows():
        return found

    def values(signal: str) -> list[np.ndarray]:
        return list(log[signal].reshape(log.rows(), -1).T)

    accelerometer = at.imu(1).accel.value
    rows: Sequence[tuple[str, str, str]] = (
        ("position", at.BODY.position, "m"),
        ("position_set", at.NAVIGATOR.position_set, "m"),
        ("velocity", at.BODY.velocity, "m/s"),
        ("velocity_set", at.NAVIGATOR.velocity_set, "m/s"),
        ("attitude", at.BODY.euler, "rad"),
        ("rates", at.BODY.rates, "rad/s"),
        ("rates_set", at.CONTROL("rate_set_B"), "rad/s"),
        ("acceleration", accelerometer if accelerometer in log else at.BODY.specific_force, "m/s^2"),
        ("battery_voltage", at.BATTERY.voltage, "V"),
        ("battery_current", at.BATTERY.current, "A"),
        ("battery_remaining", at.BATTERY.remaining, "1"),
        ("airspeed", at.AIR.airspeed, "m/s"),
        ("satellites", "gnss/1/chip.satellites", "1"),
        ("fix", "gnss/1/chip.fix_type", "1"),
    )
    for name, signal, unit in rows:
        if signal in log:
            found.add(name, signal, time_s, values(signal), unit)
    commands = {
        match[1].replace("/", " "): log[path] for path in log.signals if (match := _COMMAND.fullmatch(path)) is not None
    }
    if commands:
        found.add("output", "commands", time_s, list(commands.values()), "1", names=list(commands), hold=True)
        found.rotors = sum(name.startswith("rotor") for name in commands)
    if at.NAVIGATOR.mode in log:
        known = dict(enumerate(MODES))
        found.modes = changes_of(time_s, np.nan_to_num(log[at.NAVIGATOR.mode]), lambda n: known.get(n, f"mode {n}"))
    if at.NAVIGATOR.failsafe in log:
        active = log[at.NAVIGATOR.failsafe].reshape(log.rows(), -1) > 0.5
        numbers = active @ (1 << np.arange(active.shape[1]))
        found.failsafe = changes_of(time_s, numbers, _failsafes)
    if at.NAVIGATOR.armed in log:
        armed = log[at.NAVIGATOR.armed] > 0.5
        found.armed = changes_of(time_s, armed, lambda n: "armed" if n else "disarmed")
    found.length_s = length_of(found)
    return found


def _failsafes(bits: int) -> str:
    return ", ".join(name for number, name in enumerate(FAILSAFES) if bits >> number & 1)


def _topics(log: Log, time_s: np.ndarray) -> list[Topic]:
    """Each block as a topic."""
    blocks: dict[str, dict[str, np.ndarray]] = {}
    for signal in log.signals:
        block, _, name = signal.rpartition(".")
        blocks.setdefault(block or "table", {})[name or signal] = log[signal]
    return [Topic(block, time_s, fields) for block, fields in blocks.items()] if len(time_s) else []


# ---------------------------------------------------------------------- tables of others


def _table(path: Path, log: Log | None = None) -> FlightLog:
    """A table whose columns have the names of `ironbird.credibility.record` or of `ironbird log convert`."""
    record = read_record(path, salvage=True)
    found = FlightLog(path, record.kind, "Parquet table" if log is not None else "CSV table", notes=list(record.notes))
    for name, columns in TABLE_COLUMNS.items():
        tracks = [record.tracks.get(column) for column in columns]
        there = [track for track in tracks if track is not None]
        if not there:
            continue
        base = max(there, key=lambda track: len(track.time_s)).time_s
        values = [np.full(len(base), np.nan) if track is None else track.at(base) for track in tracks]
        found.add(name, ", ".join(column for column in columns if column in record.tracks), base, values, there[0].unit)
    motors = sorted((name for name in record.tracks if re.fullmatch(r"motor_\d+", name)), key=lambda n: int(n[6:]))
    if motors:
        base = record.tracks[motors[0]].time_s
        values = [record.tracks[name].held(base) for name in motors]
        names = [name.replace("_", " ") for name in motors]
        found.add("output", "motor_N", base, values, "1", names=names, hold=True)
        found.rotors = len(motors)
    bases: list[Topic] = []
    for name, track in record.tracks.items():
        same = next((one for one in bases if np.array_equal(one.time_s, track.time_s)), None)
        if same is None:
            same = Topic("table" if not bases else f"table_{len(bases) + 1}", track.time_s, {})
            bases.append(same)
        same.fields[name] = track.values
    found.topics = bases
    found.length_s = record.length_s
    return found
