"""Ground contact: rest without creeping, sliding as Coulomb says, bounces that lose energy, no pull ever."""

from __future__ import annotations

import functools
import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.blocks.environment.terrain import Terrain
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.block import Block, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Clock, In, Out, Param
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

MASS, G, FRICTION = 1.4, 9.81, 0.7
STIFFNESS, DAMPING, GRIP, GRIP_DAMPING = 2500.0, 45.0, 2500.0, 25.0
FEET = np.array([[0.11, 0.11, -0.11, -0.11], [0.11, -0.11, 0.11, -0.11], [0.12] * 4])
INERTIA = np.diag([0.017, 0.017, 0.032])
STANDING_Z = -(0.12 - MASS * G / (4 * STIFFNESS))  # centre of mass at rest on level ground
GEAR: dict[str, Any] = {
    "stiffness": STIFFNESS, "damping": DAMPING, "friction": FRICTION, "grip_stiffness": GRIP,
    "grip_damping": GRIP_DAMPING, "points": FEET.tolist(),
}  # fmt: skip


class Push(Block):
    """A force that swings about a mean, in N."""

    time = Clock(doc="simulation time")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    force_B = Out(unit="N", shape=3, frame="B", doc="in body axes")
    mean = Param(unit="N", shape=3, frame="N", default=0.0, doc="mean")
    swing = Param(unit="N", shape=3, frame="N", default=0.0, doc="amplitude")
    frequency = Param(unit="rad/s", default=8.0, doc="of the swing")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"force_B": u.R_NB.T @ (p.mean + p.swing * ca.sin(p.frequency * u.time))}


@functools.cache
def model() -> CompiledModel:
    diagram = Diagram("standing")
    body = diagram.add("body", RigidBody(), mass=MASS, inertia=INERTIA.tolist(), p_0=[0.0, 0.0, STANDING_Z])
    gravity = diagram.add("gravity", GravityUniform(), acceleration=G)
    terrain = diagram.add("terrain", Terrain())
    contact = diagram.add("contact", GroundContact(4), **GEAR)
    push = diagram.add("push", Push())
    diagram.connect(gravity.gravity_N, body.gravity_N)
    diagram.connect(body.p_NB_N, terrain.p_NB_N, contact.p_NB_N)
    diagram.connect(body.R_NB, contact.R_NB, push.R_NB)
    diagram.connect(body.v_NB_N, contact.v_NB_N)
    diagram.connect(body.w_NB_B, contact.w_NB_B)
    for port in ("place", "ground_z", "slope"):
        diagram.connect(terrain[port], contact[port])
    for part in (contact, push):
        diagram.connect(part.force_B, body.force_B)
    diagram.connect(contact.moment_B, body.moment_B)
    return compile_model(diagram)


def on_slopes(slopes_deg: list[float]) -> RunState:
    """One lane per slope: the ground rises to the north, the vehicle is laid on it with its nose up the slope."""
    state = start(model(), lanes=len(slopes_deg))
    for lane, slope in enumerate(np.radians(slopes_deg)):
        up = np.array([-math.sin(slope), 0.0, -math.cos(slope)])
        state.set_param("terrain.plane_slope", [-math.tan(slope), 0.0], lane)
        state.set_param("body.p_0", 0.12 * up, lane)
        state.set_param("body.q_0", [math.cos(slope / 2), 0.0, math.sin(slope / 2), 0.0], lane)
    return state


@functools.cache
def slopes() -> tuple[list[float], Log]:
    angles = [0.0, 15.0, 30.0, 34.0, 36.0, 40.0, 50.0]  # 0.7 holds up to 34.992 degrees
    return angles, run(on_slopes(angles), 60.0, log_s=0.01)


@pytest.mark.parametrize("angle", [0.0, 15.0, 30.0, 34.0])
def test_vehicle_rests_for_a_minute_without_creeping(angle: float) -> None:
    angles, log = slopes()
    lane = angles.index(angle)
    p = log.lane("body.p_NB_N", lane)

    assert log.stops[lane] is None
    settled = log.time() >= 5.0
    assert np.linalg.norm(p[settled] - p[settled][0], axis=1).max() < 1e-9  # m: rounding; 1e-6 is asked for
    assert np.abs(log.lane("body.v_NB_B", lane)[-1]).max() < 1e-12
    load = log.lane("contact.load", lane)[-1]
    assert abs(load / (MASS * G * math.cos(math.radians(angle))) - 1) < 1e-9  # the weight across the slope


def test_standing_depth_is_weight_over_stiffness() -> None:
    angles, log = slopes()

    p = log.lane("body.p_NB_N", angles.index(0.0))[-1]
    np.testing.assert_allclose(p, [0.0, 0.0, STANDING_Z], rtol=0, atol=1e-12)  # m: rounding


@pytest.mark.parametrize("angle", [15.0, 30.0])
def test_standing_depth_on_a_slope_is_measured_across_it(angle: float) -> None:
    angles, log = slopes()

    a = math.radians(angle)
    up = np.array([-math.sin(a), 0.0, -math.cos(a)])
    distance = log.lane("body.p_NB_N", angles.index(angle))[-1] @ up
    expected = 0.12 - MASS * G * math.cos(a) / (4 * STIFFNESS)
    assert abs(distance - expected) < 3e-6  # m: friction below the centre of mass tips it by half a degree


@pytest.mark.parametrize("angle", [40.0, 50.0])
def test_slide_down_a_steep_slope_has_the_coulomb_acceleration(angle: float) -> None:
    angles, log = slopes()
    v, t = log.lane("body.v_NB_B", angles.index(angle))[:, 0], log.time()

    a = math.radians(angle)
    expected = -G * (math.sin(a) - FRICTION * math.cos(a))  # the nose is up the slope
    early, late = (t > 1.0) & (t < 2.0), t > 50.0
    assert abs(np.polyfit(t[early], v[early], 1)[0] / expected - 1) < 2e-4  # settling of the gear
    assert abs(np.polyfit(t[late], v[late], 1)[0] / expected - 1) < 2e-4  # at 60 m/s, too


def test_slope_beyond_the_friction_angle_does_not_hold() -> None:
    angles, log = slopes()

    assert log.lane("body.v_NB_B", angles.index(36.0))[-1, 0] < -1.0


@pytest.mark.parametrize("speed", [5.0, 20.0])
def test_vehicle_thrown_over_level_ground_stops_after_the_coulomb_distance(speed: float) -> None:
    way = 0.3  # rad: not along a body axis
    state = start(model(), params={"body.v_0": [speed * math.cos(way), speed * math.sin(way), 0.0]})
    log = run(state, 1.5 * speed / (FRICTION * G), log_s=0.01)

    v, t, p = log["body.v_NB_N"], log.time(), log["body.p_NB_N"]
    sliding = (t > 0.2 * speed / (FRICTION * G)) & (t < 0.8 * speed / (FRICTION * G))
    slope = np.polyfit(t[sliding], np.hypot(v[sliding, 0], v[sliding, 1]), 1)[0]
    assert abs(slope / (-FRICTION * G) - 1) < 5e-4  # pitching at the start moves the load
    assert np.abs(np.arctan2(v[sliding, 1], v[sliding, 0]) - way).max() < 2e-3  # straight on
    stop = np.linalg.norm(p[-1, :2])
    assert abs(stop - speed**2 / (2 * FRICTION * G)) < 5e-3  # m: a millimetre of elastic travel at either end
    assert np.linalg.norm(v[-1]) < 1e-3


def test_gusty_side_force_below_the_limit_moves_nothing_for_good() -> None:
    limit = FRICTION * MASS * G
    cases = [(0.2, 0.2), (0.4, 0.3), (0.5, 0.45), (0.0, 0.8)]  # mean and swing as shares of the limit
    state = start(model(), lanes=len(cases))
    for lane, (mean, swing) in enumerate(cases):
        state.set_param("push.mean", [mean * limit, 0.1 * limit, 0.0], lane)
        state.set_param("push.swing", [swing * limit, 0.0, 0.0], lane)
    log = run(state, 60.0, log_s=0.01)

    t = log.time()
    ten_swings = 10 * 2 * math.pi / 8.0
    for lane in range(len(cases)):
        p = log.lane("body.p_NB_N", lane)
        early = p[(t >= 5.0) & (t < 5.0 + ten_swings)].mean(axis=0)
        late = p[(t >= 50.0) & (t < 50.0 + ten_swings)].mean(axis=0)
        assert np.abs(late - early).max() < 4e-6  # m in 45 s: the rows do not fall on whole swings
        assert np.abs(p[:, :2]).max() < 3e-3  # elastic: 10 N over four feet of 2500 N/m


def test_side_force_above_the_limit_accelerates_by_the_excess() -> None:
    limit = FRICTION * MASS * G
    state = start(model(), params={"push.mean": [1.3 * limit, 0.0, 0.0]})
    log = run(state, 2.0, log_s=0.01)

    late = log.time() > 0.5
    slope = np.polyfit(log.time()[late], log["body.v_NB_N"][late, 0], 1)[0]
    assert abs(slope / (0.3 * FRICTION * G) - 1) < 2e-3  # the feet unload and load while it tips up a little


@functools.cache
def dropped() -> Log:
    return run(start(model(), params={"body.p_0": [0.0, 0.0, -2.12], "contact.damping": 10.0}), 10.0, log_s=1e-3)


def test_drop_from_two_metres_settles_where_it_stands() -> None:
    log = run(start(model(), params={"body.p_0": [0.0, 0.0, -2.12]}), 10.0, log_s=1e-3)

    last = np.argmax(log["contact.load"] > 0) - 1  # the row before the touch
    assert abs(log["body.v_NB_N"][last, 2] / math.sqrt(2 * G * 2.0) - 1) < 1.6e-3  # a step of 1 ms earlier
    np.testing.assert_allclose(log["body.p_NB_N"][-1], [0.0, 0.0, STANDING_Z], rtol=0, atol=1e-12)
    assert np.abs(log["body.v_NB_B"][-1]).max() < 1e-12


def test_each_bounce_is_lower_than_the_one_before() -> None:
    z = dropped()["body.p_NB_N"][:, 2]

    tops = -z[1:-1][(z[1:-1] < z[:-2]) & (z[1:-1] < z[2:])]  # heights between two touches
    bounces = tops[tops > 0.12]
    assert len(bounces) >= 3
    assert np.all(np.diff(np.concatenate([[2.12], bounces])) < 0)
    first = (bounces[0] - 0.12) / 2.0
    assert abs(first - restitution(10.0) ** 2) < 0.03  # gravity during the touch and the 1 ms step


def restitution(damping: float) -> float:
    """Speed after over speed before, of a mass on a spring and damper that lets go when its force is zero."""
    zeta = 4 * damping / (2 * math.sqrt(4 * STIFFNESS * MASS))
    return math.exp(-2 * math.acos(zeta) * zeta / math.sqrt(1 - zeta**2))


@pytest.mark.parametrize("damping", [5.0, 20.0, 45.0])
def test_restitution_is_that_of_a_spring_and_damper(damping: float) -> None:
    params = {"gravity.acceleration": 0.0, "contact.damping": damping, "body.p_0": [0.0, 0.0, -0.13]}
    state = start(model(), params={**params, "body.v_0": [0.0, 0.0, 2.0]})  # type: ignore[dict-item]
    log = run(state, 0.3, log_s=1e-3)

    assert abs(-log["body.v_NB_N"][-1, 2] / 2.0 - restitution(damping)) < 0.02  # the steps that straddle the touch


def test_motion_and_springs_together_never_gain_energy() -> None:
    log = dropped()

    v, p, w = log["body.v_NB_N"], log["body.p_NB_N"], log["body.w_NB_B"]
    depth = np.maximum(p[:, 2] + 0.12, 0.0)
    energy = 0.5 * MASS * np.sum(v**2, axis=1) + 0.5 * np.einsum("ti,ij,tj->t", w, INERTIA, w) - MASS * G * p[:, 2]
    energy += 0.5 * 4 * STIFFNESS * depth**2
    assert np.diff(energy).max() < 2e-3  # J of 29: the step that straddles the touch
    assert energy[-1] < 0.1 * energy[0]


@functools.cache
def gear() -> CompiledModel:
    return alone(GroundContact(4), **GEAR)


@functools.cache
def random_states() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A thousand states near the ground, and the forces there (bristles at rest)."""
    random = np.random.default_rng(5)
    count = 1000
    angles = random.uniform(-0.5, 0.5, (count, 3))
    matrices = np.array([_rotation(a) for a in angles])
    inputs = {
        "p_NB_N": np.column_stack([random.uniform(-5, 5, (count, 2)), random.uniform(-0.2, 0.05, count)]),
        "v_NB_N": random.uniform(-3, 3, (count, 3)),
        "w_NB_B": random.uniform(-5, 5, (count, 3)),
        "R_NB": matrices.transpose(0, 2, 1).reshape(count, 9),
        "slope": random.uniform(-0.02, 0.02, (count, 2)),
    }
    found = outputs_at(gear(), inputs)
    found["force_N"] = np.einsum("tij,tj->ti", matrices, found["force_B"])
    return inputs, found


def _rotation(angles: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_euler("ZYX", angles).as_matrix())


def normals(slope: np.ndarray) -> np.ndarray:
    n = np.column_stack([slope, -np.ones(len(slope))])
    return np.asarray(n / np.linalg.norm(n, axis=1, keepdims=True))


def test_ground_never_pulls_and_friction_stays_in_the_cone() -> None:
    inputs, found = random_states()

    up = normals(inputs["slope"])
    press = np.einsum("ti,ti->t", found["force_N"], up)
    along = np.linalg.norm(found["force_N"] - press[:, None] * up, axis=1)
    assert press.min() >= -1e-12  # rounding
    np.testing.assert_allclose(press, found["load"], rtol=0, atol=1e-10)
    assert np.all(along <= FRICTION * press + 1e-9)  # Coulomb, summed over the feet
    assert 0.2 < np.mean(found["load"] > 0) < 0.95  # both kinds of state are there


def test_friction_opposes_the_sliding() -> None:
    speed = np.array([[1.0, 0.5, 0.0], [-2.0, 1.0, 0.0]])
    found = outputs_at(gear(), {"p_NB_N": [0.0, 0.0, -0.119], "v_NB_N": speed, "R_NB": np.eye(3).ravel()})

    force = found["force_B"]
    press = 4 * STIFFNESS * 0.001
    unit = speed[:, :2] / np.linalg.norm(speed[:, :2], axis=1, keepdims=True)
    np.testing.assert_allclose(
        force[:, :2], -FRICTION * press * unit, rtol=1e-9
    )  # 25 N s/m at 1 m/s is above the limit
    np.testing.assert_allclose(force[:, 2], -press, rtol=1e-12)


def test_moment_is_the_sum_of_arms_times_forces() -> None:
    # One foot down: tilted so that only the first point touches
    angle = 0.3
    R = _rotation(np.array([0.0, -angle, angle]))  # nose down, right side down
    foot = R @ FEET[:, 0]
    p = np.array([0.0, 0.0, 0.002 - foot[2]])
    found = outputs_at(gear(), {"p_NB_N": p, "R_NB": R.flatten(order="F")})

    force_N = np.array([0.0, 0.0, -STIFFNESS * 0.002])
    np.testing.assert_allclose(found["force_B"][0], R.T @ force_N, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["moment_B"][0], np.cross(FEET[:, 0], R.T @ force_N), rtol=0, atol=1e-9)


def test_nothing_acts_in_the_air() -> None:
    found = outputs_at(gear(), {"p_NB_N": [0.0, 0.0, -0.121], "v_NB_N": [3.0, 0.0, 5.0], "R_NB": np.eye(3).ravel()})

    assert np.all(found["force_B"] == 0.0)
    assert np.all(found["moment_B"] == 0.0)
    assert found["load"][0] == 0.0
