"""The linear-quadratic law: every entry of the gain, the trapezoid rule, other headings, and the ground."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.tilt_rotor_lqr import TiltRotorLqr
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

SAMPLE_S = 0.012
GAIN = np.random.default_rng(4).uniform(-1, 1, (4, 20))
TRIM, ANGLES = np.array([10.0, 11.0, 0.1, -0.2]), np.array([0.01, -0.02, 0.03, 0.04])
PARAMS: dict[str, Any] = {
    "gain": GAIN.tolist(), "trim_input": TRIM.tolist(), "trim_angle": ANGLES.tolist(), "max_thrust": 21.0,
    "max_torque": 2.0, "thrust_coefficient": 9.5e-6, "motor_slope": 1500.0, "motor_idle": -20.0,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(TiltRotorLqr(sample_s=SAMPLE_S), step_s=SAMPLE_S, **PARAMS)


def inputs(xi: np.ndarray, yaw: float = 0.0) -> dict[str, Any]:
    """What the block sees at these deviations without integrals, with a heading that is asked for."""
    turn = Rotation.from_euler("z", yaw + xi[5]).as_matrix()  # the heading that it has
    roll, pitch = xi[3] + ANGLES[0], xi[4] + ANGLES[1]
    # Rates of z-y-x angles to body axes
    s, c = np.sin(roll), np.cos(roll)
    from_rates = np.array([[1, 0, -np.sin(pitch)], [0, c, s * np.cos(pitch)], [0, -s, c * np.cos(pitch)]])
    place, motion = np.array([3.0, -2.0, -7.0]), np.array([0.5, 0.2, -0.1])
    return {
        "p_NB_N": place + turn @ xi[:3], "v_NB_N": motion + turn @ xi[8:11],
        "R_NB": Rotation.from_euler("ZYX", [yaw + xi[5], pitch, roll]).as_matrix()[None],
        "w_NB_B": from_rates @ xi[11:14], "tilt": xi[6:8] + ANGLES[2:], "tilt_rate": xi[14:16],
        "position_set": place, "velocity_set": motion, "yaw_set": yaw,
    }  # fmt: skip


def test_block_passes_the_public_check() -> None:
    check_block(TiltRotorLqr(sample_s=SAMPLE_S), params=PARAMS, step_s=SAMPLE_S)


@pytest.mark.parametrize("yaw", [0.0, 1.0, -2.8])
def test_each_deviation_meets_its_column_at_any_heading(yaw: float) -> None:
    for seed in range(6):
        xi = np.random.default_rng(seed).uniform(-0.3, 0.3, 20)

        found = outputs_at(model(), inputs(xi, yaw))["wanted"][0]

        # The first sample's integral is half a period of the deviation (the one before is zero)
        xi[16:] = 0.5 * SAMPLE_S * xi[[0, 1, 2, 5]]
        np.testing.assert_allclose(found, TRIM - GAIN @ xi, rtol=0, atol=1e-12)


def test_integrals_grow_by_the_trapezoid_rule() -> None:
    xi = np.zeros(20)
    xi[[0, 1, 2, 5]] = 0.02, -0.03, 0.01, 0.04
    state = start(model())
    for name, value in inputs(xi).items():
        state.set_input(name, np.squeeze(value))

    wanted = run(state, 10 * SAMPLE_S, log_s=SAMPLE_S)["block.wanted"]

    for k in range(10):
        xi[16:] = (k + 0.5) * SAMPLE_S * xi[[0, 1, 2, 5]]
        np.testing.assert_allclose(wanted[k], TRIM - GAIN @ xi, rtol=0, atol=1e-12)


def test_throttle_gives_the_wanted_thrust() -> None:
    found = outputs_at(model(), inputs(np.zeros(20)))

    for number in (1, 2):
        speed = 1500.0 * found[f"throttle_{number}"][0] - 20.0
        np.testing.assert_allclose(9.5e-6 * speed**2, TRIM[number - 1], rtol=1e-12)
        np.testing.assert_allclose(2.0 * found[f"torque_{number}"][0], TRIM[number + 1], rtol=1e-12)


@pytest.mark.parametrize("held", [{"armed": 0.0}, {"grounded": 1.0}])
def test_on_the_ground_the_motors_rest_and_only_the_tilts_are_held(held: dict[str, float]) -> None:
    xi = np.full(20, 0.2)

    found = outputs_at(model(), {**inputs(xi), **held})

    tilts = np.zeros(20)
    tilts[[6, 7, 14, 15]] = 0.2
    assert found["throttle_1"][0] == found["throttle_2"][0] == 0.0
    np.testing.assert_allclose(found["wanted"][0][2:], (TRIM - GAIN @ tilts)[2:], rtol=0, atol=1e-12)


def test_deviations_beyond_the_limits_count_as_the_limits() -> None:
    far, cut = np.zeros(20), np.zeros(20)
    far[:3], far[5] = [30.0, 40.0, -9.0], 2.0
    cut[:3], cut[5] = [1.8, 2.4, -3.0], 0.5
    cut[16:] = 0.5 * SAMPLE_S * cut[[0, 1, 2, 5]]
    seen = inputs(far)
    turn = Rotation.from_euler("z", -2.0).as_matrix()
    seen["p_NB_N"] = seen["position_set"] + far[:3]
    cut[:3], cut[16:19] = turn @ cut[:3], turn @ cut[16:19]
    found = outputs_at(model(), seen)["wanted"][0]

    exact = np.clip(TRIM - GAIN @ cut, [0.0, 0.0, -2.0, -2.0], [21.0, 21.0, 2.0, 2.0])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
