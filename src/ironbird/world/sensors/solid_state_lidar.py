"""A lidar without moving parts: beams along a pattern from a file."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import numpy as np

from ironbird.errors import UnknownNameError, WorldError
from ironbird.files.problems import read_bytes
from ironbird.world.sensors.echo import EchoSensor, ray_of
from ironbird.world.sensors.sensor import Data, Sight

PATTERNS = Path(__file__).parents[1] / "patterns"
MOST_BEAMS = 200_000


def pattern_names() -> list[str]:
    """Names of the built-in patterns."""
    return sorted(path.stem for path in PATTERNS.glob("*.csv"))


@functools.lru_cache(maxsize=16)
def load_pattern(name: str) -> np.ndarray:
    """Rows of azimuth (right), elevation (up), both in degrees, and share of the frame's time (0 to 1)."""
    path = Path(name) if name.endswith(".csv") else PATTERNS / f"{name}.csv"
    if not name.endswith(".csv") and name not in pattern_names():
        raise UnknownNameError("pattern", name, pattern_names())
    try:
        text = read_bytes(path).decode("utf-8-sig")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        rows = np.array([[float(word) for word in line.split(",")] for line in lines[1:]])
    except OSError as error:
        raise WorldError(f"pattern {path} cannot be read: {error.strerror}; give a CSV file") from None
    except ValueError as error:
        raise WorldError(f"pattern {path}: {error}; give rows of azimuth_deg,elevation_deg,time_share") from None
    if rows.ndim != 2 or rows.shape[1] != 3 or not 1 <= len(rows) <= MOST_BEAMS or not np.isfinite(rows).all():
        raise WorldError(f"pattern {path} has shape {rows.shape}; give 1 to {MOST_BEAMS} rows of three numbers")
    if (np.abs(rows[:, 0]) > 180).any() or (np.abs(rows[:, 1]) > 90).any() or not _rising(rows[:, 2]):
        raise WorldError(f"pattern {path}: azimuth within 180, elevation within 90 degrees, time rising from 0 to 1")
    rows.setflags(write=False)
    return rows


def _rising(share: np.ndarray) -> bool:
    return bool((np.diff(share) >= 0).all() and share[0] >= 0 and share[-1] <= 1)


class SolidStateLidar(EchoSensor):
    """Beams of a pattern, one after the other over a frame that ends at the time of the sample."""

    UNITS = {"range_m": "m", "intensity": "1", "points_m": "m"}

    pattern: str = "rosette"

    def taken(self) -> dict[str, str]:
        """Hash of the scan pattern, by name."""
        return {"pattern_sha256": hashlib.sha256(load_pattern(self.pattern).tobytes()).hexdigest()}

    def measure(self, sight: Sight) -> Data:
        """range_m and intensity of each beam, points_m in the axes at the time of each beam."""
        rows = load_pattern(self.pattern)
        right, up = np.radians(rows[:, 0]), np.radians(rows[:, 1])
        rays = ray_of(right, up)
        times = sight.time_s + (rows[:, 2] - 1.0) / self.rate_hz
        ranges, intensity = self.echoes(sight, *self.rays(sight, rays, times))
        ranges = self.spoilt(sight, ranges)
        return {"range_m": ranges, "intensity": intensity, "points_m": rays * ranges[:, None]}
