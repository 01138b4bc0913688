"""Motion through the air."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.environment.air_data import AirData
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
vectors = st.tuples(*[st.floats(-20, 20)] * 3).map(np.array)
rotations = st.tuples(*[st.floats(-3, 3)] * 3).map(lambda v: Rotation.from_rotvec(np.array(v)))


@functools.cache
def model() -> CompiledModel:
    return alone(AirData())


@functools.cache
def turning() -> CompiledModel:
    return alone(AirData(turning=True))


def at(wind: np.ndarray, v_B: np.ndarray, rotation: Rotation) -> dict[str, np.ndarray]:
    inputs = {"wind_N": wind, "v_NB_B": v_B, "R_NB": rotation.as_matrix().flatten(order="F")}
    return {name: value[0] for name, value in outputs_at(model(), inputs).items()}


@given(wind=vectors, v=vectors, rotation=rotations)
@EXAMPLES
def test_velocity_through_the_air_is_over_ground_less_the_wind(
    wind: np.ndarray, v: np.ndarray, rotation: Rotation
) -> None:
    found = at(wind, v, rotation)

    expected = v - rotation.inv().apply(wind)
    np.testing.assert_allclose(found["v_air_B"], expected, rtol=0, atol=1e-13)  # rounding of 20 m/s
    assert abs(found["airspeed"] - np.linalg.norm(expected)) < 1.1e-12  # the picometre under the root
    np.testing.assert_array_equal(found["wind_sum_N"], wind)


@given(wind=vectors, rotation=rotations)
@EXAMPLES
def test_body_that_drifts_with_the_wind_feels_none(wind: np.ndarray, rotation: Rotation) -> None:
    found = at(wind, rotation.inv().apply(wind), rotation)

    assert found["airspeed"] < 1.1e-12  # the picometre under the root


@given(rates=vectors, own=vectors, rotation=rotations)
@EXAMPLES
def test_rates_through_the_air_are_the_own_less_those_of_the_air(
    rates: np.ndarray, own: np.ndarray, rotation: Rotation
) -> None:
    """A body that turns with the air feels no turning; one at rest feels the air turn the other way."""
    w_B = np.array([rotation.inv().apply(rates), np.zeros(3), own])
    found = outputs_at(turning(), {"w_NB_B": w_B, "rates_N": rates, "R_NB": rotation.as_matrix().flatten(order="F")})

    expected = [np.zeros(3), -rotation.inv().apply(rates), own - rotation.inv().apply(rates)]
    np.testing.assert_allclose(found["w_air_B"], expected, rtol=0, atol=1e-13)
