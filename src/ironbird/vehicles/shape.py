"""Appearance of a vehicle in a 3D view: the kind of drawing and the positions of its rotors; no surface mesh."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle


@functools.lru_cache(maxsize=64)
def shape_of(vehicle: str) -> dict[str, Any]:
    """Title, kind of drawing, and rotors in metres forward, right and down of the centre of mass, by vehicle name."""
    return shape(load_vehicle(vehicle))


def shape(loaded: Vehicle) -> dict[str, Any]:
    """Shape of a vehicle that is already loaded, for drawing it."""
    diagram = loaded.diagram
    places = (at.rotor(number).propeller("position") for number in itertools.count(1))
    known = set(diagram.param_paths())
    rotors = [np.ravel(diagram.value(path)).tolist() for path in itertools.takewhile(known.__contains__, places)]
    return {"vehicle": loaded.id, "title": loaded.spec.title, "drawing": loaded.kind.drawing, "rotors": rotors}
