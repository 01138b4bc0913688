"""Grey images as heights: black is low, white is high; 8 or 16 bits."""

from __future__ import annotations

from pathlib import Path

from ironbird.world.imports.tile import Tile
from ironbird.world.png import read_png


def read_png_grid(data: bytes, path: Path) -> Tile:
    """Heights from 0 to 1; the first channel of a colour image."""
    pixels, most = read_png(data)
    return Tile(pixels[:, :, 0] / most, picture=True)
