"""Swash plate: a plane through three servos, and the mixing that is its inverse."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.actuators.swash_plate import AZIMUTHS_DEG, SwashPlate, mixing
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing import check_block
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=15, derandomize=True)
AZIMUTH = np.radians(AZIMUTHS_DEG)
PARAMS = {"azimuth": AZIMUTH.tolist(), "collective_ratio": 0.25, "cyclic_ratio": 0.15, "collective_0": 0.08}
ANGLES = st.floats(-0.7, 0.7)


@functools.cache
def model() -> CompiledModel:
    return alone(SwashPlate(), **PARAMS)


def pitches(deflections: np.ndarray) -> np.ndarray:
    found = outputs_at(model(), {f"servo_{i + 1}": [deflections[i]] for i in range(3)})
    return np.array([found[name][0] for name in ("collective", "longitudinal", "lateral")])


def test_block_passes_the_public_check() -> None:
    check_block(SwashPlate(), params=PARAMS)


@given(ANGLES, ANGLES, ANGLES)
@EXAMPLES
def test_mixing_is_the_inverse_of_the_plate(a: float, b: float, c: float) -> None:
    servos = np.array([a, b, c])
    above = pitches(servos) - np.array([0.08, 0.0, 0.0])

    np.testing.assert_allclose(mixing(AZIMUTH, 0.25, 0.15) @ above, servos, rtol=0, atol=1e-14)


def test_equal_servos_are_collective_and_the_rear_one_alone_is_a_third_of_all() -> None:
    np.testing.assert_allclose(pitches(np.full(3, 0.2)), [0.08 + 0.05, 0.0, 0.0], rtol=0, atol=1e-15)
    # H3-120: the rear servo carries a third of the height and two thirds of the slope
    np.testing.assert_allclose(
        pitches(np.array([0.3, 0.0, 0.0])), [0.08 + 0.1 * 0.25, -0.2 * 0.15, 0.0], rtol=0, atol=1e-15
    )


def test_high_in_front_tilts_back_and_high_on_the_left_tilts_right() -> None:
    assert pitches(np.array([-0.1, 0.1, 0.1]))[1] > 0
    assert pitches(np.array([0.0, 0.1, -0.1]))[2] > 0


def test_any_three_places_do() -> None:
    azimuth = np.radians([180.0, 40.0, -50.0])
    crooked = alone(SwashPlate(), **{**PARAMS, "azimuth": azimuth.tolist()})
    servos = mixing(azimuth, 0.25, 0.15) @ np.array([0.03, -0.02, 0.01])
    found = outputs_at(crooked, {f"servo_{i + 1}": [servos[i]] for i in range(3)})

    values = [found[name][0] for name in ("collective", "longitudinal", "lateral")]
    np.testing.assert_allclose(values, [0.11, -0.02, 0.01], rtol=0, atol=1e-15)
