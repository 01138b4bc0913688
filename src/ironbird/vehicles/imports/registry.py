"""Formats from which vehicles can be imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.errors import UnknownNameError, VehicleError
from ironbird.vehicles.imports.ardupilot_json import import_ardupilot
from ironbird.vehicles.imports.draft import Draft, as_id
from ironbird.vehicles.imports.gazebo import import_sdf, import_urdf
from ironbird.vehicles.imports.jsbsim import import_jsbsim
from ironbird.vehicles.imports.px4 import import_px4


@dataclass(frozen=True)
class Given:
    """Values that a file may lack and the user must give."""

    id: str | None = None
    mass_kg: float | None = None
    arm_m: float | None = None


FORMATS: dict[str, Callable[[Path, Given], Draft]] = {
    "sdf": lambda path, given: import_sdf(path),
    "urdf": lambda path, given: import_urdf(path),
    "ardupilot-json": lambda path, given: import_ardupilot(path),
    "px4": lambda path, given: import_px4(path, given.mass_kg, given.arm_m),
    "jsbsim": lambda path, given: import_jsbsim(path),
}
ENDINGS = {".sdf": "sdf", ".urdf": "urdf", ".json": "ardupilot-json", ".params": "px4", ".mix": "px4", ".xml": "jsbsim"}


def import_vehicle(path: Path, format: str | None = None, given: Given | None = None) -> Draft:
    """Import a file of another program as a draft of a vehicle file; by default the ending decides the format."""
    given = given or Given()
    kind = format or ENDINGS.get(path.suffix.lower())
    if path.is_dir():
        raise VehicleError(f"{path} is a folder; give the file of a model in it, such as model.sdf")
    if path.suffix == ".toml" and format is None:
        raise VehicleError(f"{path} is a TOML file as Ironbird's own vehicles: 'ironbird fly {path}' takes it as it is")
    if kind is None:
        raise VehicleError(f"{path}: its ending does not say what it is; give --format, one of {', '.join(FORMATS)}")
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    try:
        with np.errstate(over="raise", invalid="raise"):
            draft = FORMATS[kind](path, given)
    except (ArithmeticError, ValueError) as error:  # numbers that are valid singly but do not make a vehicle
        raise VehicleError(f"{path}: no vehicle can be made of its numbers ({error}); correct them") from error
    if given.id:
        draft.tables["id"] = as_id(given.id)
    return draft
