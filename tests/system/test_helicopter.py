"""Helicopter X-Cell 60: trim and modes against closed forms, missions in wind, sensors, faults."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.analysis.linear import linearize
from ironbird.analysis.operating_point import OperatingPoint
from ironbird.analysis.trim import trim
from ironbird.blocks.controllers.mission_table import MISSION
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.model.signal import Number
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.helicopter import HelicopterSpec, hover, tail_blockage

LANES = 20
# [Gavrilets2015]
MASS, RADIUS, SPEED, AREA = 8.2, 0.775, 167.0, math.pi * 0.775**2
HUB, TAIL_ARM, TAIL_HEIGHT, STIFFNESS = 0.235, 0.91, 0.08, 54.0
SERVOS = ("swash_1", "swash_2", "swash_3", "tail")
COMMANDS = [*(f"surface/{name}/command_fault.value" for name in SERVOS), "rotor/1/command_fault.value"]
MAIN, TAIL = "rotor/1/propeller", "rotor/2/propeller"
# No fuselage, fin and tail, ideal wake: what momentum theory speaks of
BARE: dict[str, Number] = {
    f"{MAIN}.wake_factor": 1.0, "fuselage.drag_area": 0.0, "fuselage.fin_area": 0.0, "fuselage.tail_area": 0.0,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return compile_model(load_vehicle("heli_xcell60", control="truth").diagram)


def trimmed(
    params: dict[str, Number] | None = None, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> OperatingPoint:
    """Steady flight at 10 m, nose to the north, rotor at its speed."""
    servos: dict[str, Number] = {f"surface/{name}/servo.angle": 0.1 for name in SERVOS}
    return trim(
        model(), inputs=COMMANDS, hold={"body.p": [0.0, 0.0, -10.0]}, moving=["body.p"],
        require={"body.euler": [np.nan, np.nan, 0.0], "body.v_NB_N": list(velocity), "rotor/1/motor.speed": SPEED},
        guess={
            **servos, f"{MAIN}.inflow": 4.4, f"{TAIL}.inflow": 8.0, "rotor/1/motor.valve": 0.6,
            "rotor/1/motor.total": 30.0, "body.v": list(velocity), COMMANDS[-1]: 1.0,
        },
        params=params,
    )  # fmt: skip


def value(point: OperatingPoint, path: str) -> float:
    return float(point[path][0])


def test_bare_hover_has_thrust_induced_speed_and_ideal_power_of_momentum_theory() -> None:
    point = trimmed(BARE)

    gravity, density = float(point["gravity.gravity_N"][2]), value(point, "atmosphere.density")
    down = point["body.R_NB"].reshape(3, 3, order="F")[2]
    lifted = point[f"{MAIN}.force_B"] @ down + point[f"{TAIL}.force_B"] @ down
    assert -lifted == pytest.approx(MASS * gravity, rel=1e-9)
    assert MASS * gravity == pytest.approx(80.4, abs=0.05)  # N
    assert value(point, f"{MAIN}.thrust") == pytest.approx(80.4, rel=0.005)  # the rest: the tail rotor of a tilted body
    thrust, induced = value(point, f"{MAIN}.thrust"), value(point, f"{MAIN}.induced_speed")
    assert induced == pytest.approx(math.sqrt(thrust / (2 * density * AREA)), rel=1e-9)
    at_sea_level = math.sqrt(density / 1.225)
    assert induced * at_sea_level == pytest.approx(4.17, abs=0.015)
    profile = 0.024 * 2 * 0.058 / 8 * density * RADIUS**2 * (SPEED * RADIUS) ** 2 * SPEED  # W
    ideal = value(point, f"{MAIN}.shaft_power") - profile
    assert ideal * at_sea_level == pytest.approx(335.0, rel=0.005)
    assert profile == pytest.approx(713.0, abs=2.0)  # on top of it


def test_hover_of_the_whole_helicopter_balances_torque_roll_and_side_force() -> None:
    point = trimmed()

    roll, pitch = point["body.euler"][:2]
    tail, thrust = value(point, f"{TAIL}.thrust"), value(point, f"{MAIN}.thrust")
    fin, (_, b1) = value(point, "fuselage.fin_force"), point[f"{MAIN}.tilt"]
    # yaw: the tail rotor balances the torque
    assert (tail - fin) * TAIL_ARM == pytest.approx(value(point, f"{MAIN}.torque"), rel=1e-8)
    # roll: hub spring and tilted thrust carry the height of the tail rotor
    assert b1 == pytest.approx((tail - fin) * TAIL_HEIGHT / (STIFFNESS + thrust * HUB), rel=1e-8)
    # side force: the helicopter hangs to the right
    weight = MASS * float(point["gravity.gravity_N"][2])
    assert math.sin(roll) * math.cos(pitch) == pytest.approx((tail - fin - thrust * b1) / weight, rel=1e-8)
    assert math.degrees(roll) == pytest.approx(4.6, abs=0.1)
    # what the controller assumes is near it
    spec = load_spec("heli_xcell60")
    assert isinstance(spec, HelicopterSpec)
    assumed = hover(spec)
    assert tail / (1 - tail_blockage(spec)) == pytest.approx(assumed.tail_thrust_N, rel=0.03)
    assert thrust == pytest.approx(assumed.thrust_N, rel=0.03)
    # download of the wash on the fuselage and all power: 1077 W, 98 W at the tail
    assert point["fuselage.force_B"][2] == pytest.approx(1.81, abs=0.02)
    power = value(point, f"{MAIN}.shaft_power") + value(point, f"{TAIL}.shaft_power")
    assert value(point, "rotor/1/motor.opening") == pytest.approx(power / 2000.0, rel=1e-8)


def test_without_hub_spring_the_tilt_is_that_of_another_published_implementation() -> None:
    # A public model of this helicopter without hub spring, fin and download prints the trim b1 = 0.0685781 for a tail
    # thrust of 16.2049026 N and a main thrust of 80.4419975 N: b1 = T_t h_t / (T h_m)
    point = trimmed({**BARE, f"{MAIN}.hub_stiffness": 0.0})

    per_thrust = 0.0685781 / 16.2049026 * 80.4419975
    tail, thrust = value(point, f"{TAIL}.thrust"), value(point, f"{MAIN}.thrust")
    assert point[f"{MAIN}.tilt"][1] == pytest.approx(per_thrust * tail / thrust, rel=1e-6)  # six printed digits


def test_body_and_rotor_swing_against_each_other_with_the_known_frequency_and_damping() -> None:
    point = trimmed()
    modes = linearize(model(), point, inputs=COMMANDS).modes()

    # [Gavrilets2015]: p' = L_b b1, b1' = -p - b1/tau: s^2 + s/tau + L_b, on both axes
    stiffness = STIFFNESS + value(point, f"{MAIN}.thrust") * HUB
    lag_s = 16 / (0.8 * SPEED)
    for inertia in (0.18, 0.34):
        expected = complex(-0.5 / lag_s, math.sqrt(stiffness / inertia - 0.25 / lag_s**2))
        nearest = modes[np.argmin(np.abs(modes - expected))]
        assert abs(nearest - expected) < 0.03 * abs(expected), f"{nearest} is not {expected}"
    slow = modes[(np.abs(modes) > 1e-6) & (np.abs(modes) < 5)]
    assert slow.real.max() < 0.1  # 1/s: phugoid-like modes hardly grow or decay


def test_forward_flight_needs_less_power_than_hover_and_noses_down() -> None:
    powers, pitches = [], []
    for speed in (0.0, 6.0, 12.0):
        point = trimmed(velocity=(speed, 0.0, 0.0))
        powers.append(value(point, "rotor/1/motor.opening"))
        pitches.append(float(point["body.euler"][1]))

    assert powers[0] > powers[1] > powers[2]  # induced power falls faster than drag grows
    assert pitches[0] > pitches[1] > pitches[2]
    drag = 0.5 * value(point, "atmosphere.density") * 0.1 * 12.0**2  # N: of the fuselage at 12 m/s, nearly all of it
    assert -math.tan(pitches[2]) * MASS * 9.8 == pytest.approx(drag, rel=0.3)


@functools.cache
def flown(control: str) -> Log:
    compiled = compile_model(load_vehicle("heli_xcell60", control=control).diagram)
    mission = load_mission("square")
    state = start(compiled, lanes=LANES, seed=100)
    settings = {
        **mission.params(compiled.flat.p.signals["navigator.table"].columns),
        **Weather(speed_mps=5.0, from_deg=270.0, turbulence_mps=7.7).params(),  # light turbulence of [MIL8785C]
    }
    for path, number in settings.items():
        state.set_param(path, number)
    signals = [
        "body.p_NB_N", "body.euler", "body.specific_force_B", "navigator", "rotor/1/motor.speed", "crash.impact_speed",
        *(["imu/1/chip.accel_B"] if control == "reference" else []),
    ]  # fmt: skip
    return run(state, mission.longest_s(3.0), log=signals, log_s=0.1)


@pytest.mark.parametrize(("control", "rms_m", "most_m"), [("truth", 0.7, 1.9), ("reference", 1.7, 4.5)])
def test_every_seed_flies_the_square_in_wind_and_lands(control: str, rms_m: float, most_m: float) -> None:
    log = flown(control)

    errors = []
    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        gap = np.linalg.norm(log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane), axis=1)
        airborne = log.lane("navigator.grounded", lane).ravel() < 0.5
        errors.append(gap[airborne & (np.arange(len(gap)) > 50)])
        assert np.degrees(np.abs(log.lane("body.euler", lane)[:, :2])).max() < 20
        speed = log.lane("rotor/1/motor.speed", lane)
        assert speed.min() > 0.9 * SPEED and speed.max() < 1.06 * SPEED  # droop when the blades bite
        assert log.lane("crash.impact_speed", lane).max() < 1.6  # m/s; the set-point sinks with 0.7, gusts come on top
    found = np.concatenate(errors)
    rms = np.sqrt(np.mean(found**2))
    assert rms < rms_m and found.max() < most_m, f"{rms:.2f} m rms, {found.max():.2f} m at most"  # GNSS wanders


def test_inertial_sensors_feel_the_main_rotor() -> None:
    log = flown("reference")

    flying = log.lane("navigator.mode", 0).ravel() == MISSION
    felt = (log.lane("imu/1/chip.accel_B", 0) - log.lane("body.specific_force_B", 0))[flying]
    # m/s^2: 0.5 once and 0.25 twice a turn on two axes, 0.3 of noise: deviation 0.5, less what the chip filters away
    assert 0.35 < felt.std(axis=0).mean() < 0.65


def test_dead_engine_or_hard_over_tail_ends_the_flight_and_equal_seeds_do_not_differ() -> None:
    wind = Weather(3.0, 0.0)
    dead = fly(
        "heli_xcell60",
        control="truth",
        mission="hover",
        weather=wind,
        faults=["rotor.speed_loss@1:severity=1,start=12"],
    )
    assert not dead.survived and dead.witnesses[0].effective  # autorotation is not modelled
    assert dead.stop is not None and 12.5 < dead.stop.time_s < 17.0
    tail = {"surface/tail/servo.override": 1.0, "surface/tail/servo.override_command": 1.0}
    twins = [fly("heli_xcell60", control="truth", mission="hover", settings=tail, until_s=8.0) for _ in range(2)]
    assert twins[0].sha256 == twins[1].sha256
    assert np.abs(twins[0].log["body.w_NB_B"][:, 2]).max() > 3.0  # rad/s: spins


def test_stuck_swash_servo_couples_collective_and_cyclic() -> None:
    stuck = {"surface/swash_1/servo.stuck": 1.0}
    flight = fly("heli_xcell60", control="truth", mission="hover", settings=stuck, until_s=6.0)

    # With the rear servo at flat pitch, more collective from the other two is tilt as well
    lean = flight.log["surface/swash_plate.longitudinal"].ravel()
    rise = flight.log["surface/swash_plate.collective"].ravel()
    assert lean.max() > 0.01
    up = rise > 0.02
    np.testing.assert_allclose(lean[up] / rise[up], 0.15 / 0.25, rtol=1e-9)  # height is 2/3, slope 2/3 of the lift
