"""The planar car: circles, wheel loads, slopes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ironbird.blocks.bodies.planar_car import PlanarCar
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.record import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

MASS, INERTIA, FRONT, REAR, TRACK, HEIGHT, SHARE, G = 1225.888, 1538.853, 0.88392, 1.50876, 1.4, 0.5578, 0.6, 9.81


@functools.cache
def model() -> CompiledModel:
    return alone(
        PlanarCar(), mass=MASS, inertia=np.diag([0.0, 0.0, INERTIA]).tolist(), front=FRONT, rear=REAR, track=TRACK,
        cg_height=HEIGHT, roll_share=SHARE, transfer_time=0.1, p_0=[0.0, 0.0, -HEIGHT],
    )  # fmt: skip


def drive(seconds: float, force: Any = 0.0, moment: float = 0.0, slope: Any = 0.0, **states: Any) -> Log:
    state = start(model())
    state.set_input("gravity_N", [0.0, 0, G])
    state.set_input("force_B", force)
    state.set_input("moment_B", [0.0, 0, moment])
    state.set_input("slope", slope)
    for name, value in states.items():
        state.set_state(f"block.{name}", value)
    return run(state, seconds, log_s=0.01)


def test_a_constant_central_force_keeps_a_circle() -> None:
    v, r = 12.0, 0.25
    log = drive(2 * np.pi / r, [0.0, MASS * v * r, 0], v=[v, 0.0], r=r)

    t, p = log.time(), log["block.p_NB_N"]
    np.testing.assert_allclose(p[:, 0], v / r * np.sin(r * t), atol=1e-9)  # RK4 at 4e-5 turns per step
    np.testing.assert_allclose(p[:, 1], v / r * (1 - np.cos(r * t)), atol=1e-9)
    np.testing.assert_allclose(log["block.v_NB_B"], np.tile([v, 0, 0], (len(t), 1)), atol=1e-9)
    yaw = (r * t + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(np.exp(1j * log["block.euler"][:, 2]), np.exp(1j * yaw), atol=1e-12)


def test_moment_turns_the_car_and_force_moves_it() -> None:
    log = drive(1.0, [MASS * 2.0, 0, 0], INERTIA * 0.0)
    np.testing.assert_allclose(log["block.v_NB_N"][:, 0], 2 * log.time(), atol=1e-12)
    log = drive(1.0, moment=INERTIA * 0.5)
    np.testing.assert_allclose(log["block.w_NB_B"][:, 2], 0.5 * log.time(), atol=1e-12)


def loads(log: Log) -> np.ndarray:
    return np.array([log[f"block.load_{i}"][-1] for i in (1, 2, 3, 4)])


def test_wheels_carry_the_weight_and_the_moments_of_the_forces() -> None:
    base = FRONT + REAR
    np.testing.assert_allclose(loads(drive(0.01)), MASS * G / (2 * base) * np.array([REAR, REAR, FRONT, FRONT]))
    ax, ay = -6.0, 3.0  # braking in a right-hand turn
    settled = loads(drive(3.0, [MASS * ax, MASS * ay, 0]))  # thirty lags: 1e-13 left
    assert abs(settled.sum() - MASS * G) < 1e-6
    arms = np.array([[FRONT, -TRACK / 2], [FRONT, TRACK / 2], [-REAR, -TRACK / 2], [-REAR, TRACK / 2]])
    # Moments about the centre of mass: the ground's upward forces balance those of the horizontal ones
    assert abs(settled @ arms[:, 0] + MASS * ax * HEIGHT) < 1e-6
    assert abs(settled @ arms[:, 1] + MASS * ay * HEIGHT) < 1e-6
    assert abs((settled[0] - settled[1]) * TRACK / 2 / (MASS * ay * HEIGHT) - SHARE) < 1e-9


def test_rollover_begins_at_half_the_track_over_the_height() -> None:
    limit = G * TRACK / (2 * HEIGHT)
    assert drive(3.0, [0.0, MASS * limit * 0.999, 0])["block.rollover"].max() == 0.0
    assert drive(3.0, [0.0, -MASS * limit * 1.001, 0])["block.rollover"][-1] == 1.0


def test_on_a_slope_gravity_pulls_along_the_plane_and_energy_is_kept() -> None:
    slope, yaw = np.array([0.08, -0.05]), 0.7
    log = drive(5.0, slope=slope, yaw=yaw, p=[0.0, 0, -HEIGHT])

    p, v = log["block.p_NB_N"], log["block.v_NB_N"]
    np.testing.assert_allclose(p[:, 2], p[:, :2] @ slope - HEIGHT, atol=1e-9)  # stays on the ground
    energy = 0.5 * (v**2).sum(axis=1) - G * p[:, 2]
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)
    downhill = slope / (1 + slope @ slope) * G  # horizontal part of the acceleration of a sliding body
    np.testing.assert_allclose(v[-1, :2], downhill * log.time()[-1], rtol=1e-9)
    assert abs(log["block.load"][0] - MASS * G / np.sqrt(1 + slope @ slope)) < 1e-6


def test_attitude_on_a_slope_is_one_rotation_in_all_its_forms() -> None:
    log = drive(0.01, slope=[0.3, -0.2], yaw=2.1)

    R = log["block.R_NB"][0].reshape(3, 3, order="F")
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(R[:, 2], np.array([-0.3, 0.2, 1]) / np.sqrt(1.13), atol=1e-14)
    w, x, y, z = log["block.q_NB"][0]
    np.testing.assert_allclose(Rotation.from_quat([x, y, z, w]).as_matrix(), R, atol=1e-12)
    np.testing.assert_allclose(Rotation.from_euler("ZYX", log["block.euler"][0][::-1]).as_matrix(), R, atol=1e-12)
    assert abs(log["block.euler"][0][2] - 2.1) < 1e-12


def test_a_turn_on_a_slope_stays_a_circle_in_the_plane() -> None:
    v, r, slope = 5.0, 0.5, np.array([0.2, 0.1])
    state = start(model())
    state.set_input("gravity_N", 0.0)
    state.set_input("force_B", [0.0, MASS * v * r, 0])
    state.set_input("slope", slope)
    state.set_state("block.v", [v, 0.0])
    state.set_state("block.r", r)
    log = run(state, 2 * np.pi / r, log_s=2 * np.pi / r / 1000 // 1e-3 * 1e-3)

    p = log["block.p_NB_N"] + [0, 0, HEIGHT]
    centre = 0.5 * (p.max(axis=0) + p.min(axis=0))
    distance = np.linalg.norm(p - centre, axis=1)
    np.testing.assert_allclose(distance, v / r, rtol=1e-3)  # centre from samples
