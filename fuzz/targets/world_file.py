"""World files in TOML; what is accepted can be seen by rays."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then, source_of
from ironbird.world.files import load_world, world_of
from ironbird.world.model import World
from ironbird.world.rays import Scene

WORDS = (
    "schema = 1\n", "[terrain]\n", 'kind = "plane"\n', 'kind = "hills"\n', 'kind = "grid"\n', "height_m = ", "size_m = ",
    "spacing_m = ", "heights_m = [[1, 2], [3, 4]]\n", "[water]\n", "[light]\n", "[material.a]\n", "[[box]]\n", "[[cylinder]]\n",
    "[[sphere]]\n", "[[mesh]]\n", 'file = "a.obj"\n', "[[scatter]]\n", "[[pad]]\n", "[[mover]]\n", "[mover.box]\n", "path = [[0, 0, 0, 0, 0]]\n",
    'name = "a"\n', "radius_m = ", "tall_m = ", "north_m = ", "yaw_deg = ", 'above = "origin"\n', "nan", "inf", "-", "1e308", "0.0",
    "[1, 2, 3]", "count = 3\n", "extent_m = 9\n", "marker = 7\n", 'mover = "a"\n', "seed = 1\n",
)  # fmt: skip
MOST = 4096
MOST_THINGS = 300  # of a world that is built within the time of an input


FORMAT = "toml"
_look = now_and_then(64)


def check(data: bytes) -> bool | None:
    """Accepted or refused in words."""
    if b"spacing" in data:
        data = data.replace(b"hills", b"grid")  # a large landscape is allowed, and slow
    world = attempt(load_world, file_of(data, "world.toml"))
    if isinstance(world, Refused):
        return world.at != "load_world"
    look(world)
    return None


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib; small worlds."""
    world = attempt(world_of, source_of(_small(table), "world.toml"))
    if not isinstance(world, Refused) and _look():
        look(world)
    return None


def _small(table: dict[str, Any]) -> dict[str, Any]:
    """Without what takes seconds to build: hills with a spacing, many things."""
    terrain, scatter = table.get("terrain"), table.get("scatter")
    if isinstance(terrain, dict) and terrain.get("kind") == "hills" and "spacing_m" in terrain:
        table = {**table, "terrain": {**terrain, "kind": "grid"}}
    if isinstance(scatter, list):
        table = {**table, "scatter": [_few(entry) for entry in scatter]}
    return table


def _few(entry: Any) -> Any:
    count = entry.get("count") if isinstance(entry, dict) else None
    return {**entry, "count": count % MOST_THINGS} if isinstance(count, int) and count > MOST_THINGS else entry


def look(world: World) -> None:
    """Refuse a world that cannot be seen."""
    if len(world.obstacles) > MOST_THINGS:
        return
    assert len(world.digest) == 64
    hits = Scene(world).cast([[0.0, 0.0, -1.0], [3.0, 2.0, -50.0]], [[0.6, 0.0, 0.8], [0.0, 0.6, 0.8]])
    assert (hits.range_m >= 0).all()
