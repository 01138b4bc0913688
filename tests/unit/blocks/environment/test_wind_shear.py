"""The logarithmic wind profile at the heights that MIL-F-8785C names."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.environment.wind_shear import WindShear
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

FOOT_M = 0.3048
WIND = np.array([-6.0, 8.0, 0.0])


@functools.cache
def model() -> CompiledModel:
    return alone(WindShear(), velocity_20ft_N=WIND.tolist())


@pytest.mark.parametrize(
    ("height_ft", "share"),
    [  # ln(h / 0.15 ft) / ln(20 ft / 0.15 ft), worked out by hand: ln 20 = 2.995732, ln 133.33 = 4.892852
        (20.0, 1.0),
        (3.0, 0.61226706),
        (100.0, 1.32893654),
        (1000.0, 1.79953835),
    ],
)  # fmt: skip
def test_profile_is_the_logarithm_over_its_value_at_20_ft(height_ft: float, share: float) -> None:
    found = outputs_at(model(), {"height_above_ground": height_ft * FOOT_M})["wind_N"][0]

    np.testing.assert_allclose(found, share * WIND, rtol=1e-8)  # eight digits worked out
    exact = math.log(height_ft / 0.15) / math.log(20 / 0.15)
    np.testing.assert_allclose(found, exact * WIND, rtol=1e-14)  # rounding


def test_wind_is_constant_below_3_ft_and_above_1000_ft() -> None:
    heights = np.array([-5.0, 0.0, 3.0, 1000.0, 1001.0, 30000.0]) * FOOT_M
    found = outputs_at(model(), {"height_above_ground": heights})["wind_N"]

    np.testing.assert_array_equal(found[:3], np.tile(found[2], (3, 1)))
    np.testing.assert_array_equal(found[3:], np.tile(found[3], (3, 1)))


def test_equal_ratios_of_height_add_equal_wind() -> None:
    heights = np.array([5.0, 10.0, 20.0, 40.0, 80.0, 160.0]) * FOOT_M
    found = outputs_at(model(), {"height_above_ground": heights})["wind_N"][:, 1]

    np.testing.assert_allclose(np.diff(found), 8.0 * math.log(2) / math.log(20 / 0.15), rtol=1e-13)  # rounding
