"""Gravity against the gradient of its potential and against the normal gravity formula."""

from __future__ import annotations

import functools

import mpmath as mp
import numpy as np
import pytest

from ironbird.blocks.environment.gravity import GravityUniform, GravityWgs84
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

# Somigliana's closed form and its constants [NIMA8350] 4.1
EQUATOR, POLE, RATIO_M = 9.7803253359, 9.8321849378, 0.00344978650684
K, E2, A, F = 0.00193185265241, 0.00669437999013, 6378137.0, 1 / 298.257223563
LATITUDES = np.radians(np.linspace(-89.9, 89.9, 361))


@functools.cache
def model() -> CompiledModel:
    return alone(GravityWgs84())


def normal_gravity(latitude: np.ndarray, height_m: float) -> np.ndarray:
    s2 = np.sin(latitude) ** 2
    surface = EQUATOR * (1 + K * s2) / np.sqrt(1 - E2 * s2)
    return np.asarray(surface * (1 - 2 / A * (1 + F + RATIO_M - 2 * F * s2) * height_m + 3 / A**2 * height_m**2))


@pytest.mark.parametrize("height_m", [0.0, 1000.0, 10_000.0, 20_000.0])
def test_gravity_is_the_normal_formula_but_for_j4_and_above(height_m: float) -> None:
    found = outputs_at(model(), {"latitude": LATITUDES, "height": height_m})["gravity_N"]

    size = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(
        size, normal_gravity(LATITUDES, height_m), rtol=0, atol=1.25e-4
    )  # m/s^2: what J4, J6 hold
    assert np.all(found[:, 1] == 0.0)


def test_plumb_line_is_the_normal_of_the_ellipsoid_but_for_j4_and_above() -> None:
    found = outputs_at(model(), {"latitude": LATITUDES, "height": 0.0})["gravity_N"]

    assert np.abs(found[:, 0]).max() < 7e-5  # m/s^2: what J4 holds; spherical gravity would give 1.6e-2


def test_equator_and_pole_differ_by_half_a_percent() -> None:
    found = outputs_at(model(), {"latitude": [0.0, np.radians(89.999)], "height": 0.0})["gravity_N"][:, 2]

    assert abs(found[0] - EQUATOR) < 6e-5  # m/s^2: J4
    assert abs(found[1] - POLE) < 1.25e-4


def potential(x: mp.mpf, z: mp.mpf) -> mp.mpf:
    """Point mass, J2 and rotation, in a meridian plane; a different form from the block's."""
    r = mp.sqrt(x * x + z * z)
    p2 = (3 * (z / r) ** 2 - 1) / 2
    j2 = mp.mpf("0.484166774985e-3") * mp.sqrt(5)
    gm, omega = mp.mpf("3.986004418e14"), mp.mpf("7.292115e-5")
    return gm / r * (1 - j2 * (mp.mpf(6378137) / r) ** 2 * p2) + omega**2 * x * x / 2


@pytest.mark.parametrize("latitude_deg", [-75.0, -10.0, 0.0, 33.0, 60.0, 89.0])
@pytest.mark.parametrize("height_m", [0.0, 12_000.0, 400_000.0])
def test_gravity_is_the_gradient_of_the_potential(latitude_deg: float, height_m: float) -> None:
    with mp.workdps(40):
        latitude = mp.radians(mp.mpf(latitude_deg))
        f = 1 / mp.mpf("298.257223563")
        e2 = f * (2 - f)
        prime = mp.mpf(6378137) / mp.sqrt(1 - e2 * mp.sin(latitude) ** 2)
        x, z = (prime + height_m) * mp.cos(latitude), (prime * (1 - e2) + height_m) * mp.sin(latitude)
        gx = mp.diff(lambda t: potential(t, z), x, h=mp.mpf(1e-3))
        gz = mp.diff(lambda t: potential(x, t), z, h=mp.mpf(1e-3))
        north = float(-mp.sin(latitude) * gx + mp.cos(latitude) * gz)
        down = float(-mp.cos(latitude) * gx - mp.sin(latitude) * gz)

    found = outputs_at(model(), {"latitude": np.radians(latitude_deg), "height": height_m})["gravity_N"][0]

    np.testing.assert_allclose(found, [north, 0.0, down], rtol=0, atol=1e-13)  # m/s^2: rounding of 9.8; difference h^2


def test_gravitation_leaves_out_the_centrifugal_part() -> None:
    found = outputs_at(model(), {"latitude": LATITUDES, "height": 0.0})

    s2 = np.sin(LATITUDES) ** 2
    distance = A * np.cos(LATITUDES) / np.sqrt(1 - E2 * s2)  # from the axis
    centrifugal = 7.292115e-5**2 * distance
    difference = found["gravity_N"] - found["gravitation_N"]
    np.testing.assert_allclose(difference[:, 0], -np.sin(LATITUDES) * centrifugal, rtol=0, atol=1e-14)  # rounding
    np.testing.assert_allclose(difference[:, 2], -np.cos(LATITUDES) * centrifugal, rtol=0, atol=1e-14)


def test_uniform_gravity_is_straight_down_everywhere() -> None:
    found = outputs_at(alone(GravityUniform(), acceleration=9.8), {})

    np.testing.assert_array_equal(found["gravity_N"], [[0.0, 0.0, 9.8]])
