"""What all autopilots say in numbers, in words: results and landed states."""

from __future__ import annotations

from ironbird.protocols.mavlink import numbers

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
