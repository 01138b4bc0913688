"""What each kind of vehicle can be asked for: modes, and what a set-point may give."""

from __future__ import annotations

from ironbird.blocks.controllers.command_ports import BY_ALTITUDE, BY_MANUAL, BY_POSITION_STICKS, BY_STABILIZED

STICKS = {"stabilized": BY_STABILIZED, "altitude": BY_ALTITUDE, "position": BY_POSITION_STICKS, "manual": BY_MANUAL}
STATION = "underwater, holding its place"
_HOVER = frozenset({"hold", "mission", "return", "land", "offboard", "altitude", "position"})
_DRIVE = frozenset({"hold", "mission", "return", "offboard", "position", "manual"})
ACCEPTS = {  # kind of vehicle -> modes that it can be asked for
    "multicopter": _HOVER | {"stabilized"},
    "helicopter": _HOVER | {"stabilized"},
    "tilt_rotor": frozenset({"hold", "mission", "return", "land", "offboard", "position"}),
    "vtol": _HOVER,
    "fixed_wing": _HOVER | {"stabilized"},
    "car": _DRIVE,
    "rover": _DRIVE,
    "surface_vessel": _DRIVE,
    "underwater": _DRIVE,  # with fins
    STATION: frozenset({"hold", "mission", "return", "land", "offboard", "altitude", "position"}),
}
SETPOINTS = {  # kind of vehicle -> what an offboard set-point may give
    "multicopter": frozenset({"position", "velocity", "acceleration", "yaw", "attitude", "rates"}),
    "helicopter": frozenset({"position", "velocity", "acceleration", "yaw", "attitude"}),
    "tilt_rotor": frozenset({"position", "velocity", "yaw"}),
    "vtol": frozenset({"position", "velocity", "acceleration", "yaw"}),
    "fixed_wing": frozenset({"position", "velocity", "attitude", "course", "height", "speed", "yaw"}),
    "car": frozenset({"position", "velocity", "course", "speed", "yaw"}),
    "rover": frozenset({"position", "velocity", "course", "speed", "yaw"}),
    "surface_vessel": frozenset({"position", "velocity", "course", "speed", "yaw"}),
    "underwater": frozenset({"position", "velocity", "course", "speed", "height", "yaw"}),
    STATION: frozenset({"position", "velocity", "yaw"}),
}
FLIES = frozenset({"multicopter", "helicopter", "tilt_rotor", "fixed_wing", "vtol"})  # others do not take off or land
ON_GROUND = ("disarmed", "armed")
LANDS = ("land", "descend")
