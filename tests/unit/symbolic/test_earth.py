"""WGS-84 conversions against pymap3d and against their own inverse."""

from __future__ import annotations

import math

import numpy as np
import pymap3d
from hypothesis import given, settings
from hypothesis import strategies as st
from pymap3d import rcurve

from ironbird.constants import WGS84_SEMI_MAJOR_M
from ironbird.symbolic import earth
from ironbird.testing.alone import numeric

EXAMPLES = settings(deadline=None, max_examples=50, derandomize=True)
TO_ECEF = numeric(earth.to_ecef, 1, 1, 1)
TO_GEODETIC = numeric(earth.to_geodetic, 3)
RADII = numeric(earth.radii, 1)

latitudes = st.floats(-89.9, 89.9)
longitudes = st.floats(-179.9, 179.9)


def test_constants_are_those_of_the_ellipsoid() -> None:
    wgs84 = pymap3d.Ellipsoid.from_name("wgs84")

    assert wgs84.semimajor_axis == WGS84_SEMI_MAJOR_M
    assert abs(earth.SEMI_MINOR_M - wgs84.semiminor_axis) < 1e-4  # pymap3d prints it to 0.1 mm
    assert abs(earth.J2 - 0.484166774985e-3 * math.sqrt(5)) < 1e-15  # [NIMA8350] C20, thirteen digits printed


@given(latitude=latitudes, longitude=longitudes, height=st.floats(-10e3, 1000e3))
@EXAMPLES
def test_geodetic_to_earth_fixed_is_pymap3ds(latitude: float, longitude: float, height: float) -> None:
    expected = pymap3d.geodetic2ecef(latitude, longitude, height)

    found = TO_ECEF(math.radians(latitude), math.radians(longitude), height)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)  # m: rounding at 7e6 m, degrees and back


@given(latitude=latitudes, longitude=longitudes, height=st.floats(-10e3, 1000e3))
@EXAMPLES
def test_earth_fixed_to_geodetic_undoes_it(latitude: float, longitude: float, height: float) -> None:
    there = TO_ECEF(math.radians(latitude), math.radians(longitude), height)

    back = TO_GEODETIC(there)

    assert abs(back[0] - math.radians(latitude)) * WGS84_SEMI_MAJOR_M < 5e-9  # m: rounding of doubles
    assert abs(back[1] - math.radians(longitude)) * WGS84_SEMI_MAJOR_M < 5e-9
    assert abs(back[2] - height) < 5e-9


@given(latitude=latitudes, longitude=longitudes, height=st.floats(-1e3, 20e3))
@EXAMPLES
def test_earth_fixed_to_geodetic_is_pymap3ds(latitude: float, longitude: float, height: float) -> None:
    there = np.array(pymap3d.geodetic2ecef(latitude, longitude, height))
    expected = pymap3d.ecef2geodetic(*there)

    found = TO_GEODETIC(there)

    assert abs(found[0] - math.radians(expected[0])) * WGS84_SEMI_MAJOR_M < 1e-5  # m: pymap3d's own series
    assert abs(found[1] - math.radians(expected[1])) * WGS84_SEMI_MAJOR_M < 1e-8
    assert abs(found[2] - expected[2]) < 1e-5


@given(latitude=latitudes)
@EXAMPLES
def test_radii_of_curvature_are_pymap3ds(latitude: float) -> None:
    expected = [rcurve.meridian(latitude), rcurve.transverse(latitude)]

    np.testing.assert_allclose(RADII(math.radians(latitude)), expected, rtol=1e-14)  # rounding
