"""Earth's magnetic field: the World Magnetic Model at set-up, its local field in the kernel."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.earth import radii

NANOTESLA = 1e-9


class MagneticWmm(Block):
    """Gives the earth's magnetic field near the take-off point, linear in position: B(p) = B0 + G p.

    `local_field` computes B0 and G from WMM2025. Up to 70 degrees of latitude it is within 1.2 nT (0.7 nT at middle
    latitudes) for 20 km around and 5 km above the take-off point; farther flights update the values
    (`flight/far_field.py`). Not modelled: crustal anomalies, daily change, disturbances by the vehicle.
    """

    source = "[WMM2025]; [Dai] Sec. II-B"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    field_N = Out(unit="T", shape=3, frame="N", doc="magnetic flux density")
    field_home = Param(unit="T", shape=3, frame="N", tunable=True, doc="at the take-off point")
    gradient = Param(unit="T/m", shape=(3, 3), default=0.0, doc="change per metre north, east, down (columns)")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"field_N": p.field_home + p.gradient @ u.p_NB_N}


@functools.cache
def _model() -> object:
    from pygeomag import GeoMag

    return GeoMag(coefficients_file="wmm/WMM_2025.COF")


def wmm_field(latitude_rad: float, longitude_rad: float, height_m: float, year: float) -> np.ndarray:
    """North, east, down field in tesla from WMM2025, valid 2025.0 to 2030.0."""
    result = _model().calculate(  # type: ignore[attr-defined]
        glat=math.degrees(latitude_rad), glon=math.degrees(longitude_rad), alt=height_m / 1000.0, time=year
    )
    return np.array([result.x, result.y, result.z]) * NANOTESLA


def local_field(latitude_rad: float, longitude_rad: float, height_m: float, year: float) -> dict[str, list[float]]:
    """Parameters of `MagneticWmm` at a place, derivatives by central differences over 20 km."""
    reach_m = 10_000.0
    meridian_m, prime_m = (float(r) for r in radii(ca.SX(latitude_rad)))
    d_lat = reach_m / (meridian_m + height_m)
    d_lon = reach_m / ((prime_m + height_m) * math.cos(latitude_rad))
    around = [
        ((latitude_rad + d_lat, longitude_rad, height_m), (latitude_rad - d_lat, longitude_rad, height_m)),
        ((latitude_rad, longitude_rad + d_lon, height_m), (latitude_rad, longitude_rad - d_lon, height_m)),
        ((latitude_rad, longitude_rad, height_m - reach_m), (latitude_rad, longitude_rad, height_m + reach_m)),
    ]
    columns = [(wmm_field(*a, year) - wmm_field(*b, year)) / (2 * reach_m) for a, b in around]
    return {
        "field_home": wmm_field(latitude_rad, longitude_rad, height_m, year).tolist(),
        "gradient": np.column_stack(columns).tolist(),
    }
