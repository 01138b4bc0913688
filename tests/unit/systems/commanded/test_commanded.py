"""Vehicles commanded from outside: each kind does what it is told, within what physics says, and repeats it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ironbird as ib
from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError, OrderError
from ironbird.faults.catalog import parse_fault
from ironbird.flight import outside
from ironbird.flight.flight import Flight
from ironbird.flight.order import make_order, parse_order
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.target import Target
from ironbird.runtime.log import Log
from ironbird.systems.commanded import front
from ironbird.systems.commanded.front import ProgramFront, lasting, until
from ironbird.systems.commanded.kind import CommandedOptions, CommandedSystem
from ironbird.systems.commanded.stream import HEADER, parse_stream
from ironbird.vehicles import places as at

Plan = Callable[[Commander], Iterator[None]]


def flown(vehicle: str, plan: Plan, **ordered: Any) -> Flight:
    """A flight under a program; all that it asserts is asserted while it flies."""
    ordered.setdefault("until_s", 200.0)
    return ib.fly(vehicle, control=CommandedSystem(ProgramFront(plan)), **ordered)


def in_the_air(vehicle: Commander, height_m: float) -> Iterator[None]:
    yield from until(lambda: vehicle.arm() is None)
    assert vehicle.take_off(height_m) is None
    yield from until(lambda: vehicle.mode == "hold")


def steering(vehicle: Commander, mode: str, seconds: float, *sticks: float) -> Iterator[None]:
    assert vehicle.set_mode(mode) is None
    yield from lasting(vehicle, seconds, lambda: vehicle.sticks(*sticks))


def heading_for(vehicle: Commander, target: Target, seconds: float) -> Iterator[None]:
    assert vehicle.offboard(target) is None
    assert vehicle.set_mode("offboard") is None
    yield from lasting(vehicle, seconds, lambda: vehicle.offboard(target))


def same(one: Flight, other: Flight) -> bool:
    return all(np.array_equal(one.log[path], other.log[path]) for path in one.log.signals)


# ---------------------------------------------------------------------- multicopters


def test_multicopter_does_what_it_is_told_and_repeats_it_bit_for_bit() -> None:
    def plan(v: Commander) -> Iterator[None]:
        assert v.take_off() == "not armed"
        assert v.arm() == "no estimate of attitude and position yet"
        yield from until(lambda: v.arm() is None)
        yield from lasting(v, 1.0)
        assert v.mode == "armed" and v.status().landed == "on_ground"
        assert abs(v.truth().p_N[2]) < 0.5 and max(v.actuators().values()) <= IDLE_THROTTLE
        assert v.take_off(5.0) is None
        yield from until(lambda: v.mode == "hold")
        assert v.disarm() == "in the air: land first, or force it"
        yield from lasting(v, 2.0)
        assert -v.estimate().p_N[2] == pytest.approx(5.0, abs=0.3)
        # a velocity with a turn rate: psi = r t less the lag r / k of a proportional controller
        before = v.estimate().rpy[2]
        yield from heading_for(v, Target(velocity_N=(2.0, 0.0, 0.0), yaw_rate=0.2), 5.0)
        assert v.mode == "offboard"
        np.testing.assert_allclose(v.estimate().v_N, [2.0, 0.0, 0.0], atol=0.3)
        lag = 0.2 / v.params()["control.attitude_gain[2]"]
        assert v.estimate().rpy[2] - before == pytest.approx(1.0 - lag, abs=0.04)
        # ahead in body axes
        yield from heading_for(v, Target(velocity_N=(1.0, 0.0, 0.0), frame="B", yaw=0.0), 4.0)
        np.testing.assert_allclose(v.estimate().v_N[:2], [1.0, 0.0], atol=0.3)
        # a horizontal acceleration for 2 s, with the height held, against the drag of the rotors, which is linear:
        # v = a / c (1 - exp(-c t)) with c = 4 k_d w / m = 0.27/s
        speed, height = v.estimate().v_N[1], v.estimate().p_N[2]
        accelerated = Target(acceleration_N=(math.nan, 1.0, math.nan), position_N=(math.nan, math.nan, height))
        yield from heading_for(v, accelerated, 2.0)
        assert v.estimate().v_N[1] - speed == pytest.approx(1.55, abs=0.4)
        assert v.estimate().p_N[2] == pytest.approx(height, abs=0.5)
        # a place with a heading
        yield from heading_for(v, Target(position_N=(10.0, 5.0, -20.0), yaw=1.0), 14.0)
        np.testing.assert_allclose(v.estimate().p_N, [10.0, 5.0, -20.0], atol=0.6)
        assert v.estimate().rpy[2] == pytest.approx(1.0, abs=0.1)
        # sticks: speed over ground is stick times the most; centred they hold the place
        most = v.params()["navigator.stick_speed"]
        yield from steering(v, "position", 5.0, 0.0, 0.3, 0.0, 0.0)
        assert v.mode == "position"
        assert np.linalg.norm(v.estimate().v_N[:2]) == pytest.approx(0.3 * most, rel=0.1)
        yield from steering(v, "position", 6.0, 0.0, 0.0, 0.0, 0.0)
        assert np.linalg.norm(v.estimate().v_N) < 0.3
        # tilt is stick times the most, and the height is held
        height, tilt = v.estimate().p_N[2], v.params()["navigator.stick_tilt"]
        yield from steering(v, "altitude", 1.5, 0.3, 0.0, 0.0, 0.0)
        assert v.mode == "altitude" and v.estimate().rpy[0] == pytest.approx(0.3 * tilt, abs=0.05)
        assert v.estimate().p_N[2] == pytest.approx(height, abs=0.5)
        yield from steering(v, "stabilized", 1.0, 0.0, -0.2, 0.0, 0.0)
        assert v.mode == "stabilized" and v.estimate().rpy[1] == pytest.approx(0.2 * tilt, abs=0.05)
        # attitude, and rates: phi = p t
        hover = v.params()["navigator.hover_thrust"]
        yield from heading_for(v, Target(attitude_rpy=(0.0, 0.0, 1.0), thrust=hover), 1.0)
        np.testing.assert_allclose(v.estimate().rpy[:2], 0.0, atol=0.05)
        yield from heading_for(v, Target(rates_B=(0.5, 0.0, 0.0), thrust=hover), 0.8)
        assert v.estimate().w_B[0] == pytest.approx(0.5, abs=0.1)
        yield from heading_for(v, Target(position_N=(10.0, 5.0, -20.0)), 5.0)
        # the stream stops: hold, then return; commands are heard again
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        yield from until(lambda: v.mode == "return")
        assert v.reposition((0.0, 3.0, -6.0), 0.5) is None
        yield from lasting(v, 12.0)
        np.testing.assert_allclose(v.estimate().p_N, [0.0, 3.0, -6.0], atol=0.5)
        assert v.set_home((0.0, 3.0, 0.0)) is None and v.set_param(at.NAVIGATOR("return_height"), 6.0) is None
        assert v.return_home() is None
        yield from until(lambda: not v.armed)
        np.testing.assert_allclose(v.estimate().p_N[:2], [0.0, 3.0], atol=0.7)
        # again, with another mission, begun at its second item
        yield from lasting(v, 0.5)
        assert v.set_mission([LocalItem(9, 9, 9, 0, "waypoint"), LocalItem(0, 0, 4, 0, "waypoint")]) is None
        assert v.arm() is None and v.start_mission(1) is None
        yield from until(lambda: v.status().done)
        assert v.inject(parse_fault("rotor.speed_loss@1:instance=1,severity=0.1,start=0.5")) is None
        assert v.land() is None
        yield from until(lambda: not v.armed)

    flight = flown("quad_f450", plan, faults=["imu.accel_open@1:instance=1,start=20"])
    assert flight.verdict == "pass", flight.judged.sentence
    assert [w.effective for w in flight.witnesses] == [True, True] and len(flight.order.faults) == 2
    assert flight.order.script.startswith(HEADER) and flight.order.tunings and flight.repeats
    order = parse_order(flight.order.text())
    assert order == flight.order
    again = ib.fly(order)
    assert again.sha256 == flight.sha256 and same(flight, again) and again.order == order
    assert [w.record() for w in again.witnesses] == [w.record() for w in flight.witnesses]


def test_a_set_point_above_lifts_off_and_one_below_lands() -> None:
    def plan(v: Commander) -> Iterator[None]:
        low, high = Target(position_N=(0.0, 0.0, 0.0)), Target(position_N=(0.0, 0.0, -3.0))
        yield from until(lambda: v.arm() is None)
        yield from heading_for(v, low, 2.0)
        assert v.mode == "armed"
        yield from heading_for(v, high, 6.0)
        assert v.mode == "offboard" and v.truth().p_N[2] == pytest.approx(-3.0, abs=0.4)
        yield from heading_for(v, Target(velocity_N=(0.0, 0.0, 0.7)), 12.0)
        assert v.mode == "armed" and v.armed  # it stands, and may lift off again
        yield from until(lambda: not v.armed)  # the stream has ended

    flight = flown("quad_f450", plan, options={"state": "truth"})
    assert flight.verdict == "pass", flight.judged.sentence
    assert "estimator.p_NB_N" in flight.log.signals  # sensors and estimator work on


def test_a_twin_is_the_flight_without_its_fault_with_the_same_parameters_and_ends_of_other_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its log is that of the order without the fault, flown alone, bit for bit: whatever came on the way came to it."""
    twins: list[Log] = []
    replayed = outside._replay

    def kept(*arguments: Any) -> Log:
        twins.append(replayed(*arguments))
        return twins[-1]

    def plan(v: Commander) -> Iterator[None]:
        yield from in_the_air(v, 4.0)
        ended = parse_fault("rotor.speed_loss@1:instance=1,severity=0.1")
        assert v.inject(ended) is None
        yield from lasting(v, 0.6)
        assert v.inject(parse_fault("imu.accel_bias@1:instance=1,severity=0.2,axis=0")) is None
        yield from lasting(v, 0.4)
        assert v.set_param("control.position_gain", 0.5) is None
        yield from lasting(v, 0.8)
        assert v.end(ended) is None
        assert "no such fault" in str(v.end(ended))
        yield from lasting(v, 1.5)

    monkeypatch.setattr(outside, "_replay", kept)
    flight = flown("quad_f450", plan)
    monkeypatch.setattr(outside, "_replay", replayed)

    first, second = flight.order.faults
    assert flight.verdict == "pass" and [w.effective for w in flight.witnesses] == [True, True]
    assert first.end_s - first.start_s == pytest.approx(1.8, abs=0.01) and math.isinf(second.end_s)
    assert [tuning.path for tuning in flight.order.tunings][-1] == "control.position_gain"
    alone = [ib.fly(replace(flight.order, faults=faults)).log for faults in ((), (first,), (second,))]
    for twin in twins:
        path = next(path for path in twin.signals if path.startswith(("body", "estimator", "imu", "rotor")))
        begin = round(float(twin.time()[0]) / 0.02)
        assert any(np.array_equal(twin[path], log[path][begin : begin + twin.rows()]) for log in alone), path
    assert len(twins) >= 2 and not np.array_equal(flight.log["body.p_NB_N"], alone[0]["body.p_NB_N"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: v.set_mode("manual"), "has no mode 'manual'"),
        (lambda v: v.set_mode("offboard"), "no set-point has come yet"),
        (lambda v: v.land(), "not armed"),
        (lambda v: v.start_mission(99), "the mission has items 0 to"),
        (lambda v: v.offboard(Target()), "asks for nothing"),
        (lambda v: v.offboard(Target(velocity_N=(math.inf, 0, 0))), "is greater than"),
        (lambda v: v.offboard(Target(attitude_rpy=(0, 0, 0))), "goes a thrust"),
        (lambda v: v.offboard(Target(course=1.0)), "takes no set-point of course"),
        (lambda v: v.sticks(math.nan, 0, 0, 0), "is no number"),
        (lambda v: v.reposition((0, 0)), "three numbers"),
        (lambda v: v.set_param("no.such", 1.0), "there is no parameter"),
        (lambda v: v.set_param("navigator.take_off_height", -5.0), "outside its range"),
        (lambda v: v.set_mission([LocalItem(0, 0, 5, 0, "dance")]), "no vehicle knows the kind"),
        (lambda v: v.set_mission([]), "a mission has 1 to"),
        (lambda v: v.set_loiter_radius(50), "flies no circles"),
        (lambda v: v.transition(True), "no rotors and wings"),
        (lambda v: v.inject(parse_fault("rotor.speed_loss@1:instance=9,severity=0.1")), "not 9"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(call: Callable[[Commander], str | None], words: str) -> None:
    said: list[str | None] = []

    def plan(v: Commander) -> Iterator[None]:
        said.append(call(v))
        yield

    flown("quad_f450", plan, until_s=0.1)
    assert said[0] is not None and words in said[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "begins with"),
        (f"{HEADER}\nx command=1", "is no tick"),
        (f"{HEADER}\n4 command=1\n4 command=2", "in the order of time"),
        (f"{HEADER}\n4 nothing=1", "has no input"),
        (f"{HEADER}\n4 command=1,2", "give 1 finite number"),
        (f"{HEADER}\n4 command=nan", "give 1 finite number"),
    ],
)
def test_a_stream_that_cannot_be_read_says_which_line(text: str, words: str) -> None:
    with pytest.raises(OrderError, match=words):
        parse_stream(text, {"command": 1})


def test_without_a_front_end_the_mission_is_flown() -> None:
    flight = ib.fly(make_order("quad_f450", control="commanded", mission="hover"), until_s=20.0)
    assert flight.verdict == "pass" and flight.log[at.BODY.position][-1, 2] < -5


@pytest.mark.parametrize(("open_ended", "verdict"), [(True, "void"), (False, "error")])
def test_ctrl_c_ends_a_session_as_its_time_does_and_interrupts_a_plan(open_ended: bool, verdict: str) -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from lasting(v, 1.0)
        raise KeyboardInterrupt

    program = ProgramFront(plan)
    program.open_ended = open_ended
    flight = ib.fly("quad_f450", control=CommandedSystem(program), until_s=60.0)
    assert flight.verdict == verdict and flight.log.interrupted is not open_ended  # void: it never left the ground
    assert flight.ended_s == pytest.approx(1.0, abs=0.01) and flight.order.until_s == flight.ended_s
    if open_ended:
        assert flight.repeats and same(ib.fly(flight.order), flight)


# ---------------------------------------------------------------------- other kinds


def test_helicopter_takes_sticks_and_velocities_and_holds_without_them() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from in_the_air(v, 8.0)
        yield from heading_for(v, Target(velocity_N=(0.0, 1.5, 0.0)), 8.0)
        np.testing.assert_allclose(v.truth().v_N, [0.0, 1.5, 0.0], atol=0.5)
        yield from steering(v, "position", 8.0, 0.0, 0.0, 0.0, 0.0)
        assert np.linalg.norm(v.truth().v_N) < 0.5
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)

    assert flown("heli_xcell60", plan).verdict == "pass"


@pytest.mark.slow
def test_wing_banks_climbs_circles_and_comes_home_without_its_stream() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from until(lambda: v.arm() is None)
        assert v.take_off(40.0) is None
        yield from until(lambda: v.mode == "take-off")
        # a place that is told during the climb is gone to afterwards, without a height at that of the climb
        assert v.reposition((600.0, 100.0, math.nan)) is None
        yield from until(lambda: v.mode == "hold")
        yield from lasting(v, 0.2)
        np.testing.assert_allclose(v.status().position_set, [600.0, 100.0, -40.0], atol=1e-9)
        # by stick: psi' = g tan(phi) / V
        bank = 0.5 * v.params()["navigator.stick_bank"]
        yield from steering(v, "altitude", 5.0, 0.5, 0.0, 0.0, 0.0)
        before = v.truth()
        yield from steering(v, "altitude", 4.0, 0.5, 0.0, 0.0, 0.0)
        now = v.truth()
        assert v.mode == "altitude" and now.rpy[0] == pytest.approx(bank, abs=0.05)
        rate = STANDARD_GRAVITY_MPS2 * math.tan(bank) / np.linalg.norm(now.v_N)
        turned = (now.rpy[2] - before.rpy[2]) % (2 * math.pi)
        assert turned == pytest.approx(4.0 * rate, rel=0.1)
        assert now.p_N[2] == pytest.approx(before.p_N[2], abs=3.0)
        climb = v.params()["navigator.stick_climb"]
        yield from steering(v, "altitude", 8.0, 0.0, -0.5, 0.0, 0.0)
        assert -v.truth().v_N[2] == pytest.approx(0.5 * climb, abs=0.4)
        yield from steering(v, "stabilized", 4.0, -0.5, 0.0, 0.3, 0.0)
        assert v.truth().rpy[0] == pytest.approx(-bank, abs=0.07)
        # course, height and speed
        yield from heading_for(v, Target(course=math.pi / 2, height=60.0, airspeed=25.0), 30.0)
        assert math.atan2(v.truth().v_N[1], v.truth().v_N[0]) == pytest.approx(math.pi / 2, abs=0.05)
        assert -v.estimate().p_N[2] == pytest.approx(60.0, abs=3.0)
        assert np.linalg.norm(v.truth().v_N) == pytest.approx(25.0, abs=1.0)
        # a place is circled: phi = atan(V^2 / (g r))
        centre = np.add(v.truth().p_N, [50.0, 100.0, 0.0])
        radius = v.params()["navigator.loiter_radius"]
        yield from heading_for(v, Target(position_N=(centre[0], centre[1], -60.0)), 45.0)
        assert np.linalg.norm(v.truth().p_N[:2] - centre[:2]) == pytest.approx(radius, abs=5.0)
        speed = np.linalg.norm(v.truth().v_N)
        assert v.truth().rpy[0] == pytest.approx(math.atan(speed**2 / (STANDARD_GRAVITY_MPS2 * radius)), abs=0.06)
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        yield from until(lambda: v.mode == "return")
        assert v.hold() is None
        yield from lasting(v, 0.1)
        assert v.mode == "hold" and v.status().failsafes == ()

    flight = flown("aerosonde", plan)
    assert flight.verdict == "pass", flight.judged.sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vehicle", "speed", "near_m"),
    [("car_escort", 6.0, 1.0), ("rover_differential", 0.15, 0.3), ("boat_otter", 1.0, 3.5)],
)
def test_vehicles_that_drive_hold_course_speed_and_place_and_stop_without_their_stream(
    vehicle: str, speed: float, near_m: float
) -> None:
    def plan(v: Commander) -> Iterator[None]:
        assert "does not take off" in str(v.take_off(5.0))
        yield from until(lambda: v.arm() is None)
        yield from steering(v, "manual", 2.0, 0.0, 0.3, 0.0, 0.0)
        assert v.mode == "manual" and v.truth().v_N[0] > 0
        cruise = v.params()["navigator.cruise_speed"]
        yield from steering(v, "position", 12.0, 0.0, 0.5, 0.0, 0.0)
        assert np.linalg.norm(v.truth().v_N) == pytest.approx(0.5 * cruise, rel=0.15)
        yield from heading_for(v, Target(course=math.pi / 2, speed=speed), 25.0)
        np.testing.assert_allclose(v.truth().v_N[:2], [0.0, speed], atol=0.1 * speed)
        yield from lasting(v, 12.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        assert np.linalg.norm(v.truth().v_N) < 0.1
        place = np.add(v.truth().p_N[:2], [4.0 * cruise, 0.0])
        assert v.reposition((place[0], place[1], math.nan)) is None
        yield from lasting(v, 40.0)
        assert np.linalg.norm(v.truth().p_N[:2] - place) < near_m
        assert v.disarm() is None
        yield from lasting(v, 1.0)
        assert v.mode == "disarmed"

    assert flown(vehicle, plan).verdict == "pass"


def test_underwater_vehicle_holds_its_place_and_depth() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from until(lambda: v.arm() is None)
        yield from heading_for(v, Target(velocity_N=(0.3, 0.0, 0.0), yaw_rate=0.05), 12.0)
        assert v.truth().v_N[0] == pytest.approx(0.3, abs=0.05)
        yield from steering(v, "position", 10.0, 0.0, 0.0, -0.5, 0.0)
        assert v.truth().v_N[2] == pytest.approx(0.5 * v.params()["navigator.stick_climb"], abs=0.05)
        yield from lasting(v, 6.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        assert np.linalg.norm(v.truth().v_N) < 0.1
        assert v.land() is None
        yield from lasting(v, 20.0)
        assert v.truth().p_N[2] < 0.6

    assert flown("rov_bluerov2_heavy", plan).verdict == "pass"


def test_diving_vehicle_follows_course_and_depth() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from until(lambda: v.arm() is None)
        yield from heading_for(v, Target(course=0.5, speed=1.5, height=-5.0), 50.0)
        assert math.atan2(v.truth().v_N[1], v.truth().v_N[0]) == pytest.approx(0.5, abs=0.05)
        assert v.truth().p_N[2] == pytest.approx(5.0, abs=0.4)
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        yield from lasting(v, 10.0)
        assert v.actuators()["rotor/1"] < 0.05

    assert flown("auv_remus100", plan).verdict == "pass"


def test_vehicle_with_wings_and_rotors_changes_between_them() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from in_the_air(v, 25.0)
        yield from heading_for(v, Target(velocity_N=(0.0, 2.0, 0.0)), 6.0)
        np.testing.assert_allclose(v.truth().v_N, [0.0, 2.0, 0.0], atol=0.4)
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)
        assert v.transition(True) is None
        yield from until(lambda: v.mode == "cruise")
        yield from lasting(v, 5.0)
        assert np.linalg.norm(v.truth().v_N) > 10
        assert v.transition(False) is None
        yield from until(lambda: v.mode == "hold")
        assert v.land() is None
        yield from until(lambda: not v.armed)

    assert flown("vtol_standard", plan).verdict == "pass"


def test_tilt_rotor_goes_where_it_is_told() -> None:
    def plan(v: Commander) -> Iterator[None]:
        yield from in_the_air(v, 5.0)
        yield from heading_for(v, Target(position_N=(4.0, 2.0, -6.0), yaw=0.4), 15.0)
        np.testing.assert_allclose(v.estimate().p_N, [4.0, 2.0, -6.0], atol=0.7)
        assert v.estimate().rpy[2] == pytest.approx(0.4, abs=0.1)
        yield from lasting(v, 3.0)
        assert v.mode == "hold" and v.status().failsafes == ("link",)

    assert flown("tiltrotor_provant", plan).verdict == "pass"


def test_a_front_end_that_only_a_file_names_is_not_opened() -> None:
    """An order or a case of somebody else must not open ports, devices or files here."""
    by_hand = make_order("quad_f450", control="commanded", options={"front": "mavlink"})
    with pytest.raises(LinkError, match="front end 'mavlink' is named by a file alone"):
        ib.fly(parse_order(by_hand.text()))
    front.make_front("mavlink", CommandedOptions().model_dump(), ib.Trust.by_hand(by_hand.options)).close()
