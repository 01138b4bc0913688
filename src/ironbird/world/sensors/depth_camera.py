"""A depth camera: the distance of every pixel along the optical axis."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.echo import nearest
from ironbird.world.sensors.optics import PictureSensor
from ironbird.world.sensors.sensor import Data, Share, Sight


class DepthCamera(PictureSensor):
    """`depth_m` (height, width); 0 where there is none, as products of the kind do.

    The error of stereo and structured light grows with the square of the depth: `noise_at_1m` is its standard deviation
    at 1 m. Not modelled: shadows of the second camera, sunlight, edges that smear.
    """

    UNITS = {"depth_m": "m"}

    min_m: Annotated[float, Field(ge=0, le=1e4)] = 0.2
    max_m: Annotated[float, Field(gt=0, le=1e6)] = 20.0
    noise_at_1m: Annotated[float, Field(ge=0, le=1)] = 0.0
    dropout: Share = 0.0

    def measure(self, sight: Sight) -> Data:
        """Depth image of one sample, in m."""
        _, _, hits = self.look(sight)
        depth = hits.range_m * self._directions[:, 0]
        lost = (hits.object < 0) | (depth < self.min_m)
        if self.noise_at_1m > 0:
            depth = depth + self.noise_at_1m * depth * depth * self.normals(sight, "noise", len(depth))
        if self.dropout > 0:
            lost |= self.uniforms(sight, "dropout", len(depth)) < self.dropout
        return {"depth_m": np.where(lost, 0.0, depth).reshape(self.height, self.width)}

    @property
    def farthest_m(self) -> float:
        """Largest range in m, by its data sheet."""
        return self.max_m

    def nearest_m(self, data: Data) -> float:
        """Smallest depth in m of all pixels, along the optical axis."""
        return nearest(np.where(data["depth_m"] > 0, data["depth_m"], np.nan))
