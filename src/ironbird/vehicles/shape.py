"""Shape of a vehicle in a 3D view: its kind of drawing, its rotors, and the solids and joints that are drawn."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ironbird.vehicles import places as at
from ironbird.vehicles.appearance import appearance
from ironbird.vehicles.load import Vehicle, load_vehicle


@functools.lru_cache(maxsize=64)
def shape_of(vehicle: str) -> dict[str, Any]:
    """The shape of a vehicle by its name; places in metres forward, right and down of the centre of mass."""
    return shape(load_vehicle(vehicle))


def shape(loaded: Vehicle) -> dict[str, Any]:
    """Shape of a vehicle that is already loaded, for drawing it."""
    diagram = loaded.diagram
    places = (at.rotor(number).propeller("position") for number in itertools.count(1))
    known = set(diagram.param_paths())
    rotors = [np.ravel(diagram.value(path)).tolist() for path in itertools.takewhile(known.__contains__, places)]
    shown = {"vehicle": loaded.id, "title": loaded.spec.title, "drawing": loaded.kind.drawing, "rotors": rotors}
    start = {"p": at.BODY("p_0"), "q": at.BODY.attitude_0}
    stands = {key: np.ravel(diagram.value(path)).tolist() for key, path in start.items() if path in known}
    return shown | appearance(loaded) | {"start": {"p": [0.0, 0.0, 0.0], "q": [1.0, 0.0, 0.0, 0.0]} | stands}
