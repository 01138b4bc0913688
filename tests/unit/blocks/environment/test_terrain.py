"""Height and slope of the ground: plane, hills, and the slope as the derivative of the height."""

from __future__ import annotations

import functools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.environment.terrain import Terrain
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)


@functools.cache
def model() -> CompiledModel:
    return alone(
        Terrain(hills=2), base_z=1.5, plane_slope=[0.1, -0.2], hill_0_top=[20.0, 10.0], hill_0_height=8.0,
        hill_0_radius=15.0, hill_1_top=[-30.0, 5.0], hill_1_height=-4.0, hill_1_radius=25.0,
    )  # fmt: skip


def expected_z(north: float, east: float) -> float:
    plane = 1.5 + 0.1 * north - 0.2 * east
    top = 8.0 * math.exp(-((north - 20) ** 2 + (east - 10) ** 2) / (2 * 15**2))
    hollow = -4.0 * math.exp(-((north + 30) ** 2 + (east - 5) ** 2) / (2 * 25**2))
    return plane - top - hollow  # z is down: a hill lowers z


@given(north=st.floats(-60, 60), east=st.floats(-60, 60), down=st.floats(-50, 0))
@EXAMPLES
def test_ground_is_a_plane_with_round_hills(north: float, east: float, down: float) -> None:
    found = outputs_at(model(), {"p_NB_N": [north, east, down]})

    assert abs(found["ground_z"][0] - expected_z(north, east)) < 1e-13  # rounding
    assert abs(found["height_above_ground"][0] - (expected_z(north, east) - down)) < 1e-13
    np.testing.assert_array_equal(found["place"][0], [north, east])


@given(north=st.floats(-60, 60), east=st.floats(-60, 60))
@EXAMPLES
def test_slope_is_the_derivative_of_the_height(north: float, east: float) -> None:
    d = 1e-4
    around = [[north + d, east, 0], [north - d, east, 0], [north, east + d, 0], [north, east - d, 0]]
    z = outputs_at(model(), {"p_NB_N": around})["ground_z"]
    slope = outputs_at(model(), {"p_NB_N": [north, east, 0.0]})["slope"][0]

    np.testing.assert_allclose(
        slope, [(z[0] - z[1]) / (2 * d), (z[2] - z[3]) / (2 * d)], rtol=0, atol=1e-10
    )  # rounding / d


def test_top_of_a_hill_alone_is_level() -> None:
    lone = alone(Terrain(hills=1), hill_0_top=[3.0, -2.0], hill_0_height=5.0, hill_0_radius=10.0)
    found = outputs_at(lone, {"p_NB_N": [[3.0, -2.0, 0.0], [13.0, -2.0, 0.0]]})

    np.testing.assert_array_equal(found["slope"][0], [0.0, 0.0])
    assert found["ground_z"][0] == -5.0
    assert abs(found["ground_z"][1] / -5.0 - math.exp(-0.5)) < 1e-15  # 61 % at one radius
