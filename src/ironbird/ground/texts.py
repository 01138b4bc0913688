"""What autopilots say in numbers, in words: results, landed states, flags of estimators, modes."""

from __future__ import annotations

from typing import Literal

from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.kinds import VehicleClass

Autopilot = Literal["px4", "ardupilot"]
LANDED = {
    numbers.MAV_LANDED_STATE_UNDEFINED: "undefined",
    numbers.MAV_LANDED_STATE_ON_GROUND: "on the ground",
    numbers.MAV_LANDED_STATE_IN_AIR: "in the air",
    numbers.MAV_LANDED_STATE_TAKEOFF: "taking off",
    numbers.MAV_LANDED_STATE_LANDING: "landing",
}
UNDEFINED, ON_GROUND, IN_AIR, _, LANDING = LANDED.values()
RESULTS = {  # MAV_RESULT
    0: "accepted", 1: "temporarily rejected", 2: "denied", 3: "unsupported", 4: "failed", 5: "in progress",
    6: "cancelled",
}  # fmt: skip
MISSION_RESULTS = {  # MAV_MISSION_RESULT
    0: "accepted", 1: "error", 2: "unsupported frame", 3: "unsupported command", 4: "no space", 5: "invalid",
    6: "invalid parameter 1", 7: "invalid parameter 2", 8: "invalid parameter 3", 9: "invalid parameter 4",
    10: "invalid x", 11: "invalid y", 12: "invalid z", 13: "wrong sequence", 14: "denied", 15: "cancelled",
}  # fmt: skip
ESTIMATOR_FLAGS = {
    numbers.ESTIMATOR_ATTITUDE: "attitude",
    numbers.ESTIMATOR_VELOCITY_HORIZ: "horizontal velocity",
    numbers.ESTIMATOR_VELOCITY_VERT: "vertical velocity",
    numbers.ESTIMATOR_POS_HORIZ_REL: "relative position",
    numbers.ESTIMATOR_POS_HORIZ_ABS: "absolute position",
    numbers.ESTIMATOR_POS_VERT_ABS: "height",
    numbers.ESTIMATOR_CONST_POS_MODE: "constant position",
}
OWN_FLAGS = {
    "px4": {numbers.ESTIMATOR_GPS_GLITCH: "GPS glitch", numbers.ESTIMATOR_ACCEL_ERROR: "accelerometer error"},
    "ardupilot": {numbers.EKF_UNINITIALIZED: "not initialised", numbers.EKF_GPS_GLITCHING: "GPS glitch"},
}
MODES = {  # modes that are ordered, in the words of each autopilot
    "px4": {
        "mission": "MISSION", "land": "LAND", "return": "RTL", "hold": "LOITER", "offboard": "OFFBOARD",
        "take-off": "TAKEOFF", "position": "POSCTL", "altitude": "ALTCTL", "stabilized": "STABILIZED", "acro": "ACRO",
        "manual": "MANUAL",
    },
    "ardupilot": {
        "mission": "AUTO", "land": "LAND", "return": "RTL", "hold": "LOITER", "offboard": "GUIDED",
        "take-off": "TAKEOFF", "position": "POSHOLD", "altitude": "ALT_HOLD", "stabilized": "STABILIZE",
        "acro": "ACRO", "manual": "MANUAL",
    },
}  # fmt: skip
ARDUPILOT_WORDS: dict[str, dict[str, str]] = {  # where a program of ArduPilot has another word [ArduPilotDev]
    "plane": {"land": "RTL", "position": "CRUISE", "altitude": "FBWB", "stabilized": "FBWA"},
    "vtol": {"land": "QLAND", "position": "QLOITER", "altitude": "QHOVER", "stabilized": "QSTABILIZE"},
    "rover": {"hold": "HOLD", "land": "HOLD", "position": "LOITER", "altitude": "STEERING", "stabilized": "STEERING"},
    "boat": {"hold": "LOITER", "land": "HOLD", "position": "LOITER", "altitude": "STEERING", "stabilized": "STEERING"},
    "sub": {"hold": "POSHOLD", "land": "SURFACE", "return": "SURFACE"},
    "copter": {"manual": "STABILIZE"},
}


def modes_by_word(autopilot: Autopilot, kind: VehicleClass) -> dict[str, str]:
    """Names of an autopilot's modes by the words that are the same for all."""
    return MODES[autopilot] | (ARDUPILOT_WORDS[kind] if autopilot == "ardupilot" else {})


def ardupilot_modes(kind: VehicleClass) -> dict[int, str]:
    """Modes of ArduPilot's program for a class of vehicles."""
    return numbers.ardupilot_modes({"vtol": "plane", "boat": "rover"}.get(kind, kind))


def mode_name(autopilot: Autopilot, kind: VehicleClass, base: int, custom: int) -> str:
    """The mode that a heartbeat reports."""
    if autopilot == "ardupilot":
        return ardupilot_modes(kind).get(custom, f"mode {custom}")
    main, sub = custom >> 16 & 0xFF, custom >> 24 & 0xFF
    auto = main == numbers.PX4_AUTO_MAIN
    table, number = (numbers.PX4_AUTO_MODES, sub) if auto else (numbers.PX4_MAIN_MODES, main)
    return next((name for name, value in table.items() if value == number), f"mode {main}.{sub} ({base})")


def estimator_changes(autopilot: Autopilot, before: int, now: int) -> str:
    """Flags of an estimator that came (+) and went (-); empty if none of those that have a word."""
    names = ESTIMATOR_FLAGS | OWN_FLAGS[autopilot]
    gained = [f"+{text}" for bit, text in names.items() if now & bit and not before & bit]
    lost = [f"-{text}" for bit, text in names.items() if before & bit and not now & bit]
    return ", ".join(gained + lost)
