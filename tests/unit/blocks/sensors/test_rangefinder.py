"""Rangefinder: slant distance, range and noise."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sensing import outputs_at, sample, sensor

from ironbird.blocks.sensors.products import rangefinder_params
from ironbird.blocks.sensors.rangefinder import Rangefinder
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block


@functools.cache
def finder() -> CompiledModel:
    return sensor(Rangefinder, sample_s=0.02)


def tilted(angle: float, axis: str = "x") -> np.ndarray:
    return Rotation.from_euler(axis, angle).as_matrix()


def test_passes_the_public_check() -> None:
    check_block(Rangefinder(), params=rangefinder_params("tfmini"))


@pytest.mark.parametrize("angle", [0.0, 0.3, -0.8])
def test_distance_is_height_over_the_cosine_of_the_tilt(angle: float) -> None:
    for axis in "xy":
        found = outputs_at(finder(), {"height_above_ground": 4.0, "R_NB": tilted(angle, axis)[None]})
        assert found["distance"][0] == pytest.approx(4.0 / math.cos(angle), rel=1e-14)
        assert found["distance_truth"][0] == found["distance"][0] and found["valid"][0] == 1.0


def test_sensor_below_the_body_is_nearer_to_the_ground() -> None:
    inputs = {"height_above_ground": 4.0, "R_NB": tilted(0.4)[None]}
    found = outputs_at(finder(), inputs, {"position": [0.0, 0.2, 0.1]})

    down = 0.2 * math.sin(0.4) + 0.1 * math.cos(0.4)  # rolled right: the right side is lower
    assert found["distance"][0] == pytest.approx((4.0 - down) / math.cos(0.4), rel=1e-14)


def test_outside_its_range_or_looking_up_it_says_so() -> None:
    turns = np.array([np.eye(3), np.eye(3), np.eye(3), tilted(2.0)])
    inputs = {"height_above_ground": [0.1, 5.0, 20.0, 5.0], "R_NB": turns}

    found = outputs_at(finder(), inputs, {"nearest": 0.3, "farthest": 12.0})

    np.testing.assert_array_equal(found["valid"], [0, 1, 0, 0])
    np.testing.assert_array_equal(found["distance"], [0.3, 5.0, 12.0, 12.0])


def test_noise_grows_with_distance_and_values_are_whole_steps() -> None:
    level = {"height_above_ground": 10.0, "R_NB": np.eye(3).tolist()}
    noisy = sample(finder(), 10_000, level, {"noise": 0.02, "noise_share": 0.01})
    coarse = outputs_at(finder(), {"height_above_ground": 4.567, "R_NB": np.eye(3)[None]}, {"resolution": 0.01})

    assert noisy["block.distance"].std() == pytest.approx(0.12, rel=0.03)
    assert coarse["distance"][0] == pytest.approx(4.57, rel=1e-14)
