"""The catapult: holds at rest, gives the speed of its work, lets go."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.forces.catapult import Catapult
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run

MASS, PITCH, STROKE, PULL, GRAVITY = 11.0, 0.2, 5.0, 500.0, 9.81
INERTIA = [0.8, 1.1, 1.8]


def rig(course: float) -> CompiledModel:
    """A body on the rail, without air."""
    diagram = Diagram("rail")
    half, turn = PITCH / 2, course / 2
    q = [math.cos(turn) * math.cos(half), -math.sin(turn) * math.sin(half), math.cos(turn) * math.sin(half),
         math.sin(turn) * math.cos(half)]  # fmt: skip
    body = diagram.add(
        "body", RigidBody(), mass=MASS, inertia=np.diag(INERTIA).tolist(), p_0=[0.0, 0.0, -1.5], q_0=q,
    )  # fmt: skip
    rail = diagram.add(
        "rail", Catapult(), start=[0.0, 0.0, -1.5], pitch=PITCH, course=course, stroke=STROKE, pull=PULL, mass=MASS,
        inertia=INERTIA,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], rail[port])
    for port in ("force_B", "moment_B"):
        diagram.connect(rail[port], body[port])
    diagram.export(rail.launch, "launch")
    diagram.export(body.gravity_N, "gravity")
    return compile_model(diagram)


@pytest.mark.parametrize("course", [0.0, 2.0])
def test_it_holds_then_gives_the_speed_of_its_work_and_lets_go(course: float) -> None:
    state = start(rig(course))
    state.set_input("gravity", [0.0, 0.0, GRAVITY])
    held = run(state, 2.0, log_s=0.1)
    assert np.linalg.norm(held["body.v_NB_N"][-1]) < 1e-6
    sag = GRAVITY / 60.0**2  # weight over stiffness
    np.testing.assert_allclose(held["body.p_NB_N"][-1], [0.0, 0.0, sag - 1.5], atol=1e-6)

    state.set_input("launch", 1.0)
    log = run(state, 2.8, log_s=0.001)
    free = log["rail.holding"].ravel() < 0.5
    assert free[-1] and not free[0]
    leaves = np.flatnonzero(free)[0]
    # Newton along the rail over stroke and sag; 2 ms to open give some more
    exact = math.sqrt(2 * (PULL / MASS - GRAVITY * math.sin(PITCH)) * (STROKE + sag * math.sin(PITCH)))
    speed = np.linalg.norm(log["body.v_NB_N"][leaves])
    assert exact < speed < exact + 0.005 * PULL / MASS
    direction = log["body.v_NB_N"][leaves] / speed
    rail = [math.cos(PITCH) * math.cos(course), math.cos(PITCH) * math.sin(course), -math.sin(PITCH)]
    np.testing.assert_allclose(direction, rail, atol=1e-3)
    fall = np.diff(log["body.v_NB_N"][leaves + 2 :, 2]) / 0.001
    np.testing.assert_allclose(fall, GRAVITY, rtol=1e-9)  # nothing holds it any more


def test_the_cradle_lets_a_push_across_the_rail_die_away_as_an_oscillator_with_a_damping_of_0_7() -> None:
    model, wn, damping, push = rig(0.0), 60.0, 0.7, 0.1  # rad/s; m/s to the east
    state = start(model)
    state.set_state("body.v", [0.0, push, 0.0])
    log = run(state, 0.2, log_s=0.002)
    t, wd = log.time(), wn * math.sqrt(1 - damping**2)
    exact = push / wd * np.exp(-damping * wn * t) * np.sin(wd * t)
    np.testing.assert_allclose(log["body.p_NB_N"][:, 1], exact, atol=1e-3 * push / wn)
