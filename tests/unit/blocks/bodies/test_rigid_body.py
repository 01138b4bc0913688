"""The flat-earth rigid body against closed forms and against scipy on independently written equations."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pymap3d
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

EXAMPLES = settings(deadline=None, max_examples=15, derandomize=True)
STEP_S = 1e-3
MASS = 1.7
INERTIA = np.array([[0.021, 0.003, -0.002], [0.003, 0.034, 0.004], [-0.002, 0.004, 0.045]])  # full, positive definite

vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)
rotations = st.tuples(*[st.floats(-3, 3)] * 3).map(lambda v: Rotation.from_rotvec(np.array(v)))


@functools.cache
def model() -> CompiledModel:
    return alone(RigidBody(), step_s=STEP_S, mass=MASS, inertia=INERTIA.tolist())


def fly(until_s: float, *, params: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None) -> Log:
    """One lane, logged every 10 ms, the end included."""
    state = start(model(), params={f"block.{k}": v for k, v in (params or {}).items()})
    for name, value in (inputs or {}).items():
        state.set_input(name, value)
    return run(state, until_s + STEP_S, log_s=0.01)


def quaternion_of(rotation: Rotation) -> np.ndarray:
    x, y, z, w = rotation.as_quat()
    return np.array([w, x, y, z])


def matrices(log: Log) -> np.ndarray:
    """R_NB over time; signals are stored column by column."""
    return log["block.R_NB"].reshape(-1, 3, 3).transpose(0, 2, 1)


def test_free_fall_is_a_parabola_whatever_the_body_turns() -> None:
    v_0, w_0 = np.array([3.0, -2.0, 1.0]), np.array([1.5, -0.7, 2.0])
    q = quaternion_of(Rotation.from_euler("ZYX", [0.4, -0.3, 0.9]))

    log = fly(5.0, params={"v_0": v_0, "w_0": w_0, "q_0": q}, inputs={"gravity_N": [0.0, 0.0, 9.81]})

    t = log.time()[:, None]
    v_N = matrices(log)[0] @ v_0
    exact = v_N * t + 0.5 * np.array([0, 0, 9.81]) * t**2
    np.testing.assert_allclose(log["block.p_NB_N"], exact, rtol=0, atol=2e-9)  # m: RK4 of the turning axes, (w h)^4 t^2
    np.testing.assert_allclose(log["block.v_NB_N"], v_N + np.array([0, 0, 9.81]) * t, rtol=0, atol=2e-9)
    np.testing.assert_allclose(log["block.specific_force_B"], 0.0, rtol=0, atol=0)  # free fall feels nothing


def test_constant_force_gives_force_over_mass() -> None:
    log = fly(2.0, inputs={"force_B": [1.0, -2.0, 3.0]})

    t = log.time()[:, None]
    a = np.array([1.0, -2.0, 3.0]) / MASS
    np.testing.assert_allclose(log["block.p_NB_N"], 0.5 * a * t**2, rtol=1e-12, atol=1e-14)  # RK4 is exact here
    np.testing.assert_allclose(log["block.specific_force_B"], np.tile(a, (len(t), 1)), rtol=1e-15)


def test_axisymmetric_top_precesses_at_the_analytic_rate() -> None:
    across, axial = 0.02, 0.035
    w_0 = np.array([0.8, 0.0, 4.0])

    log = fly(20.0, params={"inertia": np.diag([across, across, axial]), "w_0": w_0})

    # Euler's equations: w_x + i w_y turns at (I_z - I_x) / I_x w_z, w_z stays
    rate = (axial - across) / across * w_0[2]
    exact = w_0[0] * np.exp(1j * rate * log.time())
    w = log["block.w_NB_B"]
    np.testing.assert_allclose(w[:, 0] + 1j * w[:, 1], exact, rtol=0, atol=1e-9)  # RK4: rate^5 h^4 t / 120 = 4e-11
    np.testing.assert_allclose(w[:, 2], w_0[2], rtol=1e-13)


def test_axis_of_a_free_top_goes_round_the_angular_momentum() -> None:
    across, axial = 0.02, 0.035
    w_0 = np.array([0.8, 0.0, 4.0])

    log = fly(10.0, params={"inertia": np.diag([across, across, axial]), "w_0": w_0})

    # The symmetry axis turns about the fixed angular momentum H at H / I_x, under a constant angle
    H = np.array([across * w_0[0], 0.0, axial * w_0[2]])
    turn = Rotation.from_rotvec(np.outer(log.time() / across, H))
    exact = turn.apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(matrices(log)[:, :, 2], exact, rtol=0, atol=1e-9)  # RK4: (H / I_x h)^5 per step


def test_torque_free_body_keeps_energy_and_angular_momentum() -> None:
    w_0 = np.array([3.0, -2.0, 5.0])

    log = fly(20.0, params={"w_0": w_0})

    w, R = log["block.w_NB_B"], matrices(log)
    energy = 0.5 * np.einsum("ti,ij,tj->t", w, INERTIA, w)
    momentum = np.einsum("tij,jk,tk->ti", R, INERTIA, w)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)  # RK4: (w h)^5 a step over 20,000 steps
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(w), 1)), rtol=0, atol=1e-10)
    assert np.ptp(w, axis=0).min() > 1.0  # it does tumble


def test_general_motion_agrees_with_scipy_on_equations_in_inertial_axes() -> None:
    w_0, v_0 = np.array([1.0, -2.0, 1.5]), np.array([4.0, 1.0, -1.0])
    force, moment, momentum = np.array([2.0, -1.0, -9.0]), np.array([0.02, -0.05, 0.03]), np.array([0.01, 0.04, -0.2])
    gravity = np.array([0.1, -0.2, 9.8])

    log = fly(
        5.0, params={"v_0": v_0, "w_0": w_0},
        inputs={"force_B": force, "moment_B": moment, "momentum_B": momentum, "gravity_N": gravity},
    )  # fmt: skip

    # Newton in N and the law of angular momentum in N, attitude as nine direction cosines
    def rates(_: float, y: np.ndarray) -> np.ndarray:
        v_N, R, H_N = y[3:6], y[6:15].reshape(3, 3), y[15:18]
        w = np.linalg.solve(INERTIA, R.T @ H_N - momentum)
        cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([v_N, R @ force / MASS + gravity, (R @ cross).ravel(), R @ moment])

    begin = np.concatenate([np.zeros(3), v_0, np.eye(3).ravel(), INERTIA @ w_0 + momentum])
    exact = solve_ivp(rates, (0, 5.0), begin, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=log.time()[:501]).y.T

    np.testing.assert_allclose(log["block.p_NB_N"][:501], exact[:, :3], rtol=0, atol=1e-8)  # m: RK4 at 1 ms
    np.testing.assert_allclose(log["block.v_NB_N"][:501], exact[:, 3:6], rtol=0, atol=1e-8)
    np.testing.assert_allclose(matrices(log)[:501], exact[:, 6:15].reshape(-1, 3, 3), rtol=0, atol=1e-9)


def test_steady_rotor_momentum_adds_to_the_precession() -> None:
    across, axial, spin = 0.02, 0.035, -0.3
    w_0 = np.array([0.5, 0.0, 1.0])

    log = fly(
        5.0, params={"inertia": np.diag([across, across, axial]), "w_0": w_0}, inputs={"momentum_B": [0.0, 0.0, spin]}
    )

    # Euler's equations with a rotor: w_x + i w_y turns at ((I_z - I_x) w_z + h) / I_x
    rate = ((axial - across) * w_0[2] + spin) / across
    w = log["block.w_NB_B"]
    exact = w_0[0] * np.exp(1j * rate * log.time())
    np.testing.assert_allclose(w[:, 0] + 1j * w[:, 1], exact, rtol=0, atol=2e-8)  # RK4: 0.5 rate^5 h^4 t / 120 = 1.2e-8


def test_spin_about_the_axis_of_middle_inertia_is_unstable() -> None:
    log = fly(12.0, params={"inertia": np.diag([0.02, 0.03, 0.04]), "w_0": [1e-4, 5.0, 1e-4]})

    assert log["block.w_NB_B"][:, 1].min() < -4.9  # it turns over: the tennis-racket theorem


def test_angular_acceleration_output_is_the_slope_of_the_rates() -> None:
    state = start(model(), params={"block.w_0": [1.0, 2.0, -1.5]})
    state.set_input("moment_B", [0.05, -0.02, 0.01])
    log = run(state, 0.2, log_s=STEP_S)

    w = log["block.w_NB_B"]
    slope = (w[2:] - w[:-2]) / (2 * STEP_S)
    np.testing.assert_allclose(
        log["block.angular_acceleration_B"][1:-1], slope, rtol=0, atol=1e-4
    )  # second difference: w''' h^2/6


@given(v=vectors, w=vectors, force=vectors)
@EXAMPLES
def test_quaternion_keeps_unit_length(v: np.ndarray, w: np.ndarray, force: np.ndarray) -> None:
    log = fly(2.0, params={"v_0": 10 * v, "w_0": 30 * w}, inputs={"force_B": 20 * force})

    np.testing.assert_allclose(np.linalg.norm(log["block.q_NB"], axis=1), 1.0, rtol=0, atol=5e-16)  # one root a step


@given(turn=rotations, w=vectors, v=vectors)
@EXAMPLES
def test_motion_seen_from_turned_axes_is_the_turned_motion(turn: Rotation, w: np.ndarray, v: np.ndarray) -> None:
    q = Rotation.from_euler("ZYX", [0.4, -0.3, 0.9])
    body = {"w_0": 5 * w, "v_0": 5 * v}
    pushed = {"force_B": [1.0, 2.0, -12.0], "moment_B": [0.01, -0.02, 0.03]}
    gravity = np.array([0.0, 0.0, 9.81])

    one = fly(2.0, params={**body, "q_0": quaternion_of(q)}, inputs={**pushed, "gravity_N": gravity})
    two = fly(2.0, params={**body, "q_0": quaternion_of(turn * q)}, inputs={**pushed, "gravity_N": turn.apply(gravity)})

    np.testing.assert_allclose(two["block.p_NB_N"], turn.apply(one["block.p_NB_N"]), rtol=0, atol=1e-9)  # rounding
    np.testing.assert_allclose(two["block.v_NB_N"], turn.apply(one["block.v_NB_N"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(two["block.w_NB_B"], one["block.w_NB_B"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(matrices(two), turn.as_matrix() @ matrices(one), rtol=0, atol=1e-9)


@given(force=vectors, factor=st.floats(-5, 5))
@EXAMPLES
def test_displacement_is_linear_in_the_force(force: np.ndarray, factor: float) -> None:
    one = fly(1.0, inputs={"force_B": force})["block.p_NB_N"]
    many = fly(1.0, inputs={"force_B": factor * force})["block.p_NB_N"]

    np.testing.assert_allclose(many, factor * one, rtol=1e-12, atol=1e-15)  # rounding


def test_geodetic_position_is_pymap3ds_near_home() -> None:
    latitude, longitude, height = 40.1540302, 116.2593683, 41.526
    offset = np.array([120.0, -80.0, -30.0])
    place = {"home_latitude": np.radians(latitude), "home_longitude": np.radians(longitude), "home_height": height}

    log = fly(0.0, params={**place, "p_0": offset})

    expected = pymap3d.ned2geodetic(*offset, latitude, longitude, height)
    metres = 6.4e6
    assert abs(log["block.latitude"][0] - np.radians(expected[0])) * metres < 2e-3  # m: d^2 / 2R tan(latitude)
    assert abs(log["block.longitude"][0] - np.radians(expected[1])) * metres < 3e-3
    assert abs(log["block.height"][0] - expected[2]) < 2e-3  # m: d^2 / 2R, the earth falls away
