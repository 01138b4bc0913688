"""A rangefinder in any direction: laser, ultrasonic or infrared, one beam."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import EchoSensor, cone
from ironbird.world.sensors.sensor import Data, Sight


class Rangefinder(EchoSensor):
    """The nearest echo within a cone of `beam_deg` (full width; 0 is one ray)."""

    beam_deg: Annotated[float, Field(ge=0, le=120)] = 0.0

    def measure(self, sight: Sight) -> Data:
        """Range in m as one number (`range_m`)."""
        rays = cone(np.radians(self.beam_deg) / 2, 3) if self.beam_deg > 0 else np.array([[1.0, 0.0, 0.0]])
        ranges, _ = self.echoes(sight, *self.rays(sight, rays, sight.time_s))
        echoes = ranges[~np.isnan(ranges)]
        return {"range_m": self.spoilt(sight, np.array([echoes.min() if len(echoes) else np.nan]))}
