"""A scanning lidar: rings of beams that turn once for each sample, while the vehicle moves on."""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import EchoSensor, ray_of
from ironbird.world.sensors.sensor import Data, Sight


class ScanningLidar(EchoSensor):
    """`rings` from `low_deg` to `high_deg` above the sensor's plane, `columns` around, clockwise from behind.

    A turn ends at the time of the sample; each column is measured at its own moment, so the points of a moving vehicle
    are distorted. `points_m` are in the axes that the sensor had at the moment of each column, as the product sends
    them.
    """

    UNITS = {"range_m": "m", "intensity": "1", "points_m": "m", "offset_s": "s"}

    rings: Annotated[int, Field(ge=1, le=256)] = 16
    columns: Annotated[int, Field(ge=1, le=4096)] = 900
    low_deg: Annotated[float, Field(ge=-90, le=90)] = -15.0
    high_deg: Annotated[float, Field(ge=-90, le=90)] = 15.0

    def directions(self) -> np.ndarray:
        """Rays in the sensor's axes (rings, columns, 3)."""
        up = np.radians(np.linspace(self.low_deg, self.high_deg, self.rings))[:, None]
        around = (2 * np.pi * (np.arange(self.columns) + 0.5) / self.columns - np.pi)[None, :]
        return ray_of(around, up)

    @functools.cached_property
    def _beams(self) -> np.ndarray:
        return self.directions()

    def measure(self, sight: Sight) -> Data:
        """range_m and intensity (rings, columns), points_m, and the time in s of each column before the sample."""
        rays = self._beams
        offset = (np.arange(1, self.columns + 1) / self.columns - 1.0) / self.rate_hz
        times = np.broadcast_to(sight.time_s + offset, (self.rings, self.columns)).reshape(-1)
        flat = rays.reshape(-1, 3)
        ranges, intensity = self.echoes(sight, *self.rays(sight, flat, times))
        ranges = self.spoilt(sight, ranges)
        shape = (self.rings, self.columns)
        return {
            "range_m": ranges.reshape(shape),
            "intensity": intensity.reshape(shape),
            "points_m": (flat * ranges[:, None]).reshape(*shape, 3),
            "offset_s": offset,
        }
