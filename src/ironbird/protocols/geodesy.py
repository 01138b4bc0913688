"""Metres from home to degrees and back, on a plane that touches the ellipsoid at home [NIMA8350]."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ironbird.constants import WGS84_FLATTENING, WGS84_SEMI_MAJOR_M


class Place(Protocol):
    """A geodetic position, such as a vehicle's home."""

    @property
    def latitude_deg(self) -> float:
        """Geodetic latitude in degrees."""

    @property
    def longitude_deg(self) -> float:
        """Longitude in degrees, east positive."""

    @property
    def height_m(self) -> float:
        """Height in m above sea level."""


@functools.lru_cache(maxsize=64)
def metres_per_degree(latitude_deg: float) -> tuple[float, float]:
    """Length in m of a degree of latitude and of a degree of longitude on the ground."""
    latitude = math.radians(latitude_deg)
    e2 = WGS84_FLATTENING * (2 - WGS84_FLATTENING)
    w = math.sqrt(1 - e2 * math.sin(latitude) ** 2)
    meridian, normal = WGS84_SEMI_MAJOR_M * (1 - e2) / w**3, WGS84_SEMI_MAJOR_M / w
    return math.radians(meridian), math.radians(normal * math.cos(latitude))


def to_geodetic(home: Place, position_N: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Latitude and longitude in degrees and height in m of a position in metres north, east and down of home."""
    north, east = metres_per_degree(home.latitude_deg)
    return (
        home.latitude_deg + float(position_N[0]) / north,
        home.longitude_deg + float(position_N[1]) / east,
        home.height_m - float(position_N[2]),
    )


def to_local(home: Place, latitude_deg: float, longitude_deg: float, height_m: float) -> tuple[float, float, float]:
    """Position in metres north, east and down of home of a latitude and longitude in degrees and a height in m."""
    north, east = metres_per_degree(home.latitude_deg)
    return (
        (latitude_deg - home.latitude_deg) * north,
        (longitude_deg - home.longitude_deg) * east,
        home.height_m - height_m,
    )
