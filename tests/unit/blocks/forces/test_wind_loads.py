"""Wind on a vessel against the formulas of the book in angles, and its balance with the hull's drag."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.wind_loads import WindLoads
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

FRONT, SIDE, LENGTH, HEIGHT, CX, CY, CN = 0.45, 0.75, 2.0, 0.3, 0.7, 0.825, 0.125
RHO = 1.2


@functools.cache
def model() -> CompiledModel:
    return alone(
        WindLoads(), frontal_area=FRONT, lateral_area=SIDE, length=LENGTH, centre_height=HEIGHT, surge_coefficient=CX,
        sway_coefficient=CY, yaw_coefficient=CN,
    )  # fmt: skip


def loads(air: list[float], ground: list[float]) -> tuple[np.ndarray, np.ndarray]:
    found = outputs_at(model(), {"v_air_B": air, "v_NB_B": ground, "density": RHO})
    return found["force_B"][0], found["moment_B"][0]


@given(speed=st.floats(0.5, 20), coming_from=st.floats(-math.pi, math.pi))
@settings(deadline=None, max_examples=30, derandomize=True)
def test_forces_are_those_of_the_book_at_every_angle(speed: float, coming_from: float) -> None:
    # A vessel at rest, heading north; the wind goes to b_w = from + pi. u_rw = -V cos(b_w), v_rw = -V sin(b_w),
    # g_rw = -atan2(v_rw, u_rw) is positive for wind from the left
    u_rw, v_rw = speed * math.cos(coming_from), speed * math.sin(coming_from)
    gamma = -math.atan2(v_rw, u_rw)
    q = 0.5 * RHO * speed**2
    X, Y, N = (
        -q * CX * math.cos(gamma) * FRONT, q * CY * math.sin(gamma) * SIDE,
        q * CN * math.sin(2 * gamma) * SIDE * LENGTH,
    )  # fmt: skip
    force, moment = loads([u_rw, v_rw, 0.0], [0.0, 0.0, 0.0])

    np.testing.assert_allclose(force, [X, Y, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moment, [HEIGHT * Y, -HEIGHT * X, N], rtol=1e-9, atol=1e-9)


def test_signs_of_head_and_beam_wind() -> None:
    force, _ = loads([10.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert force[0] < 0  # head wind pushes back
    force, moment = loads([0.0, 10.0, 0.0], [0.0, 0.0, 0.0])
    assert force[1] < 0 and moment[0] < 0 and moment[2] == pytest.approx(0.0)  # from the right: to the left, rolls left


def test_without_wind_there_is_no_force_at_any_speed() -> None:
    force, moment = loads([3.0, -0.4, 0.1], [3.0, -0.4, 0.1])
    assert not np.any(force) and not np.any(moment)
