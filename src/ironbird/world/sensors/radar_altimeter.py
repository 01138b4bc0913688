"""A radar altimeter: a wide beam downwards that measures the nearest ground or water in it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import EchoSensor, cone
from ironbird.world.sensors.sensor import Data, Sight, Three


class RadarAltimeter(EchoSensor):
    """The leading edge of the echo: the range at which a share `power` of the beam's rays have answered (assumed).

    Rain and fog have no effect: only reflectance and range count, and water reflects well whatever its colour.
    """

    euler_deg: Three = [0.0, -90.0, 0.0]
    beam_deg: Annotated[float, Field(gt=0, le=120)] = 40.0
    max_m: Annotated[float, Field(gt=0, le=1e5)] = 1500.0
    min_m: Annotated[float, Field(ge=0, le=1e5)] = 0.3
    power: Annotated[float, Field(gt=0, le=1)] = 0.05

    def measure(self, sight: Sight) -> Data:
        """Range in m as one number (`range_m`)."""
        rays = cone(np.radians(self.beam_deg) / 2, 6)
        origins, directions = self.rays(sight, rays, sight.time_s)
        hits = sight.scene.cast(origins, directions, self.max_m, skip=sight.skip)
        ranges = np.sort(hits.range_m[(hits.object >= 0) & (hits.range_m >= self.min_m)])
        needed = int(np.ceil(self.power * len(rays)))
        return {"range_m": self.spoilt(sight, np.array([ranges[needed - 1] if len(ranges) >= needed else np.nan]))}
