"""The hitch: equal and opposite forces, no moment about the ball, angle and gap."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.forces.hitch import Hitch
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

BALL, EYE = np.array([-2.4, 0.0, 0.1]), np.array([2.05, 0.0, 0.1])
STIFF, DAMP = 2e6, 3e4


@functools.cache
def model() -> CompiledModel:
    return alone(Hitch(), ball=BALL.tolist(), drawbar=EYE.tolist(), stiffness=STIFF, damping=DAMP)


def joined(car_yaw: float, trailer_yaw: float, apart: np.ndarray, parting: np.ndarray) -> dict[str, np.ndarray]:
    """A trailer whose eye is `apart` from the ball, the ball's lead, and moves away from it with `parting`."""
    car, trailer = (Rotation.from_euler("z", yaw) for yaw in (car_yaw, trailer_yaw))
    inputs = {
        "p_NB_N": [10.0, -3.0, -0.5], "v_NB_N": parting, "w_NB_B": [0.0, 0.0, 0.0],
        "R_NB": car.as_matrix().flatten(order="F"),
        "trailer_p_N": np.array([10.0, -3.0, -0.5]) + car.apply(BALL) - trailer.apply(EYE) - apart,
        "trailer_v_N": [0.0, 0.0, 0.0], "trailer_w": [0.0, 0.0, 0.0],
        "trailer_R": trailer.as_matrix().flatten(order="F"),
    }  # fmt: skip
    return {name: value[0] for name, value in outputs_at(model(), inputs).items()}


@given(
    yaws=st.tuples(st.floats(-3, 3), st.floats(-1.2, 1.2)),
    apart=st.tuples(st.floats(-1e-3, 1e-3), st.floats(-1e-3, 1e-3)),
)
@settings(deadline=None, max_examples=30, derandomize=True)
def test_forces_are_equal_and_opposite_and_act_at_the_ball(
    yaws: tuple[float, float], apart: tuple[float, float]
) -> None:
    car_yaw, trailer_yaw = yaws[0], yaws[0] - yaws[1]
    found = joined(car_yaw, trailer_yaw, np.array([*apart, 0.0]), np.array([0.01, -0.02, 0.0]))

    car, trailer = (Rotation.from_euler("z", yaw) for yaw in (car_yaw, trailer_yaw))
    on_car, on_trailer = car.apply(found["force_B"]), trailer.apply(found["trailer_force"])
    expected = STIFF * np.array([*apart, 0.0]) + DAMP * np.array([0.01, -0.02, 0.0])
    np.testing.assert_allclose(on_trailer, expected, atol=1e-5)
    np.testing.assert_allclose(on_car, -on_trailer, atol=1e-8)
    np.testing.assert_allclose(found["moment_B"], np.cross(BALL, found["force_B"]), atol=1e-8)
    np.testing.assert_allclose(found["trailer_moment"], np.cross(EYE, found["trailer_force"]), atol=1e-8)
    assert found["articulation"] == pytest.approx(yaws[1], abs=1e-9)
    assert found["gap"] == pytest.approx(np.hypot(*apart), abs=1e-9)


def test_a_closed_angle_is_a_jackknife() -> None:
    none = np.zeros(3)
    assert joined(0.0, 1.3, none, none)["jackknifed"] == 0.0
    assert joined(0.0, 1.5, none, none)["jackknifed"] == 1.0 == joined(0.0, -1.5, none, none)["jackknifed"]


def test_the_block_passes_the_public_check() -> None:
    check_block(Hitch(), params={"ball": BALL.tolist(), "drawbar": EYE.tolist()})
