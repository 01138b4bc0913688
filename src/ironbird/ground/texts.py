"""Texts for MAVLink numbers: results, landed states, classes of vehicles."""

from __future__ import annotations

from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.kinds import VehicleClass

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
KINDS: dict[int, VehicleClass] = {  # by MAV_TYPE
    numbers.MAV_TYPE_FIXED_WING: "plane",
    numbers.MAV_TYPE_QUADROTOR: "copter",
    numbers.MAV_TYPE_COAXIAL: "copter",
    numbers.MAV_TYPE_HELICOPTER: "copter",
    numbers.MAV_TYPE_HEXAROTOR: "copter",
    numbers.MAV_TYPE_OCTOROTOR: "copter",
    numbers.MAV_TYPE_TRICOPTER: "copter",
    numbers.MAV_TYPE_GROUND_ROVER: "rover",
    numbers.MAV_TYPE_SURFACE_BOAT: "boat",
    numbers.MAV_TYPE_SUBMARINE: "sub",
    19: "vtol",  # two rotors on their tail
    numbers.MAV_TYPE_VTOL_QUADROTOR: "vtol",
    numbers.MAV_TYPE_VTOL_TILTROTOR: "vtol",
    numbers.MAV_TYPE_VTOL_FIXEDROTOR: "vtol",
    23: "vtol",
    24: "vtol",
    25: "vtol",
    29: "copter",  # twelve rotors
    35: "copter",  # ten rotors
}
