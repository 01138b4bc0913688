"""Wavefront OBJ: vertices and faces; groups, normals, textures and materials are passed over."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.world.model import MOST_TRIANGLES


def read_obj(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles; faces with more corners are cut as fans, which is exact for convex ones."""
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "v":
            if len(words) < 4:
                raise WorldError(f"line {number}: a vertex has three numbers, not '{shortened(line.strip())}'")
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            if len(words) < 4:
                raise WorldError(f"line {number}: a face has three corners or more, not '{shortened(line.strip())}'")
            corners = [int(word.split("/", 1)[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            if not all(0 <= corner < len(vertices) for corner in corners):
                raise WorldError(
                    f"line {number}: face '{shortened(line.strip())}' names a vertex that is not there; so far there "
                    f"are {len(vertices)}"
                )
            triangles += [(corners[0], b, c) for b, c in itertools.pairwise(corners[1:])]
            if len(triangles) > MOST_TRIANGLES:
                raise WorldError(f"more than {MOST_TRIANGLES} triangles; decimate the mesh")
    return np.array(vertices, dtype=float).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)
