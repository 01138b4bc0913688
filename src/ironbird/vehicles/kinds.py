"""Kinds of vehicles: their properties for the rest of Ironbird, declared once.

A kind is a template (the grammar of its files and the construction of its diagram) and one `VehicleKind`, which
declares its modes and set-points, its names in autopilots and its drawing. No other module names a kind: a new one is
its template, its declaration and its test, here or in a package of its own (`ironbird.files.registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ironbird.errors import VehicleError
from ironbird.files.registry import Registry
from ironbird.model.diagram import Diagram
from ironbird.vehicles.spec import VehicleSpec

CONTROLS = ("reference", "truth", "external", "commanded")
VehicleClass = Literal["copter", "plane", "vtol", "rover", "boat", "sub"]  # classes that autopilots distinguish
Drawing = Literal["rotors", "wing", "vtol", "tilt_rotor", "helicopter", "car", "boat", "submarine"]
PARTS = {  # parts that fail and wear out: name -> path of one block of each
    "rotor": "rotor/*/motor",
    "propeller": "rotor/*/propeller",
    "imu": "imu/*/chip",
    "gnss": "gnss/*/chip",
    "baro": "baro/*/chip",
    "mag": "mag/*/chip",
    "battery": "battery",
    "autopilot": "control",
}


@dataclass(frozen=True)
class Abilities:
    """Modes of a vehicle, and the quantities that an offboard set-point may contain."""

    modes: frozenset[str]
    setpoints: frozenset[str]


def abilities(modes: str, setpoints: str) -> Abilities:
    """Abilities from words separated by spaces."""
    return Abilities(frozenset(modes.split()), frozenset(setpoints.split()))


HOVER = "hold mission return land offboard altitude position"  # modes of vehicles that hover
DRIVE = "hold mission return offboard position manual"  # modes of vehicles on the ground or in the water


@dataclass(frozen=True)
class VehicleKind:
    """One kind of vehicle and its properties.

    `px4` and `ardupilot` are homes (`module:OBJECT`) of what fits the autopilot to it: a function from the vehicle's
    file to an `autopilots.px4.airframe.Airframe`, and an `autopilots.ardupilot.channels.Fit`. Empty: it cannot fly it.
    """

    name: str  # key `template` in vehicle files
    spec: type[VehicleSpec]  # grammar of its files
    build: Callable[[Any, str], Diagram]  # file's content and kind of control -> diagram
    abilities: Abilities
    drawing: Drawing
    mav_type: str | Callable[[Any], str]  # name of MAVLink's MAV_TYPE, or a function of the vehicle's file
    autopilot_class: VehicleClass | None = None
    px4: str = ""
    ardupilot: str = ""
    px4_by_sticks: bool = False  # PX4 has no missions for it: the built-in sticks fly it
    controls: tuple[str, ...] = CONTROLS  # kinds of control that it offers, the default first
    flies: bool = True  # takes off and lands; others stay on the ground or in the water
    hovers: bool = False  # can hold a position without touching the ground
    winged: bool = False  # wings carry it in motion
    transitions: bool = False  # changes between rotors and wings, and reports its current state
    launched: bool = False  # takes off once, by a launcher or on a runway, and climbs to a height first
    hovering: Abilities | None = None  # in place of `abilities` if its navigator holds a position and follows no course
    rflysim_type: int = 3  # class of RflySim3D; assumed to be 3 where RflySim names none
    parts: Mapping[str, str] = field(default_factory=lambda: PARTS)

    def mav_type_of(self, spec: VehicleSpec) -> str:
        """The name of the MAV_TYPE of a vehicle of this kind."""
        return self.mav_type if isinstance(self.mav_type, str) else self.mav_type(spec)


KINDS: Registry[VehicleKind] = Registry(
    "vehicle_kinds",
    {
        name: f"ironbird.vehicles.templates.{name}:KIND"
        for name in (
            "multicopter", "helicopter", "car", "rover", "fixed_wing", "surface_vessel", "tilt_rotor", "underwater",
            "vtol",
        )
    },
    VehicleKind,
    what="template",
    error=VehicleError,
)  # fmt: skip


def vehicle_kind(spec: VehicleSpec) -> VehicleKind:
    """The kind of a vehicle, by its file's content."""
    return KINDS.load(spec.template)
