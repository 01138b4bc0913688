"""Definitions shared by navigators: mission table and kinds of items, numbers of modes and failsafes, script."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, View
from ironbird.model.signal import Param
from ironbird.symbolic.smooth import choose

ROWS = 6  # rows of the mission table: north, east, down, yaw, hold time, kind
FLY, LAND = 0.0, 1.0  # kinds of a mission item
SPIRAL = -1.0  # flown by `SpiralNavigator`; for all others it is FLY
TAKE_OFF_ITEM, LOITER_ITEM, RETURN_ITEM = -2.0, -3.0, -4.0  # for wings; waypoints for other vehicles
SCRIPT = 4  # number of commands that a run may schedule

# Modes, and the commands for them (a command is the number of the mode)
DISARMED, TAKE_OFF, HOLD, MISSION, RETURN, LANDING, OFFBOARD, DESCEND, TERMINATED = range(9)
HOVER, TRANSITION, CRUISE, BACK_TRANSITION = range(9, 13)  # shown by vehicles with wings and rotors, never commanded
ARMED, STABILIZED, ALTITUDE, POSITION, MANUAL = range(13, 18)  # of vehicles that are commanded from outside
MODES = (
    "disarmed", "take-off", "hold", "mission", "return", "land", "offboard", "descend", "terminated", "hover",
    "transition", "cruise", "back-transition", "armed", "stabilized", "altitude", "position", "manual",
)  # fmt: skip
# Failsafes, in the order of the port `failsafe`
FAILSAFES = ("battery", "gnss", "estimator", "geofence", "attitude", "link")


class MissionTable(Block):
    """A controller with a table of mission items, one per column."""

    role = "controller"

    def __init__(self, items: int, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.items = items
        doc = "items: north, east, down (m), yaw (rad), hold (s), kind"
        self.declare("table", Param(unit="1", shape=(ROWS, items), default=0.0, doc=doc))

    def _item_at(self, index: ca.SX, p: View) -> ca.SX:
        return choose(index, [p.table[:, i] for i in range(self.items)])

    def _item(self, x: View, p: View) -> ca.SX:
        """Column of the present item in the mission table."""
        return self._item_at(x.index, p)


def script_param() -> Param:
    """Declaration of the parameter with commands by time."""
    return Param(
        unit="1",
        shape=(2, SCRIPT),
        default=((1e9,) * SCRIPT, (0.0,) * SCRIPT),
        tunable=True,
        doc="commands by time: first row time (s), second row mode",
    )


def command_in_force(u: View, p: View) -> ca.SX:
    """The latest due entry of the script, else the input `command`."""
    command = u.command
    for i in range(SCRIPT):
        command = ca.if_else(u.time >= p.script[0, i], p.script[1, i], command)
    return command


def outside_fence(u: View, p: View) -> ca.SX:
    """Whether the vehicle is beyond the geofence."""
    away = u.p_NB_N[:2]
    return ca.logic_or(ca.dot(away, away) > p.fence_radius**2, -u.p_NB_N[2] > p.fence_height)


def link_silent(u: View, p: View) -> ca.SX:
    """Whether a control link in use has been silent for too long."""
    return ca.logic_and(u.link_stamp >= 0, u.time - u.link_stamp > p.link_timeout)
