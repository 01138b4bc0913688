"""Elevation data of others: the first byte says which format the rest is."""

from __future__ import annotations

from pathlib import Path

from fuzz.target import Refused, attempt
from ironbird.world.imports import GRIDS, parse

WORDS = (
    b"\x89PNG\r\n\x1a\n", b"IHDR", b"IDAT", b"IEND", b"II*\0", b"MM\0*", b"\0\x01\x03\0", b"\x11\x01\x04\0", "1,2\n3,4\n", "nan", "1e999",
    b"\x80\0", b"\0\0\0\x02\0\0\0\x02\x08\0\0\0\0", b"\x78\x9c",
)  # fmt: skip
ENDINGS = tuple(GRIDS)


def check(data: bytes) -> None:
    """Accepted or refused in words."""
    ending = ENDINGS[data[0] % len(ENDINGS)] if data else ".csv"
    tile = attempt(parse, data[1:], Path(f"N46E008{ending}"), GRIDS[ending], "elevation grid")
    if not isinstance(tile, Refused):
        assert tile.heights.ndim == 2
