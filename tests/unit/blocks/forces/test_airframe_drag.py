"""Drag: the tanh law of falling, decay of a spin, direction against the motion."""

from __future__ import annotations

import functools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
vectors = st.tuples(*[st.floats(-20, 20)] * 3).map(np.array)
C_D, MASS, G = 0.06697, 1.4, 9.8
C_M = 0.009174


@functools.cache
def block() -> CompiledModel:
    return alone(AirframeDrag(), drag=C_D, damping=C_M)


@functools.cache
def falling() -> CompiledModel:
    """A body in still air; gravity is an input."""
    diagram = Diagram("falling")
    body = diagram.add("body", RigidBody(), mass=MASS, inertia=np.diag([0.02, 0.03, 0.04]).tolist())
    drag = diagram.add("drag", AirframeDrag(), drag=C_D, damping=C_M)
    diagram.connect(body.v_NB_B, drag.v_air_B)
    diagram.connect(body.w_NB_B, drag.w_NB_B)
    diagram.connect(drag.force_B, body.force_B)
    diagram.connect(drag.moment_B, body.moment_B)
    diagram.export(body.gravity_N)
    return compile_model(diagram)


def test_fall_follows_the_tanh_law_to_the_terminal_speed() -> None:
    state = start(falling())
    state.set_input("gravity_N", [0.0, 0.0, G])
    log = run(state, 10.0, log_s=0.01)

    top = math.sqrt(MASS * G / C_D)
    t = log.time()
    np.testing.assert_allclose(log["body.v_NB_N"][:, 2], top * np.tanh(G * t / top), rtol=1e-10, atol=1e-12)  # RK4
    np.testing.assert_allclose(
        log["body.p_NB_N"][:, 2], top**2 / G * np.log(np.cosh(G * t / top)), rtol=1e-9, atol=1e-12
    )


def test_glide_without_gravity_slows_as_one_over_time() -> None:
    state = start(falling(), params={"body.v_0": [12.0, 0.0, 0.0]})
    log = run(state, 20.0, log_s=0.01)

    t = log.time()
    exact = 12.0 / (1 + 12.0 * C_D * t / MASS)
    np.testing.assert_allclose(log["body.v_NB_N"][:, 0], exact, rtol=1e-11)  # RK4


def test_spin_slows_as_one_over_time() -> None:
    state = start(falling(), params={"body.w_0": [0.0, 0.0, -15.0]})
    log = run(state, 5.0, log_s=0.01)

    exact = -15.0 / (1 + 15.0 * C_M * log.time() / 0.04)
    np.testing.assert_allclose(log["body.w_NB_B"][:, 2], exact, rtol=1e-9)  # RK4


@given(v=vectors)
@EXAMPLES
def test_equal_coefficients_give_drag_straight_against_the_motion(v: np.ndarray) -> None:
    force = outputs_at(block(), {"v_air_B": v})["force_B"][0]

    np.testing.assert_allclose(force, -C_D * np.linalg.norm(v) * v, rtol=1e-12, atol=1e-13)  # the picometre


@given(v=vectors, w=vectors, centre=vectors)
@EXAMPLES
def test_moment_is_damping_and_drag_times_its_arm(v: np.ndarray, w: np.ndarray, centre: np.ndarray) -> None:
    found = outputs_at(block(), {"v_air_B": v, "w_NB_B": w}, {"centre": 0.01 * centre, "damping": [0.1, 0.2, 0.3]})

    arm = np.cross(0.01 * centre, found["force_B"][0])
    np.testing.assert_allclose(
        found["moment_B"][0], -np.array([0.1, 0.2, 0.3]) * np.abs(w) * w + arm, rtol=0, atol=1e-12
    )


@given(v=vectors, w=vectors)
@EXAMPLES
def test_drag_and_damping_only_take_energy(v: np.ndarray, w: np.ndarray) -> None:
    found = outputs_at(block(), {"v_air_B": v, "w_NB_B": w}, {"drag": [0.05, 0.1, 0.2]})

    assert found["force_B"][0] @ v <= 0
    assert found["moment_B"][0] @ w <= 0


def test_drag_scales_with_density() -> None:
    found = outputs_at(block(), {"v_air_B": [3.0, 4.0, 0.0], "density": [1.225, 0.6]})["force_B"]

    np.testing.assert_allclose(found[1], found[0] * 0.6 / 1.225, rtol=1e-14)  # rounding
    np.testing.assert_allclose(found[0], -C_D * 5.0 * np.array([3.0, 4.0, 0.0]), rtol=1e-14)
