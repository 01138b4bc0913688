"""Small functions of estimators: age of samples, rotation vectors, attitude at rest; each by its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.blocks.estimators.samples import OLDEST_S, flag, from_rotation_vector, level_and_heading, next_age
from ironbird.testing.alone import numeric

FIELD = np.array([2.0e-5, 0.3e-5, 4.0e-5])


def rotation_of(q: np.ndarray) -> Rotation:
    """Of a quaternion whose scalar comes first."""
    return Rotation.from_quat(np.roll(q, -1))


@pytest.mark.parametrize("size", [1e-6, 0.01, 0.1, 0.5])
def test_rotation_vector_gives_the_quaternion_of_that_rotation(size: float) -> None:
    turn = size * np.array([2.0, -1.0, 2.0]) / 3
    q = numeric(from_rotation_vector, 3)(turn)

    assert np.linalg.norm(rotation_of(q).as_rotvec() - turn) < 1e-9 * size
    assert abs(np.linalg.norm(q) - 1) < 1e-9


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (0.4, -0.3, 2.0), (-1.2, 0.9, -2.9), (3.0, 0.2, 0.5)])
def test_attitude_at_rest_is_that_from_which_gravity_and_the_field_were_seen(
    angles: tuple[float, float, float],
) -> None:
    attitude = Rotation.from_euler("ZYX", angles[::-1])
    accel, mag = attitude.inv().apply([0.0, 0.0, -9.81]), attitude.inv().apply(FIELD)
    found = rotation_of(numeric(level_and_heading, 3, 3, 3)(accel, mag, FIELD))

    assert (found * attitude.inv()).magnitude() < 1e-7


def test_age_grows_until_a_sample_comes_and_has_an_end() -> None:
    age = numeric(lambda fresh, old: next_age(fresh, old, 0.02), 1, 1)
    assert age(0.0, 0.1) == pytest.approx(0.12) and age(1.0, 0.1) == 0.0
    assert age(0.0, OLDEST_S) == OLDEST_S


def test_flag_is_one_or_zero() -> None:
    assert [float(numeric(lambda a: flag(a > 2), 1)(value)[0]) for value in (3.0, 1.0)] == [1.0, 0.0]
