"""World files in TOML; what is accepted can be seen by rays."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of
from ironbird.world.files import load_world
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


def check(data: bytes) -> None:
    """Accepted or refused in words."""
    if b"spacing" in data and b"hills" in data:
        return  # a large landscape is allowed, and slow
    world = attempt(load_world, file_of(data, "world.toml"))
    if isinstance(world, Refused) or len(world.obstacles) > MOST_THINGS:
        return
    assert len(world.digest) == 64
    hits = Scene(world).cast([[0.0, 0.0, -1.0], [3.0, 2.0, -50.0]], [[0.6, 0.0, 0.8], [0.0, 0.6, 0.8]])
    assert (hits.range_m >= 0).all()
