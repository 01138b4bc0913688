"""Limits, blends and choices by their definitions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.symbolic import smooth
from ironbird.testing.alone import numeric

EXAMPLES = settings(deadline=None, max_examples=50, derandomize=True)
CLIP = numeric(lambda x: smooth.clip(x, -2.0, 5.0), 1)
BLEND = numeric(lambda x: smooth.blend(x, 1000.0, 2000.0), 1)
LIMIT = numeric(lambda v: smooth.limit_length(v, 3.0), 2)
WRAP = numeric(smooth.wrap_angle, 1)
CHOOSE = numeric(lambda i: smooth.choose(i, [ca.SX([1, 2]), ca.SX([3, 4]), ca.SX([5, 6])]), 1)


@given(x=st.floats(-100, 100))
@EXAMPLES
def test_clip_is_numpys_clip(x: float) -> None:
    assert CLIP(x)[0] == np.clip(x, -2.0, 5.0)


@pytest.mark.parametrize(("x", "expected"), [(0.0, 0.0), (1000.0, 0.0), (1250.0, 0.25), (2000.0, 1.0), (9e9, 1.0)])
def test_blend_is_linear_between_its_ends(x: float, expected: float) -> None:
    assert BLEND(x)[0] == expected


@given(x=st.floats(-50, 50), y=st.floats(-50, 50))
@EXAMPLES
def test_limited_vector_keeps_its_direction_and_is_never_too_long(x: float, y: float) -> None:
    found = LIMIT([x, y])

    assert np.linalg.norm(found) <= 3.0 * (1 + 1e-15)  # rounding
    assert abs(found[0] * y - found[1] * x) < 1e-13  # parallel, to rounding
    if np.hypot(x, y) <= 3.0:
        np.testing.assert_array_equal(found, [x, y])
    else:
        assert abs(np.linalg.norm(found) - 3.0) < 1e-14


@given(angle=st.floats(-100, 100))
@EXAMPLES
def test_wrapped_angle_is_the_same_direction_between_minus_and_plus_pi(angle: float) -> None:
    found = WRAP(angle)[0]

    assert -np.pi - 1e-13 <= found <= np.pi + 1e-13  # 16 turns, each rounded
    assert abs(np.exp(1j * found) - np.exp(1j * angle)) < 1e-13


@pytest.mark.parametrize(("index", "expected"), [(0, [1, 2]), (1, [3, 4]), (2, [5, 6]), (3, [0, 0]), (-1, [0, 0])])
def test_choose_takes_the_column_with_the_number_and_zero_beyond(index: int, expected: list[float]) -> None:
    np.testing.assert_array_equal(CHOOSE(index), expected)
