"""The body on the rotating ellipsoid against motion in inertial space, conserved quantities and pymap3d."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pymap3d
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from ironbird.blocks.bodies.rigid_body_wgs84 import RigidBodyWgs84
from ironbird.blocks.environment.gravity import GravityWgs84
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.constants import WGS84_GM_M3PS2, WGS84_ROTATION_RADPS, WGS84_SEMI_MAJOR_M
from ironbird.model.diagram import Diagram
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.symbolic.earth import J2

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
STEP_S = 1e-3
MASS = 2.0
LATITUDE, LONGITUDE, HEIGHT = math.radians(47.0), math.radians(-122.0), 500.0

angles = st.floats(-3, 3)


@functools.cache
def model() -> CompiledModel:
    """A body that falls, with gravity where it is."""
    diagram = Diagram("fall")
    begin = RigidBodyWgs84.initial(latitude=LATITUDE, longitude=LONGITUDE, height=HEIGHT)
    inertia = np.diag([0.02, 0.03, 0.04]).tolist()
    body = diagram.add("body", RigidBodyWgs84(), mass=MASS, inertia=inertia, **begin)
    gravity = diagram.add("gravity", GravityWgs84())
    diagram.connect(body.latitude, gravity.latitude)
    diagram.connect(body.height, gravity.height)
    diagram.connect(gravity.gravity_N, body.gravity_N)
    diagram.export(body.force_B)
    return compile_model(diagram, step_s=STEP_S)


def fly(until_s: float, *, log_s: float = 0.1, **initial: Any) -> Log:
    begin = RigidBodyWgs84.initial(**initial)
    state = start(model(), params={f"body.{name}": value for name, value in begin.items()})
    return run(state, until_s + STEP_S, log_s=log_s)


def matrices(log: Log) -> np.ndarray:
    return log["body.R_NB"].reshape(-1, 3, 3).transpose(0, 2, 1)


def test_body_held_against_gravity_stays_where_it_is_and_turns_with_the_earth() -> None:
    gravity_N = fly(0.0, latitude=LATITUDE, longitude=LONGITUDE, height=HEIGHT)["gravity.gravity_N"][0]

    # Equal inertias: any other body is turned by its own spin of one turn a day, 10 mm in this minute
    begin = RigidBodyWgs84.initial(latitude=LATITUDE, longitude=LONGITUDE, height=HEIGHT)
    state = start(model(), params={f"body.{name}": value for name, value in begin.items()})
    state.set_param("body.inertia", np.eye(3))
    state.set_input("force_B", -MASS * gravity_N)
    log = run(state, 60.0, log_s=0.1)

    assert np.abs(log["body.p_NB_N"]).max() < 1e-7  # m: rounding of 6.4e6 m over 60,000 steps
    assert np.abs(log["body.w_NB_B"]).max() < 1e-15
    np.testing.assert_allclose(np.linalg.norm(log["body.w_IB_B"], axis=1), WGS84_ROTATION_RADPS, rtol=1e-12)
    np.testing.assert_allclose(log["body.specific_force_B"], np.tile(-gravity_N, (len(log.time()), 1)), rtol=1e-15)


def test_fall_agrees_with_scipy_in_inertial_space() -> None:
    start_at = {"latitude": 0.6, "longitude": 1.0, "height": 20e3}
    log = fly(100.0, log_s=1.0, v_N=[300.0, -150.0, -200.0], **start_at)

    # J2 gravitation in axes that do not turn, written from the potential in polar form
    def rates(_: float, y: np.ndarray) -> np.ndarray:
        x, y_, z = y[:3]
        r = math.sqrt(x * x + y_ * y_ + z * z)
        k = 1.5 * J2 * (WGS84_SEMI_MAJOR_M / r) ** 2
        s2 = (z / r) ** 2
        a = (
            -WGS84_GM_M3PS2
            / r**3
            * np.array([(1 + k * (1 - 5 * s2)) * x, (1 + k * (1 - 5 * s2)) * y_, (1 + k * (3 - 5 * s2)) * z])
        )
        return np.concatenate([y[3:], a])

    r_0 = np.array(pymap3d.geodetic2ecef(math.degrees(0.6), math.degrees(1.0), 20e3))
    v_0 = log["body.v_EB_E"][0] + np.cross([0, 0, WGS84_ROTATION_RADPS], r_0)
    exact = solve_ivp(
        rates, (0, 100), np.concatenate([r_0, v_0]), method="DOP853", rtol=3e-14, atol=1e-9, t_eval=log.time()
    ).y
    turned = Rotation.from_rotvec(np.outer(log.time(), [0, 0, -WGS84_ROTATION_RADPS])).apply(exact[:3].T)
    found = pymap3d.geodetic2ecef(
        np.degrees(log["body.latitude"]), np.degrees(log["body.longitude"]), log["body.height"]
    )
    np.testing.assert_allclose(
        np.array(found).T, turned, rtol=0, atol=1e-6
    )  # m: rounding of 6.4e6 m over 100,000 steps


def test_fall_keeps_the_jacobi_integral() -> None:
    log = fly(100.0, log_s=1.0, v_N=[2000.0, 3000.0, -500.0], latitude=0.7, longitude=-2.0, height=150e3)

    # In the turning axes v^2 / 2 + potential - (rotation * distance from the axis)^2 / 2 is constant
    r = np.array(
        pymap3d.geodetic2ecef(np.degrees(log["body.latitude"]), np.degrees(log["body.longitude"]), log["body.height"])
    ).T
    radius = np.linalg.norm(r, axis=1)
    sine = r[:, 2] / radius
    potential = -WGS84_GM_M3PS2 / radius * (1 - J2 * (WGS84_SEMI_MAJOR_M / radius) ** 2 * (1.5 * sine**2 - 0.5))
    centrifugal = 0.5 * WGS84_ROTATION_RADPS**2 * (r[:, 0] ** 2 + r[:, 1] ** 2)
    jacobi = 0.5 * np.sum(log["body.v_EB_E"] ** 2, axis=1) + potential - centrifugal
    np.testing.assert_allclose(jacobi, jacobi[0], rtol=1e-12)  # rounding; a Coriolis error of 1e-5 would give 1e-6


def test_dropped_body_falls_east_by_the_textbook_amount() -> None:
    latitude, t = math.radians(35.0), 10.0
    log = fly(t, latitude=latitude, longitude=0.5, height=2000.0)

    g = np.linalg.norm(log["gravity.gravity_N"][0])
    textbook = WGS84_ROTATION_RADPS * g * t**3 * math.cos(latitude) / 3  # first order in the earth's rotation
    assert abs(log["body.p_NB_N"][-1, 1] / textbook - 1) < 2e-3  # second order: rotation * t, curvature


@given(roll=angles, pitch=st.floats(-1.4, 1.4), yaw=angles, latitude=st.floats(-1.5, 1.5), longitude=angles)
@EXAMPLES
def test_start_gives_the_position_velocity_and_attitude_asked_for(
    roll: float, pitch: float, yaw: float, latitude: float, longitude: float
) -> None:
    v_N = [12.0, -7.0, 3.0]
    log = fly(0.0, latitude=latitude, longitude=longitude, height=321.0, v_N=v_N, euler=[roll, pitch, yaw])

    assert abs(log["body.latitude"][0] - latitude) < 1e-15 * 10  # rounding
    assert abs(log["body.longitude"][0] - longitude) < 1e-15 * 10
    assert abs(log["body.height"][0] - 321.0) < 5e-9  # m: rounding of 6.4e6 m
    np.testing.assert_allclose(log["body.v_NB_N"][0], v_N, rtol=0, atol=1e-13)
    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    np.testing.assert_allclose(matrices(log)[0], expected, rtol=0, atol=2e-15 * 4)  # rounding
    x, y, z, w = Rotation.from_matrix(expected).as_quat()
    q = log["body.q_NB"][0]
    np.testing.assert_allclose(q * np.sign(q @ [w, x, y, z]), [w, x, y, z], rtol=0, atol=1e-14)
    np.testing.assert_allclose(log["body.euler"][0], [roll, pitch, yaw], rtol=0, atol=1e-13)
    np.testing.assert_allclose(log["body.v_NB_B"][0], expected.T @ v_N, rtol=0, atol=1e-13)


def test_position_from_home_is_pymap3ds() -> None:
    log = fly(20.0, latitude=LATITUDE, longitude=LONGITUDE, height=HEIGHT, v_N=[200.0, 100.0, -150.0])

    expected = pymap3d.geodetic2ned(
        np.degrees(log["body.latitude"]), np.degrees(log["body.longitude"]), log["body.height"],
        math.degrees(LATITUDE), math.degrees(LONGITUDE), HEIGHT,
    )  # fmt: skip
    np.testing.assert_allclose(log["body.p_NB_N"], np.array(expected).T, rtol=0, atol=1e-7)  # m: rounding of 6.4e6 m
    assert np.linalg.norm(log["body.p_NB_N"][-1]) > 4000


def test_rates_against_the_level_axes_are_the_slope_of_the_attitude() -> None:
    log = fly(
        2.0, log_s=STEP_S, latitude=1.2, longitude=2.0, height=10e3, v_N=[2000.0, 3000.0, 0.0], euler=[0.3, 0.2, -1.0],
        w_IB_B=[0.01, -0.02, 0.03],
    )  # fmt: skip

    R = matrices(log)
    step = Rotation.from_matrix(R[:-2].transpose(0, 2, 1) @ R[2:]).as_rotvec() / (2 * STEP_S)
    np.testing.assert_allclose(
        log["body.w_NB_B"][1:-1], step, rtol=0, atol=1e-11
    )  # rad/s: second difference, w'' h^2 / 6


def test_torque_free_rotation_keeps_angular_momentum_in_inertial_space() -> None:
    log = fly(30.0, latitude=0.3, longitude=0.4, height=5e3, w_IB_B=[1.0, 2.0, 0.5])

    R_NB = matrices(log)
    latitude, longitude, t = log["body.latitude"], log["body.longitude"], log.time()
    inertial = Rotation.from_euler("ZY", np.column_stack([longitude + WGS84_ROTATION_RADPS * t, -latitude - np.pi / 2]))
    H_B = log["body.w_IB_B"] * np.array([0.02, 0.03, 0.04])
    H_I = inertial.apply(np.einsum("tij,tj->ti", R_NB, H_B))
    np.testing.assert_allclose(H_I, np.tile(H_I[0], (len(t), 1)), rtol=0, atol=1e-12)  # RK4: (w h)^5 a step


def test_flat_earth_is_its_limit_for_a_short_hop() -> None:
    log = fly(1.0, latitude=0.0, longitude=0.0, height=0.0, v_N=[3.0, 0.0, -5.0])

    g = np.linalg.norm(log["gravity.gravity_N"][0])
    t = log.time()
    np.testing.assert_allclose(
        -log["body.p_NB_N"][:, 2], 5 * t - 0.5 * g * t**2, rtol=0, atol=5e-6
    )  # m: g falls with height
    np.testing.assert_allclose(log["body.p_NB_N"][:, 0], 3 * t, rtol=0, atol=5e-6)
