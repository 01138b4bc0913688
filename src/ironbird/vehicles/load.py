"""Vehicles by name or file: TOML in, diagram out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import UnknownNameError, VehicleError
from ironbird.model.diagram import Diagram
from ironbird.vehicles.spec import VehicleSpec, parse
from ironbird.vehicles.templates import car, fixed_wing, multicopter, rover, surface_vessel, underwater

CONTROLS = ("reference", "truth")
CATALOG = Path(__file__).parent / "catalog"


@dataclass(frozen=True)
class Template:
    """A recipe for one kind of vehicle: the grammar of its file, and how its diagram is built."""

    spec: type[VehicleSpec]
    build: Callable[[Any, str], Diagram]  # file's content and kind of control -> diagram
    controls: tuple[str, ...] = CONTROLS  # kinds of control that it offers, the usual one first


TEMPLATES: dict[str, Template] = {
    "multicopter": Template(multicopter.MulticopterSpec, multicopter.build),
    "car": Template(car.CarSpec, car.build, controls=("truth",)),
    "rover": Template(rover.RoverSpec, rover.build, controls=("truth",)),
    "fixed_wing": Template(fixed_wing.FixedWingSpec, fixed_wing.build, controls=("truth",)),
    "surface_vessel": Template(surface_vessel.SurfaceVesselSpec, surface_vessel.build, controls=("truth",)),
    "underwater": Template(underwater.UnderwaterSpec, underwater.build, controls=("truth",)),
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
    if str(name) not in vehicle_ids():
        raise UnknownNameError("vehicle", str(name), vehicle_ids())
    return CATALOG / f"{name}.toml"


def load_spec(name: str | Path) -> VehicleSpec:
    """Read and check a vehicle file."""
    path = vehicle_path(name)
    try:
        data = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise VehicleError(f"{path} is not valid TOML: {error}") from None
    template = data.get("template")
    if template not in TEMPLATES:
        raise VehicleError(f"{path}: " + str(UnknownNameError("template", str(template), TEMPLATES)))
    return parse(TEMPLATES[template].spec, data, path)


def usual_control(name: str | Path) -> str:
    """The kind of control with which a vehicle is flown if nothing else is asked for."""
    return TEMPLATES[load_spec(name).template].controls[0]


def load_vehicle(name: str | Path, *, control: str = "truth") -> Vehicle:
    """A vehicle by catalogue name (`quad_f450`) or file (`my_quad.toml`), ready to be compiled.

    `control` is `truth` (a controller that sees the true state) or `reference` (sensors, estimator, failsafes).
    """
    if control not in CONTROLS:
        raise UnknownNameError("kind of control", control, CONTROLS)
    spec = load_spec(name)
    offered = TEMPLATES[spec.template].controls
    if control not in offered:
        raise VehicleError(f"vehicle '{spec.id}' has no control of kind '{control}'; it offers {', '.join(offered)}")
    return Vehicle(spec, TEMPLATES[spec.template].build(spec, control), vehicle_path(name))
