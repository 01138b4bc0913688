"""Driven wheels: the push of closed forms, limits of force, power and grip, and no push in the air."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.blocks.forces.driven_wheel_contact import DrivenWheelContact
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.checks import check_block

MASS, G, FRICTION, RESISTANCE = 11.0, 9.81, 0.6, 0.03
FORCE, POWER = 25.0, 150.0
WHEELS = np.array([[0.48, -0.08, -0.08], [0.0, 0.3, -0.3], [0.3] * 3])
GEAR: dict[str, Any] = {
    "stiffness": 20000.0, "damping": 300.0, "friction": FRICTION, "grip_stiffness": 4000.0, "grip_damping": 60.0,
    "points": WHEELS.tolist(), "rolling_resistance": RESISTANCE, "brake_friction": 0.3, "cornering": 10.0,
    "drive_force": FORCE, "drive_power": POWER,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    diagram = Diagram("driving")
    body = diagram.add("body", RigidBody(), mass=MASS, inertia=np.eye(3).tolist(), p_0=[0.0, 0.0, 0.0017 - 0.3])
    gravity = diagram.add("gravity", GravityUniform(), acceleration=G)
    gear = DrivenWheelContact(3, wheels=(1, 2, 3), driven=(2, 3), steered=(1,), braked=(2, 3))
    contact = diagram.add("contact", gear, **GEAR)
    diagram.connect(gravity.gravity_N, body.gravity_N)
    for port in ("p_NB_N", "R_NB", "v_NB_N", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    for port in ("force_B", "moment_B"):
        diagram.connect(contact[port], body[port])
    diagram.export(contact.drive)
    return compile_model(diagram)


def driven(drive: float, until_s: float, **params: Any) -> Log:
    state = start(model(), lanes=1, params={path.replace("__", "."): value for path, value in params.items()})
    state.set_input("drive", drive)
    return run(state, until_s, log_s=0.01)


def rate(log: Log, begin_s: float) -> float:
    """Mean acceleration from a time to the end."""
    time, speed = log.time(), log["body.v_NB_B"][:, 0]
    k = int(np.searchsorted(time, begin_s))
    return float((speed[-1] - speed[k]) / (time[-1] - time[k]))


def test_block_passes_the_public_check() -> None:
    check_block(DrivenWheelContact(3, wheels=(1, 2, 3), driven=(2, 3), steered=(1,)), params=GEAR)


@pytest.mark.parametrize("share", [1.0, 0.5, -0.5])
def test_the_push_less_rolling_resistance_accelerates_the_mass(share: float) -> None:
    expected = share * FORCE / MASS - np.sign(share) * RESISTANCE * G
    assert rate(driven(share, 1.5), 0.5) == pytest.approx(expected, rel=2e-3)  # pitching on the springs


def test_a_push_below_the_rolling_resistance_moves_nothing() -> None:
    log = driven(0.9 * RESISTANCE * MASS * G / FORCE, 5.0)
    assert abs(log["body.p_NB_N"][-1, 0]) < 0.01  # the springs of the tyres give way


def test_power_limits_the_push_of_a_fast_vehicle() -> None:
    log = driven(1.0, 0.4, body__v_0=[15.0, 0.0, 0.0])
    assert log["contact.push"][-1] == pytest.approx(POWER / log["body.v_NB_B"][-1, 0], rel=1e-6)
    assert log["contact.shaft_power"][-1] == pytest.approx(POWER, rel=1e-6)


def test_no_more_than_friction_goes_to_the_ground() -> None:
    """Rolling resistance acts besides: the driven wheels give friction times their load."""
    ice = 0.2
    log = driven(1.0, 1.5, contact__friction=ice, contact__drive_force=500.0, contact__drive_power=1e6)
    acceleration = rate(log, 0.8)
    behind = MASS * (G * 0.48 + acceleration * 0.3) / 0.56  # load of the main wheels, with the nose lightened
    expected = (ice * behind - RESISTANCE * (MASS * G - behind)) / MASS
    assert acceleration == pytest.approx(expected, rel=0.01)  # pitching on the springs


def test_wheels_in_the_air_push_nothing() -> None:
    log = driven(1.0, 0.3, body__p_0=[0.0, 0.0, -50.0])
    assert np.all(log["body.v_NB_B"][:, 0] == 0.0)


def test_a_motor_without_health_is_a_free_wheel() -> None:
    assert driven(1.0, 1.0, contact__drive_health=0.0)["contact.push"].max() == 0.0


def test_driven_wheels_are_among_the_wheels() -> None:
    with pytest.raises(ModelError, match=r"driven wheels \[4\] are not among the wheels \[1, 2, 3\]"):
        DrivenWheelContact(4, wheels=(1, 2, 3), driven=(4,))
    with pytest.raises(ModelError, match=r"driven wheels \[\]"):
        DrivenWheelContact(3, wheels=(1, 2, 3), driven=())
