"""Rotors: thrust and moment by cross products, the published layout matrix, and angular momentum kept in spin-up."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.actuators.motor import Motor
from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.forces.rotor import Rotor
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec, effectiveness

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
C_T, C_M, J = 9.286e-6, 1.189e-7, 8.18e-5
vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)
axes = vectors.filter(lambda v: np.linalg.norm(v) > 0.1).map(lambda v: v / np.linalg.norm(v))


@functools.cache
def model() -> CompiledModel:
    return alone(
        Rotor(), position=[0.1, 0.2, -0.05], spin=1.0, thrust_coefficient=C_T, torque_coefficient=C_M, inertia=J
    )


@given(
    position=vectors,
    axis=axes,
    spin=st.sampled_from([-1.0, 1.0]),
    speed=st.floats(0, 1000),
    change=st.floats(-1e4, 1e4),
)
@EXAMPLES
def test_force_moment_and_momentum_are_the_vector_formulas(
    position: np.ndarray, axis: np.ndarray, spin: float, speed: float, change: float
) -> None:
    found = outputs_at(
        model(), {"speed": speed, "acceleration": change}, {"position": position, "axis": axis, "spin": spin}
    )

    thrust = C_T * speed**2
    np.testing.assert_allclose(found["force_B"][0], thrust * axis, rtol=0, atol=1e-14)  # rounding of 9 N
    torque = spin * (C_M * speed**2 + J * change)  # [RflyModel] 7.1.1
    np.testing.assert_allclose(
        found["moment_B"][0], np.cross(position, thrust * axis) - torque * axis, rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(found["momentum_B"][0], spin * J * speed * axis, rtol=0, atol=1e-16)
    assert abs(found["shaft_power"][0] - C_M * speed**3) < 1e-12


def test_thrust_and_torque_scale_with_density_and_blade_health() -> None:
    found = outputs_at(model(), {"speed": 600.0, "density": [1.225, 0.9, 1.225]}, {"blade_health": [1.0, 1.0, 0.4]})

    np.testing.assert_allclose(found["thrust"] / found["thrust"][0], [1.0, 0.9 / 1.225, 0.4], rtol=1e-14)  # rounding
    np.testing.assert_allclose(found["shaft_power"] / found["shaft_power"][0], [1.0, 0.9 / 1.225, 0.4], rtol=1e-14)


def test_counter_clockwise_rotor_pushes_the_nose_to_the_right() -> None:
    found = outputs_at(model(), {"speed": 500.0}, {"position": [0.0, 0.0, 0.0], "spin": [1.0, -1.0]})

    assert found["moment_B"][0, 2] == C_M * 500.0**2  # clockwise seen from above is positive about z down
    assert found["moment_B"][1, 2] == -C_M * 500.0**2
    assert found["momentum_B"][0, 2] < 0  # the rotor itself turns the other way


def test_quad_layout_is_the_published_control_matrix() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)

    # [RflyModel] 7.1.1, X-shaped quadrotor. The document prints c_T / 2 in the first row; four rotors carry the
    # weight with c_T each (its own hexacopter matrix prints c_T), so the half is a misprint.
    d, a = 0.225, math.sqrt(2) / 2
    published = np.array(
        [
            [C_T, C_T, C_T, C_T],
            [-a * d * C_T, a * d * C_T, a * d * C_T, -a * d * C_T],
            [a * d * C_T, -a * d * C_T, a * d * C_T, -a * d * C_T],
            [C_M, C_M, -C_M, -C_M],
        ]
    )
    np.testing.assert_allclose(effectiveness(spec) * C_T, published, rtol=3e-7)  # positions given to six digits


def test_four_rotor_blocks_give_the_same_matrix() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    squares = np.array([500.0, 600.0, 550.0, 650.0]) ** 2
    found = outputs_at(
        model(),
        {"speed": np.sqrt(squares)},
        {
            "position": [r.position_B_m for r in spec.rotor],
            "spin": [1.0 if r.spin == "ccw" else -1.0 for r in spec.rotor],
        },
    )

    total = np.concatenate([[found["thrust"].sum()], found["moment_B"].sum(axis=0)])
    np.testing.assert_allclose(total, effectiveness(spec) * C_T @ squares, rtol=1e-12)  # rounding


@functools.cache
def free_rotor() -> CompiledModel:
    """A body in free space with one rotor without blades: no thrust, no aerodynamic torque."""
    diagram = Diagram("free_rotor")
    body = diagram.add("body", RigidBody(), mass=1.0, inertia=np.diag([0.02, 0.03, 0.04]).tolist())
    motor = diagram.add("motor", Motor(), slope=900.0, idle_speed=0.0, time_constant=0.05)
    axis = np.array([0.3, -0.5, -0.8]) / np.linalg.norm([0.3, -0.5, -0.8])
    rotor = diagram.add(
        "rotor", Rotor(), position=[0.2, 0.1, 0.0], axis=axis.tolist(), spin=-1.0, thrust_coefficient=0.0,
        torque_coefficient=0.0, inertia=5e-4,
    )  # fmt: skip
    diagram.connect(motor.speed, rotor.speed)
    diagram.connect(motor.acceleration, rotor.acceleration)
    for port in ("force_B", "moment_B", "momentum_B"):
        diagram.connect(rotor[port], body[port])
    diagram.export(body.gravity_N)
    diagram.export(motor.throttle)
    return compile_model(diagram)


@pytest.mark.parametrize("w_0", [[0.0, 0.0, 0.0], [2.0, -1.0, 3.0]])
def test_spinning_up_in_free_space_keeps_the_angular_momentum_of_body_and_rotor(w_0: list[float]) -> None:
    state = start(free_rotor(), params={"body.w_0": w_0})
    state.set_input("throttle", 0.8)
    log = run(state, 3.0, log_s=1e-2)

    inertia = np.diag([0.02, 0.03, 0.04])
    R = log["body.R_NB"].reshape(-1, 3, 3).transpose(0, 2, 1)
    total = np.einsum("tij,tj->ti", R, log["body.w_NB_B"] @ inertia + log["rotor.momentum_B"])
    np.testing.assert_allclose(
        total, np.tile(total[0], (len(total), 1)), rtol=0, atol=2e-9
    )  # N m s: RK4 at 1 ms, of 0.36
    assert np.linalg.norm(log["rotor.momentum_B"][-1]) > 0.35  # it did spin up
    assert np.ptp(log["body.w_NB_B"], axis=0).min() > 1.0  # and turned the body


def test_gyroscopic_moment_makes_a_pitched_body_nutate_at_the_analytic_rate() -> None:
    params = {"rotor.axis": [0.0, 0.0, -1.0], "motor.omega_0": 720.0, "body.w_0": [0.0, 1e-3, 0.0]}
    state = start(free_rotor(), params=params)  # type: ignore[arg-type]
    state.set_input("throttle", 0.8)  # 720 rad/s: the rotor's speed stays
    log = run(state, 2.0, log_s=1e-2)

    # I w' = -w x h, small rates: an oscillation between roll and pitch at h / sqrt(I_x I_y)
    h = 5e-4 * 720.0  # spin -1 about an axis that points up: momentum down, along +z
    phase = h / math.sqrt(0.02 * 0.03) * log.time()
    w = log["body.w_NB_B"]
    np.testing.assert_allclose(w[:, 1], 1e-3 * np.cos(phase), rtol=0, atol=1e-10)  # rad/s: RK4, and second order in w
    np.testing.assert_allclose(w[:, 0], -1e-3 * math.sqrt(0.03 / 0.02) * np.sin(phase), rtol=0, atol=1e-10)
    first = log["body.angular_acceleration_B"][0]
    np.testing.assert_allclose(first, [-1e-3 * h / 0.02, 0.0, 0.0], rtol=0, atol=1e-16)  # exactly -w x h / I


def test_a_tilted_rotor_pushes_sideways_and_turns_the_body() -> None:
    tail = alone(Rotor(tilting=True), thrust_coefficient=C_T, torque_coefficient=C_M, inertia=0.0, spin=1.0,
                 position=[-0.3, 0.0, 0.0])  # fmt: skip
    found = outputs_at(tail, {"speed": 500.0, "tilt": [0.0, 0.2, -0.2]})
    T, Q = C_T * 500.0**2, C_M * 500.0**2
    s, c = math.sin(0.2), math.cos(0.2)

    np.testing.assert_allclose(found["force_B"], [[0, 0, -T], [0, s * T, -c * T], [0, -s * T, -c * T]], atol=1e-12)
    # lever 0.3 m behind the centre, and the reaction along the tilted axis
    np.testing.assert_allclose(found["moment_B"][1], [0.0, -0.3 * c * T - s * Q, -0.3 * s * T + c * Q], atol=1e-12)
