"""A world as plain data for the 3D view: its ground, obstacles, water, pads and scripted moving objects.

Positions are metres north, east and down; matrices are column by column. Colours are sRGB, one for each object:
checkerboards and markers are not drawn. A terrain is thinned to `MOST_POINTS` a side, meshes are drawn up to
`MOST_TRIANGLES` together; `left_out` lists what is missing.
"""

from __future__ import annotations

import base64
import functools
from typing import Any

import numpy as np

from ironbird.flight.worlds import ordered_world
from ironbird.world.model import Box, Cylinder, Heightfield, Material, Mesh, Mover, Obstacle, Plane, Sphere, World

MOST_POINTS = 257  # of a terrain's side
MOST_TRIANGLES = 200_000
MOST_THINGS = 20_000
MOST_KNOTS = 2000


@functools.lru_cache(maxsize=16)
def scenery_of(world: str) -> dict[str, Any]:
    """Plain data of a world by its name in an order."""
    return drawn(ordered_world(world))


def drawn(world: World) -> dict[str, Any]:
    """Plain data of a world: terrain, obstacles, water, pads, moving objects, and a list of what is left out."""
    left_out: list[str] = []
    things: list[dict[str, Any]] = []
    triangles = 0
    for obstacle in world.obstacles:
        triangles += len(obstacle.triangles) if isinstance(obstacle, Mesh) else 0
        if len(things) >= MOST_THINGS or triangles > MOST_TRIANGLES:
            left_out.append(obstacle.name)
        else:
            things.append(_thing(obstacle))
    pads = [
        {"north": pad.north_m, "east": pad.east_m, "radius": pad.radius_m, "colour": _colour(pad.material),
         "height": float(world.height_at(pad.north_m, pad.east_m)), "mover": pad.mover}
        for pad in world.pads
    ]  # fmt: skip
    water = {"height": world.water.height_m, "colour": _colour(world.water.material)} if world.water else None
    return {
        "title": world.title or world.name, "ground": _ground(world.ground), "things": things, "water": water,
        "pads": pads, "movers": [_mover(mover) for mover in world.movers], "sky": _screen(world.light.sky),
        "visibility": world.light.visibility_m, "left_out": left_out[:20],
    }  # fmt: skip


def _ground(ground: Plane | Heightfield) -> dict[str, Any]:
    if isinstance(ground, Plane):
        return {
            "height": ground.height_m, "slope": [ground.slope_north, ground.slope_east],
            "colour": _colour(ground.material),
        }  # fmt: skip
    rows, columns = ground.heights_m.shape
    at = [
        np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(int)) for count in (rows, columns)
    ]
    return {
        "north": np.round(ground.north_m + ground.spacing_north_m * at[0], 3).tolist(),
        "east": np.round(ground.east_m + ground.spacing_east_m * at[1], 3).tolist(),
        "heights": _packed_heights(ground.heights_m[np.ix_(at[0], at[1])]), "colour": _colour(ground.material),
    }  # fmt: skip


def _packed_heights(heights_m: np.ndarray) -> dict[str, Any]:
    """Heights row by row as base64 of 16-bit numbers, with the scale and offset that give metres."""
    low, high = float(heights_m.min()), float(heights_m.max())
    scale, offset = max((high - low) / 65000, 1e-4), (high + low) / 2
    steps = np.round((heights_m - offset) / scale).astype("<i2")
    return {"scale": scale, "offset": offset, "bdata": base64.b64encode(steps.tobytes()).decode()}


def _thing(shape: Obstacle) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": shape.name, "p": np.round(shape.p_N_m, 4).tolist(), "R": np.round(shape.R_NB.T.ravel(), 6).tolist(),
        "colour": _colour(shape.material),
    }  # fmt: skip
    if isinstance(shape, Box):
        return data | {"kind": "box", "size": list(shape.size_m)}
    if isinstance(shape, Cylinder):
        return data | {"kind": "cylinder", "size": [shape.radius_m, shape.radius_m, shape.height_m]}
    if isinstance(shape, Sphere):
        return data | {"kind": "sphere", "size": [shape.radius_m] * 3}
    vertices = np.round(shape.vertices_m, 4).ravel().tolist()
    return data | {
        "kind": "mesh",
        "size": [1.0] * 3,
        "vertices": vertices,
        "triangles": shape.triangles.ravel().tolist(),
    }


def _mover(mover: Mover) -> dict[str, Any]:
    sway = mover.sway
    rows = np.unique(np.linspace(0, len(mover.times_s) - 1, min(len(mover.times_s), MOST_KNOTS)).round().astype(int))
    return {
        "name": mover.name, "shape": _thing(mover.shape), "times": mover.times_s[rows].tolist(), "repeat": mover.repeat,
        "places": mover.positions_m[rows].tolist(), "turns": mover.euler_rad[rows].tolist(),
        "sway": [sway.period_s, sway.heave_m, sway.roll_rad, sway.pitch_rad] if sway is not None else None,
    }  # fmt: skip


def _colour(material: Material) -> str:
    """The mean of both colours of a checkerboard."""
    colours = np.array([material.colour, material.colour_2 if material.checker_m > 0.0 else material.colour])
    return _screen(colours.mean(axis=0))


def _screen(linear: Any) -> str:
    """Linear light as sRGB (IEC 61966-2-1), in hexadecimal digits."""
    light = np.clip(np.asarray(linear, float), 0.0, 1.0)
    shown = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * part):02x}" for part in shown)
