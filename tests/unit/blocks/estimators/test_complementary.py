"""Complementary filter: decay of errors as its gains say, bias, and the comparison of [Dai] Fig. 16."""

from __future__ import annotations

import functools
import math

import numpy as np

from ironbird.blocks.estimators.complementary import ComplementaryFilter
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.proofs.estimators import FIELD_N, IMU_S, attitude_error_table, comparison_model
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

LEVEL = [0.0, 0.0, -GRAVITY]


@functools.cache
def model() -> CompiledModel:
    return alone(ComplementaryFilter(), step_s=IMU_S, field_0=FIELD_N, bias_gain=0.0)


def standing(**params: float) -> RunState:
    """A level vehicle that points north, aligned."""
    state = start(model(), lanes=2)
    for name, value in params.items():
        state.set_param(f"block.{name}", value)
    state.set_input("accel_B", LEVEL)
    state.set_input("mag_B", FIELD_N)
    for name in ("imu_stamp", "mag_stamp"):
        state.set_input(name, 1.0)
    run(state, 2 * IMU_S, log_s=IMU_S)
    return state


def test_tilt_error_decays_with_the_level_gain() -> None:
    state = standing(level_gain=0.5, heading_gain=0.0)
    tilt = 0.02
    state.set_state("block.q", [math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0])
    log = run(state, 4.0, log=["block.euler"], log_s=IMU_S)

    exact = 2 * np.arctan(math.tan(tilt / 2) * np.exp(-0.5 * (log.time_s - log.time_s[0] + IMU_S)))
    # roll' = -k sin(roll); Euler steps of 4 ms differ by k dt / 2 = 1e-3 of the exponent
    np.testing.assert_allclose(log["block.euler"][:, 0], exact, rtol=3e-3)


def test_heading_error_decays_with_the_heading_gain() -> None:
    state = standing(heading_gain=0.4)
    state.set_state("block.q", [math.cos(0.1), 0.0, 0.0, math.sin(0.1)])  # 0.2 rad off
    for i in range(500):
        state.set_input("mag_stamp", 2.0 + i)
        log = run(state, state.time_s + IMU_S, log=["block.euler"], log_s=IMU_S)

    np.testing.assert_allclose(log["block.euler"][-1, 2], 0.2 * math.exp(-0.4 * 500 * IMU_S), rtol=5e-3)  # Euler steps


def test_integral_finds_the_gyro_bias() -> None:
    state = standing(bias_gain=0.1)
    state.set_input("gyro_B", [0.01, -0.02, 0.0])
    log = run(state, 120.0, log=["block.gyro_bias_B", "block.w_NB_B", "block.euler"], log_s=1.0)

    np.testing.assert_allclose(log["block.gyro_bias_B"][-1], [0.01, -0.02, 0.0], atol=1e-4)  # 12 time constants
    np.testing.assert_allclose(log["block.w_NB_B"][-1], 0.0, atol=1e-4)
    np.testing.assert_allclose(log["block.euler"][-1, :2], 0.0, atol=1e-3)


def test_false_level_of_a_steady_acceleration_is_what_it_follows() -> None:
    state = standing(level_gain=1.0)
    state.set_input("accel_B", [2.0, 0.0, -GRAVITY])  # a level vehicle that speeds up: gyros say no rotation
    log = run(state, 20.0, log=["block.euler"], log_s=1.0)

    np.testing.assert_allclose(log["block.euler"][-1, 1], math.atan2(2.0, GRAVITY), rtol=1e-6)  # closed form


def test_position_and_velocity_follow_gnss_and_barometer() -> None:
    state = start(comparison_model(), lanes=16, seed=5)
    for name in ("speed", "ripple"):
        state.set_param(f"flight.{name}", 0.0)
    log = run(state, 60.0, log=["mahony", "flight"], log_s=0.1)
    late = log.time_s > 20.0

    position = (log.all_lanes("mahony.p_NB_N") - log.all_lanes("flight.p_NB_N"))[:, late]
    velocity = (log.all_lanes("mahony.v_NB_N") - log.all_lanes("flight.v_NB_N"))[:, late]
    assert np.sqrt(np.mean(position**2, axis=(0, 1))).max() < 0.5  # m; GNSS has 0.8 m, 1.2 m
    assert np.sqrt(np.mean(velocity**2, axis=(0, 1))).max() < 0.2  # m/s; GNSS has 0.15, the attitude adds to it
    assert log.all_lanes("mahony.healthy")[:, log.time_s > 1.0].min() == 1.0


def test_kalman_filter_is_clearly_better_in_a_turning_flight() -> None:
    rows = {(row.estimator, row.phase): row for row in attitude_error_table()}

    ekf, mahony = rows["ekf", "turn"], rows["mahony", "turn"]
    assert ekf.tilt_rms_rad < math.radians(0.1) and ekf.heading_rms_rad < math.radians(0.4)
    assert mahony.tilt_rms_rad > 10 * ekf.tilt_rms_rad  # [Dai] Fig. 16: the accelerometer shows a false level
    assert mahony.heading_rms_rad > 5 * ekf.heading_rms_rad
    assert rows["mahony", "hover"].tilt_rms_rad < math.radians(2.0)  # both work where there is no turn
    assert rows["ekf", "hover"].tilt_rms_rad < math.radians(0.5)


def test_block_passes_the_public_check_in_flight() -> None:
    check_block(
        ComplementaryFilter(), params={"field_0": FIELD_N}, step_s=IMU_S, until_s=0.4,
        inputs={"accel_B": [0.1, 0.2, -9.8], "mag_B": FIELD_N, "gyro_B": 0.01, "gnss_fix": 3.0},
    )  # fmt: skip
