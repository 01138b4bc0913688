"""Heights in rows of numbers, separated by commas or blanks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ironbird.errors import WorldError
from ironbird.world.imports.tile import Tile


def read_csv(data: bytes, path: Path) -> Tile:
    """A grid of heights without a position; the first row is the north edge."""
    rows = [line.replace(",", " ").split() for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1:
        raise WorldError(f"its rows have {widths[:2] or 'no'} numbers; give each row as many")
    return Tile(np.array(rows, dtype=float))
