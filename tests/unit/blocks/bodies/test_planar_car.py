"""The planar car: circles, wheel loads, slopes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ironbird.blocks.bodies.planar_car import PlanarCar
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.car import CarSpec, SuspensionTable, build

MASS, INERTIA, FRONT, REAR, TRACK, HEIGHT, SHARE, G = 1225.888, 1538.853, 0.88392, 1.50876, 1.4, 0.5578, 0.6, 9.81


@functools.cache
def model() -> CompiledModel:
    return alone(
        PlanarCar(), mass=MASS, inertia=np.diag([0.0, 0.0, INERTIA]).tolist(), front=FRONT, rear=REAR, track=TRACK,
        cg_height=HEIGHT, roll_share=SHARE, transfer_time=0.1, p_0=[0.0, 0.0, -HEIGHT],
    )  # fmt: skip


def drive(seconds: float, force: Any = 0.0, moment: float = 0.0, slope: Any = 0.0, **states: Any) -> Log:
    state = start(model())
    state.set_input("gravity_N", [0.0, 0, G])
    state.set_input("force_B", force)
    state.set_input("moment_B", [0.0, 0, moment])
    state.set_input("slope", slope)
    for name, value in states.items():
        state.set_state(f"block.{name}", value)
    return run(state, seconds, log_s=0.01)


def test_a_constant_central_force_keeps_a_circle() -> None:
    v, r = 12.0, 0.25
    log = drive(2 * np.pi / r, [0.0, MASS * v * r, 0], v=[v, 0.0], r=r)

    t, p = log.time(), log["block.p_NB_N"]
    np.testing.assert_allclose(p[:, 0], v / r * np.sin(r * t), atol=1e-9)  # RK4 at 4e-5 turns per step
    np.testing.assert_allclose(p[:, 1], v / r * (1 - np.cos(r * t)), atol=1e-9)
    np.testing.assert_allclose(log["block.v_NB_B"], np.tile([v, 0, 0], (len(t), 1)), atol=1e-9)
    yaw = (r * t + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(np.exp(1j * log["block.euler"][:, 2]), np.exp(1j * yaw), atol=1e-12)


def test_moment_turns_the_car_and_force_moves_it() -> None:
    log = drive(1.0, [MASS * 2.0, 0, 0], INERTIA * 0.0)
    np.testing.assert_allclose(log["block.v_NB_N"][:, 0], 2 * log.time(), atol=1e-12)
    log = drive(1.0, moment=INERTIA * 0.5)
    np.testing.assert_allclose(log["block.w_NB_B"][:, 2], 0.5 * log.time(), atol=1e-12)


def loads(log: Log) -> np.ndarray:
    return np.array([log[f"block.load_{i}"][-1] for i in (1, 2, 3, 4)])


def test_wheels_carry_the_weight_and_the_moments_of_the_forces() -> None:
    base = FRONT + REAR
    np.testing.assert_allclose(loads(drive(0.01)), MASS * G / (2 * base) * np.array([REAR, REAR, FRONT, FRONT]))
    ax, ay = -6.0, 3.0  # braking in a right-hand turn
    settled = loads(drive(3.0, [MASS * ax, MASS * ay, 0]))  # thirty lags: 1e-13 left
    assert abs(settled.sum() - MASS * G) < 1e-6
    arms = np.array([[FRONT, -TRACK / 2], [FRONT, TRACK / 2], [-REAR, -TRACK / 2], [-REAR, TRACK / 2]])
    # Moments about the centre of mass: the ground's upward forces balance those of the horizontal ones
    assert abs(settled @ arms[:, 0] + MASS * ax * HEIGHT) < 1e-6
    assert abs(settled @ arms[:, 1] + MASS * ay * HEIGHT) < 1e-6
    assert abs((settled[0] - settled[1]) * TRACK / 2 / (MASS * ay * HEIGHT) - SHARE) < 1e-9


def test_rollover_begins_at_half_the_track_over_the_height() -> None:
    limit = G * TRACK / (2 * HEIGHT)
    assert drive(3.0, [0.0, MASS * limit * 0.999, 0])["block.rollover"].max() == 0.0
    assert drive(3.0, [0.0, -MASS * limit * 1.001, 0])["block.rollover"][-1] == 1.0


def test_on_a_slope_gravity_pulls_along_the_plane_and_energy_is_kept() -> None:
    slope, yaw = np.array([0.08, -0.05]), 0.7
    log = drive(5.0, slope=slope, yaw=yaw, p=[0.0, 0, -HEIGHT])

    p, v = log["block.p_NB_N"], log["block.v_NB_N"]
    np.testing.assert_allclose(p[:, 2], p[:, :2] @ slope - HEIGHT, atol=1e-9)  # stays on the ground
    energy = 0.5 * (v**2).sum(axis=1) - G * p[:, 2]
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)
    downhill = slope / (1 + slope @ slope) * G  # horizontal part of the acceleration of a sliding body
    np.testing.assert_allclose(v[-1, :2], downhill * log.time()[-1], rtol=1e-9)
    assert abs(log["block.load"][0] - MASS * G / np.sqrt(1 + slope @ slope)) < 1e-6


def test_attitude_on_a_slope_is_one_rotation_in_all_its_forms() -> None:
    log = drive(0.01, slope=[0.3, -0.2], yaw=2.1)

    R = log["block.R_NB"][0].reshape(3, 3, order="F")
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(R[:, 2], np.array([-0.3, 0.2, 1]) / np.sqrt(1.13), atol=1e-14)
    w, x, y, z = log["block.q_NB"][0]
    np.testing.assert_allclose(Rotation.from_quat([x, y, z, w]).as_matrix(), R, atol=1e-12)
    np.testing.assert_allclose(Rotation.from_euler("ZYX", log["block.euler"][0][::-1]).as_matrix(), R, atol=1e-12)
    assert abs(log["block.euler"][0][2] - 2.1) < 1e-12


def test_a_turn_on_a_slope_stays_a_circle_in_the_plane() -> None:
    v, r, slope = 5.0, 0.5, np.array([0.2, 0.1])
    state = start(model())
    state.set_input("gravity_N", 0.0)
    state.set_input("force_B", [0.0, MASS * v * r, 0])
    state.set_input("slope", slope)
    state.set_state("block.v", [v, 0.0])
    state.set_state("block.r", r)
    log = run(state, 2 * np.pi / r, log_s=2 * np.pi / r / 1000 // 1e-3 * 1e-3)

    p = log["block.p_NB_N"] + [0, 0, HEIGHT]
    centre = 0.5 * (p.max(axis=0) + p.min(axis=0))
    distance = np.linalg.norm(p - centre, axis=1)
    np.testing.assert_allclose(distance, v / r, rtol=1e-3)  # centre from samples


# ---------------------------------------------------------------------- on springs


@functools.cache
def springs() -> dict[str, Any]:
    """Of the Escort: [CommonRoad] vehicle 1, multi-body parameters."""
    spec = load_spec("car_escort")
    assert isinstance(spec, CarSpec)
    table = SuspensionTable(
        sprung_mass_kg=1094.543, sprung_height_m=0.59436, roll_inertia_kgm2=244.047, pitch_inertia_kgm2=1342.26,
        spring_Npm=[21898.33, 21898.33], damper_Nspm=[1459.39, 1459.39], anti_roll_Nm=[12880.27, 0.0],
        tyre_Npm=189785.5, camber_radpm=[-0.62336, -0.209974],
    )  # fmt: skip
    return table.params(spec.body)


def test_car_with_springs_is_built_and_its_wheels_lean() -> None:
    spec = load_spec("car_escort")
    assert isinstance(spec, CarSpec)
    table = {
        "sprung_mass_kg": 1094.5, "sprung_height_m": 0.594, "roll_inertia_kgm2": 244.0, "pitch_inertia_kgm2": 1342.0,
        "spring_Npm": [21898.0, 21898.0], "damper_Nspm": [1459.0, 1459.0],
    }  # fmt: skip
    diagram = build(spec.model_copy(update={"suspension": SuspensionTable.model_validate(table)}))

    diagram.validate()
    assert "on_springs" in diagram.block("body").outputs
    assert "on_springs" not in build(spec).block("body").outputs


@functools.cache
def sprung() -> CompiledModel:
    return alone(
        PlanarCar(sprung=True), mass=MASS, inertia=np.diag([0.0, 0.0, INERTIA]).tolist(), front=FRONT, rear=REAR,
        track=TRACK, cg_height=HEIGHT, roll_share=SHARE, transfer_time=0.1, p_0=[0.0, 0.0, -HEIGHT], **springs(),
    )  # fmt: skip


def lean(seconds: float, force: Any = 0.0, moment: Any = 0.0, **states: Any) -> Log:
    state = start(sprung())
    state.set_input("gravity_N", [0.0, 0, G])
    state.set_input("force_B", force)
    state.set_input("moment_B", moment)
    for name, value in states.items():
        state.set_state(f"block.{name}", value)
    return run(state, seconds, log_s=0.01)


def test_roll_in_a_turn_and_pitch_under_power_are_those_of_the_multi_body_escort() -> None:
    """commonroad-vehicle-models 3.0.2, vehicle_dynamics_mb: 15 m/s at 0.02 rad, 2 m/s^2 ahead, 3 m/s^2 of braking."""
    turning = lean(8.0, [0.0, MASS * 1.7884, 0.0], v=[15.0, 0.0], r=1.7884 / 15.0)
    assert abs(turning["block.on_springs"][-1, 0] / -0.027698 - 1) < 0.03  # outwards
    # There it nods by 0.0031 rad at constant speed, by its drag
    for acceleration, nod in ((1.9098, 0.009022 + 0.0030), (-2.8673, -0.021017 + 0.0030)):
        nodding = lean(8.0, [MASS * acceleration, 0.0, 0.0])
        assert abs(nodding["block.on_springs"][-1, 1] / nod - 1) < 0.04


def test_free_roll_and_pitch_swing_with_the_period_and_damping_of_their_springs() -> None:
    log = lean(1.0, lean=[0.05, 0.02])
    arm = springs()["sprung_mass"] * springs()["sprung_height"]
    for axis, start_rad in ((0, 0.05), (1, 0.02)):
        inertia, stiffness, damping = (springs()[f"lean_{name}"][axis] for name in ("inertia", "stiffness", "damping"))
        decay, square = damping / (2 * inertia), (stiffness - arm * G) / inertia
        omega, t = np.sqrt(square - decay**2), log.time()
        expected = start_rad * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        np.testing.assert_allclose(log["block.on_springs"][:, axis], expected, atol=1e-7)


def test_leaning_body_feels_gravity_and_its_wheels_lean_with_it() -> None:
    log = lean(8.0, [0.0, MASS * 2.0, 0.0], v=[10.0, 0.0], r=0.2)
    roll = log["block.on_springs"][-1, 0]

    level = Rotation.from_euler("xyz", [roll, log["block.on_springs"][-1, 1], 0.0]).as_matrix().T @ [0.0, 2.0, -G]
    np.testing.assert_allclose(log["block.specific_force_B"][-1], level, atol=1e-9)
    np.testing.assert_allclose(log["block.euler"][-1, 0], roll, atol=1e-4)
    np.testing.assert_allclose(log["block.camber_front"][-1], (1 - 0.62336 * 1.389888 / 2) * roll, rtol=1e-6)
    total = MASS * 2.0 * HEIGHT - springs()["sprung_mass"] * springs()["sprung_height"] * G * roll
    found = loads(log)
    np.testing.assert_allclose((found[0] - found[1] + found[2] - found[3]) / 2 * TRACK, total, rtol=1e-3)
    np.testing.assert_allclose(found.sum(), MASS * G, rtol=1e-12)


def test_overturning_moment_of_the_tyres_rolls_the_body() -> None:
    log = lean(8.0, moment=[300.0, 0.0, 0.0])
    stiffness = springs()["lean_stiffness"][0] - springs()["sprung_mass"] * springs()["sprung_height"] * G

    np.testing.assert_allclose(log["block.on_springs"][-1, 0], 300.0 / stiffness, rtol=1e-6)


def test_a_sensor_away_from_the_centre_of_mass_feels_that_the_car_begins_to_turn() -> None:
    log = drive(0.01, moment=500.0)
    np.testing.assert_allclose(log["block.angular_acceleration_B"][0], [0.0, 0.0, 500.0 / INERTIA], rtol=1e-12)
