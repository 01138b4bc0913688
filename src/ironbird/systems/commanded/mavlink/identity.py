"""Identity of the vehicle in MAVLink: type, versions, capabilities, and constants that ground stations read."""

from __future__ import annotations

import hashlib

from ironbird.protocols.mavlink import numbers
from ironbird.systems.commanded.mavlink.modes import ASKED
from ironbird.vehicles.load import Vehicle

CAPABILITIES = (
    numbers.MAV_PROTOCOL_CAPABILITY_MISSION_FLOAT
    | numbers.MAV_PROTOCOL_CAPABILITY_PARAM_FLOAT
    | numbers.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | numbers.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | numbers.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_BYTEWISE
    | numbers.MAV_PROTOCOL_CAPABILITY_SET_ATTITUDE_TARGET
    | numbers.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
    | numbers.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_GLOBAL_INT
    | numbers.MAV_PROTOCOL_CAPABILITY_MAVLINK2
)
SPOKEN = (1, 14, 0)  # version of PX4 whose modes and behaviour these are; ground stations request it
RELEASE = 255  # kind of the version
OWN_NAME = b"\0\0\0IRONB"  # after three bytes of a vendor's version
PROTOCOL = (200, 100, 200)  # MAVLink 2.0, at least 1.0, at most 2.0


def type_of(vehicle: Vehicle) -> int:
    """MAV_TYPE that the vehicle's kind declares."""
    return int(getattr(numbers, vehicle.kind.mav_type_of(vehicle.spec)))


def version_fields(vehicle: Vehicle) -> tuple[int, ...]:
    """Fields of AUTOPILOT_VERSION; Ironbird's name takes the place of a commit hash."""
    major, minor, patch = SPOKEN
    version = major << 24 | minor << 16 | patch << 8 | RELEASE
    mark = hashlib.sha256(vehicle.id.encode()).digest()
    uid = int.from_bytes(mark[:8], "little")
    return (CAPABILITIES, uid, version, 0, 0, 0, 0, 0, *OWN_NAME, *bytes(16), *mark[:18])


def protocol_fields() -> tuple[int, ...]:
    """Fields of the message PROTOCOL_VERSION."""
    return (*PROTOCOL, *bytes(16))


def constants(vehicle: Vehicle, sysid: int) -> dict[str, int]:
    """Integer parameters that ground stations read: identity, and ids of calibrated sensors."""
    return {
        "CAL_ACC0_ID": 1,
        "CAL_GYRO0_ID": 1,
        "CAL_MAG0_ID": 1,
        "MAV_COMP_ID": numbers.MAV_COMP_ID_AUTOPILOT1,
        "MAV_SYS_ID": sysid,
        "MAV_TYPE": type_of(vehicle),
        "SYS_AUTOSTART": 1,
        "SYS_HITL": 0,
    }


def mode_fields(which: int, accepts: frozenset[str]) -> tuple[int | bytes, ...] | None:
    """Fields of AVAILABLE_MODES for mode number `which` (from 1); None beyond the last."""
    offered = [shown for word, shown in ASKED.items() if word in accepts]
    if not 1 <= which <= len(offered):
        return None
    shown = offered[which - 1]
    return (shown.custom, 0, len(offered), which, shown.standard, shown.title.encode())
