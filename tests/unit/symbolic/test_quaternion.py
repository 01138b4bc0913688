"""Quaternions against scipy's rotations and against their own algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.symbolic import quaternion
from ironbird.testing.alone import numeric

EXAMPLES = settings(deadline=None, max_examples=50, derandomize=True)
PRODUCT = numeric(quaternion.product, 4, 4)
MATRIX = numeric(quaternion.rotation_matrix, 4)
INVERSE = numeric(quaternion.inverse, 4)
NORMALIZED = numeric(quaternion.normalized, 4)
DERIVATIVE = numeric(quaternion.derivative, 4, 3)
FROM_EULER = numeric(quaternion.from_euler, 1, 1, 1)
TO_EULER = numeric(quaternion.to_euler, 4)
FROM_YAW = numeric(quaternion.from_yaw, 1)

component = st.floats(-1, 1)
quaternions = (
    st.tuples(component, component, component, component)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(lambda q: np.array(q) / np.linalg.norm(q))
)
rates = st.tuples(*[st.floats(-20, 20)] * 3).map(np.array)


def scipy_rotation(q: np.ndarray) -> Rotation:
    """scipy's order is x y z w."""
    return Rotation.from_quat([q[1], q[2], q[3], q[0]])


@given(q=quaternions)
@EXAMPLES
def test_matrix_is_scipys_rotation(q: np.ndarray) -> None:
    np.testing.assert_allclose(
        MATRIX(q), scipy_rotation(q).as_matrix(), rtol=0, atol=1e-14
    )  # rounding of a few products


@given(a=quaternions, b=quaternions)
@EXAMPLES
def test_product_is_one_rotation_after_the_other(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(MATRIX(PRODUCT(a, b)), MATRIX(a) @ MATRIX(b), rtol=0, atol=1e-14)  # rounding


@given(a=quaternions, b=quaternions)
@EXAMPLES
def test_product_keeps_unit_length(a: np.ndarray, b: np.ndarray) -> None:
    assert abs(np.linalg.norm(PRODUCT(a, b)) - 1) < 1e-15 * 8  # rounding of sixteen products


@given(q=quaternions)
@EXAMPLES
def test_inverse_undoes_the_rotation(q: np.ndarray) -> None:
    np.testing.assert_allclose(PRODUCT(q, INVERSE(q)), [1, 0, 0, 0], rtol=0, atol=1e-15)  # rounding
    np.testing.assert_allclose(MATRIX(INVERSE(q)), MATRIX(q).T, rtol=0, atol=1e-15)


@given(q=quaternions, factor=st.floats(0.1, 10))
@EXAMPLES
def test_normalized_takes_out_any_length(q: np.ndarray, factor: float) -> None:
    np.testing.assert_allclose(NORMALIZED(factor * q), q, rtol=0, atol=4e-16)  # one root and one division


@given(q=quaternions, w=rates)
@EXAMPLES
def test_derivative_is_the_slope_of_a_turn_about_the_body_axes(q: np.ndarray, w: np.ndarray) -> None:
    dt = 1e-6  # exact turns by w dt, from scipy; the difference leaves (w / 2)^3 dt^2 / 6 = 8e-10
    before, after = (_turned(q, sign * w * dt) for sign in (-1, 1))

    np.testing.assert_allclose(DERIVATIVE(q, w), (after - before) / (2 * dt), rtol=0, atol=2e-9)


def _turned(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    x, y, z, w = (scipy_rotation(q) * Rotation.from_rotvec(turn)).as_quat()
    found = np.array([w, x, y, z])
    return found if found @ q > 0 else -found


@given(q=quaternions, w=rates)
@EXAMPLES
def test_derivative_keeps_the_length(q: np.ndarray, w: np.ndarray) -> None:
    assert abs(q @ DERIVATIVE(q, w)) < 1e-14  # products of size 17, rounded


@given(roll=st.floats(-3.1, 3.1), pitch=st.floats(-1.5, 1.5), yaw=st.floats(-3.1, 3.1))
@EXAMPLES
def test_euler_angles_are_z_y_x_and_come_back(roll: float, pitch: float, yaw: float) -> None:
    q = FROM_EULER(roll, pitch, yaw)

    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    np.testing.assert_allclose(MATRIX(q), expected, rtol=0, atol=1e-14)  # rounding
    np.testing.assert_allclose(
        TO_EULER(q), [roll, pitch, yaw], rtol=0, atol=2e-14
    )  # asin at 86 degrees loses a factor 14


def test_pitch_straight_up_is_a_right_angle_and_not_a_nan() -> None:
    q = FROM_EULER(0.0, np.pi / 2, 0.0)

    assert abs(TO_EULER(q)[1] - np.pi / 2) < 3e-8  # asin near 1: root of the rounding error
    assert np.isfinite(TO_EULER(q * (1 + 1e-12))).all()  # a length above one must not reach asin


@given(yaw=st.floats(-7, 7))
@EXAMPLES
def test_from_yaw_turns_about_down_only(yaw: float) -> None:
    np.testing.assert_allclose(FROM_YAW(yaw), FROM_EULER(0.0, 0.0, yaw), rtol=0, atol=1e-16)  # the same formula
