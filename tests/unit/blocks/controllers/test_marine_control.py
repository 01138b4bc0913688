"""Controllers of marine craft: signs, equilibrium, allocation, limits, drift angle."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.marine_control import CourseControl, FinControl, StationControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.surface_vessel import effectiveness
from ironbird.vehicles.templates.underwater import UnderwaterSpec

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)
MASS, INERTIA, AHEAD_N, ASTERN_N = np.array([19.9, 20.6, 32.2]), np.array([0.45, 0.36, 0.59]), 51.5, 40.2
LEVEL = np.eye(3).flatten()


@functools.cache
def effect() -> np.ndarray:
    spec = load_spec("rov_bluerov2_heavy")
    assert isinstance(spec, UnderwaterSpec)
    return effectiveness(spec.thruster)


@functools.cache
def station() -> CompiledModel:
    return alone(
        StationControl(8, sample_s=0.02), step_s=0.02, mass=MASS.tolist(), inertia=INERTIA.tolist(), position_gain=0.6,
        velocity_gain=2.0, velocity_integral=0.5, attitude_gain=3.0, rate_gain=6.0, max_speed=0.5,
        max_acceleration=3.0, allocation=np.linalg.pinv(effect()).tolist(), max_thrust=AHEAD_N, max_reverse=ASTERN_N,
    )  # fmt: skip


COURSE = {
    "heading_gain": 0.8, "heading_integral_gain": 0.0, "speed_gain": 1.0, "speed_integral_gain": 0.0,
    "max_yaw_rate": 0.25, "drift_time": 2.0,
}  # fmt: skip
ALLOCATION = np.zeros((2, 6))
ALLOCATION[:, [0, 5]] = np.linalg.inv(np.array([[1, 1], [0.395, -0.395]]))


@functools.cache
def course() -> CompiledModel:
    return alone(
        CourseControl(2, sample_s=0.02), step_s=0.02, mass=85.5, inertia=42.7, rate_gain=3.0,
        allocation=ALLOCATION.tolist(), max_thrust=119.7, max_reverse=66.7, **COURSE,  # type: ignore[arg-type]
    )  # fmt: skip


@functools.cache
def fins() -> CompiledModel:
    return alone(
        FinControl(sample_s=0.02), step_s=0.02, rudder_gain=8.0, depth_gain=0.1, depth_integral_gain=0.0,
        pitch_gain=3.0, pitch_rate_gain=2.0, max_pitch=0.35, travel=0.26, cruise_speed=1.8, cruise_command=0.7,
        **COURSE,  # type: ignore[arg-type]
    )  # fmt: skip


def hold(**inputs: object) -> dict[str, np.ndarray]:
    zero = {name: [0.0, 0.0, 0.0] for name in ("position_set", "velocity_set", "p_NB_N", "v_NB_N", "w_NB_B")}
    values = {**zero, "R_NB": LEVEL, "yaw_set": 0.0, **inputs}
    return {name: value[0] for name, value in outputs_at(station(), values).items()}  # type: ignore[arg-type]


def follow(model: CompiledModel, **inputs: object) -> dict[str, np.ndarray]:
    """Straight on at the speed asked for, but for the given inputs."""
    speed = 1.8 if model is fins() else 1.5
    values: dict[str, object] = {
        "course_set": 0.0, "speed_set": speed, "v_NB_N": [speed, 0, 0], "v_water_B": [speed, 0, 0],
        "euler": [0.0, 0.0, 0.0], "w_NB_B": [0.0, 0.0, 0.0],
    }  # fmt: skip
    if model is fins():
        values |= {"position_set": [0.0, 0.0, 5.0], "p_NB_N": [0.0, 0.0, 5.0]}
    return {name: value[0] for name, value in outputs_at(model, values | inputs).items()}  # type: ignore[arg-type]


def test_rov_at_its_place_does_nothing() -> None:
    found = hold()

    assert all(found[f"command_{i}"] == 0.0 for i in range(1, 9))


@given(away=vectors, v=vectors, yaw=st.floats(-0.3, 0.3))
@EXAMPLES
def test_thrusters_give_the_force_and_moment_asked_for(away: np.ndarray, v: np.ndarray, yaw: float) -> None:
    R = Rotation.from_euler("ZYX", [yaw, 0.05, -0.05]).as_matrix().flatten(order="F")
    found = hold(position_set=0.3 * away, v_NB_N=0.1 * v, R_NB=R)

    command = np.array([found[f"command_{i}"] for i in range(1, 9)])
    thrust = np.sign(command) * command**2 * np.where(command > 0, AHEAD_N, ASTERN_N)
    total = effect() @ thrust
    np.testing.assert_allclose(total[:3], found["force_set_B"], rtol=0, atol=1e-11)  # no thruster at its limit
    np.testing.assert_allclose(total[3:], found["moment_set_B"], rtol=0, atol=1e-11)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rov_is_pushed_and_turned_back(axis: int) -> None:
    unit = np.eye(3)[axis]
    turned = Rotation.from_rotvec(0.1 * unit).as_matrix().flatten(order="F")

    assert np.allclose(hold(p_NB_N=0.1 * unit)["force_set_B"], -MASS * 2.0 * 0.6 * 0.1 * unit, rtol=1e-12)
    moment = -INERTIA * 6.0 * 3.0 * math.sin(0.1) * unit
    np.testing.assert_allclose(hold(R_NB=turned)["moment_set_B"], moment, rtol=0, atol=1e-12)


def test_rov_turns_the_short_way_from_behind() -> None:
    for yaw, sign in ((3.0, -1.0), (-3.0, 1.0)):
        R = Rotation.from_euler("z", yaw).as_matrix().flatten(order="F")
        moment = hold(R_NB=R)["moment_set_B"]
        assert np.sign(moment[2]) == sign and abs(moment[2]) > INERTIA[2] * 6.0 * 3.0 * 0.9


def test_rov_integral_takes_up_a_lasting_error_within_its_limit() -> None:
    state = start(station())
    for name in ("velocity_set", "p_NB_N", "v_NB_N", "w_NB_B"):
        state.set_input(name, [0.0, 0.0, 0.0])
    state.set_input("position_set", [0.1, 0.0, 0.0])
    state.set_input("R_NB", np.eye(3))
    state.set_input("yaw_set", 0.0)
    log = run(state, 200.0, log_s=1.0)

    force = log["block.force_set_B"][:, 0] / MASS[0]
    assert abs(force[10] - (2.0 * 0.06 + 10.0 * 2.0 * 0.5 * 0.06)) < 1e-9  # proportional and ten seconds of integral
    assert abs(force[-1] - (2.0 * 0.06 + 3.0)) < 1e-9


def test_boat_turns_towards_its_course_and_slows_down() -> None:
    straight, off = follow(course()), follow(course(), course_set=0.2)

    assert straight["moment_set"] == 0.0 and straight["force_set"] == 0.0
    assert abs(off["moment_set"] - 42.7 * 3.0 * 0.8 * 0.2) < 1e-12
    assert off["command_1"] > off["command_2"]  # left pushes, the boat turns right
    assert abs(off["force_set"] - 85.5 * 1.5 * (math.cos(0.2) - 1)) < 1e-12
    assert follow(course(), course_set=3.0)["moment_set"] == pytest.approx(42.7 * 3.0 * 0.25)  # rate limit


def test_boat_takes_the_short_way_round() -> None:
    assert follow(course(), course_set=3.0, euler=[0, 0, -3.0])["heading_error"] == pytest.approx(6.0 - 2 * math.pi)


@pytest.mark.parametrize("model", [course, fins])
def test_drift_angle_is_learnt_and_leads_the_heading(model: functools._lru_cache_wrapper[CompiledModel]) -> None:
    state = start(model())
    inputs = {"course_set": 0.0, "speed_set": 1.5, "v_water_B": [1.5, 0, 0], "euler": [0, 0, -0.2], "w_NB_B": [0, 0, 0]}
    for name, value in {**inputs, "v_NB_N": [1.5, 0.0, 0.0]}.items():
        state.set_input(name, value)  # type: ignore[arg-type]
    if model is fins:
        state.set_input("position_set", [0.0, 0.0, 5.0])
        state.set_input("p_NB_N", [0.0, 0.0, 5.0])
    error = run(state, 40.0, log_s=0.02)["block.heading_error"]

    assert abs(error[0] - 0.2) < 1e-12  # nothing learnt yet
    assert abs(error[-1]) < 1e-6  # the course is north: the heading of -0.2 is what it takes


def test_commands_stay_within_their_limits() -> None:
    found = follow(course(), course_set=1.5, v_water_B=[-5.0, 0.0, 0.0])

    assert found["command_1"] == 1.0 and -1.0 <= found["command_2"] <= 1.0


def test_fins_have_the_signs_of_the_vehicle() -> None:
    straight = follow(fins())
    assert straight["rudder"] == 0.0 and straight["stern"] == 0.0 and straight["command"] == pytest.approx(0.7)

    assert follow(fins(), course_set=0.02)["rudder"] == pytest.approx(8.0 * 0.8 * 0.02 / 0.26)
    assert follow(fins(), course_set=0.2)["rudder"] == pytest.approx(1.0)  # at the stop
    deeper = follow(fins(), position_set=[0.0, 0.0, 5.5])
    assert deeper["stern"] == pytest.approx(3.0 * 0.1 * 0.5 / 0.26)  # nose down
    assert follow(fins(), euler=[0.0, -0.05, 0.0])["stern"] == pytest.approx(-0.15 / 0.26)
    assert follow(fins(), position_set=[0.0, 0.0, 50.0])["stern"] == pytest.approx(1.0)
