"""The multicopter's cascade: equilibrium, signs, allocation, saturation, invariance under a turn of the heading."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at
from ironbird.vehicles.templates.multicopter import allocations_without

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
MASS, C_T, C_M, ARM, SLOPE, IDLE = 1.4, 9.286e-6, 1.189e-7, 0.225, 691.33, 162.59
INERTIA = np.array([0.01704, 0.01704, 0.03176])
A = ARM * math.sqrt(0.5)
# [RflyModel] 7.1.1: total thrust, roll, pitch, yaw moment per newton of each rotor
EFFECT = np.array([[1, 1, 1, 1], [-A, A, A, -A], [A, -A, A, -A], np.array([1, 1, -1, -1]) * C_M / C_T])
TOP_N = C_T * (SLOPE + IDLE) ** 2
IDLE_N = C_T * (IDLE + IDLE_THROTTLE * SLOPE) ** 2  # an armed motor gives no less
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


def test_a_vehicle_that_rises_too_fast_keeps_some_lift_and_stays_upright() -> None:
    found = at(velocity_set=[0.0, 0.0, 2.0], v_NB_N=[0.0, 0.0, -8.0])  # asks for 32 m/s^2 downwards

    assert abs(found["thrust_total"] - 0.3 * MASS * GRAVITY) < 1e-12
    np.testing.assert_allclose(found["rate_set_B"], 0.0, rtol=0, atol=1e-14)  # level is what is asked for


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
    assert thrusts(found).min() < IDLE_N + 1e-9 or thrusts(found).max() > TOP_N - 1e-9  # a motor is at its limit


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


# ---------------------------------------------------------------------- priorities


@given(roll=st.floats(-0.4, 0.4), pitch=st.floats(-0.4, 0.4), yaw_rate=st.floats(-1, 1))
@EXAMPLES
def test_roll_and_pitch_go_before_lift_and_lift_before_yaw(roll: float, pitch: float, yaw_rate: float) -> None:
    # Rate control at full thrust: every newton of roll and pitch has to be taken from the lift
    wanted = [roll, pitch, yaw_rate]
    found = at(control_kind=3.0, thrust_set=1.0, rate_wanted_B=wanted)
    total = EFFECT @ thrusts(found)

    np.testing.assert_allclose(total[1:3], found["moment_set_B"][:2], rtol=0, atol=1e-11)  # rounding
    spread = np.abs(np.linalg.inv(EFFECT)[:, 1:3]) @ np.abs(found["moment_set_B"][:2])
    assert abs(found["thrust_total"] - 4 * (TOP_N - spread.max())) < 1e-9  # no more than is needed
    assert abs(total[0] - found["thrust_total"]) < 1e-9
    assert total[3] * yaw_rate >= -1e-12 and abs(total[3]) <= abs(found["moment_set_B"][2]) + 1e-12


def test_lift_is_never_raised_to_make_room() -> None:
    found = at(control_kind=3.0, thrust_set=0.2, rate_wanted_B=[1.0, 0.0, 0.0])

    assert abs(found["thrust_total"] - 0.2 * 4 * TOP_N) < 1e-12
    low = at(control_kind=3.0, thrust_set=0.0)
    np.testing.assert_allclose([low[f"throttle_{i}"] for i in range(1, 5)], IDLE_THROTTLE, atol=1e-12)


def test_more_roll_than_there_is_keeps_its_direction() -> None:
    found = at(control_kind=3.0, thrust_set=0.9, rate_wanted_B=[300.0, 150.0, 0.0])
    total = EFFECT @ thrusts(found)

    assert abs(total[1] / total[2] - 2.0) < 1e-9  # both shrink alike
    assert abs(np.ptp(thrusts(found)) - (TOP_N - IDLE_N)) < 1e-9  # all that the motors have


@pytest.mark.parametrize(("thrust", "grows"), [(0.5, True), (1.0, False)])
def test_what_saturated_motors_cannot_give_is_not_integrated(thrust: float, grows: bool) -> None:
    state = start(model())
    inputs: dict[str, Number] = {
        "R_NB": LEVEL.tolist(), "control_kind": 3.0, "thrust_set": thrust, "rate_wanted_B": [0.0, 0.0, 0.05],
    }  # fmt: skip
    for name, value in inputs.items():
        state.set_input(name, value)
    log = run(state, 1.0, log_s=0.004)

    yaw = log["block.moment_set_B"][:, 2]
    first = INERTIA[2] * 8.0 * 0.05
    assert abs(yaw[0] - first) < 1e-12
    # rate integral 2/s: twice the first value more after one second
    assert abs(yaw[-1] / first - (3.0 if grows else 1.0)) < 0.02  # one sample of 250


@given(turn=st.floats(-3.1, 3.1), tilt=st.floats(-0.5, 0.5), about=st.floats(-3.1, 3.1))
@EXAMPLES
def test_the_tilt_comes_back_by_the_shortest_way_whatever_the_heading(turn: float, tilt: float, about: float) -> None:
    lean = Rotation.from_rotvec(tilt * np.array([math.cos(about), math.sin(about), 0.0]))
    R = lean.as_matrix().flatten(order="F")
    found = at(R_NB=R, yaw_set=turn)

    axis_B = lean.inv().apply(tilt * np.array([math.cos(about), math.sin(about), 0.0]))
    expected = -2 * 8.0 * math.sin(tilt / 2) * axis_B[:2] / tilt if tilt else np.zeros(2)
    np.testing.assert_allclose(found["rate_set_B"][:2], np.clip(expected, -4.0, 4.0), rtol=0, atol=1e-9)


def test_heading_error_is_the_angle_about_the_thrust_axis() -> None:
    for turn in (-3.0, -1.0, 0.2, 2.0):
        found = at(yaw_set=turn)
        assert abs(found["rate_set_B"][2] - np.clip(2 * 3.0 * math.sin(turn / 2), -1.5, 1.5)) < 1e-9


# ---------------------------------------------------------------------- six rotors, three rotors


ANGLES, SPINS = np.radians([0, 180, 240, 60, -60, 120]), np.array([1, -1, 1, -1, -1, 1])
HEXA = np.array([np.ones(6), -ARM * np.sin(ANGLES), ARM * np.cos(ANGLES), -SPINS * C_M / C_T])


@functools.cache
def hexacopter() -> CompiledModel:
    inverse = np.linalg.pinv(HEXA)
    null = np.eye(6) - inverse @ HEXA
    return alone(
        MulticopterControl(6, sample_s=0.004), step_s=0.004, mass=MASS, inertia=INERTIA.tolist(), position_gain=1.1,
        velocity_gain=3.2, velocity_integral=0.6, attitude_gain=8.0, rate_gain=22.0, rate_integral=2.0, max_speed=10.0,
        max_climb=3.0, max_descent=2.0, max_tilt=0.6, max_rate=4.0, allocation=inverse.tolist(),
        exchange=(null / np.diag(null)).tolist(), without=allocations_without(HEXA).tolist(),
        max_thrust=TOP_N, thrust_coefficient=C_T, motor_slope=SLOPE,
        motor_idle=IDLE,
    )  # fmt: skip


def test_five_rotors_make_up_for_what_the_sixth_cannot_give() -> None:
    # Pitch that asks 1.1 times its most of the front rotor: the others give thrust and moments all the same
    lift = 6 * 0.7 * TOP_N
    moment = 0.4 * TOP_N / np.linalg.pinv(HEXA)[0, 2]
    rate = moment / INERTIA[1] / 22.0
    inputs = {"R_NB": LEVEL, "control_kind": 3.0, "thrust_set": 0.7, "rate_wanted_B": [0.0, rate, 0.0]}
    found = {name: value[0] for name, value in outputs_at(hexacopter(), inputs).items()}  # type: ignore[arg-type]
    throttle = np.array([found[f"throttle_{i}"] for i in range(1, 7)])
    total = HEXA @ (C_T * (SLOPE * throttle + IDLE) ** 2)

    assert throttle[0] == 1.0 and np.all(throttle[1:] < 1.0)
    np.testing.assert_allclose(total, [lift, 0.0, moment, 0.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("number", [1, 4])
def test_lost_rotor_of_six_is_noticed_and_the_others_share_its_work(number: int) -> None:
    state = start(hexacopter(), lanes=2)
    state.set_input("R_NB", LEVEL)
    hover = math.sqrt(MASS * GRAVITY / 6 / C_T)
    for i in range(1, 7):
        state.set_input(f"rotor_speed_{i}", hover)
    healthy = run(state, 1.0, log_s=0.004)
    state.set_input(f"rotor_speed_{number}", 0.0)  # telemetry says that it stands
    log = run(state, 1.4, log_s=0.004)

    assert healthy["block.lost_rotor"].max() == 0
    first = int(np.argmax(log["block.lost_rotor"] == number))
    assert 0.1 <= 0.004 * first < 0.2 and log["block.lost_rotor"][-1] == number
    throttle = np.array([log[f"block.throttle_{i}"][-1] for i in range(1, 7)])
    thrust = C_T * (SLOPE * throttle + IDLE) ** 2
    thrust[number - 1] = 0.0
    np.testing.assert_allclose((HEXA @ thrust)[:3], [MASS * GRAVITY, 0.0, 0.0], atol=1e-9)  # lift, no roll, no pitch


def test_without_telemetry_no_rotor_is_taken_as_lost() -> None:
    state = start(hexacopter(), lanes=2)
    state.set_input("R_NB", LEVEL)

    assert run(state, 1.0, log_s=0.02)["block.lost_rotor"].max() == 0


@pytest.mark.parametrize("believed", [-30.0, 30.0])
def test_blind_descent_is_bounded_whatever_the_velocity_says_and_follows_the_sink_rate(believed: float) -> None:
    inputs = {"control_kind": 4.0, "velocity_set": [0.0, 0.0, 1.0], "v_NB_N": [0.0, 0.0, believed]}
    lifts = [at(**inputs, sink_rate=rate)["thrust_total"] for rate in (-20.0, 1.0, 20.0)]

    weight = MASS * GRAVITY
    np.testing.assert_allclose(lifts[1], weight, rtol=1e-12)  # sinks as asked: carried
    np.testing.assert_allclose([lifts[0], lifts[2]], [weight - 2.5 * MASS, weight + 1.5 * MASS], rtol=1e-12)
    untold = float(at(**inputs)["thrust_total"])
    assert weight - 2.5 * MASS - 1e-9 <= untold <= weight + 1.5 * MASS + 1e-9


def test_legs_that_hold_the_vehicle_are_not_trimmed_against() -> None:
    state = start(model(), lanes=2)
    inputs: dict[str, Number | np.ndarray] = {"R_NB": LEVEL, "control_kind": 3.0, "rate_wanted_B": [0.5, 0.0, 0.0]}
    for name, value in inputs.items():
        state.set_input(name, value)
    for thrust_set, grows in ((0.2, False), (0.6, True)):  # 0.4 and 1.2 of the weight
        state.set_input("thrust_set", thrust_set)
        run(state, state.time_s + 0.2, log_s=0.02)
        assert (abs(state.get("block.rate_sum")[0]) > 0) == grows


@functools.cache
def tricopter() -> CompiledModel:
    angles = np.radians([60, -60, 180])
    effect = np.array([np.ones(3), -ARM * np.sin(angles), ARM * np.cos(angles)])
    return alone(
        MulticopterControl(3, sample_s=0.004, tail=2), step_s=0.004, mass=MASS, inertia=INERTIA.tolist(),
        position_gain=1.1, velocity_gain=3.2, velocity_integral=0.6, attitude_gain=8.0, rate_gain=8.0,
        rate_integral=2.0, max_speed=10.0, max_climb=3.0, max_descent=2.0, max_tilt=0.6, max_rate=4.0,
        allocation=np.hstack([np.linalg.inv(effect), np.zeros((3, 1))]).tolist(), max_thrust=TOP_N,
        thrust_coefficient=C_T, motor_slope=SLOPE, motor_idle=IDLE, tail_arm=ARM, tail_travel=0.7,
        reaction=C_M / C_T,
    )  # fmt: skip


@pytest.mark.parametrize("rate", [-0.2, 0.0, 0.3])
def test_the_tail_gives_the_yaw_moment_and_holds_the_rotors_reaction(rate: float) -> None:
    inputs = {"R_NB": LEVEL, "control_kind": 3.0, "thrust_set": 0.6, "rate_wanted_B": [0.0, 0.0, rate]}
    found = {name: value[0] for name, value in outputs_at(tricopter(), inputs).items()}  # type: ignore[arg-type]

    pull = 0.6 * TOP_N  # each of three alike
    yaw = 3 * pull * C_M / C_T - ARM * pull * 0.7 * found["tail_command"]
    assert abs(yaw - INERTIA[2] * 8.0 * rate) < 1e-12


def test_position_and_velocity_count_fully_where_nothing_else_is_said() -> None:
    off = {"p_NB_N": [1.0, -0.5, -7.0], "v_NB_N": [0.2, 0.1, -0.1], "position_set": [0.0, 0.0, -6.0]}
    said = at(**off, position_weight=[1.0] * 3, velocity_weight=[1.0] * 3)
    for name, value in at(**off).items():
        np.testing.assert_array_equal(value, said[name], err_msg=name)
