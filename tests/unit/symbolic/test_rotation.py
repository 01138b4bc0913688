"""Small matrices and axes against numpy and pymap3d."""

from __future__ import annotations

import numpy as np
import pymap3d
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.symbolic import rotation
from ironbird.testing.alone import numeric

EXAMPLES = settings(deadline=None, max_examples=50, derandomize=True)
INVERSE = numeric(lambda m: rotation.inverse_3x3(m.reshape((3, 3))), 9)
NORM = numeric(rotation.norm, 3)
AXES = numeric(rotation.north_east_down, 1, 1)


@given(entries=st.tuples(*[st.floats(-1, 1)] * 9))
@EXAMPLES
def test_inverse_is_numpys_inverse(entries: tuple[float, ...]) -> None:
    matrix = np.array(entries).reshape(3, 3) + 3 * np.eye(3)  # diagonally dominant: condition below 10

    np.testing.assert_allclose(
        INVERSE(matrix.flatten(order="F")), np.linalg.inv(matrix), rtol=0, atol=1e-14
    )  # rounding


def test_norm_is_the_length_and_has_a_derivative_at_zero() -> None:
    assert abs(NORM([3.0, 4.0, 12.0]) - 13.0) < 1e-14  # rounding
    assert NORM([0.0, 0.0, 0.0]) <= 1e-12  # the picometre under the root


@given(latitude=st.floats(-1.57, 1.57), longitude=st.floats(-3.14, 3.14))
@EXAMPLES
def test_level_axes_are_pymap3ds(latitude: float, longitude: float) -> None:
    degrees = np.degrees(latitude), np.degrees(longitude)
    columns = []
    for north, east, down in np.eye(3):
        columns.append(pymap3d.enu2uvw(east, north, -down, *degrees))

    np.testing.assert_allclose(AXES(latitude, longitude), np.array(columns).T, rtol=0, atol=1e-15)  # degrees and back


@given(latitude=st.floats(-1.57, 1.57), longitude=st.floats(-3.14, 3.14))
@EXAMPLES
def test_level_axes_are_a_rotation(latitude: float, longitude: float) -> None:
    axes = AXES(latitude, longitude)

    np.testing.assert_allclose(axes @ axes.T, np.eye(3), rtol=0, atol=5e-16)  # rounding
    assert abs(np.linalg.det(axes) - 1) < 1e-15
