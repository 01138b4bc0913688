"""Makes the heights of the world `mountain`: src/ironbird/world/worlds/mountain.png, 201 by 201 points of 16 bits.

A synthetic mountain, no real place: folded waves (ridges) that fall by half with each octave, a peak in the north-west,
and a level meadow around the middle, where vehicles start at height 0.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ironbird.world.png import write_png

PICTURE = Path(__file__).parents[1] / "src" / "ironbird" / "world" / "worlds" / "mountain.png"
LOW_M, HIGH_M = -300.0, 1010.7  # 2 cm to a step of 16 bits; the world file says the same
POINTS, SPACING_M = 201, 25.0


def heights_m() -> np.ndarray:
    """Rows from north to south, columns from west to east."""
    place = (np.arange(POINTS) - (POINTS - 1) / 2) * SPACING_M
    north, east = -place[:, None], place[None, :]
    random = np.random.Generator(np.random.Philox(46))
    ridges = np.zeros((POINTS, POINTS))
    for octave in range(6):
        fold = np.zeros((POINTS, POINTS))
        for _ in range(3):
            angle, phase = random.uniform(0, 2 * math.pi, 2)
            k = 2 * math.pi * 2.0**octave / 3500.0
            fold += np.sin(k * (math.cos(angle) * north + math.sin(angle) * east) + phase)
        ridges += 0.5**octave * (1 - np.abs(fold) / 1.5)
    away = np.hypot(north - 1300.0, east + 1100.0)
    heights = 900.0 * np.exp(-((away / 1100.0) ** 2)) + 130.0 * ridges
    centre = POINTS // 2
    heights -= heights[centre, centre]
    meadow = np.clip(np.hypot(north, east) / 150.0 - 1.0, 0.0, 1.0)
    return heights * meadow * meadow * (3 - 2 * meadow)


def main() -> None:
    """Write the picture."""
    heights = heights_m()
    print(f"{heights.min():.1f} to {heights.max():.1f} m, in {LOW_M:g} to {HIGH_M:g}")
    share = np.clip((heights - LOW_M) / (HIGH_M - LOW_M), 0.0, 1.0)
    level = round(-LOW_M / (HIGH_M - LOW_M) * 65535)
    picture = np.round(share * 65535).astype(np.uint16)
    assert picture[POINTS // 2, POINTS // 2] == level
    PICTURE.write_bytes(write_png(picture))


if __name__ == "__main__":
    main()
