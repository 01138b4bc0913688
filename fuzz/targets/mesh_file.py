"""Meshes of others: the first byte says which format the rest is."""

from __future__ import annotations

from pathlib import Path

from fuzz.target import Refused, attempt
from ironbird.errors import WorldError
from ironbird.world.imports import MESHES, parse
from ironbird.world.model import Mesh

WORDS = (
    "v 1 2 3\n", "v -1 0 0\n", "f 1 2 3\n", "f -1 -2 -3\n", "f 1/1/1 2/2 3//3 4\n", "solid a\n", "facet normal 0 0 1\n", "vertex 0 0 0\n",
    b"glTF\x02\0\0\0", b"JSON", b"BIN\0", '{"asset": {"version": "2.0"}', '"nodes": [{"mesh": 0}]', '"children": [0]', '"meshes": [',
    '"primitives": [{"attributes": {"POSITION": 0}}]', '"accessors": [', '"bufferViews": [', '"buffers": [', '"uri": "data:;base64,AAAA"',
    '"componentType": 5126', '"count": 3', '"type": "VEC3"', '"byteStride": 1', '"byteOffset": -1', "nan", "1e999", "-0",
)  # fmt: skip
ENDINGS = tuple(MESHES)
PATHS = {ending: Path(f"m{ending}") for ending in ENDINGS}


def check(data: bytes) -> None:
    """Accepted or refused in words; what is accepted may still be no mesh, and says so."""
    ending = ENDINGS[data[0] % len(ENDINGS)] if data else ".obj"
    found = attempt(parse, data[1:], PATHS[ending], MESHES[ending], "mesh")
    if isinstance(found, Refused):
        return
    try:
        Mesh("m", (0.0, 0.0, 0.0), vertices_m=found[0], triangles=found[1])
    except WorldError:
        return
