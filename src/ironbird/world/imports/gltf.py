"""glTF 2.0, binary (.glb) and text (.gltf): triangles of all meshes in the scene, with the poses of their nodes.

Read are positions and indices of triangle primitives. Not read: lines, points, strips and fans, skins, animations,
morph targets, sparse or compressed accessors (Draco, meshopt), materials and pictures. Buffers are in the file or
beside it; no address is ever fetched. Source: Khronos, glTF 2.0 specification.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.files.problems import read_bytes
from ironbird.rotations import matrix
from ironbird.world.model import MOST_TRIANGLES

TYPES: dict[int, np.dtype] = {
    5121: np.dtype("<u1"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
DEEPEST = 64  # limit for nested nodes
MOST_NODES = 100_000


def read_gltf(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles in the axes of the scene: y up."""
    binary = None
    if data[:4] == b"glTF":
        chunks = _chunks(data)
        if not chunks or chunks[0][0] != 0x4E4F534A:
            raise WorldError("the first chunk is not JSON; export it again")
        text = chunks[0][1]
        binary = next((content for kind, content in chunks[1:] if kind == 0x004E4942), None)
    else:
        text = data
    document = json.loads(text)
    if not isinstance(document, dict) or str(document.get("asset", {}).get("version", "")).split(".")[0] != "2":
        raise WorldError("this is no glTF of version 2; export it as glTF 2.0")
    if needs := document.get("extensionsRequired"):
        raise WorldError(f"it needs {shortened(needs)}; export it without compression or extensions")
    return _Reader(document, binary, path).scene()


def _chunks(data: bytes) -> list[tuple[int, bytes]]:
    _, version, length = struct.unpack_from("<III", data)
    if version != 2 or length > len(data):
        raise WorldError(f"version {version} with {length} bytes of {len(data)}: not a whole glTF 2")
    chunks, place = [], 12
    while place + 8 <= length:
        size, kind = struct.unpack_from("<II", data, place)
        if place + 8 + size > length:
            raise WorldError("a chunk reaches over the end of the file; it is cut off")
        chunks.append((kind, data[place + 8 : place + 8 + size]))
        place += 8 + size
    return chunks


class _Reader:
    """Reader of one glTF document and its buffers."""

    def __init__(self, document: dict[str, Any], binary: bytes | None, path: Path) -> None:
        self.document, self.binary, self.path = document, binary, path
        self.buffers: dict[int, bytes] = {}
        self.vertices: list[np.ndarray] = []
        self.triangles: list[np.ndarray] = []
        self.count = self.size = self.visited = 0

    def scene(self) -> tuple[np.ndarray, np.ndarray]:
        scenes = self.document.get("scenes")
        if scenes:
            roots = self._at("scenes", self.document.get("scene", 0)).get("nodes", [])
        else:
            roots = range(len(self.document.get("nodes", [])))
        for root in roots:
            self._node(root, np.eye(4), 0)
        if not self.triangles:
            return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        return np.concatenate(self.vertices), np.concatenate(self.triangles)

    def _at(self, what: str, number: Any) -> dict[str, Any]:
        entries = self.document.get(what, [])
        if not isinstance(number, int) or not 0 <= number < len(entries):
            raise WorldError(f"{what}[{shortened(number)}] is named but not there; there are {len(entries)}")
        entry: dict[str, Any] = entries[number]
        return entry

    def _node(self, number: int, above: np.ndarray, depth: int) -> None:
        self.visited += 1
        if depth > DEEPEST or self.visited > MOST_NODES:
            raise WorldError(f"nodes are nested deeper than {DEEPEST}, or in a ring; flatten the scene")
        node = self._at("nodes", number)
        own = np.eye(4)
        if "matrix" in node:
            own = np.array(node["matrix"], float).reshape(4, 4).T  # stored by columns
        else:
            x, y, z, w = (float(v) for v in node.get("rotation", (0, 0, 0, 1)))
            own[:3, :3] = matrix((w, x, y, z)) * np.array(node.get("scale", (1, 1, 1)), float)
            own[:3, 3] = np.array(node.get("translation", (0, 0, 0)), float)
        total = above @ own
        if "mesh" in node:
            for primitive in self._at("meshes", node["mesh"])["primitives"]:
                self._primitive(primitive, total)
        for child in node.get("children", []):
            self._node(child, total, depth + 1)

    def _primitive(self, primitive: dict[str, Any], pose: np.ndarray) -> None:
        if primitive.get("mode", 4) != 4:
            raise WorldError(f"primitives of mode {primitive['mode']} are not triangles; export triangles")
        places = self._accessor(primitive["attributes"]["POSITION"], 3).astype(float)
        if "indices" in primitive:
            corners = self._accessor(primitive["indices"], 1).astype(np.int64).reshape(-1)
        else:
            corners = np.arange(len(places))
        if len(corners) % 3 or (len(corners) and int(corners.max()) >= len(places)):
            raise WorldError(f"{len(corners)} indices into {len(places)} positions are no triangles; export it again")
        rows = corners.reshape(-1, 3)
        if np.linalg.det(pose[:3, :3]) < 0:
            rows = rows[:, ::-1]  # a mirror transformation reverses triangles
        self.vertices.append(places @ pose[:3, :3].T + pose[:3, 3])
        self.triangles.append(rows + self.count)
        self.count += len(places)
        self.size += len(rows)
        if self.size > MOST_TRIANGLES or self.count > MOST_TRIANGLES:
            raise WorldError(f"more than {MOST_TRIANGLES} triangles; decimate the mesh")

    def _accessor(self, number: int, width: int) -> np.ndarray:
        accessor = self._at("accessors", number)
        if "sparse" in accessor or "bufferView" not in accessor:
            raise WorldError("sparse or empty accessors are not read; export it without")
        if accessor.get("type") != {1: "SCALAR", 3: "VEC3"}[width] or accessor.get("componentType") not in TYPES:
            raise WorldError(f"accessor {number} has {accessor.get('componentType')} {accessor.get('type')}")
        view = self._at("bufferViews", accessor["bufferView"])
        buffer = self._buffer(view["buffer"])
        kind, count = TYPES[accessor["componentType"]], int(accessor["count"])
        item = kind.itemsize * width
        start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        step = int(view.get("byteStride", item))
        if not 0 <= count <= 3 * MOST_TRIANGLES or step < item or start < 0:
            raise WorldError(f"accessor {number} has {count} entries of {item} bytes every {step}; it is broken")
        if count and start + step * (count - 1) + item > len(buffer):
            raise WorldError(f"accessor {number} reaches over the end of its buffer of {len(buffer)} bytes")
        return np.ndarray((count, width), kind, buffer, start, (step, kind.itemsize))

    def _buffer(self, number: int) -> bytes:
        if number not in self.buffers:
            uri = self._at("buffers", number).get("uri")
            if uri is None:
                if self.binary is None:
                    raise WorldError(f"buffer {number} has no content; export it with its buffers")
                self.buffers[number] = self.binary
            elif uri.startswith("data:"):
                try:
                    self.buffers[number] = base64.b64decode(uri.partition(",")[2], validate=True)
                except binascii.Error as error:
                    raise WorldError(f"buffer {number} is not base64: {error}") from None
            else:
                self.buffers[number] = self._beside(uri)
        return self.buffers[number]

    def _beside(self, uri: str) -> bytes:
        if "/" in uri or "\\" in uri or ":" in uri or uri in ("", ".", ".."):
            raise WorldError(f"its buffer '{shortened(uri)}' is not a file beside it; put it into the same folder")
        try:
            return read_bytes(self.path.parent / uri, 2**28)
        except OSError as error:
            raise WorldError(f"its buffer '{shortened(uri)}' cannot be read: {error.strerror}") from None
