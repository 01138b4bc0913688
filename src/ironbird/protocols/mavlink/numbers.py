"""Numbers of MAVLink by their official names [MAVLinkMission], and modes of the autopilots.

Entries of all enums of the table enums.csv are attributes of this module; `MAV_` and `MAV_CMD_` before a name may be
left out. tools/write_mavlink_table.py writes the table.
"""

from __future__ import annotations

import functools
from pathlib import Path

from ironbird.errors import UnknownNameError

TABLE = Path(__file__).with_name("enums.csv")
MAVLINK_VERSION = 3  # value of the heartbeat's field


@functools.cache
def _enums() -> dict[str, dict[str, int]]:
    lines = (line.partition(",") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {
        name: {entry: int(number) for entry, number in (pair.split("=") for pair in entries.split())}
        for name, _, entries in lines
    }


@functools.cache
def _numbers() -> dict[str, int]:
    return {name: number for entries in _enums().values() for name, number in entries.items()}


def entries_of(enum: str) -> dict[str, int]:
    """Numbers of an enum by entry name, without the enum's name as prefix."""
    return {name.removeprefix(f"{enum}_"): number for name, number in _enums()[enum].items()}


def bits_of(prefix: str, *names: str) -> int:
    """Bitwise sum of all flags whose names begin with `prefix`."""
    return sum(_numbers()[f"{prefix}_{name}"] for name in names)


def __getattr__(name: str) -> int:
    if not name[0].isupper():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    for whole in (name, f"MAV_CMD_{name}", f"MAV_{name}"):
        if whole in _numbers():
            return globals().setdefault(name, _numbers()[whole])
    raise AttributeError(str(UnknownNameError("number of MAVLink", name, _numbers())))


MOTOR_INTERLOCK, SWITCH_HIGH = 32, 2  # parameters of DO_AUX_FUNCTION: a switch of the remote control [ArduPilotCode]
# `struct` layout by MAV_PARAM_TYPE
PARAM_FORMS = {1: "<B3x", 2: "<b3x", 3: "<H2x", 4: "<h2x", 5: "<I", 6: "<i", 9: "<f"}

# custom_mode of a PX4 heartbeat: its third byte is the main mode, its fourth the mode within AUTO [PX4]
PX4_AUTO_MAIN = 4
PX4_MAIN_MODES = {
    "MANUAL": 1, "ALTCTL": 2, "POSCTL": 3, "ACRO": 5, "OFFBOARD": 6, "STABILIZED": 7, "TERMINATION": 10,
}  # fmt: skip
PX4_AUTO_MODES = {
    "READY": 1, "TAKEOFF": 2, "LOITER": 3, "MISSION": 4, "RTL": 5, "LAND": 6, "FOLLOWME": 8, "PRECLAND": 9,
    "VTOL_TAKEOFF": 10,
}  # fmt: skip

# Modes to which ground stations give other names than the table
_CALLED = {
    "FLY_BY_WIRE_A": "FBWA", "FLY_BY_WIRE_B": "FBWB", "INITIALIZING": "INITIALISING", "MOTORDETECT": "MOTOR_DETECT",
    "LOITER_ALT_QLAND": "LOITERALTQLAND",
}  # fmt: skip


@functools.cache
def ardupilot_modes(vehicle: str) -> dict[int, str]:
    """Mode names of ArduPilot's copter, plane, rover or sub by mode number [ArduPilotDev]."""
    modes = entries_of(f"{vehicle.upper()}_MODE")
    return {number: _CALLED.get(name, name) for name, number in modes.items()}
