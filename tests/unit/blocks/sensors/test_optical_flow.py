"""Optical flow: signs and sizes of rotation and translation, against the motion of a ground point's image."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sensing import outputs_at, sample, sensor

from ironbird.blocks.sensors.optical_flow import OpticalFlow
from ironbird.blocks.sensors.products import optical_flow_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block

LEVEL = np.eye(3)[None]


@functools.cache
def camera() -> CompiledModel:
    return sensor(OpticalFlow, sample_s=0.02)


def test_passes_the_public_check() -> None:
    check_block(OpticalFlow(), params=optical_flow_params("px4flow"))


def test_flow_has_the_sign_of_px4() -> None:
    cases = {
        "v_NB_B": [[2.0, 0, 0], [0, 2.0, 0], [0, 0, 0], [0, 0, 0]],
        "w_NB_B": [[0, 0, 0], [0, 0, 0], [0.3, 0, 0], [0, 0.3, 0]],
        "R_NB": LEVEL, "height_above_ground": 4.0,
    }  # fmt: skip

    found = outputs_at(camera(), cases)

    np.testing.assert_allclose(found["flow"], [[0, 0.5], [-0.5, 0], [0.3, 0], [0, 0.3]], atol=1e-15)
    np.testing.assert_array_equal(found["rotation"], [[0, 0], [0, 0], [0.3, 0], [0, 0.3]])


@pytest.mark.parametrize("euler", [(0, 0, 0), (0.2, -0.3, 1.0)])
def test_flow_is_minus_the_turn_of_the_line_of_sight_in_body_axes(euler: tuple[float, float, float]) -> None:
    turn = Rotation.from_euler("ZYX", euler[::-1])
    v_B, w_B, height, dt = np.array([1.5, -0.7, 0.4]), np.array([0.2, -0.4, 0.6]), 5.0, 1e-6
    R = turn.as_matrix()
    ground_N = R @ [0, 0, height / R[2, 2]]  # the point at the centre of the image, seen from the origin

    # that point from the body a moment later, by finite difference
    moved = (turn * Rotation.from_rotvec(w_B * dt)).as_matrix().T @ (ground_N - R @ v_B * dt)
    shift = moved[:2] / moved[2] / dt  # of the image, along x and y of the body

    found = outputs_at(camera(), {"v_NB_B": v_B, "w_NB_B": w_B, "R_NB": R[None], "height_above_ground": height})
    # A right-handed turn about x moves the image to +y, one about y moves it to -x.
    np.testing.assert_allclose(found["flow"][0], [shift[1], -shift[0]], atol=1e-5)  # finite difference


def test_quality_and_limits() -> None:
    inputs = {
        "v_NB_B": [[1.0, 0, 0], [1.0, 0, 0], [20.0, 0, 0], [1.0, 0, 0]], "w_NB_B": 0.0,
        "R_NB": np.array([np.eye(3)] * 3 + [Rotation.from_euler("x", 2.0).as_matrix()]),
        "height_above_ground": [0.1, 2.0, 2.0, 2.0],
    }  # fmt: skip

    found = outputs_at(camera(), inputs, {"nearest": 0.3, "largest_rate": 2.5})

    np.testing.assert_array_equal(found["quality"], [0, 1, 0, 0])
    np.testing.assert_allclose(found["flow"][1:3, 1], [0.5, 2.5])


def test_sensor_on_an_arm_sees_its_own_speed_and_noise_has_its_deviation() -> None:
    still = {"v_NB_B": 0.0, "w_NB_B": [0.0, 0.0, 2.0], "R_NB": LEVEL, "height_above_ground": 4.0}
    arm = outputs_at(camera(), still, {"position": [0.5, 0.0, 0.0]})
    inputs = {"v_NB_B": 0.0, "w_NB_B": 0.0, "R_NB": np.eye(3).tolist(), "height_above_ground": 4.0}
    noisy = sample(camera(), 10_000, inputs, {"noise": 0.05, "rotation_noise": 0.01})

    np.testing.assert_allclose(arm["flow"][0], [-0.25, 0.0], atol=1e-15)  # w x r = 1 m/s to the right
    np.testing.assert_allclose(noisy["block.flow"].std(axis=0), 0.05, rtol=0.03)
    np.testing.assert_allclose(noisy["block.rotation"].std(axis=0), 0.01, rtol=0.03)
