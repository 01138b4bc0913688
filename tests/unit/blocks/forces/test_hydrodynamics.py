"""Forces of the water against closed forms, and against taking energy out of the motion."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.forces.hydrodynamics import (
    Buoyancy,
    ControlFin,
    CrossFlowDrag,
    Damping,
    Hydrostatics,
    LiftDrag,
    ManoeuvringDamping,
)
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
vectors = st.tuples(*[st.floats(-2, 2)] * 3).map(np.array)
D1, D2 = np.array([13.7, 3.0, 33.0]), np.array([141.0, 217.0, 190.0])
A1, A2 = np.array([0.1, 0.8, 0.2]), np.array([1.192, 0.47, 1.5])
CYBERSHIP = {
    "X_u": -0.72253, "X_uu": -1.32742, "X_uuu": -5.86643, "Y_v": -0.88965, "Y_vv": -36.47287, "Y_r": -7.25,
    "Y_rv": -0.805, "Y_vr": -0.845, "Y_rr": -3.45, "N_v": 0.0313, "N_vv": 3.95645, "N_r": -1.9, "N_rv": 0.13,
    "N_vr": 0.08, "N_rr": -0.75,
}  # fmt: skip
LEVEL = np.eye(3).flatten()


@functools.cache
def damping() -> CompiledModel:
    return alone(
        Damping(), linear=D1.tolist(), quadratic=D2.tolist(), angular_linear=A1.tolist(), angular_quadratic=A2.tolist()
    )


@functools.cache
def cross_flow() -> CompiledModel:
    return alone(CrossFlowDrag(), length=2.0, draught=0.2, drag_coefficient=1.1)


@functools.cache
def wing() -> CompiledModel:
    return alone(LiftDrag(), span=0.19, area=0.2128, drag_coefficient=0.056)


@functools.cache
def buoyancy() -> CompiledModel:
    return alone(Buoyancy(), volume=0.0134, centre=[0.01, 0.0, -0.02], density=1000.0, height=0.25)


@functools.cache
def floating() -> CompiledModel:
    return alone(
        Hydrostatics(), heave_stiffness=7541.0, roll_stiffness=967.0, pitch_stiffness=2441.0, flotation_x=-0.2,
        balanced_mass=55.0, balanced_at=[0.2, 0.0, -0.2],
    )  # fmt: skip


@functools.cache
def rudder() -> CompiledModel:
    return alone(
        ControlFin(), normal=[0.0, 1.0, 0.0], position=[-0.8, 0.0, 0.0], area=0.0133, lift_slope=0.5,
    )  # fmt: skip


@given(v=vectors, w=vectors)
@EXAMPLES
def test_damping_is_linear_and_quadratic_per_axis(v: np.ndarray, w: np.ndarray) -> None:
    found = outputs_at(damping(), {"v_water_B": v, "w_NB_B": w})

    np.testing.assert_allclose(found["force_B"][0], -(D1 + D2 * abs(v)) * v, rtol=1e-14)
    np.testing.assert_allclose(found["moment_B"][0], -(A1 + A2 * abs(w)) * w, rtol=1e-14)


def test_linear_drag_fades_with_speed_where_asked() -> None:
    found = outputs_at(damping(), {"v_water_B": [0.6, 0.8, 0.0]}, {"fade": [3.0, 0.0, 0.0], "quadratic": 0.0})

    np.testing.assert_allclose(found["force_B"][0], [-13.7 * math.exp(-3) * 0.6, -3.0 * 0.8, 0.0], rtol=1e-14)


def test_manoeuvring_damping_has_every_derivative_at_its_place() -> None:
    model = alone(ManoeuvringDamping(), **CYBERSHIP)  # type: ignore[arg-type]
    u, v, r = 0.4, -0.1, 0.2
    found = outputs_at(model, {"v_water_B": [u, v, 0.3], "w_NB_B": [0.1, 0.1, r]})

    c = CYBERSHIP
    X = c["X_u"] * u + c["X_uu"] * abs(u) * u + c["X_uuu"] * u**3
    Y = c["Y_v"] * v + c["Y_vv"] * abs(v) * v + c["Y_rv"] * abs(r) * v
    Y += c["Y_r"] * r + c["Y_vr"] * abs(v) * r + c["Y_rr"] * abs(r) * r
    N = c["N_v"] * v + c["N_vv"] * abs(v) * v + c["N_rv"] * abs(r) * v
    N += c["N_r"] * r + c["N_vr"] * abs(v) * r + c["N_rr"] * abs(r) * r
    np.testing.assert_allclose(found["force_B"][0], [X, Y, 0.0], rtol=1e-14)
    np.testing.assert_allclose(found["moment_B"][0], [0.0, 0.0, N], rtol=1e-14)


def test_cross_flow_drag_in_sway_and_in_a_turn_is_the_sum_over_the_strips() -> None:
    v, w = np.array([[1, 0.5, 0], [1, 0, 0]]), np.array([[0, 0, 0], [0, 0, 0.4]])
    found = outputs_at(cross_flow(), {"v_water_B": v, "w_NB_B": w})

    factor = 0.5 * 1026.0 * 0.2 * 1.1
    assert abs(found["force_B"][0, 1] + factor * 2.0 * 0.25 * 21 / 20) < 1e-11  # 21 places on 20 strips
    assert abs(found["moment_B"][0, 2]) < 1e-12  # ends balance
    cubes = 2 * sum((i / 10) ** 3 for i in range(1, 11)) / 10  # |x|^3 dx from -1 m to 1 m
    assert abs(found["moment_B"][1, 2] + factor * 0.4**2 * cubes) < 1e-11
    assert abs(found["force_B"][1, 1]) < 1e-12


@given(v=vectors, w=vectors)
@EXAMPLES
def test_cross_flow_and_damping_only_take_energy(v: np.ndarray, w: np.ndarray) -> None:
    for model in (damping(), cross_flow()):
        found = outputs_at(model, {"v_water_B": v, "w_NB_B": w})
        assert found["force_B"][0] @ v + found["moment_B"][0] @ w <= 1e-12


@given(alpha=st.floats(-0.3, 0.3), speed=st.floats(0.1, 3))
@EXAMPLES
def test_drag_lies_along_the_flow_and_lift_across_it(alpha: float, speed: float) -> None:
    v = speed * np.array([math.cos(alpha), 0, math.sin(alpha)])
    force = outputs_at(wing(), {"v_water_B": v})["force_B"][0]

    ratio = 0.19**2 / 0.2128
    lift = math.pi * ratio / (1 + math.sqrt(1 + ratio**2 / 4)) * alpha
    drag = 0.056 + lift**2 / (math.pi * 0.7 * ratio)
    pressure = 0.5 * 1026.0 * speed**2 * 0.2128
    assert abs(-force @ v / speed - pressure * drag) < 1e-10
    across = np.array([math.sin(alpha), 0, -math.cos(alpha)])  # up, for a flow from ahead
    assert abs(force @ across - pressure * lift) < 1e-10


def test_buoyancy_points_up_in_every_attitude_and_rights_the_body() -> None:
    turned = Rotation.from_euler("xyz", [0.4, -0.2, 1.0]).as_matrix()
    found = outputs_at(buoyancy(), {"R_NB": turned.flatten(order="F"), "depth": 5.0, "gravity_N": [0, 0, 9.82]})

    lift = 1000.0 * 9.82 * 0.0134
    np.testing.assert_allclose(turned @ found["force_B"][0], [0, 0, -lift], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found["moment_B"][0], np.cross([0.01, 0, -0.02], found["force_B"][0]), rtol=0, atol=1e-13
    )
    assert found["lift"][0] == pytest.approx(lift, rel=1e-14)


def test_buoyancy_fades_while_the_body_leaves_the_water() -> None:
    depths = [-0.2, -0.125, 0.0, 0.0625, 0.125, 3.0]
    found = outputs_at(buoyancy(), {"R_NB": LEVEL, "depth": depths, "gravity_N": [0.0, 0.0, 9.82]})

    share = found["lift"] / (1000.0 * 9.82 * 0.0134)
    np.testing.assert_allclose(share, [0, 0, 0.5, 0.75, 1, 1], rtol=0, atol=1e-14)


def test_hydrostatics_carry_the_balanced_mass_and_spring_back() -> None:
    found = outputs_at(
        floating(),
        {
            "p_NB_N": np.array([[3, 4, 0], [0, 0, 0.02]]),
            "euler": [0.0, 0.0, 1.0],
            "R_NB": LEVEL,
            "gravity_N": [0, 0, 9.81],
        },
    )

    np.testing.assert_allclose(found["force_B"], [[0, 0, -55 * 9.81], [0, 0, -55 * 9.81 - 7541 * 0.02]], rtol=1e-14)
    # the spring acts at the centre of flotation, 0.2 m aft: x F_z turns the bow down
    np.testing.assert_allclose(found["moment_B"][0], [0, 0.2 * 55 * 9.81, 0], rtol=1e-13)
    np.testing.assert_allclose(found["moment_B"][1] - found["moment_B"][0], [0, -0.2 * 7541 * 0.02, 0], rtol=1e-12)
    np.testing.assert_allclose(found["lift"], [55 * 9.81, 55 * 9.81 + 7541 * 0.02], rtol=1e-14)


def test_hydrostatic_matrix_is_symmetric_and_positive() -> None:
    inputs = np.eye(3) * 0.01
    found = outputs_at(
        floating(),
        {
            "p_NB_N": np.column_stack([np.zeros(3), np.zeros(3), inputs[:, 0]]), "R_NB": LEVEL,
            "euler": np.column_stack([inputs[:, 1], inputs[:, 2], np.zeros(3)]), "gravity_N": [0.0, 0.0, 0.0],
        },
    )  # fmt: skip
    G = -np.column_stack([found["force_B"][:, 2], found["moment_B"][:, :2]]).T / 0.01

    np.testing.assert_allclose(G, G.T, rtol=0, atol=1e-9)
    assert np.all(np.linalg.eigvalsh(G) > 0)
    np.testing.assert_allclose(np.diag(G), [7541, 967, 2441 + 7541 * 0.04], rtol=1e-12)


def test_fin_turns_the_hull_and_brakes_it() -> None:
    angle = 0.2
    found = outputs_at(rudder(), {"deflection": angle, "v_water_B": [2.0, 0.5, 1.0]})

    side = 0.5 * 1026.0 * (2.0**2 + 0.5**2) * 0.0133 * 0.5 * angle
    np.testing.assert_allclose(found["force_B"][0], [-side * angle, -side, 0.0], rtol=1e-12)
    np.testing.assert_allclose(found["moment_B"][0], [0, 0, 0.8 * side], rtol=1e-12)  # positive rudder, to the right
