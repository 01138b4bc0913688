"""Words for MAV_CMD_INJECT_FAILURE [MAVLink2]: what fails, and how."""

from __future__ import annotations

from ironbird.errors import UnknownNameError

UNITS = {  # FAILURE_UNIT
    "gyro": 0, "accel": 1, "mag": 2, "baro": 3, "gps": 4, "optical_flow": 5, "vio": 6, "distance_sensor": 7,
    "airspeed": 8, "battery": 100, "motor": 101, "servo": 102, "avoidance": 103, "rc_signal": 104,
    "mavlink_signal": 105,
}  # fmt: skip
TYPES = {  # FAILURE_TYPE
    "ok": 0, "off": 1, "stuck": 2, "garbage": 3, "wrong": 4, "slow": 5, "delayed": 6, "intermittent": 7,
}  # fmt: skip


def failure(unit: str, how: str) -> tuple[int, int]:
    """Both as numbers; `UnknownNameError` says the words that are known."""
    if unit not in UNITS:
        raise UnknownNameError("unit", unit, UNITS, where="inject")
    if how not in TYPES:
        raise UnknownNameError("type of failure", how, TYPES, where="inject")
    return UNITS[unit], TYPES[how]
