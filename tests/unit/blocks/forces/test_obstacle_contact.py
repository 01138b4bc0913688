"""Contact with obstacles: rebound by restitution, friction as Coulomb says, rest without creeping, no energy made."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from ironbird import rotations
from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.blocks.forces.obstacle_contact import ObstacleContact
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.symbolic import shapes
from ironbird.testing.checks import check_block

MASS, G, RADIUS = 1.4, 9.81, 0.1
SIDE, HEIGHT = 0.15, 0.08  # of the balls' centres from the centre of mass
INERTIA = np.array([0.017, 0.021, 0.032])
CENTRES = np.array([[SIDE, SIDE, -SIDE, -SIDE], [SIDE, -SIDE, SIDE, -SIDE], [HEIGHT] * 4])
STIFFNESS = MASS * 100.0**2


@functools.cache
def model() -> CompiledModel:
    diagram = Diagram("hull")
    body = diagram.add("body", RigidBody(), mass=MASS, inertia=np.diag(INERTIA).tolist())
    gravity = diagram.add("gravity", GravityUniform(), acceleration=0.0)
    contact = diagram.add(
        "contact",
        ObstacleContact(4, 2),
        stiffness=STIFFNESS,
        radius=RADIUS,
        grip_stiffness=STIFFNESS,
        grip_damping=0.02 * STIFFNESS / 100.0,
        centres=CENTRES.tolist(),
    )
    diagram.connect(gravity.gravity_N, body.gravity_N)
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    diagram.connect(contact.force_B, body.force_B)
    diagram.connect(contact.moment_B, body.moment_B)
    diagram.export(contact.slots)
    return compile_model(diagram)


def slot(
    kind: int,
    centre: Any,
    half: Any,
    q: Any = (1.0, 0.0, 0.0, 0.0),
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    velocity: Any = (0.0, 0.0, 0.0),
) -> np.ndarray:
    column = np.zeros(shapes.SLOT_ROWS)
    column[shapes.KIND] = kind
    column[shapes.CENTRE : shapes.CENTRE + 3] = centre
    column[shapes.VELOCITY : shapes.VELOCITY + 3] = velocity
    column[shapes.AXES : shapes.AXES + 9] = rotations.matrix(np.asarray(q, float)).flatten(order="F")
    column[shapes.HALF : shapes.HALF + 3] = half
    column[shapes.FRICTION], column[shapes.RESTITUTION] = friction, restitution
    return column


def test_check_block() -> None:
    params: dict[str, Any] = {
        "stiffness": 1e4,
        "radius": 0.1,
        "grip_stiffness": 1e4,
        "grip_damping": 10.0,
        "centres": [[0.1]] * 3,
    }
    check_block(ObstacleContact(1, 1), params=params)


def put(state: RunState, first: np.ndarray, lane: int | None = None) -> None:
    state.set_input("slots", np.concatenate([first, np.zeros(shapes.SLOT_ROWS)]), lane)


def kinetic(state: RunState) -> np.ndarray:
    """Energy of motion of every lane."""
    flat = state.model.flat
    v = state.x[:, flat.x.rows("body.v"), :]
    w = state.x[:, flat.x.rows("body.w"), :]
    energy = 0.5 * MASS * (v * v).sum(axis=1) + 0.5 * (w * w * INERTIA[None, :, None]).sum(axis=1)
    return np.asarray(energy.reshape(-1)[: state.lanes])


WALL = {"centre": [2.0, 0.0, HEIGHT], "half": [1.0, 50.0, 50.0]}  # its face is 1 m north


@pytest.mark.parametrize("restitution", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("speed_mps", [1.0, 6.0])
def test_the_rebound_is_the_restitution_whatever_the_speed(restitution: float, speed_mps: float) -> None:
    state = start(model())
    put(state, slot(shapes.BOX, WALL["centre"], WALL["half"], restitution=restitution))
    state.set_param("body.p_0", [0.7, 0.0, 0.0])
    state.set_param("body.q_0", [math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0])  # belly first: all four balls at once
    state.set_param("body.v_0", [0.0, 0.0, speed_mps])

    run(state, 0.4, log=[])

    after = state.get("body.v")
    assert after[2] == pytest.approx(-restitution * speed_mps, abs=0.05 * speed_mps)  # fades below 0.1 m/s
    np.testing.assert_allclose(state.get("body.w"), 0.0, atol=1e-9)


def random_impacts(count: int, seed: int) -> RunState:
    """Hulls of any attitude and spin that fly at balls, cylinders and boxes of any size and surface."""
    random = np.random.Generator(np.random.Philox(seed))
    state = start(model(), lanes=count)
    draw = random.uniform
    inputs, blocks = np.zeros((2 * shapes.SLOT_ROWS, count)), state.x.shape[0]
    q = random.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    way = random.normal(size=(count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    turns = random.normal(size=(count, 4))
    for lane in range(count):
        kind = int(random.integers(1, 4))
        half = draw(0.05, 1.0, 3)
        # the hull's reach is 0.33 m; the shape's is |half|: they begin just apart
        centre = way[lane] * (0.35 + np.linalg.norm(half))
        inputs[: shapes.SLOT_ROWS, lane] = slot(
            kind, centre, half, turns[lane], friction=draw(0, 1.2), restitution=draw(0, 0.9)
        )
    lanes = np.arange(count)
    block, place = np.divmod(lanes, state.width)
    state.inputs[block, :, place] = inputs.T
    flat = state.model.flat
    speed = draw(0.5, 12.0, (count, 1))
    velocity_N = speed * (way + 0.4 * random.normal(size=(count, 3)))
    state.x[block[:, None], np.arange(*flat.x.rows("body.q").indices(10**6))[None], place[:, None]] = q
    velocity_B = rotations.rotate(rotations.conjugate(q), velocity_N)
    state.x[block[:, None], np.arange(*flat.x.rows("body.v").indices(10**6))[None], place[:, None]] = velocity_B
    spin = random.normal(scale=3.0, size=(count, 3))
    state.x[block[:, None], np.arange(*flat.x.rows("body.w").indices(10**6))[None], place[:, None]] = spin
    assert blocks * state.width >= count
    return state


def test_no_impact_makes_energy() -> None:
    state = random_impacts(5_000, seed=1)
    before = kinetic(state)

    run(state, 0.35, log=[], threads=1)

    gain = kinetic(state) / before - 1.0
    assert (gain < -1e-6).mean() > 0.3  # most of the others fly past
    assert gain.max() < 1e-9


def resting_on_slope(slope_deg: float, until_s: float) -> np.ndarray:
    """How far a hull that was laid on a tilted box has moved between 1 s and the end."""
    slope = math.radians(slope_deg)
    up = np.array([-math.sin(slope), 0.0, -math.cos(slope)])  # the box rises to the north
    q = [math.cos(slope / 2), 0.0, math.sin(slope / 2), 0.0]
    state = start(model())
    put(state, slot(shapes.BOX, -up, [5.0, 5.0, 1.0], q, friction=0.6, restitution=0.3))
    state.set_param("gravity.acceleration", G)
    state.set_param("body.p_0", up * (HEIGHT + RADIUS))
    state.set_param("body.q_0", q)
    run(state, 1.0, log=[])
    before = state.get("body.p")
    run(state, until_s, log=[])
    return np.asarray(state.get("body.p") - before)


def test_a_box_on_a_slope_neither_creeps_nor_sinks() -> None:
    moved = resting_on_slope(25.0, 60.0)

    assert np.abs(moved).max() < 1e-9  # friction 0.6 holds up to 31 degrees


def test_on_a_slope_beyond_its_friction_it_slides_as_coulomb_says() -> None:
    slope = math.radians(40.0)
    begin_s, end_s = 1.0, 1.5

    moved = resting_on_slope(40.0, end_s)

    acceleration = G * (math.sin(slope) - 0.6 * math.cos(slope))
    expected = 0.5 * acceleration * (end_s**2 - begin_s**2)
    assert np.linalg.norm(moved) == pytest.approx(expected, rel=0.02)  # it settles in the first 0.1 s


def test_a_ball_that_is_far_away_feels_nothing() -> None:
    state = start(model())
    put(state, slot(shapes.BALL, [5.0, 0.0, 0.0], [1.0, 0.0, 0.0], restitution=0.5))

    log = run(state, 0.01, log=["contact"], log_s=0.001)

    assert not log["contact.force_B"].any() and not log["contact.load"].any()


def test_a_moving_obstacle_pushes_with_its_own_speed() -> None:
    state = start(model())
    q = [math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0]
    put(state, slot(shapes.BOX, [1.4, 0.0, 0.0], [1.0, 50.0, 50.0], restitution=0.1, velocity=(-2.0, 0.0, 0.0)))
    state.set_param("body.q_0", q)

    run(state, 1.0, log=[])

    after = rotations.rotate(q, state.get("body.v"))
    assert after[0] == pytest.approx(-2.0 * 1.1, abs=0.1)  # u + e u of a wall that moves with u
