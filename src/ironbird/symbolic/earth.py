"""WGS-84 ellipsoid: radii, and conversions between geodetic and earth-fixed positions [NIMA8350]."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import WGS84_FLATTENING, WGS84_SEMI_MAJOR_M

Expr = ca.SX

ECCENTRICITY_SQ = WGS84_FLATTENING * (2 - WGS84_FLATTENING)
SEMI_MINOR_M = WGS84_SEMI_MAJOR_M * (1 - WGS84_FLATTENING)
J2 = 1.082629821313e-3  # derived from C20 = -0.484166774985e-3: J2 = -sqrt(5) C20


def radii(latitude: Expr) -> tuple[Expr, Expr]:
    """Radii of curvature of the ellipsoid in m at a latitude in rad: (meridian, prime vertical)."""
    w2 = 1 - ECCENTRICITY_SQ * ca.sin(latitude) ** 2
    prime = WGS84_SEMI_MAJOR_M / ca.sqrt(w2)
    return prime * (1 - ECCENTRICITY_SQ) / w2, prime


def to_ecef(latitude: Expr, longitude: Expr, height: Expr) -> Expr:
    """Earth-fixed position (frame E, m) of a geodetic position: latitude and longitude in rad, height in m."""
    _, prime = radii(latitude)
    ring = (prime + height) * ca.cos(latitude)
    return ca.vertcat(
        ring * ca.cos(longitude),
        ring * ca.sin(longitude),
        (prime * (1 - ECCENTRICITY_SQ) + height) * ca.sin(latitude),
    )


def to_geodetic(r_E: Expr) -> tuple[Expr, Expr, Expr]:
    """Geodetic latitude (rad), longitude (rad) and height above the ellipsoid (m) of a position in frame E (m).

    Bowring's formula (1976) with a second pass: its own error is below 1e-13 m from 10 km below to 1000 km above the
    ellipsoid; the rounding of doubles leaves 5e-9 m. Singular on the polar axis.
    """
    ring = ca.sqrt(r_E[0] ** 2 + r_E[1] ** 2)
    second = ECCENTRICITY_SQ / (1 - ECCENTRICITY_SQ)
    tangent = r_E[2] * WGS84_SEMI_MAJOR_M / (ring * SEMI_MINOR_M)
    for _ in range(2):
        cosine = 1 / ca.sqrt(1 + tangent**2)
        sine = tangent * cosine
        slope = (r_E[2] + second * SEMI_MINOR_M * sine**3) / (ring - ECCENTRICITY_SQ * WGS84_SEMI_MAJOR_M * cosine**3)
        tangent = (1 - WGS84_FLATTENING) * slope
    latitude = ca.atan(slope)
    cosine = 1 / ca.sqrt(1 + slope**2)
    sine = slope * cosine
    _, prime = WGS84_SEMI_MAJOR_M, WGS84_SEMI_MAJOR_M / ca.sqrt(1 - ECCENTRICITY_SQ * sine**2)
    height = ring * cosine + r_E[2] * sine - WGS84_SEMI_MAJOR_M**2 / prime
    return latitude, ca.atan2(r_E[1], r_E[0]), height
