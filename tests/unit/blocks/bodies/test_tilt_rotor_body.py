"""Three bodies on two joints: against Lagrange's equations in other axes, and what free motion must keep."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from ironbird.analysis.operating_point import operating_point
from ironbird.blocks.bodies.tilt_rotor_body import TiltRotorBody
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

FLIP = np.diag([1.0, -1.0, -1.0])  # between forward-left-up and forward-right-down
GRAVITY = 9.81
# A lopsided vehicle, in axes forward-left-up: nothing is zero or symmetric that could hide an error
MASSES = (1.9, 0.3, 0.2)
INERTIAS = [
    np.array([[0.07, 0.004, 0.003], [0.004, 0.02, -0.002], [0.003, -0.002, 0.06]]),
    np.array([[0.002, 0.0003, -0.0002], [0.0003, 0.003, 0.0001], [-0.0002, 0.0001, 0.0015]]),
    np.array([[0.0015, -0.0002, 0.0001], [-0.0002, 0.002, 0.0003], [0.0001, 0.0003, 0.0018]]),
]
CENTRE = np.array([-0.02, 0.01, -0.03])
JOINTS = [np.array([0.03, -0.28, 0.06]), np.array([0.01, 0.25, 0.05])]
REACH = [np.array([0.02, -0.01, 0.06]), np.array([-0.01, 0.02, 0.05])]
CANT = (-0.09, 0.12)
DRAG = (0.018, -0.02)
DAMPING = (0.003, 0.004)
PARAMS: dict[str, Any] = {
    "mass": MASSES[0], "inertia": (FLIP @ INERTIAS[0] @ FLIP).tolist(), "centre": (FLIP @ CENTRE).tolist(),
    "arm_mass": MASSES[1:], "arm_inertia_1": (FLIP @ INERTIAS[1] @ FLIP).tolist(),
    "arm_inertia_2": (FLIP @ INERTIAS[2] @ FLIP).tolist(), "arm_centre": (FLIP @ np.array(REACH).T).tolist(),
    "joint": (FLIP @ np.array(JOINTS).T).tolist(), "cant": CANT, "drag_arm": DRAG,
}  # fmt: skip
MOVING: dict[str, Number] = {
    "block.v_0": [1.0, -2.0, 0.5], "block.w_0": [2.0, -1.5, 1.0], "block.tilt_0": [0.3, -0.4],
    "block.tilt_rate_0": [3.0, -2.0], "block.q_0": [0.8, 0.0, 0.6, 0.0],
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(TiltRotorBody(), **PARAMS)


def test_block_passes_the_public_check() -> None:
    check_block(TiltRotorBody(), params=PARAMS)


def turn(axis: int, angle: ca.SX) -> ca.SX:
    """A turn about one axis, from Rodrigues' formula."""
    K = ca.SX.zeros(3, 3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    K[i, j], K[j, i] = -1, 1
    return ca.SX.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


@functools.cache
def lagrange() -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """d/dt dL/dq' - dL/dq = Q for q = (x, y, z, roll, pitch, yaw, tilts) in axes forward-left-up, as published.

    Returned are the accelerations of the origin in the world, of the body's own angular velocity, and of the tilts.
    """
    q, dq, u = ca.SX.sym("q", 8), ca.SX.sym("dq", 8), ca.SX.sym("u", 4)
    R_B = turn(2, q[5]) @ turn(1, q[4]) @ turn(0, q[3])
    frames = [R_B, *[R_B @ turn(0, ca.SX(CANT[i])) @ turn(1, q[6 + i]) for i in (0, 1)]]
    places = [q[:3] + R_B @ CENTRE, *[q[:3] + R_B @ JOINTS[i] + frames[1 + i] @ REACH[i] for i in (0, 1)]]

    def spin(R: ca.SX) -> ca.SX:
        """Angular velocity per q', in the world, from R' R^T."""
        columns = []
        for k in range(8):
            S = ca.reshape(ca.jacobian(ca.reshape(R, 9, 1), q[k]), 3, 3) @ R.T
            columns.append(ca.vertcat(S[2, 1], S[0, 2], S[1, 0]))
        return ca.horzcat(*columns)

    kinetic, potential = ca.SX(0), ca.SX(0)
    for mass, inertia, R, place in zip(MASSES, INERTIAS, frames, places, strict=True):
        velocity, rate = ca.jacobian(place, q) @ dq, R.T @ spin(R) @ dq
        kinetic += 0.5 * mass * ca.dot(velocity, velocity) + 0.5 * ca.dot(rate, inertia @ rate)
        potential += mass * GRAVITY * place[2]
    force = ca.vertcat(ca.SX.zeros(6), u[2:] - ca.vertcat(*DAMPING) * dq[6:])
    for i in (0, 1):
        axis = frames[1 + i][:, 2]
        force += ca.jacobian(places[1 + i], q).T @ axis * u[i] + DRAG[i] * u[i] * spin(frames[1 + i]).T @ axis
    M, _ = ca.hessian(kinetic, dq)
    momentum = M @ dq
    ddq = ca.solve(M, force + ca.gradient(kinetic - potential, q) - ca.jacobian(momentum, q) @ dq)
    w = R_B.T @ spin(R_B) @ dq
    dw = ca.jacobian(w, q) @ dq + ca.jacobian(w, dq) @ ddq
    function = ca.Function("lagrange", [q, dq, u], [ca.vertcat(ddq[:3], dw, ddq[6:]), w])

    def call(*values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.array(v).ravel() for v in function(*values)])

    return call


def test_accelerations_are_those_of_lagranges_equations_with_euler_angles_in_axes_forward_left_up() -> None:
    point = operating_point(model(), {"block.joint_damping": DAMPING})
    rows = {name: point.flat.x.rows(f"block.{name}") for name in ("v", "w", "b")}
    random = np.random.default_rng(7)
    for _ in range(20):
        q, dq = random.uniform(-1, 1, 8), random.uniform(-3, 3, 8)
        q[6:] *= 1.4
        u = np.array([*random.uniform(0, 20, 2), *random.uniform(-1, 1, 2)])
        exact = lagrange()(q, dq, u)
        w_up = exact[8:]
        R = FLIP @ Rotation.from_euler("ZYX", q[5:2:-1]).as_matrix() @ FLIP
        v_N = FLIP @ dq[:3]
        values = {
            "block.v": R.T @ v_N, "block.q": Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]], "block.w": FLIP @ w_up,
            "block.a": q[6:], "block.b": dq[6:], "thrust_1": u[0], "thrust_2": u[1], "tilt_torque_1": u[2],
            "tilt_torque_2": u[3], "gravity_N": [0.0, 0.0, GRAVITY],
        }  # fmt: skip
        for path, value in values.items():
            point.set(path, value)
        rates = point.rates()
        acceleration = R @ (rates[rows["v"]] + np.cross(FLIP @ w_up, R.T @ v_N))
        found = np.concatenate([FLIP @ acceleration, FLIP @ rates[rows["w"]], rates[rows["b"]]])
        np.testing.assert_allclose(found, exact[:8], rtol=1e-9, atol=1e-9)  # conditioning of M, about 1e4
        specific = R @ point["block.specific_force_B"] + [0.0, 0.0, GRAVITY]
        np.testing.assert_allclose(specific, acceleration, rtol=1e-10, atol=1e-10)


def invariants(log: Log) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinetic energy, momentum and angular momentum about N's origin over time, body by body."""
    energy, momentum, spin = [], [], []
    for row in range(log.rows()):
        R = log["block.R_NB"][row].reshape(3, 3).T
        p, v, w = log["block.p_NB_N"][row], log["block.v_NB_B"][row], log["block.w_NB_B"][row]
        a, b = log["block.tilt"][row], log["block.tilt_rate"][row]
        bodies = [(MASSES[0], FLIP @ CENTRE, v + np.cross(w, FLIP @ CENTRE), w, FLIP @ INERTIAS[0] @ FLIP)]
        for i in (0, 1):
            F = Rotation.from_euler("XY", [CANT[i], -a[i]]).as_matrix()
            axis, reach = -F[:, 1], F @ FLIP @ REACH[i]
            place = FLIP @ JOINTS[i] + reach
            velocity = v + np.cross(w, place) + b[i] * np.cross(axis, reach)
            bodies.append((MASSES[1 + i], place, velocity, w + b[i] * axis, F @ FLIP @ INERTIAS[1 + i] @ FLIP @ F.T))
        energy.append(sum(0.5 * m * V @ V + 0.5 * W @ J @ W for m, _, V, W, J in bodies))
        momentum.append(R @ sum(m * V for m, _, V, _, _ in bodies))
        spin.append(sum(np.cross(p + R @ r, m * (R @ V)) + R @ J @ W for m, r, V, W, J in bodies))
    return np.array(energy), np.array(momentum), np.array(spin)


def test_free_motion_keeps_energy_and_both_momenta() -> None:
    state = start(model(), params=MOVING)
    state.set_input("gravity_N", 0.0)

    log = run(state, 5.0, log_s=0.1)

    assert np.ptp(log["block.tilt"][:, 0]) > 1  # the joints do turn
    energy, momentum, spin = invariants(log)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)  # RK4 over 5 s
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(spin, spin[:1].repeat(len(spin), 0), rtol=0, atol=1e-8)


def test_torque_in_a_joint_and_its_damping_change_no_momentum() -> None:
    state = start(model(), params={**MOVING, "block.joint_damping": [0.05, 0.02]})
    for name, value in {"gravity_N": 0.0, "tilt_torque_1": 0.3, "tilt_torque_2": -0.5}.items():
        state.set_input(name, value)

    energy, momentum, spin = invariants(run(state, 2.0, log_s=0.1))

    assert np.ptp(energy) > 0.05
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(spin, spin[:1].repeat(len(spin), 0), rtol=0, atol=1e-8)


def test_stop_holds_the_joint_where_its_spring_balances_the_torque() -> None:
    params = {"block.tilt_range": 0.5, "block.stop_stiffness": 20.0, "block.stop_damping": 0.1}
    state = start(model(), params={**params, "block.mass": 1e6, "block.inertia": (1e6 * np.eye(3)).tolist()})
    for name, value in {"gravity_N": 0.0, "tilt_torque_1": 0.4, "tilt_torque_2": -0.4}.items():
        state.set_input(name, value)

    tilt = run(state, 6.0)["block.tilt"][-1]

    np.testing.assert_allclose(tilt, [0.52, -0.52], atol=1e-6)  # range and torque over stiffness
