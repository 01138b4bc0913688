"""A ring of outward rangefinders in a plane, as used for collision prevention (OBSTACLE_DISTANCE)."""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import EchoSensor, ray_of
from ironbird.world.sensors.sensor import Data, Sight


class Ring(EchoSensor):
    """`beams` rays in the plane of the sensor, the first forward, clockwise seen from above."""

    beams: Annotated[int, Field(ge=1, le=720)] = 16

    def angles_rad(self) -> np.ndarray:
        """Angles of the beams in rad, from forward to the right."""
        return 2 * np.pi * np.arange(self.beams) / self.beams

    @functools.cached_property
    def _beams(self) -> np.ndarray:
        angle = self.angles_rad()
        return ray_of(angle, np.zeros_like(angle))

    def measure(self, sight: Sight) -> Data:
        """Range in m of each beam (`range_m`)."""
        ranges, intensity = self.echoes(sight, *self.rays(sight, self._beams, sight.time_s))
        return {"range_m": self.spoilt(sight, ranges), "intensity": intensity}
