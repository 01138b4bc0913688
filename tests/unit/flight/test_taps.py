"""Faults on signals: the model has a place for them only if they are ordered, and up to their start nothing differs."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.errors import FaultError, IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.file import faults_in
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Order, make_order, parse_order
from ironbird.flight.prepare import fit, inject, prepare
from ironbird.flight.taps import taps_of

START_S, UNTIL_S = 4.0, 5.0
ACCEL, THRUST, SPEED = "imu/1/accel_fault.value", "rotor/2/propeller.force_B", "rotor/2/motor.speed"


def order(signal: str, change: str, ordered: str = "", **more: object) -> Order:
    text = (
        f"schema = 1\n[[fault]]\nid = 'mine.one@1'\nsummary = 'One.'\n[[fault.change]]\nsignal = '{signal}'\n{change}\n"
    )
    fault = parse_fault(f"mine.one@1:start={START_S}{ordered}", faults_in(text))
    return make_order("quad_f450", mission="hover", faults=[fault], until_s=UNTIL_S, **more)  # type: ignore[arg-type]


def flown(signal: str, change: str, ordered: str = "") -> Flight:
    return fly(order(signal, change, ordered), log_s=0.004)


@functools.cache
def healthy() -> Flight:
    return fly("quad_f450", mission="hover", until_s=UNTIL_S, log_s=0.004)


def value_of(flight: Flight) -> np.ndarray:
    return flight.log["fault/mine_one_1/1.value"]


@pytest.mark.parametrize(
    ("signal", "change"),
    [
        (ACCEL, "expression = 'value + 3 m/s^2 * severity'"),
        (THRUST, "expression = '0'"),
        (ACCEL, "noise = [0.0, 2.0]"),
        (SPEED, "freeze = true"),
        (SPEED, "offset = -20.0"),
    ],
)
def test_up_to_its_start_a_flight_is_the_healthy_one_bit_for_bit(signal: str, change: str) -> None:
    flight = flown(signal, change)
    before = healthy().log.time_s < START_S
    for path in ("body.p_NB_N", "body.w_NB_B", "estimator.position", "rotor/1/motor.speed", ACCEL):
        if path in healthy().log:
            assert flight.log[path][before].tobytes() == healthy().log[path][before].tobytes(), path
    assert flight.witnesses[0].effective and flight.witnesses[0].first_s == pytest.approx(START_S, abs=0.009)
    assert not np.array_equal(flight.log["body.p_NB_N"], healthy().log["body.p_NB_N"])


def test_the_readers_of_a_signal_get_what_the_expression_says() -> None:
    flight = flown(ACCEL, "expression = 'value + severity * 2 m/s^2 * sin(50 rad/s * time)'", ",severity=0.5,axis=1")
    after = flight.log.time_s >= START_S
    time_s, value = flight.log.time_s[after], value_of(flight)[after]
    sampled_s = np.floor(time_s / 0.004 + 1e-6) * 0.004  # the inertial unit samples every 4 ms
    np.testing.assert_allclose(value[:, 1] - flight.log[ACCEL][after][:, 1], np.sin(50 * sampled_s), atol=1e-9)
    assert value[:, [0, 2]].tobytes() == np.ascontiguousarray(flight.log[ACCEL][after][:, [0, 2]]).tobytes()


def test_an_expression_may_name_other_signals_derived_ones_and_short_names() -> None:
    flight = flown(THRUST, "expression = 'value * (1 - severity * min(climb / 1 m/s + altitude / 10 m, 0.5))'")
    after = flight.log.time_s > START_S
    climb, height = -flight.log["body.v_NB_N"][after][:, 2], flight.log["terrain.height_above_ground"][after]
    expected = flight.log[THRUST][after] * (1 - np.minimum(climb + height / 10, 0.5))[:, None]
    np.testing.assert_allclose(value_of(flight)[after], expected, rtol=1e-12)


def test_shapes_and_triggers_are_those_of_all_faults() -> None:
    ramp = flown(SPEED, "expression = 'value - severity * 100 rad/s'", ",shape=ramp,rise=0.5,severity=0.2")
    away = ramp.log[SPEED] - value_of(ramp)
    assert away[ramp.log.time_s == 4.252][0] == pytest.approx(10.0, abs=0.1)
    assert away[-1] == pytest.approx(20.0)
    waits = fly(order(SPEED, "expression = '0'", ",when=altitude > 1000 m"))
    assert waits.verdict == "void" and not waits.witnesses[0].effective


def test_the_definition_belongs_to_the_order() -> None:
    one, other = (order(SPEED, f"expression = 'value * {factor}'") for factor in (0.9, 0.8))
    assert one.digest() != other.digest()
    again = parse_order(one.text())
    assert again == one and again.digest() == one.digest() and fly(again).sha256 == fly(one).sha256


def test_a_model_without_such_faults_is_the_one_it_was() -> None:
    plain = make_order("quad_f450", mission="hover")
    assert not any(path.startswith("fault/") for path in fit(plain).vehicle.diagram.blocks)
    known = make_order("quad_f450", mission="hover", faults=["rotor.speed_loss@1"])
    assert fit(known).model is fit(plain).model


def test_two_faults_on_one_signal_act_one_after_the_other() -> None:
    first, second = (order(SPEED, f"expression = '{text}'").faults[0] for text in ("value * 0.5", "value + 7 rad/s"))
    text = second.fault.definition.replace("mine.one@1", "mine.two@1")
    second = parse_fault(f"mine.two@1:start={START_S}", faults_in(text))
    flight = fly("quad_f450", mission="hover", faults=[first, second], until_s=UNTIL_S)
    after = flight.log.time_s > START_S
    np.testing.assert_allclose(
        flight.log["fault/mine_two_1/1.value"][after], 0.5 * flight.log[SPEED][after] + 7.0, rtol=1e-12
    )


def test_the_same_fault_in_two_windows_needs_one_part() -> None:
    once = order(SPEED, "expression = '0'", ",end=4.2").faults[0]
    again = parse_fault("mine.one@1:start=4.4,end=4.6", {once.fault.id: once.fault})
    assert len(taps_of([once, again])) == 1
    flight = fly("quad_f450", mission="hover", faults=[once, again], until_s=UNTIL_S)
    zero = flight.log.time_s[(value_of(flight) == 0.0) & (flight.log.time_s > 3.5)]  # the rotors turn
    assert ((zero > 3.99) & (zero < 4.61)).all() and not ((zero > 4.21) & (zero < 4.39)).any()


@pytest.mark.parametrize(
    ("signal", "change", "message"),
    [
        (SPEED, "expression = 'value + 2 m'", "cannot add value [rad/s] and 2 m [m]: the units differ"),
        (
            SPEED,
            "expression = '2 m/s'",
            "it is in rad/s, the expression '2 m/s' in m/s; multiply by a number with a unit",
        ),
        (SPEED, "expression = 'value * crashed'", "'crashed' is known only when the flight is judged"),
        (SPEED, "expression = 'valu'", "unknown"),
        (SPEED, "offset = 1.0\nunit = 'm/s'", "it is in rad/s, the fault says m/s; give the fault's numbers in rad/s"),
        (
            "rotor/9/motor.speed",
            "freeze = true",
            "unknown signal 'rotor/9/motor.speed' in vehicle 'quad_f450'; did you",
        ),
        ("imu/1/accel_fault.difference", "freeze = true", "no part of vehicle 'quad_f450' reads it"),
        (THRUST, "noise = 1.0", "a signal in N cannot be disturbed so; give the fault an expression"),
        (THRUST, "expression = 'value + body.specific_force_B[0] * 1 kg'", "algebraic loop: body.specific_force_B ->"),
    ],
)
def test_what_does_not_fit_the_vehicle_is_refused_before_take_off(signal: str, change: str, message: str) -> None:
    with pytest.raises(IronbirdError) as caught:
        fly(order(signal, change))
    assert message in str(caught.value)


def test_a_running_flight_takes_no_fault_on_a_signal_that_was_not_ordered() -> None:
    plain = make_order("quad_f450", mission="hover")
    state = prepare(fit(plain).model, [plain])
    with pytest.raises(FaultError, match="order it before the flight begins"):
        inject(state, order(SPEED, "freeze = true").faults[0])


def test_a_unit_of_a_parameter_is_checked() -> None:
    text = "schema = 1\n[[fault]]\nid = 'mine.p@1'\nsummary = 'One.'\nwitness = 'body.v_NB_N'\n"
    text += "change = [{ parameter = 'body.mass', offset = [0.0, 0.1], unit = 'N' }]\n"
    with pytest.raises(
        FaultError, match=r"parameter body.mass is in kg, the fault says N; give the fault's numbers in kg"
    ):
        fly("quad_f450", faults=[parse_fault("mine.p@1", faults_in(text))], until_s=1.0)
