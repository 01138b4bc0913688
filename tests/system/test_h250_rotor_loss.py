"""The H250 flies, and after the loss of one or two rotors it spins as fast as in real flights.

With three rotors a quadcopter cannot hold its heading. A controller that gives up yaw keeps it in the air, spinning
about an axis that is fixed in the body and stands upright: thrusts, rates and tilt are constant in body axes. Such a
state is an equilibrium of the model, and the logged flights are such; how the thrusts share the load is the
controller's choice, the rest is physics. So the model gets the logged thrusts and nothing else of the logs. What was
logged are demands, which the controller turns into pulses by a straight line (1000 + 181.81 T); the thrusts follow from
the motor curve. The result is on docs/vehicles/notes/quad_h250.md.
"""

from __future__ import annotations

import functools
import math
import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve
from scipy.signal import butter, sosfiltfilt

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.faults.catalog import parse_fault
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.prepare import inject
from ironbird.flight.words import COMPLETED
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.spec import Environment, Home
from ironbird.vehicles.templates.multicopter import MotorTable, MulticopterSpec, build

DATA = Path(__file__).parents[1] / "data" / "h250"
GRAVITY = 9.80665
HEIGHT_M = 30.0
SEEDS = 8
# The vehicle's rotors in the order of the log (clockwise from front right), as numbers of the vehicle's file
BY_LOG = (1, 4, 2, 3)
ARM_M, PULSE_PER_N = 0.125, 0.18181  # throttle per newton of demand


@functools.cache
def h250() -> MulticopterSpec:
    """The vehicle in sea-level air with a battery that never sags, as its parameters are meant."""
    spec = load_spec("quad_h250")
    assert isinstance(spec, MulticopterSpec)
    return spec.model_copy(
        update={
            "home": Home(height_m=-HEIGHT_M),
            "environment": Environment(gravity=GRAVITY),
            "battery": spec.battery.model_copy(update={"resistance_ohm": 0.0, "capacity_Ah": 1e6}),
        }
    )


@functools.cache
def model() -> CompiledModel:
    return compile_model(build(h250()))


# ---------------------------------------------------------------------- the vehicle


@pytest.mark.parametrize("control", ["truth", "reference"])
def test_the_h250_flies_the_square_in_wind(control: str) -> None:
    compiled = compile_model(load_vehicle("quad_h250", control=control).diagram)
    mission = load_mission("square")
    state = start(compiled, lanes=SEEDS, seed=100)
    wind = Weather(speed_mps=3.0, from_deg=240.0, turbulence_mps=4.6)
    for path, value in {**mission.params(16), **wind.params()}.items():
        state.set_param(path, value)
    log = run(state, mission.longest_s(5.0), log=["body.p_NB_N", "navigator"], log_s=0.05)

    for lane in range(SEEDS):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert not log.lane("navigator.failsafe", lane).any()
        error = log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane)
        assert np.linalg.norm(error[200:], axis=1).max() < 4.0  # m: GNSS errs by 2 m, turns lag by 1 m


def test_hover_speed_and_throttle_follow_from_the_bent_motor_curve() -> None:
    state = start(model(), lanes=2)
    state.set_param("body.p_0", [0.0, 0.0, -HEIGHT_M])
    state.set_param("navigator.point_0", [0.0, 0.0, -HEIGHT_M])
    table = np.zeros((6, 16))
    table[:, 0] = [0.0, 0.0, -HEIGHT_M, 0.0, 1e6, 0.0]
    state.set_param("navigator.table", table)
    state.set_param("navigator.take_off_height", HEIGHT_M)
    log = run(state, 30.0, log_s=0.1)

    speed = math.sqrt(0.710 * GRAVITY / (4 * 1.345e-6))
    # -2143 s^2 + 5113 s - 458.4 = speed, the lower root
    throttle = (5113 - math.sqrt(5113**2 - 4 * 2143 * (speed + 458.4))) / (2 * 2143)
    for number in range(1, 5):
        assert abs(log[f"rotor/{number}/motor.speed"][-1] / speed - 1) < 1e-6  # settled for 25 s
        assert abs(log[f"control.throttle_{number}"][-1] - throttle) < 1e-6
    assert abs(throttle - 0.3693) < 1e-4  # as the page says


def test_full_throttle_is_the_top_of_the_curve() -> None:
    h250_motor = h250().motor["standard"]
    straight = MotorTable.model_validate({"slope_radps": 691.33, "idle_speed_radps": 162.59, "time_constant_s": 0.02})
    early = straight.model_copy(update={"slope_radps": 3000.0, "idle_speed_radps": -100.0, "quadratic_radps": -2000.0})

    assert abs(h250_motor.top_speed_radps() - (5113 - 2143 - 458.4)) < 1e-9  # its top would be at 1.19
    assert abs(early.top_speed_radps() - (3000 * 0.75 - 100 - 2000 * 0.75**2)) < 1e-9  # -b / 2a = 0.75
    assert straight.top_speed_radps() == 691.33 + 162.59


def test_an_ordinary_controller_falls_and_the_lost_rotor_decides_the_direction_of_spin() -> None:
    compiled = compile_model(load_vehicle("quad_h250", control="reference").diagram)
    state = start(compiled, lanes=4, seed=[1] * 4)
    for path, value in load_mission("hover").params(16).items():
        state.set_param(path, value)
    for lane in range(4):
        inject(state, parse_fault(f"rotor.speed_loss@1:instance={lane + 1},severity=1,start=15"), lane)
    log = run(state, 30.0, log=["body.w_NB_B"], log_s=0.01)

    for lane, spin in enumerate((-1, -1, 1, 1)):  # rotors 1 and 2 turn counter-clockwise: without one yaw goes left
        stop = log.stops[lane]
        assert stop is not None and stop.reason == "hard landing"
        after = (log.time(lane) > 15.1) & (log.time(lane) < 15.6)
        assert spin * log.lane("body.w_NB_B", lane)[after, 2].mean() > 1.0  # rad/s


def test_hover_throttle_power_and_vibration_are_those_of_the_flights() -> None:
    state = start(compile_model(load_vehicle("quad_h250", control="reference").diagram), seed=3)
    for path, value in load_mission("hover").params(16).items():
        state.set_param(path, value)
    log = run(state, 28.0, log=["imu/1/chip", "battery", "control.throttle_1"], log_s=0.004)
    steady = log.time() > 18.0

    volts, amperes = log["battery.voltage"][steady].mean(), log["battery.current"][steady].mean()
    throttle = log["control.throttle_1"][steady].mean() * volts / 16.0
    assert abs(throttle / 0.367 - 1) < 0.05  # at 16 V, nine logs
    assert abs(volts * amperes / 94.0 - 1) < 0.25 and abs(volts * amperes / 138.0 - 1) < 0.2  # W, two current scales
    fast = butter(4, 20.0, "high", fs=250.0, output="sos")
    for signal, flown in (("accel_B", (5.5, 3.0, 3.8)), ("gyro_B", (0.135, 0.137, 0.060))):
        shaking = sosfiltfilt(fast, log[f"imu/1/chip.{signal}"][steady], axis=0).std(axis=0)
        assert np.abs(np.log(shaking / flown)).max() < math.log(1.5)


@pytest.mark.parametrize(
    ("name", "rotor", "sink_mps", "impact_mps"), [("quad_h250", 1, 1.5, 5.5), ("quad_f450", 3, 6.0, 7.5)]
)
def test_quadcopter_that_may_spin_comes_down_under_control_near_the_place(
    name: str, rotor: int, sink_mps: float, impact_mps: float
) -> None:
    """The H250 lands, all but some; two rotors of the F450 lift nine tenths of its weight: it sinks upright."""
    bench = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "rotor_loss.py"))
    landings = bench["fly"](name, spins=True, rotor=rotor, seeds=range(4))
    assert name != "quad_h250" or sum("landed" in landing.ended for landing in landings) >= 3
    for landing in landings:
        assert landing.sink_mps < sink_mps and landing.impact_mps < impact_mps, landing
        assert landing.away_m < 20.0  # m, in 3 m/s of wind
        if name == "quad_h250":
            assert abs(abs(landing.spin_radps) / 25.0 - 1) < 0.1  # rad/s, as the flights


# ---------------------------------------------------------------------- the logs


@dataclass(frozen=True)
class Measured:
    """Means of a flight while it spun steadily; clockwise from front right, rotor 1 first."""

    lost: tuple[int, ...]
    rates: np.ndarray  # rad/s
    speeds: np.ndarray  # rad/s of the rotors, 0 of lost ones

    @property
    def thrusts(self) -> np.ndarray:
        """N, at rest in still air."""
        return np.asarray(h250().propeller["standard"].thrust_coefficient_Ns2 * self.speeds**2)


def rotor_speeds(demands: np.ndarray, lost: tuple[int, ...]) -> np.ndarray:
    """What the motors do with the demands: a straight line to the throttle, the bent curve to the speed."""
    motor, s = h250().motor["standard"], PULSE_PER_N * demands
    speeds = motor.quadratic_radps * s * s + motor.slope_radps * s + motor.idle_speed_radps
    return np.array([0.0 if number in lost else speed for number, speed in enumerate(speeds, start=1)])


@functools.cache
def flights() -> dict[str, Measured]:
    found = {}
    for row in (DATA / "spins.csv").read_text().splitlines()[1:]:
        name, lost_text, *numbers = row.split(",")
        values = np.array([float(text) for text in numbers])
        lost = tuple(int(text) for text in lost_text.split("+"))
        found[name] = Measured(lost, values[2:5], rotor_speeds(values[6:10], lost))
    return found


ONE_LOST = ("exp_unknown_multi_1", "exp_unknown_multi_10", "exp_unknown_single_9", "exp_unknown_1117_1")
TWO_LOST = "exp_unknown_single_8"


def test_thrusts_through_the_motor_curve_carry_the_weight_of_the_file() -> None:
    for name, flight in flights().items():
        tilt = math.acos(abs(flight.rates[2]) / float(np.linalg.norm(flight.rates)))
        assert abs(flight.thrusts.sum() * math.cos(tilt) / (0.710 * GRAVITY) - 1) < 0.07, (
            name
        )  # demands: up to 20 % off


# ---------------------------------------------------------------------- yaw


def yaw_torque(spin_radps: float, speeds: np.ndarray, drag_Ns2pm: float) -> float:
    """About the vertical, positive speeds the spin up: rotors against the air, their drag round the arm, the body's."""
    spec = h250()
    ways = np.array([-1.0, 1.0, -1.0, 1.0])  # clockwise rotors (2 and 4) turn the body to the left
    against = np.where(speeds > 0, speeds - ways * spin_radps, 0.0)
    torque = spec.propeller["standard"].torque_coefficient_Nms2 * float(ways @ against**2)
    carried = drag_Ns2pm * float(speeds.sum()) * ARM_M**2 * spin_radps
    return torque - carried - spec.airframe.damping_Nms2prad2[2] * spin_radps**2


def spin_of(speeds: np.ndarray, drag_Ns2pm: float) -> float:
    return float(brentq(lambda spin: yaw_torque(spin, speeds, drag_Ns2pm), 1.0, 200.0))


def drag_of(flight: Measured) -> float:
    """The rotor drag that a flight needs."""
    return float(brentq(lambda drag: yaw_torque(abs(flight.rates[2]), flight.speeds, drag), 0.0, 1e-3))


def test_rotor_drag_from_flights_with_one_rotor_lost_gives_the_spin_with_two() -> None:
    drag = float(np.mean([drag_of(flights()[name]) for name in ONE_LOST]))
    spin = spin_of(flights()[TWO_LOST].speeds, drag)

    assert abs(spin / 42.0 - 1) < 0.1
    assert abs(spin / abs(flights()[TWO_LOST].rates[2]) - 1) < 0.05


def test_rotor_drag_from_the_flight_with_two_rotors_lost_gives_the_spin_with_one() -> None:
    drag = drag_of(flights()[TWO_LOST])
    spins = [spin_of(flights()[name].speeds, drag) for name in ONE_LOST]

    assert abs(float(np.mean(spins)) / 25.0 - 1) < 0.1  # the mean of 16 flights, 22.6 to 28.6


@pytest.mark.parametrize("name", [*ONE_LOST, TWO_LOST])
def test_the_file_spins_as_fast_as_each_flight(name: str) -> None:
    """Its rotor drag is the Hummingbird's, scaled: from none of these flights."""
    flight, drag = flights()[name], h250().propeller["standard"].rotor_drag_Ns2pm

    assert abs(spin_of(flight.speeds, drag) / abs(flight.rates[2]) - 1) < 0.1


# ---------------------------------------------------------------------- the whole vehicle


@dataclass(frozen=True)
class Spin:
    """A steady spin: everything is constant in body axes."""

    rates: np.ndarray  # rad/s
    velocity: np.ndarray  # m/s
    speeds: np.ndarray  # rad/s of the rotors, clockwise from front right

    @property
    def down_B(self) -> np.ndarray:
        """The vertical in body axes: it turns left, against the vertical."""
        return np.asarray(-self.rates / np.linalg.norm(self.rates))


def steady_spin(speeds: np.ndarray) -> Spin:
    """The equilibrium of the vehicle's equations for given shares of the rotor speeds, written out independently.

    Unknown are the factor of the speeds, three rates, three velocities in body axes. The axis of rotation is vertical;
    moments: w x (J w + h) = M; forces: m w x v = F + m g; height constant.
    """
    spec = h250()
    q, airframe = spec.propeller["standard"], spec.airframe
    rotors = [spec.rotor[number - 1] for number in BY_LOG]
    inertia = spec.body.inertia().diagonal()
    up = np.array([0.0, 0.0, -1.0])

    def residual(x: np.ndarray) -> np.ndarray:
        w, v = x[1:4], x[4:7]
        down = -w / np.linalg.norm(w)
        force = -np.array(airframe.drag_Ns2pm2) * np.linalg.norm(v) * v + spec.body.mass_kg * GRAVITY * down
        moment, momentum = -np.array(airframe.damping_Nms2prad2) * np.abs(w) * w, np.zeros(3)
        for rotor, speed in zip(rotors, x[0] * speeds, strict=True):
            spin = 1.0 if rotor.spin == "ccw" else -1.0
            hub = v + np.cross(w, rotor.position_B_m)
            climb, turning = float(hub @ up), speed + spin * float(w @ up)
            along = hub - climb * up
            lift = q.thrust_coefficient_Ns2 * turning**2 - q.inflow_Ns2pm * speed * climb
            lift += q.translational_lift_Ns2pm2 * float(along @ along)
            if speed == 0:
                turning = 0.0
                lift = 0.0
            push = up * lift - q.rotor_drag_Ns2pm * speed * along
            force = force + push
            moment = moment + np.cross(rotor.position_B_m, push) - up * spin * q.torque_coefficient_Nms2 * turning**2
            momentum = momentum + up * (spin * q.inertia_kgm2 * speed)
        turns = moment - np.cross(w, inertia * w + momentum)
        return np.array([*(turns * 100), *(force - spec.body.mass_kg * np.cross(w, v)), float(v @ down)])

    start_at = [1.0, -0.5, -3.0, -24.0, 0.0, 0.0, 0.0]
    found, _, flag, text = fsolve(residual, start_at, xtol=1e-12, full_output=True)
    assert flag == 1, text
    return Spin(found[1:4], found[4:7], found[0] * speeds)


def test_the_vehicle_on_three_rotors_stays_in_the_spin_that_its_equations_predict() -> None:
    spec, spin = h250(), steady_spin(flights()[ONE_LOST[0]].speeds)
    motor = spec.motor["standard"]
    state = start(model())
    state.set_param("body.p_0", [0.0, 0.0, -HEIGHT_M])
    state.set_param("body.w_0", spin.rates)
    state.set_param("body.v_0", spin.velocity)
    down = spin.down_B  # roll and pitch that bring it upright
    pitch, roll = -math.asin(down[0]), math.atan2(down[1], down[2])
    half = (math.cos(pitch / 2), math.sin(pitch / 2), math.cos(roll / 2), math.sin(roll / 2))
    state.set_param("body.q_0", [half[2] * half[0], half[3] * half[0], half[2] * half[1], -half[3] * half[1]])
    state.set_param("wakes.ground_effect", 0.0)
    for number, speed in zip(BY_LOG, spin.speeds, strict=True):
        gain = speed - motor.idle_speed_radps
        root = math.sqrt(motor.slope_radps**2 + 4 * motor.quadratic_radps * gain)
        state.set_param(f"rotor/{number}/motor.omega_0", speed)
        state.set_param(f"rotor/{number}/motor.override", 1.0)
        state.set_param(
            f"rotor/{number}/motor.override_throttle", 2 * gain / (motor.slope_radps + root) if speed else -1
        )
    state.set_param("rotor/1/propeller.blade_health", 0.0)
    log = run(state, 0.3, log=["body.w_NB_B", "body.p_NB_N"], log_s=0.01)

    np.testing.assert_allclose(log["body.w_NB_B"][-1], spin.rates, atol=0.02 * abs(spin.rates[2]))  # open loop
    assert abs(log["body.p_NB_N"][-1][2] + HEIGHT_M) < 0.02  # m
    assert abs(spin.rates[2] / flights()[ONE_LOST[0]].rates[2] - 1) < 0.1
