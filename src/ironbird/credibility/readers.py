"""Readers of records: ULog of PX4, DataFlash (.BIN) of ArduPilot, Parquet and CSV (of any program)."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.credibility.record import UNITS, Record, make_record
from ironbird.errors import IronbirdError, RecordError, UnknownNameError
from ironbird.files.problems import read_bytes
from ironbird.protocols.autopilot_log import begins_as_ulog, open_ulog, ulog_is_whole
from ironbird.protocols.dataflash import read_dataflash, with_times
from ironbird.rotations import euler
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at

Raw = dict[str, tuple[np.ndarray, np.ndarray, str]]
Topics = Mapping[tuple[str, int], Any]
MOST_BYTES = 1 << 30
DAMAGED = "the file is damaged or cut off; --salvage compares what can be read"
POSITION = ("north", "east", "down")
VELOCITY = ("velocity_north", "velocity_east", "velocity_down")
ATTITUDE = ("roll", "pitch", "yaw")
RATES = ("roll_rate", "pitch_rate", "yaw_rate")
FORCE = ("specific_force_x", "specific_force_y", "specific_force_z")
WANTED = ("wanted_velocity_north", "wanted_velocity_east", "wanted_velocity_down", "wanted_yaw")  # set-points
OURS = {  # signals of Ironbird's logs
    at.BODY.position: POSITION,
    at.BODY.velocity: VELOCITY,
    at.BODY.euler: ATTITUDE,
    at.BODY.rates: RATES,
    at.BODY.specific_force: FORCE,
    "battery.voltage": ("battery_voltage",),
}
TO_SI = {  # endings of column names, and units that a tests file may give: factor, unit
    "deg": (math.pi / 180, "rad"),
    "degps": (math.pi / 180, "rad/s"),
    "deg/s": (math.pi / 180, "rad/s"),
    "rad": (1.0, "rad"),
    "radps": (1.0, "rad/s"),
    "rad/s": (1.0, "rad/s"),
    "m": (1.0, "m"),
    "mps": (1.0, "m/s"),
    "m/s": (1.0, "m/s"),
    "mps2": (1.0, "m/s^2"),
    "m/s^2": (1.0, "m/s^2"),
    "g": (9.80665, "m/s^2"),
    "V": (1.0, "V"),
    "us": (1e-6, "s"),
    "ms": (1e-3, "s"),
    "1": (1.0, "1"),
}
ENDINGS = ("deg", "degps", "rad", "radps", "m", "mps", "mps2", "V")
TIMES = {"time_s": 1.0, "time": 1.0, "t": 1.0, "t_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6, "timestamp": 1e-6}
_MOTOR = re.compile(r"rotor/(\d{1,2})/command\.value")
PX4_TOPICS = (
    "vehicle_local_position",
    "vehicle_local_position_setpoint",
    "vehicle_attitude",
    "vehicle_angular_velocity",
    "sensor_combined",
    "battery_status",
    "actuator_motors",
    "actuator_outputs",
)
ARDUPILOT_RECORDS = ("XKF1", "NKF1", "EKF1", "ATT", "IMU", "BAT", "RCOU")
PULSE_LOW_US, PULSE_SPAN_US = 1000.0, 1000.0  # of motor outputs


def read_record(path: Path, *, columns: Mapping[str, tuple[str, str]] | None = None, salvage: bool = False) -> Record:
    """Read a record; the format is known by the ending of the file name.

    `columns` names columns that a file calls otherwise: name -> (column or `topic.field`, unit). `salvage` accepts a
    file that is cut off.
    """
    reader = {".ulg": _ulog, ".bin": _dataflash, ".parquet": _parquet, ".csv": _csv}.get(path.suffix.lower())
    if reader is None:
        raise RecordError(f"{path.name}: a record ends in .ulg (PX4), .BIN (ArduPilot), .parquet or .csv")
    try:
        if not path.is_file():
            raise RecordError(f"{path}: no such file")
        if path.stat().st_size == 0:
            raise RecordError(f"{path.name} is empty")
        if path.stat().st_size > MOST_BYTES:
            raise RecordError(f"{path.name} is larger than {MOST_BYTES >> 30} GiB")
        raw, notes = reader(path, columns or {}, salvage)
    except OSError as error:
        raise RecordError(f"{path.name} cannot be read: {error.strerror or error}") from None
    except RecordError:
        raise
    except UnknownNameError:
        raise
    except IronbirdError as error:
        raise RecordError(str(error)) from None
    return make_record(path, path.suffix.lower().lstrip("."), raw, notes)


def to_si(values: np.ndarray, unit: str) -> tuple[np.ndarray, str]:
    """Values of a unit that a tests file may give, in SI, with the SI unit."""
    if unit not in TO_SI:
        raise UnknownNameError("unit", unit, TO_SI)
    factor, si = TO_SI[unit]
    return np.asarray(values, float) * factor, si


def _quaternions(columns: list[np.ndarray]) -> np.ndarray:
    q = np.column_stack([np.asarray(column, float) for column in columns])
    length = np.linalg.norm(q, axis=1)
    q[length < 0.5] = np.nan  # no attitude yet
    return euler(q / np.maximum(length, 0.5)[:, None])


def _add(raw: Raw, names: tuple[str, ...], time_s: np.ndarray, values: np.ndarray) -> None:
    for name, column in zip(names, values.T, strict=True):
        raw[name] = (time_s, column, UNITS[name])


# ---------------------------------------------------------------------- PX4


def _ulog(path: Path, columns: Mapping[str, tuple[str, str]], salvage: bool) -> tuple[Raw, list[str]]:
    notes: list[str] = []
    if not begins_as_ulog(path):
        raise RecordError(f"{path.name} is no ULog file: it does not begin with 'ULog'")
    whole = ulog_is_whole(path)
    extra = {source.partition(".")[0] for source, _ in columns.values()}
    ulog = open_ulog(path, sorted({*PX4_TOPICS, *extra}))
    if ulog.file_corruption or not whole:
        if not salvage:
            raise RecordError(f"{path.name}: {DAMAGED}")
        notes.append("the file is damaged or cut off; what could be read is compared")
    if ulog.dropouts:
        lost_s = sum(dropout.duration for dropout in ulog.dropouts) / 1000
        notes.append(f"PX4 lost {len(ulog.dropouts)} pieces of its log, {lost_s:.2f} s in all")
    topics: dict[tuple[str, int], Mapping[str, np.ndarray]] = {
        (d.name, d.multi_id): d.data for d in ulog.data_list if len(d.data.get("timestamp", ()))
    }
    raw: Raw = {}
    for name, part in _PX4_PARTS.items():
        try:
            part(raw, topics, dict(ulog.initial_parameters))
        except (KeyError, ValueError, IndexError) as error:  # fields of another version
            notes.append(f"{name}: not in a form that is known ({error})")
    for name, (source, unit) in columns.items():
        topic, _, key = source.partition(".")
        data = topics.get((topic, 0))
        if data is None or key not in data:
            known = [f"{t}.{k}" for (t, _), d in topics.items() for k in d]
            raise UnknownNameError("topic and field", source, known, path.name)
        values, si = to_si(data[key], unit)
        raw[name] = (_stamps(data), values, si)
    return raw, notes


def _stamps(data: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.asarray(data["timestamp"], np.int64).astype(float) * 1e-6


def _px4_motion(raw: Raw, topics: Topics, _: Mapping[str, Any]) -> None:
    data = topics.get(("vehicle_local_position", 0))
    if data is None:
        return
    for names, keys, flags in (
        (POSITION, ("x", "y", "z"), ("xy_valid", "z_valid")),
        (VELOCITY, ("vx", "vy", "vz"), ("v_xy_valid", "v_z_valid")),
    ):
        values = np.column_stack([np.asarray(data[key], float) for key in keys])
        for flag in flags:
            if flag in data:
                values[np.asarray(data[flag]) == 0] = np.nan
        _add(raw, names, _stamps(data), values)


def _px4_wanted(raw: Raw, topics: Topics, _: Mapping[str, Any]) -> None:
    data = topics.get(("vehicle_local_position_setpoint", 0))
    if data is not None:
        for name, key in zip(WANTED, ("vx", "vy", "vz", "yaw"), strict=True):
            values = np.asarray(data[key], float)
            good = np.isfinite(values)
            if key == "yaw" and good.any():
                values = np.interp(np.arange(len(values)), np.flatnonzero(good), np.unwrap(values[good]))
            raw[name] = (_stamps(data), values, "rad" if key == "yaw" else "m/s")


def _px4_attitude(raw: Raw, topics: Topics, _: Mapping[str, Any]) -> None:
    data = topics.get(("vehicle_attitude", 0))
    if data is not None:
        _add(raw, ATTITUDE, _stamps(data), _quaternions([data[f"q[{i}]"] for i in range(4)]))


def _px4_inertial(raw: Raw, topics: Topics, _: Mapping[str, Any]) -> None:
    data = topics.get(("sensor_combined", 0))
    if data is not None:
        for names, key in ((RATES, "gyro_rad"), (FORCE, "accelerometer_m_s2")):
            _add(raw, names, _stamps(data), np.column_stack([data[f"{key}[{i}]"] for i in range(3)]).astype(float))
    data = topics.get(("vehicle_angular_velocity", 0))
    if data is not None:
        _add(raw, RATES, _stamps(data), np.column_stack([data[f"xyz[{i}]"] for i in range(3)]).astype(float))


def _px4_battery(raw: Raw, topics: Topics, _: Mapping[str, Any]) -> None:
    data = topics.get(("battery_status", 0))
    if data is not None:
        raw["battery_voltage"] = (_stamps(data), np.asarray(data["voltage_v"], float), "V")


def px4_throttle(thrust: np.ndarray, factor: float) -> np.ndarray:
    """The motor command for a desired share of thrust: T = f u^2 + (1 - f) u with f = THR_MDL_FAC [PX4]."""
    if not 0 < factor <= 1:
        return thrust
    half = (1 - factor) / (2 * factor)
    return np.asarray(np.sign(thrust) * (np.sqrt(half**2 + np.abs(thrust) / factor) - half))


def _px4_motors(raw: Raw, topics: Topics, params: Mapping[str, Any]) -> None:
    data = topics.get(("actuator_motors", 0))
    if data is not None:
        for i in range(12):
            column = np.asarray(data[f"control[{i}]"], float)
            if np.isfinite(column).any():
                throttle = px4_throttle(np.nan_to_num(column, nan=0.0), float(params.get("THR_MDL_FAC", 0.0)))
                raw[f"motor_{i + 1}"] = (_stamps(data), throttle, "1")
        return
    outputs = [d for (name, _), d in topics.items() if name == "actuator_outputs"]
    for data in sorted(outputs, key=lambda d: -float(sum(np.ptp(d[f"output[{i}]"]) for i in range(4)))):
        pulses = {i: np.asarray(data[f"output[{i}]"], float) for i in range(8) if f"output[{i}]" in data}
        # an output that changes once and is then constant is no motor
        moving = {i: p for i, p in pulses.items() if 500 < np.max(p) < 2500 and np.ptp(p[p > 500]) > 1}
        if len(moving) >= 3:
            for i, pulse in moving.items():
                share = np.clip((pulse - PULSE_LOW_US) / PULSE_SPAN_US, 0.0, 1.0)
                raw[f"motor_{i + 1}"] = (_stamps(data), share, "1")
            return


_PX4_PARTS: dict[str, Callable[[Raw, Topics, Mapping[str, Any]], None]] = {
    "position": _px4_motion,
    "set-points": _px4_wanted,
    "attitude": _px4_attitude,
    "rates": _px4_inertial,
    "battery": _px4_battery,
    "motors": _px4_motors,
}


# ---------------------------------------------------------------------- ArduPilot


def _dataflash(path: Path, columns: Mapping[str, tuple[str, str]], salvage: bool) -> tuple[Raw, list[str]]:
    notes: list[str] = []
    extra = {source.partition(".")[0] for source, _ in columns.values()}
    log = with_times(read_dataflash(path, sorted({*ARDUPILOT_RECORDS, *extra})))
    if not log.tables:
        raise RecordError(f"{path.name} is no readable DataFlash log: no known record in {log.skipped} bytes")
    if log.skipped:
        if not salvage:
            raise RecordError(f"{path.name}: {log.skipped} bytes belong to no record; {DAMAGED}")
        notes.append(f"{log.skipped} bytes belong to no record; what could be read is compared")
    raw: Raw = {}

    def rows(name: str, kind: str = "") -> Mapping[str, np.ndarray] | None:
        table = log.tables.get(name)
        if table is None:
            return None
        chosen = np.ones(len(table["TimeUS"]), bool)
        for key in ("C", "I", "Inst", "Instance"):
            if key in table:
                chosen &= np.asarray(table[key]) == np.asarray(table[key])[0]
        return {key: np.asarray(values)[chosen] for key, values in table.items()}

    def times(table: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(table["TimeUS"], float) * 1e-6

    motion = rows("XKF1") or rows("NKF1") or rows("EKF1")
    if motion is not None:
        for names, keys in ((POSITION, ("PN", "PE", "PD")), (VELOCITY, ("VN", "VE", "VD"))):
            _add(raw, names, times(motion), np.column_stack([np.asarray(motion[key], float) for key in keys]))
    attitude = rows("ATT")
    if attitude is not None:
        values = np.radians(np.column_stack([np.asarray(attitude[k], float) for k in ("Roll", "Pitch", "Yaw")]))
        _add(raw, ATTITUDE, times(attitude), values)
    inertial = rows("IMU")
    if inertial is not None:
        for names, keys in ((RATES, ("GyrX", "GyrY", "GyrZ")), (FORCE, ("AccX", "AccY", "AccZ"))):
            _add(raw, names, times(inertial), np.column_stack([np.asarray(inertial[k], float) for k in keys]))
    battery = rows("BAT")
    if battery is not None:
        raw["battery_voltage"] = (times(battery), np.asarray(battery["Volt"], float), "V")
    outputs = rows("RCOU")
    if outputs is not None:
        for number in range(1, 13):
            pulse = np.asarray(outputs.get(f"C{number}", outputs.get(f"Ch{number}", ())), float)
            if len(pulse) and np.ptp(pulse) > 1:
                share = np.clip((pulse - PULSE_LOW_US) / PULSE_SPAN_US, 0.0, 1.0)
                raw[f"motor_{number}"] = (times(outputs), share, "1")
    for name, (source, unit) in columns.items():
        record, _, key = source.partition(".")
        table = rows(record)
        if table is None or key not in table:
            raise UnknownNameError("record and column", source, [f"{n}.{k}" for n, t in log.tables.items() for k in t])
        values, si = to_si(table[key], unit)
        raw[name] = (times(table), values, si)
    return raw, notes


# ---------------------------------------------------------------------- tables


def _parquet(path: Path, columns: Mapping[str, tuple[str, str]], salvage: bool) -> tuple[Raw, list[str]]:
    return _log_table(path, read_log(path), columns), []


def _log_table(path: Path, log: Log, columns: Mapping[str, tuple[str, str]]) -> Raw:
    units = {signal: declared.unit for signal, declared in log.signals.items()}
    return _table(path, log.columns(), columns, units)


def record_of(log: Log, path: Path) -> Record:
    """The record of a flight that Ironbird has just flown."""
    return make_record(path, "flight", _log_table(path, log, {}), [])


def _csv(path: Path, columns: Mapping[str, tuple[str, str]], salvage: bool) -> tuple[Raw, list[str]]:
    try:
        text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        lines = [row for row in csv.reader(io.StringIO(text)) if row and not row[0].startswith("#")]
    except UnicodeDecodeError:
        raise RecordError(f"{path.name} is no CSV file: it is not text") from None
    except csv.Error as error:
        raise RecordError(f"{path.name} is no CSV file: {error}") from None
    if len(lines) < 2:
        raise RecordError(f"{path.name} has no rows; the first line names the columns, the first of them is the time")
    head, rows = [cell.strip().lstrip("'") for cell in lines[0]], lines[1:]
    notes: list[str] = []
    if len(set(head)) != len(head):
        raise RecordError(f"{path.name}: a column has the name of another: {', '.join(head)}")
    short = next((number for number, row in enumerate(rows, 2) if len(row) != len(head)), None)
    if short is None and not text.endswith(("\n", "\r")):
        short = len(rows) + 1
    if short is not None:
        if not (salvage and short == len(rows) + 1):
            raise RecordError(f"{path.name}: line {short} is not whole ({len(head)} columns); {DAMAGED}")
        rows = rows[:-1]
        notes.append("the last line is not whole and was left out")
        if not rows:
            raise RecordError(f"{path.name} has no whole row; {DAMAGED}")
    try:
        values = np.array([[float(cell) if cell.strip() else math.nan for cell in row] for row in rows])
    except ValueError as error:
        raise RecordError(f"{path.name}: {error}; all cells but the first line's are numbers") from None
    return _table(path, dict(zip(head, values.T, strict=True)), columns, {}), notes


def _table(
    path: Path, table: Mapping[str, np.ndarray], columns: Mapping[str, tuple[str, str]], units: Mapping[str, str]
) -> Raw:
    """Signals from columns with one time for all; the first column is the time."""
    first = next(iter(table))
    if first not in TIMES:
        raise RecordError(f"{path.name}: the first column is '{first}', not the time; call it time_s (seconds)")
    time_s = np.asarray(table[first], float) * TIMES[first]
    raw: Raw = {}
    ours = {
        (f"{signal}[{i}]" if len(names) > 1 else signal): name
        for signal, names in OURS.items()
        for i, name in enumerate(names)
    }
    named = {source: (name, unit) for name, (source, unit) in columns.items()}
    for column, values in list(table.items())[1:]:
        if column in named:
            name, unit = named[column]
            values, si = to_si(values, unit)
        elif column in ours:
            name = ours[column]
            si = UNITS[name]
        elif motor := _MOTOR.fullmatch(column):
            name, si = f"motor_{motor[1]}", "1"
        else:
            stem, _, ending = column.rpartition("_")
            if stem and ending in ENDINGS:
                name = stem
                values, si = to_si(values, ending)
            else:
                name, si = column, UNITS.get(column, units.get(column.partition("[")[0], "1"))
        raw[name] = (time_s, np.asarray(values, float), si)
    missing = [source for source in named if source not in table]
    if missing:
        raise UnknownNameError("column", missing[0], table, path.name)
    return raw
