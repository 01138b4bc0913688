"""A body in water: mass matrix, energy and impulse of Kirchhoff's equations, moving water, the planar form."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.bodies.marine_body import MarineBody
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)
MASS = 80.0
INERTIA = np.array([[16.7, 0.3, 2.5], [0.3, 21.5, -0.4], [2.5, -0.4, 15.1]])
CENTRE = np.array([0.15, 0.05, -0.25])
ADDED, ADDED_INERTIA = np.array([5.5, 82.5, 55.0]), np.array([3.3, 17.2, 25.7])


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


S = skew(CENTRE)
RIGID = np.block([[MASS * np.eye(3), -MASS * S], [MASS * S, INERTIA - MASS * S @ S]])
MATRIX = RIGID + np.diag([*ADDED, *ADDED_INERTIA])


@functools.cache
def model(planar: bool = False) -> CompiledModel:
    return alone(
        MarineBody(planar=planar), mass=MASS, inertia=INERTIA.tolist(), centre_of_mass=CENTRE.tolist(),
        added_mass=ADDED.tolist(), added_inertia=ADDED_INERTIA.tolist(),
    )  # fmt: skip


def drift(params: dict[str, object], until_s: float = 5.0, current: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Log:
    """Without gravity and forces."""
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})  # type: ignore[misc]
    state.set_input("gravity_N", 0.0)
    state.set_input("current_N", current)
    return run(state, until_s, log_s=0.01)


MOVING: dict[str, object] = {"v_0": [0.6, -0.4, 0.2], "w_0": [0.3, -0.5, 0.4]}


@given(force=vectors, moment=vectors)
@EXAMPLES
def test_acceleration_from_rest_is_that_of_the_whole_mass_matrix(force: np.ndarray, moment: np.ndarray) -> None:
    found = outputs_at(model(), {"force_B": force, "moment_B": moment, "gravity_N": [0.0, 0.0, 0.0]})

    exact = np.linalg.solve(MATRIX, np.r_[force, moment])
    np.testing.assert_allclose(found["specific_force_B"][0], exact[:3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["angular_acceleration_B"][0], exact[3:], rtol=0, atol=1e-14)


def test_weight_acts_at_the_centre_of_mass() -> None:
    found = outputs_at(model(), {"gravity_N": [0.0, 0.0, 9.81]})

    weight = np.array([0, 0, MASS * 9.81])
    exact = np.linalg.solve(MATRIX, np.r_[weight, np.cross(CENTRE, weight)])
    np.testing.assert_allclose(found["angular_acceleration_B"][0], exact[3:], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found["specific_force_B"][0], exact[:3] - [0, 0, 9.81], rtol=1e-13, atol=1e-14)


def test_free_motion_in_still_water_keeps_energy_and_impulse() -> None:
    log = drift(MOVING)

    nu = np.hstack([log["block.v_NB_B"], log["block.w_NB_B"]])
    energy = 0.5 * np.einsum("ti,ij,tj->t", nu, MATRIX, nu)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)  # RK4 over 5 s
    R = log["block.R_NB"].reshape(-1, 3, 3).transpose(0, 2, 1)  # stored column by column
    impulse = np.einsum("tij,tj->ti", R, (nu @ MATRIX)[:, :3])
    np.testing.assert_allclose(impulse, impulse[:1].repeat(len(impulse), 0), rtol=0, atol=1e-8)
    p = log["block.p_NB_N"]
    angular = np.einsum("tij,tj->ti", R, (nu @ MATRIX)[:, 3:]) + np.cross(p, impulse)
    np.testing.assert_allclose(angular, angular[:1].repeat(len(angular), 0), rtol=0, atol=1e-7)


def test_motion_seen_from_the_water_is_the_same_in_any_current() -> None:
    current = np.array([0.5, -0.3, 0.1])
    turned = Rotation.from_euler("ZYX", [0.7, 0.2, -0.3])
    q = np.roll(turned.as_quat(), 1)
    still = drift({**MOVING, "q_0": q})
    v = np.array(MOVING["v_0"]) + turned.inv().apply(current)
    carried = drift({**MOVING, "v_0": v, "q_0": q}, current=tuple(current))

    way = carried["block.p_NB_N"] - np.outer(carried.time(), current)
    np.testing.assert_allclose(way, still["block.p_NB_N"], rtol=0, atol=1e-10)  # rounding
    np.testing.assert_allclose(carried["block.q_NB"], still["block.q_NB"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(carried["block.v_water_B"], still["block.v_NB_B"], rtol=0, atol=1e-11)


def test_munk_moment_turns_a_slipping_hull_broadside() -> None:
    params: dict[str, object] = {"mass": 10.0, "centre_of_mass": 0.0, "v_0": [1.0, 0.2, 0.0]}
    for coupling in (1.0, 0.0):
        log = drift({**params, "added_coupling": coupling}, 0.1)
        # N = (Y_vdot - X_udot) u v as added masses: (5.5 - 82.5) u v on the left side
        moment = coupling * -(ADDED[1] - ADDED[0]) * 1.0 * 0.2
        exact = np.linalg.solve(INERTIA + np.diag(ADDED_INERTIA), [0, 0, moment])
        np.testing.assert_allclose(log["block.angular_acceleration_B"][0], exact, rtol=1e-12, atol=1e-14)


def test_planar_body_stays_level_and_solves_three_equations() -> None:
    state = start(model(True), params={"block.centre_of_mass": [0.15, 0.0, 0.0], "block.v_0": [1.0, 0.1, 0.0]})
    state.set_input("gravity_N", [0.0, 0.0, 9.81])
    state.set_input("force_B", [3.0, 2.0, 5.0])
    state.set_input("moment_B", [1.0, 1.0, 0.7])
    log = run(state, 1.0, log_s=0.1)

    assert np.all(log["block.p_NB_N"][:, 2] == 0.0) and np.all(log["block.euler"][:, :2] == 0.0)
    x, iz = 0.15, INERTIA[2, 2] + MASS * 0.15**2
    matrix = np.array([[MASS + 82.5, MASS * x], [MASS * x, iz + 25.7]])
    exact = np.linalg.solve(matrix, [2.0, 0.7 - (82.5 - 5.5) * 1.0 * 0.1])
    assert abs(log["block.angular_acceleration_B"][0, 2] - exact[1]) < 1e-14
    assert abs(log["block.specific_force_B"][0, 1] - exact[0]) < 1e-14


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_place_follows_from_home(axis: int) -> None:
    found = outputs_at(model(), {"gravity_N": [0.0, 0.0, 9.81]}, {"p_0": np.eye(3)[axis] * 100.0})

    assert found["depth"][0] == (100.0 if axis == 2 else 0.0)
    moved = [found["latitude"][0] * 6.33e6, found["longitude"][0] * 6.378e6, -found["height"][0]]
    assert abs(moved[axis] - 100.0) < 0.2  # radii at the equator, three digits
