"""Words of flights: modes by name, short names of signals, and why a flight ends."""

from __future__ import annotations

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

# Stop conditions that are no crash
COMPLETED = "mission completed"
LANDED = "landed before the end of the mission"
HARMLESS = (COMPLETED, LANDED)
