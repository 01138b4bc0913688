"""Gazebo worlds; includes, meshes and heightmaps are not there."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of
from ironbird.world.files import load_world

WORDS = (
    '<sdf version="1.9">', "</sdf>", '<world name="w">', "</world>", '<model name="m">', "</model>", '<link name="l">', "</link>",
    '<collision name="c">', "</collision>", "<geometry>", "</geometry>", "<box><size>1 2 3</size></box>", "<pose>1 2 3 0 0 1</pose>",
    "<cylinder><radius>1</radius><length>2</length></cylinder>", "<sphere><radius>1</radius></sphere>", "<plane><normal>0 0 1</normal></plane>",
    "<mesh><uri>a.obj</uri></mesh>", "<heightmap><uri>a.png</uri></heightmap>", "<include><uri>model://a</uri></include>", "<!DOCTYPE a>",
    '<!ENTITY a "b">', "&a;", "nan", "1e999", '<actor name="a">', "</actor>", "<script>", "<trajectory>", "<waypoint>", "<time>1</time>",
)  # fmt: skip


def check(data: bytes) -> None:
    """Accepted or refused in words."""
    world = attempt(load_world, file_of(data, "w.sdf"))
    if not isinstance(world, Refused):
        assert len(world.digest) == 64
