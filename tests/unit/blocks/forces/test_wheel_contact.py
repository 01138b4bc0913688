"""Wheels: rolling resistance, brakes and turns as closed forms say; rest on slopes without creeping."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.blocks.environment.terrain import Terrain
from ironbird.blocks.forces.wheel_contact import WheelContact
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

MASS, G, FRICTION = 11.0, 9.81, 0.6
RESISTANCE, BRAKE, CORNERING, GRIP = 0.03, 0.3, 10.0, 4000.0
NOSE_M, MAIN_M, TRACK_M, HEIGHT_M = 0.48, 0.08, 0.6, 0.3  # of the wheels from the centre of mass
WHEELS = np.array([[NOSE_M, -MAIN_M, -MAIN_M], [0.0, TRACK_M / 2, -TRACK_M / 2], [HEIGHT_M] * 3])
GEAR: dict[str, Any] = {
    "stiffness": 20000.0, "damping": 300.0, "friction": FRICTION, "grip_stiffness": GRIP, "grip_damping": 60.0,
    "points": WHEELS.tolist(), "rolling_resistance": RESISTANCE, "brake_friction": BRAKE, "cornering": CORNERING,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    diagram = Diagram("rolling")
    inertia = [[0.8244, 0.0, -0.1204], [0.0, 1.135, 0.0], [-0.1204, 0.0, 1.759]]
    body = diagram.add("body", RigidBody(), mass=MASS, inertia=inertia, p_0=[0.0, 0.0, 0.0017 - HEIGHT_M])
    gravity = diagram.add("gravity", GravityUniform(), acceleration=G)
    terrain = diagram.add("terrain", Terrain())
    contact = diagram.add("contact", WheelContact(3, wheels=(1, 2, 3), steered=(1,), braked=(2, 3)), **GEAR)
    diagram.connect(gravity.gravity_N, body.gravity_N)
    diagram.connect(body.p_NB_N, terrain.p_NB_N, contact.p_NB_N)
    for port in ("R_NB", "v_NB_N", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    for port in ("place", "ground_z", "slope"):
        diagram.connect(terrain[port], contact[port])
    for port in ("force_B", "moment_B"):
        diagram.connect(contact[port], body[port])
    for port in ("steer", "brake"):
        diagram.export(contact[port])
    return compile_model(diagram)


def rolled(lanes: list[dict[str, Any]], until_s: float) -> Log:
    """One lane each: initial speed, steer, brake, and parameters by path."""
    state = start(model(), lanes=len(lanes))
    for lane, values in enumerate(lanes):
        state.set_param("body.v_0", [values.pop("speed", 0.0), 0.0, 0.0], lane)
        for name in ("steer", "brake"):
            state.set_input(name, values.pop(name, 0.0), lane)
        for path, value in values.items():
            state.set_param(path, value, lane)
    return run(state, until_s, log=["body", "contact.load"], log_s=0.01)


def downhill(angle_deg: float, yaw_deg: float) -> dict[str, Any]:
    """On a plane that falls to the north, laid on it, with a heading relative to the fall line."""
    a, yaw = math.radians(angle_deg), math.radians(yaw_deg)
    tilt = np.array([math.cos(a / 2), 0.0, -math.sin(a / 2), 0.0])
    w, z = math.cos(yaw / 2), math.sin(yaw / 2)
    q = [tilt[0] * w, tilt[2] * z, tilt[2] * w, tilt[0] * z]  # tilt, then heading about the plane's normal
    up = np.array([math.sin(a), 0.0, -math.cos(a)])
    return {"terrain.plane_slope": [math.tan(a), 0.0], "body.p_0": (HEIGHT_M * up).tolist(), "body.q_0": q}


def test_free_wheels_slow_down_by_the_rolling_resistance() -> None:
    log = rolled([{"speed": 5.0}, {"speed": 5.0, "contact.rolling_resistance": 0.1}], 5.0)

    for lane, resistance in enumerate((RESISTANCE, 0.1)):
        v = log.lane("body.v_NB_N", lane)[:, 0]
        time_s = log.time()
        assert abs((v[100] - v[400]) / (time_s[400] - time_s[100]) / (resistance * G) - 1) < 1e-3  # after settling
        assert np.abs(log.lane("body.p_NB_N", lane)[:, 1]).max() < 1e-9  # m: straight ahead


@pytest.mark.parametrize("brake", [0.5, 1.0])
def test_braking_distance_is_that_of_the_braked_wheels_load(brake: float) -> None:
    log = rolled([{"speed": 12.0, "brake": brake}], 12.0)

    # Moments about the centre of mass: braking shifts load from the main wheels to the nose
    added = BRAKE * brake
    main = (NOSE_M - HEIGHT_M * RESISTANCE) / (NOSE_M + MAIN_M + HEIGHT_M * added)  # share of the weight
    deceleration = G * (RESISTANCE + added * main)
    north = log.lane("body.p_NB_N", 0)[:, 0]
    assert abs(north[-1] / (12.0**2 / (2 * deceleration)) - 1) < 0.005  # the pitch swings at the start
    assert np.abs(log.lane("body.v_NB_N", 0)[-1]).max() < 1e-6  # m/s: it stands


def test_slow_turn_has_the_radius_of_the_wheel_base() -> None:
    angles = np.radians([5.0, 15.0, -15.0, 30.0])
    log = rolled([{"speed": 0.8, "steer": angle, "contact.rolling_resistance": 0.0} for angle in angles], 2.0)

    for lane, angle in enumerate(angles):
        rate = log.lane("body.w_NB_B", lane)[-1, 2]
        forward = log.lane("body.v_NB_B", lane)[-1, 0]
        radius = (NOSE_M + MAIN_M) / math.tan(angle)  # of the middle of the main axle
        assert abs(forward / rate / radius - 1) < 0.02, f"{angle}: {forward / rate} {radius}"  # slip at 0.8 m/s


def test_fast_turn_is_that_of_the_neutral_bicycle() -> None:
    speeds, steer = [4.0, 8.0, 12.0, 20.0], 0.005
    log = rolled([{"speed": v, "steer": steer, "contact.rolling_resistance": 0.0} for v in speeds], 4.0)

    # [Gillespie] Eq. 6-15: delta = L / R + K a_y; equal cornering stiffness per load makes K zero
    for lane in range(len(speeds)):
        forward = log.lane("body.v_NB_B", lane)[-1, 0]
        rate = log.lane("body.w_NB_B", lane)[-50:, 2].mean()
        expected = forward * steer / (NOSE_M + MAIN_M)
        assert abs(rate / expected - 1) < 0.01, f"{speeds[lane]} m/s: {rate} {expected}"


def test_slip_angle_in_a_turn_is_side_force_over_cornering_stiffness() -> None:
    log = rolled([{"speed": 8.0, "steer": 0.02, "contact.rolling_resistance": 0.0}], 4.0)

    v, rate = log.lane("body.v_NB_B", 0)[-1], log.lane("body.w_NB_B", 0)[-1, 2]
    slip = -(v[1] - rate * MAIN_M) / v[0]  # of the main wheels
    assert abs(slip / (v[0] * rate / G / CORNERING) - 1) < 0.01  # the side acceleration, and the share of the weight


def test_wheel_slides_where_friction_ends() -> None:
    log = rolled([{"speed": 15.0, "steer": 0.3, "contact.rolling_resistance": 0.0}], 0.6)

    sideways = np.abs(np.gradient(log.lane("body.v_NB_N", 0)[:, 1], log.time()))
    assert sideways.max() < 1.05 * FRICTION * G  # m/s^2; without the limit it would be 15^2 tan(0.3) / 0.56 = 124


@pytest.mark.parametrize("yaw", [0.0, 90.0, 180.0, 45.0])
def test_braked_vehicle_rests_on_a_slope_without_creeping(yaw: float) -> None:
    log = rolled([{**downhill(8.0, yaw), "brake": 1.0}], 30.0)

    p = log.lane("body.p_NB_N", 0)
    settled = log.time() >= 5.0
    assert np.linalg.norm(p[settled] - p[settled][0], axis=1).max() < 1e-9  # m: rounding
    assert abs(log.lane("contact.load", 0)[-1] / (MASS * G * math.cos(math.radians(8.0))) - 1) < 1e-6


def test_without_brakes_it_rolls_down_but_not_aside() -> None:
    log = rolled([{**downhill(8.0, 0.0)}, {**downhill(8.0, 90.0)}], 4.0)

    a = math.radians(8.0)
    v = log.lane("body.v_NB_B", 0)[:, 0]
    expected = G * (math.sin(a) - RESISTANCE * math.cos(a))
    assert abs((v[350] - v[150]) / 2.0 / expected - 1) < 2e-3
    # Across the fall line it holds, apart from the turn of the free nose: the side force is a spring
    assert np.abs(log.lane("body.v_NB_B", 1)[-1, 1]) < 0.02


def test_wheels_that_are_no_points_are_refused() -> None:
    with pytest.raises(ModelError, match=r"\[4\] are no wheels"):
        WheelContact(3, wheels=(1, 4))
    with pytest.raises(ModelError, match=r"\[2\] are no wheels"):
        WheelContact(3, wheels=(1,), steered=(2,))


@pytest.mark.parametrize("brake", [0.0, 0.4, 0.8, 1.0])
def test_forces_of_a_sliding_wheel_lie_on_the_friction_circle(brake: float) -> None:
    """It slides ahead and aside, so that both are at their limits: the braked one has the less side force."""
    gear = {**GEAR, "points": [[0.0], [0.0], [HEIGHT_M]], "grip_damping": 1e4, "brake_friction": 0.55}
    found = outputs_at(
        alone(WheelContact(1, wheels=(1,), braked=(1,)), **gear),
        {"p_NB_N": [0.0, 0.0, 0.005 - HEIGHT_M], "R_NB": np.eye(3).ravel(), "v_NB_N": [3.0, 2.0, 0.0], "brake": brake},
    )

    load = GEAR["stiffness"] * 0.005
    ahead, aside, _ = found["force_B"][0]
    assert ahead == pytest.approx(-(RESISTANCE + 0.55 * brake) * load)
    assert aside == pytest.approx(-math.sqrt((FRICTION * load) ** 2 - ahead**2))
    assert found["load"].item() == pytest.approx(load)
