"""Gazebo worlds; includes, meshes and heightmaps are not there."""

from __future__ import annotations

import functools
import random

from fuzz.markup import Markup
from fuzz.target import MOST, Refused, attempt, file_of, in_haste, kept, path_of
from ironbird.world.files import OTHERS, load_world
from ironbird.world.imports import parse

WORDS = (
    '<sdf version="1.9">', "</sdf>", '<world name="w">', "</world>", '<model name="m">', "</model>", '<link name="l">', "</link>",
    '<collision name="c">', "</collision>", "<geometry>", "</geometry>", "<box><size>1 2 3</size></box>", "<pose>1 2 3 0 0 1</pose>",
    "<cylinder><radius>1</radius><length>2</length></cylinder>", "<sphere><radius>1</radius></sphere>", "<plane><normal>0 0 1</normal></plane>",
    "<mesh><uri>a.obj</uri></mesh>", "<heightmap><uri>a.png</uri></heightmap>", "<include><uri>model://a</uri></include>", "<!DOCTYPE a>",
    '<!ENTITY a "b">', "&a;", "nan", "1e999", '<actor name="a">', "</actor>", "<script>", "<trajectory>", "<waypoint>", "<time>1</time>",
)  # fmt: skip
_whole, _look = in_haste(16), in_haste(16)


@functools.cache
def _markup() -> Markup:
    return Markup([path.read_bytes() for path in kept("gazebo_world")], [word.encode() for word in WORDS], MOST)


def make(source: random.Random) -> bytes:
    """Some of them whole documents."""
    return _markup().make(source)


def check(data: bytes) -> bool | None:
    """Accepted or refused in words; few go by a file."""
    if _whole():
        world = attempt(load_world, file_of(data, "w.sdf"))
    else:
        world = attempt(parse, data, path_of("w.sdf"), OTHERS[".sdf"], "world")
    if isinstance(world, Refused):
        return "no whole XML" not in str(world.error)
    if _look():
        assert len(world.digest) == 64
    return None
