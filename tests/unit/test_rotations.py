"""Rotations in plain numbers against scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird import rotations

SEEDS = st.integers(0, 10_000)
NEAR = 1e-12  # a few roundings of numbers near one


def some(seed: int, count: int = 5) -> np.ndarray:
    """Quaternions w x y z of unit length."""
    return Rotation.random(count, random_state=seed).as_quat()[:, [3, 0, 1, 2]]


def theirs(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(q[..., [1, 2, 3, 0]])


@given(SEEDS)
def test_products_turn_one_after_the_other(seed: int) -> None:
    p, q = some(seed), some(seed + 1)
    np.testing.assert_allclose(
        theirs(rotations.multiply(p, q)).as_matrix(), (theirs(p) * theirs(q)).as_matrix(), atol=NEAR
    )
    np.testing.assert_allclose(rotations.multiply(p, q)[2], rotations.multiply(p[2], q[2]), atol=NEAR)
    identity = np.broadcast_to([1.0, 0.0, 0.0, 0.0], q.shape)
    np.testing.assert_allclose(rotations.multiply(q, rotations.conjugate(q)), identity, atol=NEAR)


@given(SEEDS)
def test_vectors_turn_as_their_matrix_says(seed: int) -> None:
    q, v = some(seed), np.random.default_rng(seed).normal(size=(5, 3))
    np.testing.assert_allclose(rotations.rotate(q, v), theirs(q).apply(v), atol=NEAR)
    one = [rotations.rotate_one(a.tolist(), b.tolist()) for a, b in zip(q, v, strict=True)]
    np.testing.assert_array_equal(one, rotations.rotate(q, v))
    np.testing.assert_allclose(rotations.matrix(3.0 * q[0]), theirs(q[0]).as_matrix(), atol=NEAR)


@given(SEEDS, st.sampled_from([np.zeros(3), *np.pi * np.eye(3), *(np.pi - 1e-9) * np.eye(3)]))
def test_quaternions_come_back_from_their_matrix(seed: int, half_turn: np.ndarray) -> None:
    turn = Rotation.from_rotvec(half_turn) * Rotation.from_rotvec(1e-3 * theirs(some(seed, 1)[0]).as_rotvec())
    for rotation in (turn, theirs(some(seed)[0])):
        q = rotations.from_matrix(rotation.as_matrix())
        np.testing.assert_allclose(np.linalg.norm(q), 1.0, atol=NEAR)
        np.testing.assert_allclose(rotations.matrix(q), rotation.as_matrix(), atol=NEAR)


@given(SEEDS)
def test_angles_are_roll_pitch_and_yaw(seed: int) -> None:
    q = some(seed)
    expected = theirs(q).as_euler("ZYX")[:, ::-1]
    near = 1e-6  # an angle loses half its digits where the pitch is near a right angle
    np.testing.assert_allclose(rotations.euler(q), expected, atol=near)
    np.testing.assert_allclose(rotations.euler_of_matrix(theirs(q[0]).as_matrix()), expected[0], atol=near)
