"""STL, binary and text: triangles one by one; equal corners become one vertex."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from ironbird.errors import WorldError
from ironbird.world.model import MOST_TRIANGLES, equal_rows


def read_stl(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) of an STL file."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        if count > MOST_TRIANGLES:
            raise WorldError(f"{count} triangles, the most is {MOST_TRIANGLES}; decimate the mesh")
        rows = np.frombuffer(data, np.dtype([("f", "<f4", 12), ("a", "<u2")]), count, 84)
        corners = rows["f"][:, 3:].astype(float).reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
        numbers = [[float(word) for word in words[1:4]] for words in lines if words[:1] == ["vertex"]]
        corners = np.array(numbers, dtype=float).reshape(-1, 3)
        if len(corners) % 3:
            raise WorldError(f"{len(corners)} corners are no whole triangles; export the mesh again")
    else:
        raise WorldError(f"{len(data)} bytes are neither a text STL nor a binary one of {count} triangles")
    vertices, place = equal_rows(corners)
    return vertices, place.reshape(-1, 3)
