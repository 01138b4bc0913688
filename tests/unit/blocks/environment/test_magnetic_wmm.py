"""The magnetic field against the published test values of WMM2025, and the local linear field against the model."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.environment.magnetic_wmm import MagneticWmm, local_field, wmm_field
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

NANOTESLA = 1e-9
HOME = (math.radians(40.1540302), math.radians(116.2593683), 41.526, 2026.0)

# Every sixth row of NOAA's WMM2025_TEST_VALUES.txt: year, height (km), latitude, longitude (deg), X, Y, Z (nT)
PUBLISHED = [
    (2025.0, 28, 89, -121, -255.388723, -1482.460628, 56194.288771),
    (2025.0, 3, -50, -103, 19526.532799, 10362.990980, -31437.562789),
    (2025.5, 69, 38, -144, 22510.804524, 5167.636206, 35525.990264),
    (2025.5, 44, 33, -118, 23235.835850, 4558.379362, 37727.715752),
    (2026.0, 47, -72, -22, 18280.800055, -2024.105320, -33397.486160),
    (2026.5, 14, 0, 80, 39431.415992, -2133.456168, -12188.838466),
    (2026.5, 12, -79, 115, -9613.650418, -8785.714482, -58104.306533),
    (2027.0, 44, 22, 174, 28683.972510, 3249.857362, 17961.198575),
    (2027.0, 61, 59, -77, 10437.775689, -3087.391846, 54397.713552),
    (2027.5, 60, 27, 65, 33062.159421, 1068.555172, 30667.425573),
    (2028.0, 49, 20, 167, 30131.436134, 2689.876669, 15295.611788),
    (2028.0, 21, 6, -32, 27567.094260, -7045.034525, -4352.046687),
    (2028.5, 39, -65, -88, 17946.905687, 10131.662696, -35982.872979),
    (2028.5, 65, 48, 148, 23365.167010, -3931.047029, 44177.553125),
    (2029.0, 57, 34, -13, 28241.863242, -933.225495, 28997.458189),
    (2029.5, 31, 13, -132, 27795.620707, 4421.061344, 17187.983590),
    (2029.5, 18, 9, -172, 30520.999126, 4966.941695, 8779.472279),
    # The twelve rows of the printed table [WMM2025], to 0.1 nT
    (2025.0, 0, 80, 0, 6521.6, 145.9, 54791.5),
    (2025.0, 0, 0, 120, 39677.8, -109.6, -10580.2),
    (2025.0, 0, -80, 240, 6117.5, 15751.9, -52022.5),
    (2025.0, 100, 80, 0, 6216.0, 92.4, 52598.8),
    (2025.0, 100, 0, 120, 37688.6, -96.2, -10152.1),
    (2025.0, 100, -80, 240, 5907.6, 14780.3, -49540.7),
    (2027.5, 0, 80, 0, 6500.8, 294.5, 54869.4),
    (2027.5, 0, 0, 120, 39701.6, -167.4, -10381.8),
    (2027.5, 0, -80, 240, 6200.7, 15730.3, -51783.7),
    (2027.5, 100, 80, 0, 6196.7, 233.8, 52670.5),
    (2027.5, 100, 0, 120, 37711.5, -148.7, -9969.8),
    (2027.5, 100, -80, 240, 5984.0, 14760.1, -49317.7),
]


@pytest.mark.parametrize("row", PUBLISHED)
def test_field_is_the_published_test_value(row: tuple[float, ...]) -> None:
    year, height_km, latitude, longitude, *expected = row

    found = wmm_field(math.radians(latitude), math.radians(longitude), 1000 * height_km, year) / NANOTESLA

    digits = 1e-3 if any(round(v, 1) != v for v in expected) else 0.051  # nT: seven decimals, or one
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits)


@functools.cache
def model() -> CompiledModel:
    local = local_field(*HOME)
    return alone(MagneticWmm(), field_home=local["field_home"], gradient=local["gradient"])


def test_field_at_home_is_the_models() -> None:
    found = outputs_at(model(), {"p_NB_N": [0.0, 0.0, 0.0]})["field_N"][0]

    np.testing.assert_array_equal(found, wmm_field(*HOME))


def beyond(latitude: float, longitude: float, height_m: float, offset_N: np.ndarray) -> np.ndarray:
    """WMM2025 at a place given by metres north, east, down from another."""
    e2 = 0.00669437999013
    w = 1 - e2 * math.sin(latitude) ** 2
    prime = 6378137.0 / math.sqrt(w)
    meridian = prime * (1 - e2) / w
    return wmm_field(
        latitude + offset_N[0] / (meridian + height_m),
        longitude + offset_N[1] / ((prime + height_m) * math.cos(latitude)), height_m - offset_N[2], HOME[3],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("latitude_deg", "limit_nt"),
    [(-70, 1.2), (-45, 0.7), (-10, 1.2), (-5, 1.2), (0, 1.0), (15, 1.0), (40, 0.7), (50, 0.7), (70, 1.0)],
)
def test_linear_field_holds_for_20_km_around_and_5_km_up(latitude_deg: float, limit_nt: float) -> None:
    turns = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    offsets = np.array([[20e3 * np.cos(a), 20e3 * np.sin(a), 0.0] for a in turns] + [[0.0, 0.0, -5e3]])
    latitude = math.radians(latitude_deg)
    for longitude in np.radians(np.arange(-180, 180, 45)):
        local = local_field(latitude, longitude, 0.0, HOME[3])
        for offset in offsets:
            linear = np.array(local["field_home"]) + np.array(local["gradient"]) @ offset
            error = np.abs(linear - beyond(latitude, longitude, 0.0, offset)) / NANOTESLA
            assert error.max() < limit_nt  # the second derivative over 20 km, worst near -10 and beyond 65 degrees


def test_linear_field_has_the_right_slope() -> None:
    offsets = np.array([[500.0, 0, 0], [0, 500.0, 0], [0, 0, -500.0]])
    found = outputs_at(model(), {"p_NB_N": offsets})["field_N"] - wmm_field(*HOME)

    exact = np.array([beyond(*HOME[:3], offset) for offset in offsets]) - wmm_field(*HOME)
    np.testing.assert_allclose(
        found / NANOTESLA, exact / NANOTESLA, rtol=0, atol=5e-3
    )  # nT: second derivative over 500 m
    assert np.abs(exact / NANOTESLA).max() > 5.0  # there is something to see
