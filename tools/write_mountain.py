"""Makes the elevation tile of the world `mountain`: src/ironbird/world/worlds/mountain.tif, 65 by 81 heights.

The heights are SRTM3 data (3 arc seconds, whole metres; NASA JPL and USGS, public domain) of the Cumberland Mountains
near Jellico, Tennessee. They come from the sample data of Matplotlib, file `jacksboro_fault_dem.npz`; whoever put it
there states "some SRTM elevation data (public domain)" (github.com/matplotlib/matplotlib/pull/3291). This tool cuts a
part out and changes no height. Usage: python tools/write_mountain.py FOLDER/jacksboro_fault_dem.npz
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path

import numpy as np
import tifffile

TILE = Path(__file__).parents[1] / "src" / "ironbird" / "world" / "worlds" / "mountain.tif"
SHA256 = "d493f50a33e82a4420494c54d1fca1539d177bdc27ab190bc5fe6e92f62fb637"  # of the file that was cut
ROW, COLUMN = 172, 238  # of the middle: a level place in the valley
ROWS, COLUMNS = 32, 40  # on each side of it
GEOGRAPHIC, PIXEL_IS_POINT, WGS84 = 2, 2, 4326
DOUBLE, SHORT = "d", "H"


def cut(data: bytes) -> tuple[np.ndarray, float, float, float]:
    """Heights, latitude and longitude of the first of them, and the step, in degrees."""
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit("this is not the file that the world was made of: its SHA-256 is another one")
    with np.load(io.BytesIO(data)) as dem:
        heights, step = dem["elevation"], float(dem["dy"])
        # Its limits are those of pixels, and its "ymin" is the north edge: rows go from north to south
        north, west = float(dem["ymin"]) - step / 2, float(dem["xmin"]) + step / 2
    first, left = ROW - ROWS, COLUMN - COLUMNS
    part = heights[first : ROW + ROWS + 1, left : COLUMN + COLUMNS + 1]
    return part, north - first * step, west + left * step, step


def main() -> None:
    """Write the tile as GeoTIFF."""
    heights, north, west, step = cut(Path(sys.argv[1]).read_bytes())
    keys = (1, 1, 0, 3, 1024, 0, 1, GEOGRAPHIC, 1025, 0, 1, PIXEL_IS_POINT, 2048, 0, 1, WGS84)
    tags = [
        (33550, DOUBLE, 3, (step, step, 0.0), True),
        (33922, DOUBLE, 6, (0.0, 0.0, 0.0, west, north, 0.0), True),
        (34735, SHORT, len(keys), keys, True),
    ]
    tifffile.imwrite(
        TILE, heights.astype("<i2"), photometric="minisblack", compression="zlib", metadata=None, software=False,
        extratags=tags, rowsperstrip=len(heights),
    )  # fmt: skip
    print(f"{heights.shape} heights, {heights.min()} to {heights.max()} m, {north:.6f} N {west:.6f} E, {TILE.name}")


if __name__ == "__main__":
    main()
