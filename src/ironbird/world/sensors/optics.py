"""Base of cameras: projection of points to the image, and the ray of each pixel.

Pinhole with the distortion of D. C. Brown (1966) and A. E. Conrady (1919), in the form and with the names of OpenCV
(k1, k2, p1, p2, k3). Picture coordinates: u to the right, v down, the middle of the first pixel at (0, 0); so the
middle of the picture is at ((width - 1) / 2, (height - 1) / 2). The optical axis is the sensor's forward axis.
Not modelled: fish-eye lenses, focus, lens flare, chromatic aberration.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from ironbird.errors import WorldError
from ironbird.world.native import sine_cosine
from ironbird.world.rays import Hits
from ironbird.world.sensors.sensor import Data, Sensor, Sight

MOST_PIXELS = 4_000_000
Coefficient = Annotated[float, Field(ge=-10, le=10)]
ROUNDS = 20  # iterations of the search for the ray of a pixel


class PictureSensor(Sensor):
    """Base of sensors with pixels."""

    width: Annotated[int, Field(ge=2, le=8192)] = 640
    height: Annotated[int, Field(ge=2, le=8192)] = 480
    field_of_view_deg: Annotated[float, Field(gt=0.1, lt=170)] = 90.0  # across the width, without distortion
    k1: Coefficient = 0.0
    k2: Coefficient = 0.0
    p1: Coefficient = 0.0
    p2: Coefficient = 0.0
    k3: Coefficient = 0.0
    readout_s: Annotated[float, Field(ge=0, le=1)] = 0.0  # s, rolling shutter: from the first line to the last
    max_m: Annotated[float, Field(gt=0, le=1e6)] = 1e5

    @model_validator(mode="after")
    def _fits(self) -> PictureSensor:
        if self.width * self.height > MOST_PIXELS:
            raise ValueError(f"{self.width} x {self.height} pixels; the most is {MOST_PIXELS}")
        return self

    @property
    def span_s(self) -> float:
        """Read-out time in s from the first line to the last."""
        return self.readout_s

    @property
    def focal_px(self) -> float:
        """Focal length in pixels."""
        sine, cosine = sine_cosine(np.array([math.radians(self.field_of_view_deg) / 2]))
        return float(self.width / 2 * cosine[0] / sine[0])

    @property
    def centre_px(self) -> tuple[float, float]:
        """Pixel coordinates of the optical axis."""
        return (self.width - 1) / 2, (self.height - 1) / 2

    def distorted(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position after lens distortion of a pinhole's x (right), y (down), in focal lengths."""
        r2 = x * x + y * y
        radial = 1 + r2 * (self.k1 + r2 * (self.k2 + r2 * self.k3))
        return (
            x * radial + 2 * self.p1 * x * y + self.p2 * (r2 + 2 * x * x),
            y * radial + self.p1 * (r2 + 2 * y * y) + 2 * self.p2 * x * y,
        )

    def project(self, points_S_m: np.ndarray) -> np.ndarray:
        """Pixels (n, 2) of points in the sensor's axes; NaN behind the camera."""
        points = np.asarray(points_S_m, float)
        ahead = np.where(points[:, 0] > 0, points[:, 0], np.nan)
        x, y = self.distorted(points[:, 1] / ahead, points[:, 2] / ahead)
        u0, v0 = self.centre_px
        return np.stack([self.focal_px * x + u0, self.focal_px * y + v0], axis=-1)

    @functools.cached_property
    def _directions(self) -> np.ndarray:
        """Unit vectors of all pixels, line by line (n, 3)."""
        u0, v0 = self.centre_px
        right = (np.arange(self.width) - u0)[None, :] / self.focal_px + np.zeros((self.height, 1))
        down = (np.arange(self.height) - v0)[:, None] / self.focal_px + np.zeros((1, self.width))
        x, y = self.undistorted(right.reshape(-1), down.reshape(-1))
        length = np.sqrt(1 + x * x + y * y)
        return np.stack([1 / length, x / length, y / length], axis=-1)

    def undistorted(self, right: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of `distorted`, by Newton's method; raises if the lens folds the image."""
        x, y = right, down
        if not any((self.k1, self.k2, self.p1, self.p2, self.k3)):
            return x, y
        for _ in range(ROUNDS):
            r2 = x * x + y * y
            radial = 1 + r2 * (self.k1 + r2 * (self.k2 + r2 * self.k3))
            slope = 2 * (self.k1 + r2 * (2 * self.k2 + r2 * 3 * self.k3))
            xx = radial + slope * x * x + 2 * self.p1 * y + 6 * self.p2 * x
            xy = slope * x * y + 2 * self.p1 * x + 2 * self.p2 * y
            yy = radial + slope * y * y + 6 * self.p1 * y + 2 * self.p2 * x
            whole = xx * yy - xy * xy
            whole = np.where(np.abs(whole) < 1e-3, 1e-3, whole)
            now_x, now_y = self.distorted(x, y)
            off_x, off_y = right - now_x, down - now_y
            x, y = x + (yy * off_x - xy * off_y) / whole, y + (xx * off_y - xy * off_x) / whole
        back_x, back_y = self.distorted(x, y)
        off = float(np.hypot(back_x - right, back_y - down).max()) * self.focal_px
        if not off < 1e-6:  # also NaN
            raise WorldError(
                f"camera '{self.name}': the distortion folds the picture (a pixel cannot be traced back, {off:.3g} px "
                "off); make k1, k2, k3 smaller or the field of view narrower"
            )
        return x, y

    def look(self, sight: Sight, later_s: float = 0.0) -> tuple[np.ndarray, np.ndarray, Hits]:
        """Rays of all pixels and their hits; each line at its own time with a rolling shutter."""
        start = sight.time_s + later_s
        times: Any = start
        if self.readout_s > 0:
            times = start + self.readout_s * np.arange(self.height) / (self.height - 1)
        origins, directions = self.rays(sight, self._directions, times)
        return origins, directions, sight.scene.cast(origins, directions, self.max_m, skip=sight.skip)

    def blinded(self, data: Data) -> Data:
        """The sample as a black image."""
        return {key: np.zeros_like(value) for key, value in data.items()}

    def occluded(self, data: Data, share: float) -> Data:
        """The image with the upper share of the lines hidden."""
        out = {key: value.copy() for key, value in data.items()}
        for value in out.values():
            value[: math.ceil(share * self.height)] = 0
        return out
