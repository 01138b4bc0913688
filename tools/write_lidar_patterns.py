"""Makes the patterns of lidars without turning parts: src/ironbird/world/patterns/*.csv.

`rosette`: a beam that two prisms turn at different rates, 38 degrees wide, which never draws the same line twice in a
frame; `grid`: rows and columns over 120 by 25 degrees, as flash lidars have. Both are made up, after no product's data.
"""

from __future__ import annotations

import math
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "ironbird" / "world" / "patterns"


def rosette(count: int = 4000) -> list[tuple[float, float, float]]:
    """Two circles of equal radius that turn 73 and -41 times in a frame."""
    rows = []
    for k in range(count):
        share = k / count
        a, b = 2 * math.pi * 73 * share, -2 * math.pi * 41 * share
        rows.append((9.6 * (math.cos(a) + math.cos(b)), 9.6 * (math.sin(a) + math.sin(b)), share))
    return rows


def grid(columns: int = 120, lines: int = 26) -> list[tuple[float, float, float]]:
    """Line by line from below."""
    rows = []
    for line in range(lines):
        for column in range(columns):
            share = (line * columns + column) / (lines * columns)
            rows.append((-60 + 120 * (column + 0.5) / columns, -12.5 + 25 * line / (lines - 1), share))
    return rows


def main() -> None:
    """Write both."""
    for name, rows in (("rosette", rosette()), ("grid", grid())):
        text = "azimuth_deg,elevation_deg,time_share\n" + "".join(f"{a:.4f},{e:.4f},{t:.6f}\n" for a, e, t in rows)
        (FOLDER / f"{name}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
