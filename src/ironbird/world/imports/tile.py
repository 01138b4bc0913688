"""A tile of elevation data: heights, and their geodetic position if the file contains it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.constants import WGS84_FLATTENING, WGS84_SEMI_MAJOR_M
from ironbird.errors import WorldError


@dataclass(frozen=True)
class Tile:
    """Heights, the first row at the north edge, the first column at the west edge.

    `north` and `west` are the place of the first height and `step_north`, `step_east` the distance to the next: in
    degrees if `degrees`, else in metres. A file without a place has steps of 0. Heights of a picture are 0 to 1.
    """

    heights: np.ndarray
    north: float = 0.0
    west: float = 0.0
    step_north: float = 0.0
    step_east: float = 0.0
    degrees: bool = False
    picture: bool = False

    def cut(self, latitude_deg: float, longitude_deg: float, extent_m: float) -> Tile:
        """The square part around a position with the side `extent_m`."""
        if not self.degrees:
            raise WorldError("a part by latitude and longitude needs a tile in degrees; leave these keys out")
        per_north, per_east = metres_per_degree(latitude_deg)
        rows, columns = self.heights.shape
        row = (self.north - latitude_deg) / self.step_north
        column = (longitude_deg - self.west) / self.step_east
        down = extent_m / 2 / (per_north * self.step_north)
        right = extent_m / 2 / (per_east * self.step_east)
        first, last = math.floor(row - down), math.ceil(row + down)
        left, end = math.floor(column - right), math.ceil(column + right)
        if first < 0 or left < 0 or last >= rows or end >= columns:
            raise WorldError(
                f"a square of {extent_m:g} m around {latitude_deg:g}, {longitude_deg:g} reaches over the rim of the "
                f"tile ({self.north - self.step_north * (rows - 1):g} to {self.north:g} north, {self.west:g} to "
                f"{self.west + self.step_east * (columns - 1):g} east); choose another place or a smaller square"
            )
        return Tile(
            self.heights[first : last + 1, left : end + 1], self.north - first * self.step_north,
            self.west + left * self.step_east, self.step_north, self.step_east, True,
        )  # fmt: skip

    @property
    def middle(self) -> tuple[float, float]:
        """North and east of its centre, in its own unit (degrees or m)."""
        rows, columns = self.heights.shape
        return self.north - self.step_north * (rows - 1) / 2, self.west + self.step_east * (columns - 1) / 2

    def spacing_m(self) -> tuple[float, float]:
        """Steps north and east in metres, at its centre; 0 if it has none."""
        if not self.degrees:
            return self.step_north, self.step_east
        per_north, per_east = metres_per_degree(self.middle[0])
        return self.step_north * per_north, self.step_east * per_east


def metres_per_degree(latitude_deg: float) -> tuple[float, float]:
    """Lengths in m of a degree of latitude and of longitude on the WGS 84 ellipsoid: its two radii of curvature."""
    squared = WGS84_FLATTENING * (2 - WGS84_FLATTENING)  # squared eccentricity
    root = math.sqrt(1 - squared * math.sin(math.radians(latitude_deg)) ** 2)
    meridian, normal = WGS84_SEMI_MAJOR_M * (1 - squared) / root**3, WGS84_SEMI_MAJOR_M / root
    return math.radians(1) * meridian, math.radians(1) * normal * math.cos(math.radians(latitude_deg))
