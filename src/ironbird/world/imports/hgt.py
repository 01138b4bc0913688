"""SRTM tiles (.hgt): square grids of 16-bit heights in metres, big-endian, the north-west corner first.

The file name is the south-west corner: N47E008.hgt. Heights are above the EGM96 geoid, taken here as mean sea level.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ironbird.errors import WorldError
from ironbird.world.imports.tile import Tile

VOID = -32768


def read_hgt(data: bytes, path: Path) -> Tile:
    """A tile of one degree; gaps become NaN."""
    match = re.fullmatch(r"([NS])(\d\d)([EW])(\d\d\d)", path.stem.upper())
    if match is None:
        raise WorldError("its name does not say its place; name it like N47E008.hgt")
    side = math.isqrt(len(data) // 2)
    if side < 2 or 2 * side * side != len(data):
        raise WorldError(f"{len(data)} bytes are no square of 16-bit heights; the usual ones have 1201 or 3601 a side")
    south = float(match[2]) * (1 if match[1] == "N" else -1)
    west = float(match[4]) * (1 if match[3] == "E" else -1)
    heights = np.frombuffer(data, ">i2").reshape(side, side).astype(float)
    heights[heights == VOID] = np.nan
    return Tile(heights, south + 1, west, 1 / (side - 1), 1 / (side - 1), degrees=True)
