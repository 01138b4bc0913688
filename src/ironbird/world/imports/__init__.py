"""Readers of meshes, elevation and worlds of other programs, one file per format. They take bytes and run no code.

Meshes come back as vertices and triangles in the axes of the file; elevation as a `Tile`; whole worlds as a `World`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.files.problems import read_bytes
from ironbird.world.imports.csv_grid import read_csv
from ironbird.world.imports.geotiff import read_geotiff
from ironbird.world.imports.gltf import read_gltf
from ironbird.world.imports.hgt import read_hgt
from ironbird.world.imports.obj import read_obj
from ironbird.world.imports.png_grid import read_png_grid
from ironbird.world.imports.stl import read_stl
from ironbird.world.imports.tile import Tile

Made = TypeVar("Made")
BROKEN = (  # exceptions of readers on invalid bytes
    ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, MemoryError, RecursionError,
    struct.error, zlib.error,
)  # fmt: skip
MOST_MESH_BYTES = 256 * 2**20
Triangles = tuple[np.ndarray, np.ndarray]
MESHES: Mapping[str, Callable[[bytes, Path], Triangles]] = {
    ".obj": read_obj, ".gltf": read_gltf, ".glb": read_gltf, ".stl": read_stl,
}  # fmt: skip
GRIDS: Mapping[str, Callable[[bytes, Path], Tile]] = {
    ".hgt": read_hgt, ".tif": read_geotiff, ".tiff": read_geotiff, ".png": read_png_grid, ".csv": read_csv,
}  # fmt: skip


def read_mesh(path: Path) -> Triangles:
    """Vertices (n, 3) and triangles (m, 3) of a mesh file; its ending decides the format."""
    return _read(path, MESHES, "mesh")


def read_grid(path: Path) -> Tile:
    """Heights of an elevation file; its ending decides the format."""
    return _read(path, GRIDS, "elevation grid")


def _read(path: Path, readers: Mapping[str, Callable[[bytes, Path], Made]], what: str) -> Made:
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise WorldError(
            f"{path}: a {what} cannot be read from '{shortened(path.suffix)}'; export it as {', '.join(readers)}"
        )
    try:
        data = read_bytes(path, MOST_MESH_BYTES)
    except OSError as error:
        raise WorldError(f"{path}: the {what} cannot be read: {error.strerror}; put the file there") from None
    return parse(data, path, reader, what)


def parse(data: bytes, path: Path, reader: Callable[[bytes, Path], Made], what: str) -> Made:
    """Read bytes; any problem in them becomes one error."""
    try:
        with np.errstate(all="ignore"):  # overflows are refused where the numbers are used
            return reader(data, path)
    except WorldError as error:
        raise WorldError(f"{path}: {error}") from None
    except BROKEN as error:
        why = shortened(" ".join(str(error).split()) or type(error).__name__, 160)
        raise WorldError(f"{path}: this is no whole {what} ({why}); export it again") from None
