"""The multicopter's cascade: equilibrium, signs, allocation, saturation, invariance under a turn of the heading."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.multicopter_control import GRAVITY, MulticopterControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.rig import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
MASS, C_T, C_M, ARM, SLOPE, IDLE = 1.4, 9.286e-6, 1.189e-7, 0.225, 691.33, 162.59
INERTIA = np.array([0.01704, 0.01704, 0.03176])
A = ARM * math.sqrt(0.5)
# [RflyModel] 7.1.1: total thrust, roll, pitch, yaw moment per newton of each rotor
EFFECT = np.array([[1, 1, 1, 1], [-A, A, A, -A], [A, -A, A, -A], np.array([1, 1, -1, -1]) * C_M / C_T])
TOP_N = C_T * (SLOPE + IDLE) ** 2
LEVEL = np.eye(3).flatten(order="F")
vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)


@functools.cache
def model() -> CompiledModel:
    return alone(
        MulticopterControl(4, sample_s=0.004), step_s=0.004, mass=MASS, inertia=INERTIA.tolist(), position_gain=1.1,
        velocity_gain=3.2, velocity_integral=0.6, attitude_gain=[8.0, 8.0, 3.0], rate_gain=[22.0, 22.0, 8.0],
        rate_integral=2.0, max_speed=10.0, max_climb=3.0, max_descent=2.0, max_tilt=math.radians(35),
        max_rate=[4.0, 4.0, 1.5], allocation=np.linalg.inv(EFFECT).tolist(), max_thrust=TOP_N,
        thrust_coefficient=C_T, motor_slope=SLOPE, motor_idle=IDLE,
    )  # fmt: skip


def at(**inputs: object) -> dict[str, np.ndarray]:
    values = {"R_NB": LEVEL, **inputs}
    return {name: value[0] for name, value in outputs_at(model(), values).items()}  # type: ignore[arg-type]


def thrusts(found: dict[str, np.ndarray]) -> np.ndarray:
    """What the commands give in steady state, from the motor's curve."""
    throttle = np.array([found[f"throttle_{i}"] for i in range(1, 5)])
    return np.asarray(C_T * (SLOPE * throttle + IDLE) ** 2)


def test_hover_at_the_set_point_carries_the_weight_evenly() -> None:
    found = at(p_NB_N=[3.0, -2.0, -7.0], position_set=[3.0, -2.0, -7.0], yaw_set=0.0)

    np.testing.assert_allclose(thrusts(found), MASS * GRAVITY / 4, rtol=1e-12)  # rounding
    np.testing.assert_allclose(found["moment_set_B"], 0.0, rtol=0, atol=1e-15)
    hover = (math.sqrt(MASS * GRAVITY / 4 / C_T) - IDLE) / SLOPE
    assert abs(found["throttle_1"] - hover) < 1e-12


@given(w=vectors, tilt=vectors, climb=st.floats(-1, 1))
@EXAMPLES
def test_allocation_gives_the_thrust_and_moments_asked_for(w: np.ndarray, tilt: np.ndarray, climb: float) -> None:
    rotation = Rotation.from_rotvec([0.03 * tilt[0], 0.03 * tilt[1], 0.01 * tilt[2]])
    R = rotation.as_matrix().flatten(order="F")
    found = at(R_NB=R, w_NB_B=0.05 * w, v_NB_N=[0.0, 0.0, climb])

    total = EFFECT @ thrusts(found)
    assert abs(total[0] - found["thrust_total"]) < 1e-11  # rounding; no rotor is at a limit
    np.testing.assert_allclose(total[1:], found["moment_set_B"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_moment_turns_the_vehicle_back(axis: int) -> None:
    turn = np.zeros(3)
    turn[axis] = 0.02
    found = at(R_NB=Rotation.from_rotvec(turn).as_matrix().flatten(order="F"))

    # rate set = -2 gain sin(angle / 2), moment = inertia * rate gain * rate set
    gain, rate_gain = [8.0, 8.0, 3.0][axis], [22.0, 22.0, 8.0][axis]
    expected = np.zeros(3)
    expected[axis] = -2 * gain * math.sin(0.01)
    np.testing.assert_allclose(found["rate_set_B"], expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found["moment_set_B"], INERTIA * rate_gain * expected, rtol=0, atol=1e-15)


@given(turn=st.floats(-3.1, 3.1), offset=vectors, v=vectors, w=vectors)
@EXAMPLES
def test_commands_do_not_depend_on_where_north_is(
    turn: float, offset: np.ndarray, v: np.ndarray, w: np.ndarray
) -> None:
    body = Rotation.from_euler("ZYX", [0.1, -0.1, 0.2])
    about = Rotation.from_euler("Z", turn)

    one = at(
        R_NB=body.as_matrix().flatten(order="F"), position_set=2 * offset, v_NB_N=v, w_NB_B=w, velocity_set=0.3 * v
    )
    two = at(
        R_NB=(about * body).as_matrix().flatten(order="F"), position_set=about.apply(2 * offset),
        v_NB_N=about.apply(v), w_NB_B=w, velocity_set=about.apply(0.3 * v), yaw_set=turn,
    )  # fmt: skip

    for name in ("thrust_total", "moment_set_B", "throttle_1", "throttle_2", "throttle_3", "throttle_4"):
        np.testing.assert_allclose(two[name], one[name], rtol=0, atol=1e-11)  # rounding


def test_speed_climb_and_descent_are_limited() -> None:
    far = at(position_set=[1000.0, 0.0, 0.0], v_NB_N=[10.0, 0.0, 0.0])
    np.testing.assert_allclose(
        far["moment_set_B"], 0.0, rtol=0, atol=1e-14
    )  # at the greatest speed nothing more is asked

    up = at(position_set=[0.0, 0.0, -100.0], v_NB_N=[0.0, 0.0, -3.0])
    assert abs(up["thrust_total"] - MASS * GRAVITY) < 1e-12
    down = at(position_set=[0.0, 0.0, 100.0], v_NB_N=[0.0, 0.0, 2.0])
    assert abs(down["thrust_total"] - MASS * GRAVITY) < 1e-12


def test_tilt_is_limited_with_the_height_kept() -> None:
    limit = math.radians(35)
    tilted = Rotation.from_euler("Y", -limit).as_matrix().flatten(order="F")  # nose down: accelerates forward
    found = at(position_set=[1000.0, 0.0, 0.0], R_NB=tilted)

    np.testing.assert_allclose(found["rate_set_B"], 0.0, rtol=0, atol=1e-14)  # this is the attitude asked for
    assert abs(found["thrust_total"] * math.cos(limit) - MASS * GRAVITY) < 1e-12  # and the weight is carried


def test_sinking_does_not_steepen_the_tilt() -> None:
    # Pressed onto the ground the lift falls; the attitude asked for stays that of hover with the same demand
    tilt = math.atan(3.2 * 0.5 / GRAVITY)
    hover = Rotation.from_euler("Y", -tilt).as_matrix().flatten(order="F")  # nose down
    for sink in (0.0, 1.0, 2.0):
        found = at(R_NB=hover, velocity_set=[0.5, 0.0, sink])
        np.testing.assert_allclose(found["rate_set_B"], 0.0, rtol=0, atol=1e-14)  # this is the attitude asked for


@given(axis=vectors.filter(lambda v: np.linalg.norm(v) > 0.1))
@EXAMPLES
def test_commands_are_finite_upside_down(axis: np.ndarray) -> None:
    turn = math.pi * axis / np.linalg.norm(axis)
    found = at(R_NB=Rotation.from_rotvec(turn).as_matrix().flatten(order="F"), w_NB_B=[5.0, -5.0, 3.0])

    for name, value in found.items():
        assert np.all(np.isfinite(value)), name
    throttle = np.array([found[f"throttle_{i}"] for i in range(1, 5)])
    assert np.all((throttle >= 0) & (throttle <= 1))


def test_yaw_gives_way_when_the_motors_are_full() -> None:
    # A little roll, and a heading so far off that its moment needs more than the motors have
    turn = Rotation.from_euler("ZYX", [-2.5, 0.0, 0.02]).as_matrix().flatten(order="F")
    found = at(R_NB=turn)

    total = EFFECT @ thrusts(found)
    np.testing.assert_allclose(total[1:3], found["moment_set_B"][:2], rtol=0, atol=1e-12)  # roll and pitch in full
    assert abs(total[0] - found["thrust_total"]) < 1e-11  # and the thrust
    assert 0 < total[3] < 0.9 * found["moment_set_B"][2]  # less yaw than asked for, the right way
    assert thrusts(found).min() < C_T * IDLE**2 + 1e-9 or thrusts(found).max() > TOP_N - 1e-9  # a motor is at its limit


def test_disarmed_motors_get_nothing_and_the_integrals_are_empty() -> None:
    state = start(model())
    state.set_input("R_NB", LEVEL)
    state.set_input("position_set", [5.0, 0.0, -5.0])
    run(state, 1.0, log_s=0.004)
    assert np.abs(state.get("block.velocity_sum")).max() > 0.1
    state.set_input("armed", 0.0)
    log = run(state, 1.1, log_s=0.004)

    assert all(np.all(log[f"block.throttle_{i}"] == 0.0) for i in range(1, 5))
    assert np.all(state.get("block.velocity_sum") == 0.0)


def test_integral_grows_at_the_given_rate_and_stops_at_its_limit() -> None:
    state = start(model())
    state.set_input("R_NB", LEVEL)
    state.set_input("velocity_set", [0.5, 0.0, 0.0])
    run(state, 1.0, log_s=0.004)

    assert abs(state.get("block.velocity_sum")[0] - 0.6 * 3.2 * 0.5 * 1.0) < 1e-12  # rate * gain * error * time
    run(state, 20.0, log_s=0.004)
    assert state.get("block.velocity_sum")[0] == 5.0
