"""Vehicles by name or file: TOML in, diagram out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import UnknownNameError, VehicleError
from ironbird.model.diagram import Diagram
from ironbird.vehicles.external import cut_control
from ironbird.vehicles.spec import VehicleSpec, parse
from ironbird.vehicles.templates import (
    car,
    fixed_wing,
    helicopter,
    multicopter,
    rover,
    surface_vessel,
    tilt_rotor,
    underwater,
    vtol,
)

CONTROLS = ("reference", "truth", "external")
CATALOG = Path(__file__).parent / "catalog"


@dataclass(frozen=True)
class Template:
    """A recipe for one kind of vehicle: the grammar of its file, and how its diagram is built."""

    spec: type[VehicleSpec]
    build: Callable[[Any, str], Diagram]  # file's content and kind of control -> diagram
    controls: tuple[str, ...] = CONTROLS  # kinds of control that it offers, the usual one first
    hovers: bool = False  # whether it can stay at one place without touching the ground


TEMPLATES: dict[str, Template] = {
    "multicopter": Template(multicopter.MulticopterSpec, multicopter.build, hovers=True),
    "helicopter": Template(helicopter.HelicopterSpec, helicopter.build, hovers=True),
    "car": Template(car.CarSpec, car.build),
    "rover": Template(rover.RoverSpec, rover.build),
    "fixed_wing": Template(fixed_wing.FixedWingSpec, fixed_wing.build),
    "surface_vessel": Template(surface_vessel.SurfaceVesselSpec, surface_vessel.build),
    "tilt_rotor": Template(tilt_rotor.TiltRotorSpec, tilt_rotor.build, hovers=True),
    "underwater": Template(underwater.UnderwaterSpec, underwater.build),
    "vtol": Template(vtol.VtolSpec, vtol.build, hovers=True),
}


@dataclass(frozen=True)
class Vehicle:
    """A vehicle file and the diagram made from it."""

    spec: VehicleSpec
    diagram: Diagram
    path: Path

    @property
    def id(self) -> str:
        """Its name in the catalogue."""
        return self.spec.id


def vehicle_ids() -> list[str]:
    """Names of all vehicles in the catalogue."""
    return sorted(path.stem for path in CATALOG.glob("*.toml"))


def vehicle_path(name: str | Path) -> Path:
    """The file of a vehicle: a catalogue name, or a path to a TOML file."""
    if str(name).endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise VehicleError(f"vehicle file {path} does not exist")
        return path
    path = CATALOG / f"{name}.toml"
    if path.parent != CATALOG or not path.is_file():
        raise UnknownNameError("vehicle", str(name), vehicle_ids())
    return path


def own_tables(path: Path) -> dict[str, Any]:
    """What a vehicle file itself says."""
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise VehicleError(f"{path} is not valid TOML: {error}") from None


def read_tables(path: Path, *, chain: tuple[Path, ...] = ()) -> dict[str, Any]:
    """A vehicle file's content, on top of that of the file it names as its `base`.

    Tables are merged key by key, provenance too; a list (the rotors) replaces the list of the base.
    """
    if path.resolve() in chain:
        raise VehicleError(f"{path}: base goes round in a circle: {' -> '.join(p.stem for p in (*chain, path))}")
    data = own_tables(path)
    base = data.get("base")
    if base is None:
        return data
    if "id" not in data:
        raise VehicleError(f"{path}: it has a base, so it needs an id of its own")
    if not isinstance(base, str):
        raise VehicleError(f"{path}: base is {base!r}; give a vehicle of the catalogue, or a TOML file in quotes")
    try:
        under = vehicle_path(path.parent / base if base.endswith(".toml") else base)
    except (VehicleError, UnknownNameError) as error:
        raise VehicleError(f"{path}: base: {error}") from None
    return _merged(read_tables(under, chain=(*chain, path.resolve())), data)


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(under[key], over[key]) for key in over if _is_table(under, key) and _is_table(over, key)}
    return under | over | both


def _is_table(data: dict[str, Any], key: str) -> bool:
    return isinstance(data.get(key), dict)


def load_spec(name: str | Path) -> VehicleSpec:
    """Read and check a vehicle file."""
    path = vehicle_path(name)
    data = read_tables(path)
    template = data.get("template")
    if template not in TEMPLATES:
        raise VehicleError(f"{path}: " + str(UnknownNameError("template", str(template), TEMPLATES)))
    return parse(TEMPLATES[template].spec, data, path)


def usual_control(name: str | Path) -> str:
    """The kind of control with which a vehicle is flown if nothing else is asked for."""
    return TEMPLATES[load_spec(name).template].controls[0]


def load_vehicle(name: str | Path, *, control: str = "truth") -> Vehicle:
    """A vehicle by catalogue name (`quad_f450`) or file (`my_quad.toml`), ready to be compiled.

    `control` is `truth` (a controller that sees the true state), `reference` (sensors, estimator, failsafes) or
    `external` (sensors, and actuators that wait for commands from outside).
    """
    if control not in CONTROLS:
        raise UnknownNameError("kind of control", control, CONTROLS)
    spec = load_spec(name)
    offered = TEMPLATES[spec.template].controls
    if control not in offered:
        raise VehicleError(f"vehicle '{spec.id}' has no control of kind '{control}'; it offers {', '.join(offered)}")
    build = TEMPLATES[spec.template].build
    diagram = cut_control(build(spec, "reference")) if control == "external" else build(spec, control)
    return Vehicle(spec, diagram, vehicle_path(name))
