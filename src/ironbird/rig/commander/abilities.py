"""Names of modes by their meaning for a commander; which of them a kind of vehicle has is in `vehicles.kinds`."""

from __future__ import annotations

from ironbird.blocks.controllers.command_ports import BY_ALTITUDE, BY_MANUAL, BY_POSITION_STICKS, BY_STABILIZED

STICKS = {"stabilized": BY_STABILIZED, "altitude": BY_ALTITUDE, "position": BY_POSITION_STICKS, "manual": BY_MANUAL}
ON_GROUND = ("disarmed", "armed")
LANDS = ("land", "descend")
