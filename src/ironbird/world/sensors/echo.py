"""Base of sensors that measure ranges: which echoes are received, and their errors.

An echo is received if  rho |cos i| exp(-2 a r) >= rho_0 (r / r_max)^2  (lidar equation for a target larger than the
beam: U. Wandinger, Introduction to Lidar, Springer 2005), with reflectance rho, angle of incidence i, extinction a of
fog and rain, and r_max the range in the data sheet for a target of reflectance rho_0. Fog: a = 3.912 / visibility
(Koschmieder); rain: a = 0.22 R^0.6 per km for R in mm/h (form and factor are assumed). Not modelled: several echoes,
beams that spread over edges (only cones of `rangefinder` and `radar_altimeter`), crosstalk, sunlight, mirrors and
glass.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.native import exponential, sine_cosine
from ironbird.world.rays import Hits
from ironbird.world.sensors.sensor import Data, Sensor, Share, Sight


class EchoSensor(Sensor):
    """A sensor whose samples are ranges; NaN is no echo."""

    UNITS = {"range_m": "m", "intensity": "1"}

    min_m: Annotated[float, Field(ge=0, le=1e5)] = 0.1
    max_m: Annotated[float, Field(gt=0, le=1e5)] = 100.0
    reflectance_at_max: Annotated[float, Field(ge=0, le=1)] = 0.1  # 0: every echo is received
    noise_m: Annotated[float, Field(ge=0, le=100)] = 0.0  # standard deviation
    noise_share: Share = 0.0  # share of the range, added to the noise
    resolution_m: Annotated[float, Field(ge=0, le=100)] = 0.0
    dropout: Share = 0.0  # share of echoes that are lost
    rain_mm_per_h: Annotated[float, Field(ge=0, le=300)] = 0.0
    scale_error: Annotated[float, Field(ge=-0.5, le=0.5)] = 0.0  # relative error of the range: a wrong speed of sound
    sees_water: bool = True

    def echoes(self, sight: Sight, origins: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ranges (NaN: none) and intensities (0 to 1: reflectance times cosine) of rays, without errors."""
        hits = sight.scene.cast(origins, directions, self.max_m, skip=sight.skip, water=self.sees_water)
        return self.heard(sight, hits, directions)

    def heard(self, sight: Sight, hits: Hits, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which hits return enough energy, and their intensities."""
        cosine = np.abs(np.einsum("ij,ij->i", hits.normal, directions))
        intensity = sight.scene.reflectance(hits) * cosine
        visibility = sight.scene.world.light.visibility_m
        per_m = (3.912 / visibility if visibility > 0 else 0.0) + 0.22e-3 * self.rain_mm_per_h**0.6
        arrives = intensity * exponential(-2 * per_m * hits.range_m) if per_m > 0 else intensity
        enough = arrives >= self.reflectance_at_max * (hits.range_m / self.max_m) ** 2
        there = (hits.object >= 0) & enough & (hits.range_m >= self.min_m)
        return np.where(there, hits.range_m, np.nan), np.where(there, intensity, 0.0)

    def spoilt(self, sight: Sight, ranges: np.ndarray) -> np.ndarray:
        """Ranges with the errors of the product."""
        count = len(ranges)
        out = ranges * (1 + self.scale_error)
        if self.noise_m > 0 or self.noise_share > 0:
            out = out + self.normals(sight, "noise", count) * (self.noise_m + self.noise_share * out)
        if self.rain_mm_per_h > 0:  # drops near the sensor are hit first: 1 % of the rays in 25 mm/h (assumed)
            chance = self.uniforms(sight, "rain", 2 * count)
            drop = chance[:count] < 4e-4 * self.rain_mm_per_h
            near = self.min_m + chance[count:] * (min(10.0, self.max_m) - self.min_m)
            out = np.where(drop & ~(near > out), near, out)
        if self.resolution_m > 0:
            out = np.round(out / self.resolution_m) * self.resolution_m
        if self.dropout > 0:
            out = np.where(self.uniforms(sight, "dropout", count) < self.dropout, np.nan, out)
        return np.where((out < self.min_m) | (out > self.max_m), np.nan, out)

    @property
    def farthest_m(self) -> float:
        """Largest range in m, by its data sheet."""
        return self.max_m

    def nearest_m(self, data: Data) -> float:
        """Smallest range in m of all rays."""
        return nearest(data["range_m"])

    def blinded(self, data: Data) -> Data:
        """The sample without any echo."""
        blind = _ending(data, np.full_like(data["range_m"], np.nan))
        if "intensity" in data:
            blind["intensity"] = np.zeros_like(data["intensity"])
        return blind

    def occluded(self, data: Data, share: float) -> Data:
        """The sample with the first share of the rays ending directly at the sensor."""
        ranges = data["range_m"].copy()
        hidden = ranges.reshape(-1)
        hidden[: int(np.ceil(share * hidden.size))] = self.min_m
        return _ending(data, ranges)


def _ending(data: Data, ranges_m: np.ndarray) -> Data:
    """A sample with other ranges, and its points moved accordingly; a ray without an echo has no point."""
    changed = dict(data, range_m=ranges_m)
    if "points_m" in data:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(ranges_m == data["range_m"], 1.0, ranges_m / data["range_m"])
        changed["points_m"] = data["points_m"] * share[..., None]
    return changed


def nearest(ranges_m: np.ndarray) -> float:
    """The smallest range in m; NaN if there is none."""
    echoes = ranges_m[~np.isnan(ranges_m)]
    return float(echoes.min()) if echoes.size else math.nan


def cone(half_rad: float, rings: int) -> np.ndarray:
    """Rays forward within a cone: one in the centre, then rings of 6, 12, … at equal angles."""
    rays = [(0.0, 0.0)]
    for ring in range(1, rings + 1):
        rays += [(half_rad * ring / rings, 2 * np.pi * k / (6 * ring)) for k in range(6 * ring)]
    off, around = np.array(rays).T
    (sine, cosine), (right, up) = sine_cosine(off), sine_cosine(around)
    return np.stack([cosine, sine * up, sine * right], axis=-1)


def ray_of(right_rad: np.ndarray, up_rad: np.ndarray) -> np.ndarray:
    """Unit vectors in a sensor's axes at angles to the right and up; the last axis has their components."""
    right, up = np.broadcast_arrays(right_rad, up_rad)
    (sine_right, cosine_right), (sine_up, cosine_up) = sine_cosine(right), sine_cosine(up)
    return np.stack([cosine_up * cosine_right, cosine_up * sine_right, -sine_up], axis=-1)
