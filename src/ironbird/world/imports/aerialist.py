"""Obstacles of Aerialist's test cases (YAML) as a world: boxes and cylinders on flat ground.

Both written forms are read: a table for each, and rows of seven numbers (l, w, h, x, y, z, r). Places are PX4's local
ones, x north and y east; an obstacle turns clockwise seen from above, z is that of its foot.
Grammar: [Aerialist], `obstacle.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ironbird.errors import WorldError, shortened
from ironbird.world.model import Box, Cylinder, Material, Obstacle, World, upright

CONCRETE = Material("concrete", 0.8, 0.1, 0.4, (0.6, 0.58, 0.55), (0.45, 0.43, 0.4), 1.0)
MOST = 1000


def read_aerialist(data: bytes, path: Path) -> World:
    """The world with the obstacles of a test file."""
    import yaml

    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, RecursionError) as error:
        raise WorldError(f"it is not valid YAML: {shortened(' '.join(str(error).split()), 200)}") from None
    simulation = content.get("simulation") if isinstance(content, Mapping) else None
    if not isinstance(simulation, Mapping):
        raise WorldError("a test of Aerialist has a table simulation with obstacles")
    return World(path.stem, f"obstacles of {path.name}", obstacles=obstacles_of(simulation.get("obstacles") or []))


def obstacles_of(obstacles: Any) -> tuple[Obstacle, ...]:
    """Obstacles in both written forms."""
    if not isinstance(obstacles, Sequence) or isinstance(obstacles, str):
        raise WorldError(f"obstacles are '{shortened(obstacles)}'; give a list")
    if obstacles and not isinstance(obstacles[0], Mapping):
        if len(obstacles) % 7:
            raise WorldError(f"obstacles have 7 numbers each (l, w, h, x, y, z, r); there are {len(obstacles)}")
        numbers = [float(number) for number in obstacles]
        rows = [dict(zip("lwhxyzr", numbers[i : i + 7], strict=True)) for i in range(0, len(numbers), 7)]
        obstacles = [{"size": row, "position": row} for row in rows]
    if len(obstacles) > MOST:
        raise WorldError(f"{len(obstacles)} obstacles; the most is {MOST}")
    return tuple(_obstacle(number, entry) for number, entry in enumerate(obstacles, start=1))


def _obstacle(number: int, obstacle: Mapping[str, Any]) -> Obstacle:
    size, at = obstacle["size"], obstacle["position"]
    tall = float(size["h"])
    place = (float(at["x"]), float(at["y"]), -(float(at.get("z", 0)) + tall / 2))
    turn = upright(math.radians(float(at.get("r", 0))))
    if obstacle.get("shape") == "cylinder":
        return Cylinder(f"obstacle_{number}", place, turn, CONCRETE, radius_m=float(size["r"]), height_m=tall)
    return Box(f"obstacle_{number}", place, turn, CONCRETE, size_m=(float(size["l"]), float(size["w"]), tall))
