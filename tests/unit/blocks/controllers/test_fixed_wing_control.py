"""The fixed wing's control: equilibrium, signs, L1 guidance, energy, limits, integrals."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.fixed_wing_control import MOST_THROTTLE, FixedWingControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
TRAVEL, V = 0.5, 25.0
TRIM = {"elevator_trim": -0.12, "rudder_trim": 0.001, "throttle_trim": 0.7, "pitch_trim": 0.05}
PERIOD, DAMPING = 14.0, 0.75
GAINS = {
    "l1_period": PERIOD, "l1_damping": DAMPING, "max_roll": 0.8, "height_time": 3.0, "speed_time": 4.0,
    "max_climb": 5.0, "max_sink": 4.0, "min_speed": 17.0, "energy_damping": 0.5, "energy_integral": 0.3,
    "balance_damping": 1.0, "balance_integral": 0.4, "pitch_low": -0.25, "pitch_high": 0.35, "roll_gain": 0.7,
    "roll_damping": 0.02, "roll_integral": 0.2, "pitch_gain": 3.0, "pitch_damping": 0.3, "pitch_integral": 0.7,
    "yaw_damping": 0.1,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    values = {"travel": [TRAVEL] * 3, "trim_speed": V, "lift_angle": 0.09, **TRIM, **GAINS}
    return alone(FixedWingControl(sample_s=0.004), step_s=0.004, **values)  # type: ignore[arg-type]


def attitude(roll: float = 0.0, pitch: float = 0.05, yaw: float = 0.0) -> list[float]:
    matrix = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    return [float(entry) for entry in matrix.flatten(order="F")]


def rest(matrix: list[float]) -> list[float]:
    """Specific force of an aircraft that does not accelerate."""
    return [-GRAVITY * matrix[3 * i + 2] for i in range(3)]


def at(**inputs: object) -> dict[str, float]:
    values = {
        "accel_B": rest(inputs.get("R_NB", attitude())),  # type: ignore[arg-type]
        "p_NB_N": [0.0, 0.0, -100.0], "v_NB_N": [V, 0.0, 0.0], "R_NB": attitude(), "w_NB_B": [0.0, 0.0, 0.0],
        "airspeed": V, "height_set": 100.0, "airspeed_set": V, **inputs,
    }  # fmt: skip
    return {name: float(value[0]) for name, value in outputs_at(model(), values).items()}  # type: ignore[arg-type]


def test_in_trimmed_flight_on_the_path_the_commands_are_the_trim() -> None:
    found = at()

    assert abs(found["aileron"]) < 1e-15 and abs(found["roll_set"]) < 1e-15 and found["path_error"] == 0
    assert found["elevator"] == pytest.approx(TRIM["elevator_trim"] / TRAVEL, rel=1e-12)
    assert found["rudder"] == pytest.approx(TRIM["rudder_trim"] / TRAVEL, rel=1e-12)
    assert found["throttle"] == TRIM["throttle_trim"]
    assert found["pitch_set"] == pytest.approx(TRIM["pitch_trim"], rel=1e-12)


@given(east=st.floats(-500, 500), course=st.floats(-3, 3), heading=st.floats(-1, 1))
@EXAMPLES
def test_bank_leads_to_a_point_one_l1_length_ahead_on_the_line(east: float, course: float, heading: float) -> None:
    c, s = math.cos(course), math.sin(course)
    away = np.array([-s, c]) * east  # to the right of the line
    speed = 22.0
    chi = course + heading
    found = at(
        p_NB_N=[10.0 + away[0] + 50 * c, -20.0 + away[1] + 50 * s, -100.0], path_origin=[10.0, -20.0, -100.0],
        path_course=course, v_NB_N=[speed * math.cos(chi), speed * math.sin(chi), 0.0],
    )  # fmt: skip

    assert found["path_error"] == pytest.approx(east, abs=1e-11)
    length = DAMPING * PERIOD / math.pi * speed
    seen = -math.asin(np.clip(east / length, -(0.5**0.5), 0.5**0.5)) - heading  # [Park2004]: eta
    sideways = 4 * DAMPING**2 * speed**2 / length * math.sin(np.clip(seen, -math.pi / 2, math.pi / 2))
    assert found["lateral_set"] == pytest.approx(sideways, abs=1e-9)
    assert found["roll_set"] == pytest.approx(np.clip(math.atan(sideways / GRAVITY), -0.8, 0.8), abs=1e-9)


@pytest.mark.parametrize(("kind", "radius"), [(0.0, 100.0), (1.0, 300.0), (1.0, -300.0)])
def test_a_point_that_is_led_comes_to_the_path_with_the_period_and_damping_asked_for(
    kind: float, radius: float
) -> None:
    # A point that moves with the acceleration asked for, near a line and near circles of either sense
    start_error, speed, dt = 1.0, 25.0, 0.02
    centre = np.array([0.0, 0.0]) if kind == 0 else np.array([0.0, radius])
    place = np.array([0.0, start_error]) if kind == 0 else np.array([0.0, -math.copysign(start_error, radius)])
    chi, errors = 0.0, []
    for _ in range(500):
        v = speed * np.array([math.cos(chi), math.sin(chi)])
        found = at(
            p_NB_N=[*place, -100.0], v_NB_N=[*v, 0.0], path_kind=kind, path_origin=[*centre, -100.0],
            path_radius=radius,
        )  # fmt: skip
        errors.append(found["path_error"])
        middle = chi + 0.5 * dt * found["lateral_set"] / speed
        place = place + dt * speed * np.array([math.cos(middle), math.sin(middle)])
        chi += dt * found["lateral_set"] / speed
    time_s = dt * np.arange(500)
    omega = 2 * math.pi / PERIOD
    fast = omega * math.sqrt(1 - DAMPING**2)
    exact = np.exp(-DAMPING * omega * time_s) * (
        np.cos(fast * time_s) + DAMPING / math.sqrt(1 - DAMPING**2) * np.sin(fast * time_s)
    )
    np.testing.assert_allclose(errors, exact, rtol=0, atol=0.02)  # of 1 m: the law is linear near the path, Euler steps


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_on_the_circle_the_bank_is_that_of_a_coordinated_turn(sense: float) -> None:
    found = at(
        p_NB_N=[0.0, 150.0, -100.0], path_origin=[0.0, 0.0, -100.0], path_kind=1.0, path_radius=sense * 150.0,
        v_NB_N=[-sense * V, 0.0, 0.0],
    )  # fmt: skip

    assert found["path_error"] == pytest.approx(0.0, abs=1e-12)
    assert found["roll_set"] == pytest.approx(sense * math.atan(V**2 / (GRAVITY * 150.0)), rel=1e-12)


def test_far_from_the_circle_the_nose_goes_to_its_centre() -> None:
    for course, sign in ((math.pi, 0.0), (math.pi - 0.3, 1.0), (math.pi + 0.3, -1.0)):
        v = [V * math.cos(course), V * math.sin(course), 0.0]
        found = at(p_NB_N=[1e5, 0.0, -100.0], v_NB_N=v, path_kind=1.0, path_radius=100.0)
        assert np.sign(round(found["lateral_set"], 6)) == sign


def test_a_steady_bank_needs_no_path() -> None:
    assert at(path_kind=2.0, bank_set=0.26, p_NB_N=[900.0, 900.0, -100.0])["roll_set"] == 0.26


def test_moments_turn_the_aircraft_back() -> None:
    assert at(R_NB=attitude(roll=0.1))["aileron"] == pytest.approx(-0.7 * 0.1 / TRAVEL, rel=1e-9)
    high = at(R_NB=attitude(pitch=0.07))
    assert high["elevator"] == pytest.approx((-0.12 + 3.0 * 0.02) / TRAVEL, rel=1e-9)  # positive pitches down
    assert at(w_NB_B=[0.2, 0.0, 0.0])["aileron"] == pytest.approx(-0.02 * 0.2 / TRAVEL, rel=1e-9)
    assert at(w_NB_B=[0.0, 0.02, 0.0])["elevator"] == pytest.approx((-0.12 + 0.3 * 0.02) / TRAVEL, rel=1e-9)
    assert at(w_NB_B=[0.0, 0.0, 0.2])["rudder"] == pytest.approx((0.001 + 0.1 * 0.2) / TRAVEL, rel=1e-9)


def test_rates_of_a_coordinated_turn_are_not_damped() -> None:
    roll, pitch = 0.5, 0.05
    turn = GRAVITY / V * math.tan(roll)
    w = turn * np.array([-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)])
    still, turning = (at(R_NB=attitude(roll, pitch), w_NB_B=rates) for rates in ([0.0, 0.0, 0.0], w))

    assert turning["rudder"] == pytest.approx(TRIM["rudder_trim"] / TRAVEL, rel=1e-9)
    assert turning["elevator"] - still["elevator"] == pytest.approx(0.3 * w[1] / TRAVEL, rel=1e-9)


def rates(low_m: float, speed: float) -> tuple[float, float]:
    """Climb and V a / g that are asked for."""
    return low_m / 3.0, speed / GRAVITY * (V - speed) / 4.0


def balanced(speed: float) -> float:
    """How far too low an aircraft is whose missing climb rate equals its rate of kinetic energy, but for the sign."""
    return -3.0 * rates(0.0, speed)[1]


def test_too_low_and_too_fast_by_the_same_rate_moves_the_pitch_only() -> None:
    fast = 26.0
    low = balanced(fast)
    found = at(p_NB_N=[0.0, 0.0, -100.0 + low], airspeed=fast)

    climb, gain = rates(low, fast)
    assert climb == pytest.approx(-gain)
    lagging = (fast - V) / 3.0 * fast / GRAVITY  # the filter begins at the trim speed: this rate is thought to be there
    assert found["throttle"] == pytest.approx(0.7 - 0.5 * lagging / 5.0, rel=1e-9)
    wanted = 0.05 + 2 * climb / fast + 1.0 * (2 * climb + lagging) / fast  # forward, and damping 1 on the error
    assert found["pitch_set"] == pytest.approx(wanted, rel=1e-9)


def test_too_low_at_the_right_speed_moves_both() -> None:
    found = at(p_NB_N=[0.0, 0.0, -97.0])

    assert found["climb_set"] == pytest.approx(1.0, rel=1e-12)
    assert found["throttle"] == pytest.approx(0.7 + 0.3 * 1.0 / 5.0 + 0.5 * 1.0 / 5.0, rel=1e-9)
    assert found["pitch_set"] == pytest.approx(0.05 + 1.0 / V + 1.0 * 1.0 / V, rel=1e-9)


def test_climb_rate_is_limited_and_takes_what_lies_ahead() -> None:
    assert at(p_NB_N=[0.0, 0.0, 100.0])["climb_set"] == 5.0
    assert at(p_NB_N=[0.0, 0.0, -400.0])["climb_set"] == -4.0
    assert at(climb_ahead=-1.5)["climb_set"] == pytest.approx(-1.5, abs=1e-12)


def test_weight_of_speed_decides_what_pitch_does() -> None:
    low = [0.0, 0.0, -97.0]
    assert at(p_NB_N=low, speed_weight=2.0)["pitch_set"] == pytest.approx(0.05, abs=1e-12)  # height does not matter
    slow = at(airspeed_set=26.0, speed_weight=0.0)["pitch_set"]
    load = 0.09 * ((V / 26.0) ** 2 - 1)  # less angle of attack at the higher speed
    assert slow == pytest.approx(0.05 + load, rel=1e-9)  # speed does not matter


def test_an_aircraft_that_is_too_slow_opens_the_throttle_and_lowers_the_nose() -> None:
    found = at(p_NB_N=[0.0, 0.0, -90.0], airspeed=15.0)

    assert found["throttle"] == 1.0 and found["pitch_set"] < 0.0
    prescribed = at(p_NB_N=[0.0, 0.0, -90.0], airspeed=15.0, throttle_limits=[0.0, 0.0], speed_weight=0.0)
    assert prescribed["throttle"] == 0.0 and prescribed["pitch_set"] > 0.05  # a flare is meant to be slow


def test_prescribed_pitch_and_throttle_are_kept() -> None:
    found = at(pitch_limits=[0.2, 0.2], throttle_limits=[1.0, 1.0], p_NB_N=[0.0, 0.0, -300.0])

    assert found["pitch_set"] == 0.2 and found["throttle"] == 1.0


def test_everything_stays_within_its_limits() -> None:
    for sign in (-1.0, 1.0):
        found = at(
            p_NB_N=[0.0, 4000.0 * sign, -100.0 + 900.0 * sign], R_NB=attitude(-sign, -0.5 * sign), airspeed=8.0,
            airspeed_set=8.0,
        )  # fmt: skip
        assert abs(found["roll_set"]) <= 0.8 and -0.25 <= found["pitch_set"] <= 0.35
        assert all(abs(found[name]) <= 1 for name in ("aileron", "elevator", "rudder"))
        assert 0 <= found["throttle"] <= 1


def flying(low_m: float, **more: Number) -> RunState:
    state = start(model())
    inputs: dict[str, Number] = {
        "p_NB_N": [0.0, 0.0, low_m - 100.0], "v_NB_N": [V, 0.0, 0.0],
        "R_NB": np.array(attitude()).reshape(3, 3).T.tolist(), "w_NB_B": [0.0, 0.0, 0.0], "airspeed": V,
        "height_set": 100.0, "airspeed_set": V, "accel_B": rest(attitude()), **more,
    }  # fmt: skip
    for name, value in inputs.items():
        state.set_input(name, value)
    return state


def test_throttle_integral_stops_at_full_throttle() -> None:
    state = flying(3.0)  # asks for 1 m/s of climb that never comes
    assert run(state, 60.0, log_s=0.1)["block.throttle"].ravel()[-1] == 1.0
    state.set_input("v_NB_N", [V, 0.0, -1.0])  # now it climbs
    after = run(state, 60.004, log_s=0.004)["block.throttle"].ravel()[-1]
    assert after == pytest.approx(1.0 - 0.5 / 5.0, abs=1e-3)  # the damping alone falls away at once
    assert MOST_THROTTLE > 0.3  # so that it was the limit of the throttle that stopped it


@pytest.mark.parametrize(("airspeed", "full"), [(17.0, False), (15.2, True)])
def test_near_the_stall_the_throttle_is_full_although_the_aircraft_is_far_too_high(airspeed: float, full: bool) -> None:
    state = flying(-100.0, airspeed=airspeed, v_NB_N=[airspeed, 0.0, 0.0])  # it asks to sink as fast as it may
    state.set_state("block.slow_speed", airspeed)  # and has been so slow for a while

    throttle = run(state, 0.004, log_s=0.004)["block.throttle"].ravel()[0]

    # 17 m/s is the smallest speed that it may fly; more than a tenth below all goes into speed
    assert throttle == 1.0 if full else throttle < 0.8


def test_integrals_wait_while_pitch_and_throttle_are_prescribed() -> None:
    state = flying(3.0, throttle_limits=[1.0, 1.0], pitch_limits=[0.2, 0.2])
    run(state, 10.0)

    assert state.get("block.energy_sum") == 0.0 and state.get("block.balance_sum") == 0.0


def test_an_offset_of_the_accelerometer_is_forgotten() -> None:
    state = flying(0.0)
    state.set_input("accel_B", (np.array(rest(attitude())) + np.array([0.3, 0.0, 0.0])).tolist())
    run(state, 60.0)

    along = 0.3 * math.cos(0.05)  # of the offset, in the direction of the flow
    assert state.get("block.acceleration")[0] == pytest.approx(along, rel=1e-9)
    assert state.get("block.slow_speed")[0] - V == pytest.approx(3.0 * along, rel=1e-6)  # so that the rate is zero
