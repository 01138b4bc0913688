"""Texts of flights: names of modes, short names of signals, and reasons why a flight ends."""

from __future__ import annotations

import math

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.vehicles import places as at

WORDS = {name: float(number) for number, name in enumerate(MODES)}  # that conditions may use for numbers
ALIASES = {  # short names of signals in conditions
    "altitude": at.TERRAIN.height_above_ground,
    "mode": at.NAVIGATOR.mode,
    "item": at.NAVIGATOR.item,
    "airspeed": at.AIR.airspeed,
    "battery": at.BATTERY.remaining,
    "min_distance": at.CLEARANCE.min_distance,
    "collision": at.CLEARANCE.collision,
    "impact_speed": at.CLEARANCE.impact_speed,
}

PASS, FAIL, VOID, ERROR = "pass", "fail", "void", "error"
VERDICTS = (PASS, FAIL, VOID, ERROR)

# Stop conditions that are no crash
COMPLETED = "mission completed"
LANDED = "landed before the end of the mission"
HARMLESS = (COMPLETED, LANDED)

HARD, SIDEWAYS = "hard landing", "sideways touch-down"  # the latter would have been soft without the speed sideways
LEAST_IMPACT_MPS = 0.1  # slower impacts are not mentioned
STEEP_RAD = math.radians(45)  # a tilt that is mentioned in the text of an ending


def impact_words(down_mps: float, sideways_mps: float) -> str:
    """The speed of an impact as text: `8.2 m/s down and 0.4 m/s sideways`; empty if it was slow."""
    parts = [(down_mps, "down"), (sideways_mps, "sideways")]
    return " and ".join(f"{speed:.1f} m/s {way}" for speed, way in parts if speed >= LEAST_IMPACT_MPS)


def crash_words(reason: str, time_s: float, impact: str, tilt_rad: float) -> str:
    """Text about a crash: what, when, and how hard: `crashed at 11.74 s (hard landing, 8.2 m/s down)`."""
    parts = [reason, impact] if impact else [reason]
    if tilt_rad > STEEP_RAD:
        parts.append(f"tilted by {math.degrees(tilt_rad):.0f}°")
    return f"crashed at {time_s:.2f} s ({', '.join(parts)})"


def collision_words(time_s: float, impact_mps: float) -> str:
    """Text about a collision: when and how fast."""
    return f"collided at {time_s:.2f} s" + (f" ({impact_mps:.1f} m/s)" if impact_mps >= LEAST_IMPACT_MPS else "")
