"""How a flight ended for the vehicle: landed, disarmed, still flying, never airborne or crashed.

The verdict states whether the requirements held; this states where the vehicle is. Heights are those above the start,
so a vehicle that lands on other ground more than `AIRBORNE_M` away in height counts by the report of its autopilot.
"""

from __future__ import annotations

from typing import Literal

from ironbird.flight.derived import derived
from ironbird.flight.flight import Flight
from ironbird.flight.reached import AIRBORNE_M
from ironbird.protocols.plan_file import TOUCHES
from ironbird.rig.mission_plan import class_of

Ending = Literal["landed", "disarmed", "still flying", "never airborne", "crashed"]


def ending_of(flight: Flight) -> Ending:
    """How the flight ended. A vehicle that touches ground or water all the time can only crash, disarm or go on."""
    if not flight.survived:
        return "crashed"
    armed = [event.text == "armed" for event in flight.autopilot_events if event.kind == "armed"]
    finished = any(event.kind == "finished" for event in flight.autopilot_events)
    off = finished or armed[-1:] == [False]
    if class_of(flight.vehicle) in TOUCHES:
        return "disarmed" if off else "still flying" if any(armed) else "never airborne"
    height = derived(flight.log, "height")
    if not len(height) or float((height - height[0]).max()) <= AIRBORNE_M:
        return "never airborne"
    down = finished or float(height[-1] - height[0]) <= AIRBORNE_M
    return "landed" if down else "disarmed" if off else "still flying"
