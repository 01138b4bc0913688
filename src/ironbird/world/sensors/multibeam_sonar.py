"""A multi-beam sonar: a fan of sound beams across the track, down to the sea floor."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import EchoSensor, ray_of
from ironbird.world.sensors.sensor import Data, Sight, Three


class MultibeamSonar(EchoSensor):
    """`beams` over `swath_deg`, from left to right across the sensor's forward axis, which looks down.

    Beams are straight lines: no refraction by layers of the water. A sonar above the water receives nothing. Fog and
    rain are without meaning; a wrong speed of sound is `scale_error`.
    """

    euler_deg: Three = [0.0, -90.0, 0.0]
    beams: Annotated[int, Field(ge=2, le=1024)] = 128
    swath_deg: Annotated[float, Field(gt=0, le=170)] = 120.0
    reflectance_at_max: Annotated[float, Field(ge=0, le=1)] = 0.02
    sees_water: bool = False

    def angles_rad(self) -> np.ndarray:
        """Angles of the beams in rad, from straight ahead to the right."""
        return np.radians(np.linspace(-self.swath_deg / 2, self.swath_deg / 2, self.beams))

    def measure(self, sight: Sight) -> Data:
        """Range in m of each beam (`range_m`)."""
        angle = self.angles_rad()
        rays = ray_of(angle, np.zeros_like(angle))
        origins, directions = self.rays(sight, rays, sight.time_s)
        water = sight.scene.world.water
        if water is None or -origins[0, 2] > water.height_m:
            nothing = np.full(self.beams, np.nan)
            return {"range_m": nothing, "intensity": np.zeros(self.beams)}
        hits = sight.scene.cast(origins, directions, self.max_m, skip=sight.skip, water=False)
        up = directions[:, 2] < 0  # beams that leave the water are reflected by its surface
        surface = np.where(up, (water.height_m + origins[:, 2]) / np.where(up, -directions[:, 2], 1.0), np.inf)
        cosine = np.abs(np.einsum("ij,ij->i", hits.normal, directions))
        intensity = np.where(surface < hits.range_m, 1.0, sight.scene.reflectance(hits) * cosine)
        ranges = np.minimum(hits.range_m, surface)
        there = ((hits.object >= 0) | (surface < self.max_m)) & (ranges >= self.min_m)
        there &= intensity >= self.reflectance_at_max * (ranges / self.max_m) ** 2
        return {
            "range_m": self.spoilt(sight, np.where(there, ranges, np.nan)),
            "intensity": np.where(there, intensity, 0.0),
        }
