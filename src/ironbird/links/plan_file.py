"""Mission files of ground stations: QGroundControl's .plan and the text form 'QGC WPL 110', and our own missions.

All become one list of `PlanItem`, which a `Pilot` can hand to an autopilot. Formats: [QGCPlan], [MAVLinkMission].
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ironbird.errors import MissionError

WAYPOINT, LOITER, LOITER_TIME, RETURN, LAND, TAKE_OFF = 16, 17, 19, 20, 21, 22  # MAV_CMD_NAV_... [MAVLinkMission]
VTOL_TAKE_OFF, VTOL_LAND = 84, 85
ABSOLUTE, MISSION_FRAME, RELATIVE = 0, 2, 3  # MAV_FRAME_GLOBAL, MISSION, GLOBAL_RELATIVE_ALT
SAME_FRAME = {5: ABSOLUTE, 6: RELATIVE}  # the _INT frames say the same
PLACE_COMMANDS = range(16, 96)  # MAV_CMD_NAV_*: their last three parameters are a place
ITEMS_MOST = 2000
HEADER = "QGC WPL 110"
EARTH_RADIUS_M = 6371000.0  # mean; only used where no home of a vehicle says better


class Home(NamedTuple):
    """Where a mission's metres are counted from."""

    latitude_deg: float
    longitude_deg: float
    height_m: float


@dataclass(frozen=True)
class PlanItem:
    """One item of a mission as autopilots take it; NaN is 'as the autopilot likes'."""

    command: int  # MAV_CMD
    frame: int = RELATIVE
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, math.nan)
    latitude_deg: float = 0.0
    longitude_deg: float = 0.0
    altitude_m: float = 0.0
