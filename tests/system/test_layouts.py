"""Tricopter, quad +, hexa X, +, coaxial Y6 and octo X, +, coaxial X8: matrices, the square in wind, lost motors.

Angles and directions of spin are those of the CopterSim model's table of frames [CopterSim]; its X8 row is wrong in the
model file and stands here as in its document, in PX4 and in later models; its tricopters have the rear motor in second
place and no servo, here the order is that of its document and of PX4.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.faults.catalog import parse_fault
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.prepare import inject
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec, allocation, effectiveness, exchange

LANES = 20
LOST_S = 15.0  # a motor stops, in hover at 10 m
# Angle from the nose, clockwise seen from above, in degrees; -1 counter-clockwise, +1 clockwise
LAYOUTS: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "tri_y": ((60, -60, 180), (-1, -1, -1)),
    "quad_f450": ((45, 225, 315, 135), (-1, -1, 1, 1)),
    "quad_plus": ((90, 270, 0, 180), (-1, -1, 1, 1)),
    "hexa_x": ((90, 270, 330, 150, 30, 210), (1, -1, 1, -1, -1, 1)),
    "hexa_plus": ((0, 180, 240, 60, -60, 120), (1, -1, 1, -1, -1, 1)),
    "hexa_coax": ((60, 60, 180, 180, -60, -60), (1, -1, 1, -1, 1, -1)),
    "octo_x": ((22.5, 202.5, 67.5, 157.5, -22.5, 247.5, 292.5, 112.5), (1, 1, -1, -1, -1, -1, 1, 1)),
    "octo_plus": ((0, 180, 45, 135, -45, 225, 270, 90), (1, 1, -1, -1, -1, -1, 1, 1)),
    "octo_coax": ((45, -45, 225, 135, -45, 45, 135, 225), (-1, 1, -1, 1, -1, 1, -1, 1)),
}
FLOWN = [name for name in LAYOUTS if name != "quad_f450"]  # it has tests of its own


def spec_of(name: str) -> MulticopterSpec:
    spec = load_spec(name)
    assert isinstance(spec, MulticopterSpec)
    return spec


@functools.cache
def model_of(name: str) -> CompiledModel:
    """On sensors and estimator; layouts with the same number of rotors share one kernel."""
    diagram = load_vehicle(name, control="reference").diagram
    diagram.name = f"layout_{len(LAYOUTS[name][0])}"
    return compile_model(diagram)


# ---------------------------------------------------------------------- control matrices


@pytest.mark.parametrize("name", LAYOUTS)
def test_control_matrix_is_the_published_one(name: str) -> None:
    spec = spec_of(name)
    angles, spins = np.radians(LAYOUTS[name][0]), np.array(LAYOUTS[name][1])
    places = np.array([rotor.position_B_m for rotor in spec.rotor])
    blades = spec.propeller["standard"]
    lever = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
    d = np.linalg.norm(places[:, :2], axis=1)
    # [RflyModel] 7.1.2, divided by c_T; its pitch row is printed with a minus, which contradicts its own matrix of the
    # quadrotor in 7.1.1: a rotor in front lifts the nose
    published = np.array([np.ones(len(d)), -d * np.sin(angles), d * np.cos(angles), -lever * spins])

    # The Typhoon is not quite regular: 10 mm at most
    close = 0.010 if name == "hexa_x" else 1e-6
    np.testing.assert_allclose(effectiveness(spec), published, rtol=0, atol=close)


@pytest.mark.parametrize("name", LAYOUTS)
def test_allocation_reproduces_unit_thrust_and_moments(name: str) -> None:
    spec = spec_of(name)
    rows = slice(3) if spec.tail else slice(4)  # the tail servo has the yaw
    product = (effectiveness(spec) @ allocation(spec))[rows, rows]

    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)  # rounding of 4 x 8
    if name != "hexa_x":  # hover asks the same of every rotor
        np.testing.assert_allclose(allocation(spec)[:, 0], 1 / len(spec.rotor), atol=1e-6)  # places to six digits


@pytest.mark.parametrize("name", [name for name in LAYOUTS if len(LAYOUTS[name][0]) > 4])
def test_rotors_make_up_for_each_other_without_any_effect(name: str) -> None:
    effect = effectiveness(spec_of(name))
    change = exchange(effect)

    np.testing.assert_allclose(effect @ change, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diag(change), 1.0, atol=1e-12)
    if name == "hexa_plus":  # by hand: four rotors give half each, the opposite one follows
        np.testing.assert_allclose(change[0], [1, 1, -0.5, -0.5, -0.5, -0.5], atol=1e-5)  # places to six digits


def test_four_rotors_cannot_make_up_for_each_other() -> None:
    np.testing.assert_array_equal(exchange(effectiveness(spec_of("quad_f450"))), 0.0)


# ---------------------------------------------------------------------- the square in wind


@pytest.mark.parametrize("name", FLOWN)
def test_every_seed_flies_the_square_in_wind(name: str) -> None:
    mission = load_mission("square")
    state = start(model_of(name), lanes=LANES, seed=40)
    for path, value in {**mission.params(16), **Weather(5.0, 240.0, 7.7).params()}.items():
        state.set_param(path, value)
    log = run(state, mission.longest_s(5.0), log=["body.p_NB_N", "body.R_NB", "crash", "navigator"], log_s=0.05)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert not log.lane("navigator.failsafe", lane).any()
        error = log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane)
        flying = log.time(lane) > 10.0
        assert np.linalg.norm(error[flying], axis=1).max() < 6.0  # m: GNSS errs by 2 m, turns lag by 1 m; 3 for a gust
        tilt = np.degrees(np.arccos(np.clip(log.lane("body.R_NB", lane)[:, 8], -1, 1)))
        assert tilt.max() < 40.0  # degrees: 35 commanded at most


def test_the_tail_of_the_tricopter_balances_its_rotors() -> None:
    """Three rotors that turn the same way push the nose round by c_M / c_T of the weight; the tail's arm is 0.225 m."""
    state = start(model_of("tri_y"), seed=1)
    for path, value in load_mission("hover").params(16).items():
        state.set_param(path, value)
    log = run(state, 25.0, log=["surface/tail/servo", "body.R_NB"], log_s=0.05)
    steady = log.time(0) > 15.0

    blades = spec_of("tri_y").propeller["standard"]
    lever = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
    # 3 lever = 0.225 m sin(tilt): 9.83 degrees; the tail itself stands askew, which costs 1.5 % of its thrust
    expected = np.degrees(np.arcsin(3 * lever / 0.225))
    assert abs(np.degrees(log["surface/tail/servo.deflection"][steady]).mean() - expected) < 0.3
    yaw = np.degrees(np.arctan2(log["body.R_NB"][steady][:, 1], log["body.R_NB"][steady][:, 0]))
    assert np.abs(yaw).max() < 8.0  # degrees: what the compass is wrong by


# ---------------------------------------------------------------------- one motor stopped
#
# The control does not know that a rotor is gone; the integrals of the rate control find the moment that makes up for
# it. Without yaw the allocation gives rotor thrusts a + b cos(phi), phi counted from the lost rotor. Weight and level
# attitude ask for a = 2 b and 9 b = m g on a hexacopter: the neighbours of the lost rotor carry 5/18 m g each, and the
# yaw moment that is left over turns the vehicle until the air holds it. That a hexacopter whose spins alternate cannot
# hold its yaw without one of its rotors is known [Du2015].


@functools.cache
def lost(name: str, share: float = 1.0) -> Log:
    """Hover in wind at a share of the mass; each lane loses another rotor."""
    rotors = len(LAYOUTS[name][0])
    state = start(model_of(name), lanes=rotors, seed=[7] * rotors)
    mass = share * spec_of(name).body.mass_kg
    masses = {"body.mass": mass, "control.mass": mass, "load.mass": mass}
    for path, value in {**load_mission("hover").params(16), **Weather(3.0, 240.0, 4.6).params(), **masses}.items():
        state.set_param(path, value)
    for lane in range(rotors):
        inject(state, parse_fault(f"rotor.speed_loss@1:instance={lane + 1},severity=1,start={LOST_S}"), lane)
    return run(state, 45.0, log=["body.p_NB_N", "body.w_NB_B", "body.R_NB", "crash", "rotor/*"], log_s=0.05)


def tilts_deg(log: Log, lane: int) -> np.ndarray:
    return np.asarray(np.degrees(np.arccos(np.clip(log.lane("body.R_NB", lane)[:, 8], -1, 1))))


@pytest.mark.parametrize(
    ("name", "share"),
    [("hexa_x", 1.0), ("hexa_plus", 1.0), ("octo_x", 0.9), ("octo_x", 1.0), ("octo_plus", 1.0), ("octo_coax", 1.0)],
)
def test_any_motor_may_stop_and_the_vehicle_holds_its_hover(name: str, share: float) -> None:
    log = lost(name, share)

    for lane in range(len(LAYOUTS[name][0])):
        assert log.stops[lane] is None, f"lane {lane}: {log.stops[lane]}"
        after = log.time(lane) > LOST_S
        away = log.lane("body.p_NB_N", lane)[after] - [0.0, 0.0, -10.0]
        assert np.linalg.norm(away, axis=1).max() < 3.0  # m: GNSS errs by 1.5 m, the loss itself costs 1 m
        assert tilts_deg(log, lane)[after].max() < 30.0
        # It does not wobble: what is left after 15 s is the tilt against the wind
        assert np.abs(log.lane("body.w_NB_B", lane)[log.time(lane) > 30.0][:, :2]).max() < 0.8  # rad/s


def test_the_rotors_that_are_left_carry_the_shares_of_the_closed_form() -> None:
    """With a part e of the yaw, thrusts are a + b cos(phi) + e or - e, by the direction of spin.

    Weight, level attitude and the command D = a + b + e of the lost rotor give a = (1 + D) / 6, b = D / 3, all in
    weights. D is 1/3 without yaw and 1/2 with all of it; in between it is what a motor can give at most.
    """
    share = 0.8
    log = lost("hexa_plus", share)
    angles, spins = (np.array(part) for part in LAYOUTS["hexa_plus"])
    weight = share * 2.1 * 9.80  # N

    for lane in range(6):
        steady = log.time(lane) > 30.0
        thrusts = np.array([log.lane(f"rotor/{i}/propeller.thrust", lane)[steady].mean() for i in range(1, 7)])
        assert 0.99 < thrusts.sum() / weight < 1.05  # tilt against the wind costs some percent
        phi = np.radians(angles - angles[lane])
        found = thrusts / thrusts.sum()
        D = (1 - 3 * found[np.argmin(np.cos(phi))]) / 2  # from the opposite rotor: a - b - e = 1/3 - 2 D / 3
        assert 1 / 3 < D < 1 / 2
        expected = (1 + D) / 6 + D / 3 * np.cos(phi) + (D / 2 - 1 / 6) * spins * spins[lane]
        expected[lane] = 0.0
        np.testing.assert_allclose(found, expected, atol=0.005)  # means of 15 s in gusts
        assert abs(log.lane("body.w_NB_B", lane)[steady][:, 2].mean()) < 1.0  # rad/s: the control knows what is lost


def test_a_coaxial_hexacopter_sinks_upright_when_a_motor_stops() -> None:
    """The partner alone would have to carry a third of the weight, 6.9 N, and gives 6.8 N at most: lift goes first.

    Sinking, its rotors gain a little thrust; those under a living rotor lose 30 % in its wake.
    """
    log = lost("hexa_coax")

    for lane in range(6):
        stop = log.stops[lane]
        assert stop is None or (stop.reason == "hard landing" and stop.time_s > LOST_S + 2.4)
        flying = (log.time(lane) > LOST_S) & (
            log.time(lane) < (log.time(lane)[-1] if stop is None else stop.time_s - 0.1)
        )
        assert tilts_deg(log, lane)[flying].max() < 25.0  # roll and pitch are held all the way down
