"""Who speaks: type of vehicle, versions, what the protocol can do, and constants that ground stations look for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ironbird.protocols.mavlink import numbers
from ironbird.systems.commanded.mavlink.modes import ASKED

if TYPE_CHECKING:
    from ironbird.vehicles.load import Vehicle

ROTORS = {
    2: numbers.MAV_TYPE_COAXIAL, 3: numbers.MAV_TYPE_TRICOPTER, 4: numbers.MAV_TYPE_QUADROTOR,
    6: numbers.MAV_TYPE_HEXAROTOR, 8: numbers.MAV_TYPE_OCTOROTOR, 10: numbers.MAV_TYPE_DECAROTOR,
    12: numbers.MAV_TYPE_DODECAROTOR,
}  # fmt: skip
TYPES = {
    "helicopter": numbers.MAV_TYPE_HELICOPTER,
    "fixed_wing": numbers.MAV_TYPE_FIXED_WING,
    "vtol": numbers.MAV_TYPE_VTOL_FIXEDROTOR,
    "tilt_rotor": numbers.MAV_TYPE_VTOL_TILTROTOR,
    "car": numbers.MAV_TYPE_GROUND_ROVER,
    "rover": numbers.MAV_TYPE_GROUND_ROVER,
    "surface_vessel": numbers.MAV_TYPE_SURFACE_BOAT,
    "underwater": numbers.MAV_TYPE_SUBMARINE,
}
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
SPOKEN = (1, 14, 0)  # version of PX4 whose modes and habits these are: ground stations ask
RELEASE = 255  # kind of the version
OWN_NAME = b"\0\0\0IRONB"  # after three bytes of a vendor's version
PROTOCOL = (200, 100, 200)  # MAVLink 2.0, at least 1.0, at most 2.0


def type_of(vehicle: Vehicle) -> int:
    """MAV_TYPE; of multicopters by their rotors."""
    spec: Any = vehicle.spec
    if spec.template == "multicopter":
        count = len(getattr(spec, "rotor", None) or getattr(spec, "rotors", None) or ())
        return ROTORS.get(count, numbers.MAV_TYPE_QUADROTOR)
    return TYPES.get(spec.template, numbers.MAV_TYPE_GENERIC)


def version_fields(vehicle: Vehicle) -> tuple[int, ...]:
    """Fields of AUTOPILOT_VERSION: Ironbird's name in the place of a commit."""
    major, minor, patch = SPOKEN
    version = major << 24 | minor << 16 | patch << 8 | RELEASE
    mark = hashlib.sha256(vehicle.id.encode()).digest()
    uid = int.from_bytes(mark[:8], "little")
    return (CAPABILITIES, uid, version, 0, 0, 0, 0, 0, *OWN_NAME, *bytes(16), *mark[:18])


def protocol_fields() -> tuple[int, ...]:
    """Fields of PROTOCOL_VERSION."""
    return (*PROTOCOL, *bytes(16))


def constants(vehicle: Vehicle, sysid: int) -> dict[str, int]:
    """Whole numbers among the parameters that ground stations look for: identity, and calibrated sensors."""
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
    """Fields of AVAILABLE_MODES for the mode of a number from 1 on; None beyond the last."""
    offered = [shown for word, shown in ASKED.items() if word in accepts]
    if not 1 <= which <= len(offered):
        return None
    shown = offered[which - 1]
    return (shown.custom, 0, len(offered), which, shown.standard, shown.title.encode())
