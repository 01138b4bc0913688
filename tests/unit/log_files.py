"""Whole small flights as PX4 and ArduPilot log them, for tests of what is shown of a log."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from autopilot_files import FORMS, Row, dataflash_bytes, px4_attitude, px4_position, write_ulog_topics

TIME_S = np.arange(0, 20, 0.005)  # 200 Hz
ROLL_DEG = 20.0  # greatest, at 10 s
BEGIN_UTC_S = 1_700_000_000
VIBRATION_HZ = 60.0
OUT_FORMS = {
    **FORMS,
    "ATT": ("QccccCC", "TimeUS,DesRoll,Roll,DesPitch,Pitch,DesYaw,Yaw"),
    "IMU": ("QBffffff", "TimeUS,I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ"),
    "PARM": ("QZff", "TimeUS,Name,Value,Default"),
    "EV": ("QB", "TimeUS,Id"),
    "ERR": ("QBB", "TimeUS,Subsys,ECode"),
    "VIBE": ("QBfffI", "TimeUS,IMU,VibeX,VibeY,VibeZ,Clip"),
    "GPS": ("QBBIHBcLLe", "TimeUS,I,Status,GMS,GWk,NSats,HDop,Lat,Lng,Alt"),
    "BAT": ("QBffff", "TimeUS,Inst,Volt,Curr,CurrTot,RemPct"),
}
OLD_FORMS = {  # of 2014: milliseconds, and records without a time
    "MODE": ("MB", "Mode,ThrCrs"),
    "MSG": ("Z", "Message"),
    "ERR": ("BB", "Subsys,ECode"),
    "ATT": ("IccccCC", "TimeMS,DesRoll,Roll,DesPitch,Pitch,DesYaw,Yaw"),
    "GPS": ("BIHBcLLeI", "Status,TimeMS,Week,NSats,HDop,Lat,Lng,Alt,T"),
    "CURR": ("IHH", "TimeMS,Volt,Curr"),
    "RCOU": ("IHHHH", "TimeMS,Ch1,Ch2,Ch3,Ch4"),
}


def roll_deg(time_s: np.ndarray) -> np.ndarray:
    """A bump with its top of ROLL_DEG at 10 s."""
    return np.asarray(ROLL_DEG * np.exp(-((time_s - 10) ** 2)))


def px4_flight() -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """A climb to 10 m and a way of 30 m north, armed from 2 s to 19 s, in the air from 3 s to 18 s."""
    count, one = len(TIME_S), np.ones(len(TIME_S))
    stamps = TIME_S * 1e6
    place = np.column_stack([np.clip(3 * (TIME_S - 5), 0, 30), 0 * one, -np.clip(2 * (TIME_S - 3), 0, 10)])
    velocity = np.gradient(place, TIME_S, axis=0)
    half = np.radians(roll_deg(TIME_S)) / 2
    q = np.column_stack([np.cos(half), np.sin(half), 0 * one, 0 * one])
    asked = np.radians(roll_deg(TIME_S + 0.1)) / 2  # what was wanted comes 0.1 s before
    shake = 0.5 * np.sin(2 * math.pi * VIBRATION_HZ * TIME_S)
    slow = slice(None, None, 40)  # 5 Hz
    few = stamps[slow]
    ratio = np.where((TIME_S > 8) & (TIME_S < 9), 2.5, 0.1)[slow]
    return {
        ("vehicle_local_position", 0): dict(px4_position(TIME_S, place, velocity)),
        ("vehicle_attitude", 0): dict(px4_attitude(TIME_S, q)),
        ("vehicle_attitude_setpoint", 0): {
            "timestamp": stamps, "q_d[0]": np.cos(asked), "q_d[1]": np.sin(asked), "q_d[2]": 0 * one, "q_d[3]": 0 * one,
        },
        ("sensor_combined", 0): {"timestamp": stamps}
        | {f"gyro_rad[{i}]": 0.1 * shake for i in range(3)}
        | {f"accelerometer_m_s2[{i}]": shake - 9.8 * (i == 2) for i in range(3)},
        ("actuator_motors", 0): {"timestamp": stamps}
        | {f"control[{i}]": (0.4 + 0.1 * i) * one if i < 4 else np.nan * one for i in range(12)},
        ("vehicle_status", 0): {
            "timestamp": np.array([0.0, 2, 12, 19]) * 1e6, "nav_state": np.array([4.0, 17, 3, 3]),
            "arming_state": np.array([1.0, 2, 2, 1]), "failsafe": np.zeros(4), "system_type": np.full(4, 2.0),
        },
        ("vehicle_land_detected", 0): {"timestamp": np.array([0, 3, 18]) * 1e6, "landed": np.array([1.0, 0, 1])},
        ("battery_status", 0): {
            "timestamp": few, "voltage_v": np.linspace(16.8, 15.8, len(few)), "current_a": 10 * np.ones(len(few)),
            "discharged_mah": np.linspace(0, 55, len(few)), "remaining": np.linspace(1, 0.9, len(few)),
        },
        ("vehicle_gps_position", 0): {
            "timestamp": few, "time_utc_usec": few + BEGIN_UTC_S * 1e6, "lat": 401540302.0 * np.ones(len(few)),
            "lon": 1162593683.0 * np.ones(len(few)), "alt": 50_000.0 * np.ones(len(few)),
            "fix_type": np.where((few > 14e6) & (few < 15e6), 0.0, 3.0), "satellites_used": 12.0 * np.ones(len(few)),
            "hdop": 0.8 * np.ones(len(few)), "eph": 1.5 * np.ones(len(few)), "epv": 2.5 * np.ones(len(few)),
        },
        ("estimator_status", 0): {
            "timestamp": few, "vel_test_ratio": ratio, "pos_test_ratio": 0.1 + 0 * ratio,
            "hgt_test_ratio": 0.1 + 0 * ratio, "mag_test_ratio": 0.1 + 0 * ratio,
        },
        ("odd_topic", 0): {"timestamp": np.arange(count)[slow] * 1e3, "number": np.arange(count)[slow] * 1.0},
    }  # fmt: skip


def _message(kind: str, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), ord(kind)) + body


def write_px4_flight(path: Path) -> Path:
    """The flight of `px4_flight` with its messages, parameters, defaults and a dropout."""
    write_ulog_topics(path, px4_flight())
    data = bytearray(path.read_bytes())
    data[16 + 3] = 1  # of the flag bits: the log has defaults
    at = 16 + 43  # behind the header and the flag bits
    key, default = b"float MC_ROLL_P", b"float MC_ROLL_P"
    more = _message("I", b"\x10char[3] sys_name" + b"PX4")
    more += _message("I", b"\x17uint32_t ver_sw_release" + struct.pack("<I", 0x011000FF))
    more += _message("P", bytes([len(key)]) + key + struct.pack("<f", 7.5))
    more += _message("Q", bytes([1, len(default)]) + default + struct.pack("<f", 6.5))
    late = _message("L", b"4" + struct.pack("<Q", 8_500_000) + b"[ekf2] velocity <b>rejected</b>")
    late += _message("L", b"3" + struct.pack("<Q", 16_000_000) + b"[commander] Failure")
    late += _message("L", b"6" + struct.pack("<Q", 3_000_000) + b"[commander] Takeoff detected")
    late += _message("P", bytes([len(key)]) + key + struct.pack("<f", 7.0))
    late += _message("O", struct.pack("<H", 120))
    path.write_bytes(bytes(data[:at] + more + data[at:] + late))
    return path


def ardupilot_rows() -> list[Row]:
    """A flight of 20 s: armed from 2 s on, in the air from 3 s to 18 s, with GPS lost at 14 s for a second."""
    rows: list[Row] = [
        ("MSG", (0, "ArduCopter V4.7.0 (1511f271)")), ("MSG", (0, "Frame: QUAD/X")),
        ("PARM", (0, "ATC_RAT_RLL_P", 0.2, 0.135)), ("PARM", (0, "WPNAV_SPEED", 1000, 1000)),
        ("ORGN", (0, 0, 40.1540302, 116.2593683, 50.0)), ("MODE", (0, 5, 5, 2)),
        ("EV", (2e6, 10)), ("EV", (3e6, 28)), ("MODE", (12e6, 3, 3, 2)), ("PARM", (13e6, "WPNAV_SPEED", 500, 1000)),
        ("ERR", (14e6, 11, 2)), ("MSG", (14.2e6, "GPS Glitch or Compass error")), ("ERR", (15e6, 11, 0)),
        ("EV", (18e6, 18)), ("EV", (19e6, 11)),
    ]  # fmt: skip
    for i, time_s in enumerate(TIME_S[::8]):  # 25 Hz
        stamp, roll = time_s * 1e6, float(roll_deg(np.array(time_s)))
        north, down = float(np.clip(3 * (time_s - 5), 0, 30)), -float(np.clip(2 * (time_s - 3), 0, 10))
        rows.append(("XKF1", (stamp, 0, roll, 0, 0, 3, 0, 0, 0, north, 0, down, 0, 0, 0, 0)))
        rows.append(("XKF4", (stamp, 0, 0.1, 0.1, 1.5 if 8 < time_s < 9 else 0.1, 0.1, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        rows.append(("ATT", (stamp, roll, roll, 1.0, 0.0, 0, 0)))
        for number in (0, 1):
            rows.append(("IMU", (stamp, number, 0, 0, 0, 0, 0, -9.8 + number)))
        rows.append(("RCOU", (stamp, 1400, 1500 + i % 3, 1600 + i % 3, 1700 + i % 3, *([0] * 10))))
        rows.append(("VIBE", (stamp, 0, 5, 5, 40, i // 100)))
        if i % 5 == 0:
            lost = 14 <= time_s < 15
            week, ms = 2288, round(time_s * 1000)
            rows.append(("GPS", (stamp, 0, 1 if lost else 3, ms, week, 4 if lost else 11, 0.9, 40.154, 116.259, 51)))
            rows.append(("BAT", (stamp, 0, 16.0, 12.0, 3.0 * time_s, 100 - time_s)))
    return rows


def write_ardupilot_flight(path: Path) -> Path:
    """The flight of `ardupilot_rows`."""
    path.write_bytes(dataflash_bytes(ardupilot_rows(), OUT_FORMS))
    return path


def write_old_ardupilot_flight(path: Path) -> Path:
    """A log as of 2014."""
    rows: list[Row] = [("MSG", ("APM:Copter V3.2",)), ("ATT", (1000, 0, 0, 0, 0, 0, 0)), ("MODE", (0, 50))]
    for i in range(1, 101):
        rows.append(("ATT", (1000 + 100 * i, 5, 5, 0, 0, 0, 0)))
        rows.append(("GPS", (3, 300_000 + 100 * i, 1813, 9, 1.1, 40.154, 116.259, 51, 1000 + 100 * i)))
        rows.append(("CURR", (1000 + 100 * i, 1550, 1200)))
        rows.append(("RCOU", (1000 + 100 * i, 1400 + i, 1400, 1400, 1400)))
        if i == 50:
            rows += [("ERR", (12, 1)), ("MODE", (2, 50))]
    path.write_bytes(dataflash_bytes(rows, {**OUT_FORMS, **OLD_FORMS}))
    return path
