"""Small logs as PX4 and ArduPilot write them, for tests: ULog and DataFlash files with given rows."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ironbird.flight.flight import Flight

NORTH_1, EAST_HALF = np.array([1.0, 0, 0]), np.array([0, 0.5, 0])
ORIGIN = {"ref_lat": 40.1540302, "ref_lon": 116.2593683, "ref_alt": 50.0}

Columns = Mapping[str, np.ndarray]


def _ulog_message(kind: str, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), ord(kind)) + body


def write_ulog_topics(path: Path, topics: Mapping[tuple[str, int], Columns]) -> Path:
    """Topics by name and instance; each has `timestamp` in microseconds, all other fields are doubles."""
    out = [b"ULog\x01\x12\x35" + struct.pack("<BQ", 1, 0), _ulog_message("B", bytes(40))]
    for name in dict.fromkeys(name for name, _ in topics):
        fields = next(columns for (other, _), columns in topics.items() if other == name)
        form = "".join(f"double {_plain(field)};" for field in fields if field != "timestamp" and _first(field))
        out.append(_ulog_message("F", f"{name}:uint64_t timestamp;{_arrays(form, fields)}".encode()))
    rows = []
    for number, ((name, instance), columns) in enumerate(topics.items()):
        out.append(_ulog_message("A", struct.pack("<BH", instance, number) + name.encode()))
        others = [field for field in columns if field != "timestamp"]
        for i, stamp in enumerate(columns["timestamp"]):
            values = [float(columns[field][i]) for field in others]
            body = struct.pack(f"<HQ{len(values)}d", number, int(stamp), *values)
            rows.append((int(stamp), _ulog_message("D", body)))
    path.write_bytes(b"".join([*out, *(body for _, body in sorted(rows, key=lambda row: row[0]))]))
    return path


def _plain(field: str) -> str:
    return field.partition("[")[0]


def _first(field: str) -> bool:
    return "[" not in field or field.endswith("[0]")


def _arrays(form: str, fields: Columns) -> str:
    """Fields `q[0]`, `q[1]`, … as one array."""
    for field in fields:
        if field.endswith("[0]"):
            name = _plain(field)
            count = sum(other.startswith(f"{name}[") for other in fields)
            form = form.replace(f"double {name};", f"double[{count}] {name};")
    return form


def px4_position(time_s: np.ndarray, place: np.ndarray, velocity: np.ndarray, **other: float) -> Columns:
    """vehicle_local_position, about an origin of PX4's own."""
    count = len(time_s)
    columns = {"timestamp": np.round(time_s * 1e6)}
    columns |= {axis: place[:, i] for i, axis in enumerate("xyz")}
    columns |= {f"v{axis}": velocity[:, i] for i, axis in enumerate("xyz")}
    flags = ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid", "xy_global", "z_global")
    settings: dict[str, float] = {**ORIGIN, **dict.fromkeys(flags, 1.0), **other}
    return columns | {name: np.full(count, value) for name, value in settings.items()}


def px4_attitude(time_s: np.ndarray, attitude: np.ndarray) -> Columns:
    """vehicle_attitude."""
    return {"timestamp": np.round(time_s * 1e6)} | {f"q[{i}]": attitude[:, i] for i in range(4)}


def write_px4_log(flight: Flight, path: Path) -> Path:
    """A log that believes 1 m too far north, 0.5 m/s too much east and 2 degrees too much heading, 20 ms behind us."""
    log = flight.log
    time_s = log.time()[::2] - 0.02
    place, velocity, attitude = (log[name][::2] for name in ("body.p_NB_N", "body.v_NB_N", "body.q_NB"))
    half = math.radians(1.0)
    w, x, y, z = attitude.T
    turned = np.column_stack([
        math.cos(half) * w - math.sin(half) * z, math.cos(half) * x - math.sin(half) * y,
        math.cos(half) * y + math.sin(half) * x, math.cos(half) * z + math.sin(half) * w,
    ])  # fmt: skip
    home = flight.vehicle.spec.home
    origin = {"ref_lat": home.latitude_deg, "ref_lon": home.longitude_deg, "ref_alt": home.height_m}
    later = time_s > 0
    return write_ulog_topics(path, {
        ("vehicle_local_position", 0): px4_position(
            time_s[later], (place + NORTH_1)[later], (velocity + EAST_HALF)[later], **origin
        ),
        ("vehicle_attitude", 0): px4_attitude(time_s[later], turned[later]),
        ("vehicle_local_position_groundtruth", 0): px4_position(
            time_s[later], place[later], velocity[later], **origin
        ),
        ("vehicle_attitude_groundtruth", 0): px4_attitude(time_s[later], attitude[later]),
        ("vehicle_status", 0): {"timestamp": np.array([1e6, 4e6]), "nav_state": np.array([4.0, 3.0])},
    })  # fmt: skip


FORMS = {  # of the records that tests write: form and columns, as ArduPilot 4.7 has them
    "XKF1": ("QBccCfffffffccce", "TimeUS,C,Roll,Pitch,Yaw,VN,VE,VD,dPD,PN,PE,PD,GX,GY,GZ,OH"),
    "XKQ": ("QBffff", "TimeUS,C,Q1,Q2,Q3,Q4"),
    "XKF4": ("QBcccccfffHHIHb", "TimeUS,C,SV,SP,SH,SM,SVT,errRP,OFN,OFE,FS,TS,SS,GPS,PI"),
    "ORGN": ("QBLLe", "TimeUS,Type,Lat,Lng,Alt"),
    "MODE": ("QMBB", "TimeUS,Mode,ModeNum,Rsn"),
    "SIM2": ("Qdddfff", "TimeUS,PN,PE,PD,VN,VE,VD"),
    "SIM": ("QccCfLLffff", "TimeUS,Roll,Pitch,Yaw,Alt,Lat,Lng,Q1,Q2,Q3,Q4"),
    "MSG": ("QZ", "TimeUS,Message"),
    "RCOU": ("QHHHHHHHHHHHHHH", "TimeUS,C1,C2,C3,C4,C5,C6,C7,C8,C9,C10,C11,C12,C13,C14"),
    "BAT": ("QBf", "TimeUS,Inst,Volt"),
    "GPS": ("QBBLLe", "TimeUS,I,Status,Lat,Lng,Alt"),
    "BARO": ("QBf", "TimeUS,I,Alt"),
}
STRUCT = {
    "Q": "Q", "B": "B", "M": "B", "b": "b", "H": "H", "I": "I", "f": "f", "d": "d", "Z": "64s", "c": "h", "C": "H",
    "e": "i", "L": "i",
}  # fmt: skip
FACTOR = {"c": 100, "C": 100, "e": 100, "L": 1e7}

Row = tuple[str, Sequence[float | str]]


def dataflash_bytes(rows: Sequence[Row], forms: Mapping[str, tuple[str, str]] = FORMS) -> bytes:
    """Records with their FMT in front; values are in the units that ArduPilot's tools show."""
    names = list(dict.fromkeys(name for name, _ in rows))
    out = []
    for number, name in enumerate(names, start=1):
        form, columns = forms[name]
        size = 3 + struct.calcsize("<" + "".join(STRUCT[c] for c in form))
        body = struct.pack("<BB4s16s64s", number, size, name.encode(), form.encode(), columns.encode())
        out.append(b"\xa3\x95\x80" + body)
    for name, values in rows:
        form = forms[name][0]
        packed = [
            value.encode() if isinstance(value, str) else value if c in "fd" else round(value * FACTOR.get(c, 1))
            for c, value in zip(form, values, strict=True)
        ]
        body = struct.pack("<" + "".join(STRUCT[c] for c in form), *packed)
        out.append(b"\xa3\x95" + bytes([names.index(name) + 1]) + body)
    return b"".join(out)
