"""The reference autopilot on chips: it flies, wires break in flight, and drivers and vehicle react."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ironbird.boards.board import load_board
from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.drivers import DRIVERS
from ironbird.boards.feed import Feeder
from ironbird.boards.native_board import NativeBoard
from ironbird.boards.wire_faults import places_of, with_wires
from ironbird.errors import FaultError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.flight.seat import take_seat
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig, make_rig
from ironbird.vehicles.load import load_vehicle

END_S = 14.0


@functools.cache
def flown(*faults: str, until_s: float = END_S) -> Flight:
    return fly("quad_f450", control="chips", mission="hover", faults=faults, seed=1, until_s=until_s)


def said(flight: Flight) -> str:
    return " ".join(event.text for event in flight.autopilot_events)


def test_it_takes_off_and_hovers_through_registers_only() -> None:
    flight = flown()
    assert flight.survived and abs(-flight.log["body.p_NB_N"][-1, 2] - 10.0) < 1.0  # m: it still settles
    assert flight.measured["requests"] > 14_000
    assert all(flight.measured["samples"][name] > 100 for name in ("imu", "mag", "baro", "gps", "motors"))


@functools.cache
def on_pixhawk1(*faults: str) -> Flight:
    return fly(
        "quad_f450", control="chips", mission="hover", faults=faults, seed=1, until_s=END_S,
        options={"board": "pixhawk1"},
    )  # fmt: skip


def test_it_hovers_with_the_seven_chips_of_a_pixhawk_1() -> None:
    flight = on_pixhawk1()
    assert flight.survived and abs(-flight.log["body.p_NB_N"][-1, 2] - 10.0) < 1.0
    samples = flight.measured["samples"]
    assert min(samples[name] for name in ("imu", "accel_mag", "gyro")) > 3000 and len(samples) == 7
    assert min(samples[name] for name in ("baro", "mag", "airspeed")) > 500 and samples["gps"] > 100


def test_a_reset_of_one_of_them_is_seen_and_mended() -> None:
    places = ("accel_mag", "gyro", "mag")
    flight = on_pixhawk1(*(f"chip.reset@1:instance={place},start={9 + n}" for n, place in enumerate(places)))
    assert flight.survived and said(flight).count("bad register") == 3
    assert all(f"{place}: restarted (2)" in said(flight) for place in places)


def test_the_second_unit_of_a_pixhawk_1_carries_on_for_the_first() -> None:
    flight = on_pixhawk1("wire.miso_open_high@1:instance=imu,start=9")
    assert flight.survived and "bad register" in said(flight) and flight.witnesses[0].effective


def test_two_flights_have_the_same_hash_over_every_request() -> None:
    again = fly("quad_f450", control="chips", mission="hover", seed=1, until_s=END_S)
    assert again.measured["bus_hash"] == flown().measured["bus_hash"] and again.sha256 == flown().sha256


def test_an_open_wire_silences_the_unit_and_the_vehicle_crashes() -> None:
    flight = flown("wire.miso_open_high@1:instance=imu,start=9")
    assert flight.stop is not None and flight.stop.reason == "hard landing"
    assert flight.witnesses[0].effective and abs(flight.witnesses[0].first_s - 9.004) < 0.005
    assert "miso" in flight.witnesses[0].signal and "bad register" in said(flight)


def test_a_chip_that_loses_its_settings_is_set_up_anew_in_a_tenth_of_a_second() -> None:
    flight = flown("chip.reset@1:instance=imu,start=9")
    assert flight.survived and "imu: restarted (2)" in said(flight)


def test_a_trigger_starts_a_wire_fault() -> None:
    flight = flown("wire.nack@1:instance=baro,start=0,end=2,when=height > 8 m")
    assert 5.0 < flight.triggered_s[0] < 12.0 and flight.witnesses[0].effective
    assert flight.witnesses[0].first_s >= flight.triggered_s[0]
    assert "baro: 10 requests in a row failed" in said(flight)


def test_an_ineffective_fault_says_so() -> None:
    flight = flown("wire.baud@1:instance=gps,severity=0.05,start=6,end=8")  # half a percent: within a receiver's reach
    assert not flight.witnesses[0].effective and flight.survived


def test_a_vehicle_without_a_board_refuses_wire_faults() -> None:
    with pytest.raises(FaultError, match="has no wire that could break"):
        fly("quad_f450", mission="hover", faults=["wire.miso_open_high@1:instance=imu"], until_s=1.0)


def test_the_board_in_c_answers_as_the_one_in_python() -> None:
    """Both under random requests with the same wire faults; what a driver sees is the same, bit for bit."""
    import random

    from ironbird.boards.wiring import Wiring
    from ironbird.faults.catalog import parse_fault

    board = load_board("pilotpi")
    orders = {
        "wire.miso_flips@1:instance=imu,severity=0.3": ("imu", "miso", {"flips": 0.03}),
        "wire.sda_noise@1:instance=i2c1,severity=0.2": ("i2c1", "sda", {"noise_V": 0.66}),
        "wire.scl_slow@1:instance=i2c1,severity=0.02": ("i2c1", "scl", {"hold": 0.02}),
        "wire.rx_random@1:instance=gps,severity=0.01": ("gps", "rx", {"random": 0.01}),
    }
    for text, (place, line, params) in orders.items():
        wiring, chips = Wiring(board, [parse_fault(text)]), NativeBoard(board)
        chips.watch(place)
        chips.set_wire(place, line, params)
        dice, t = random.Random(text), 0
        wiring.ports["uart0"].baud = 9600
        for number in range(400):
            t += dice.choice((1000, 130_000, 2_500_000))
            if number % 40 == 0:
                values = np.array([[dice.uniform(-3, 3) for _ in range(16)] for _ in board.device])
                values[2] = 1e5, 290.0, *([0.0] * 14)
                wiring.advance(t)
                chips.tick(t)  # to this time with the old values
                wiring.take(values)
                chips.inputs[:] = values
                chips.tick(t)
            if dice.random() < 0.4:
                sent = dice.randbytes(dice.choice((2, 3, 15)))
                assert chips.spi(t, 0, 0, sent) == wiring.spi(t, "spi0", 0, sent)
            elif dice.random() < 0.8:
                address, sent = dice.choice((0x0F, 0x76, 0x40, 0x48, 0x33)), dice.randbytes(dice.choice((0, 1, 2)))
                length = dice.choice((0, 1, 6))
                assert chips.i2c(t, 1, address, sent, length) == wiring.i2c(t, "i2c1", address, sent, length)
            else:
                assert chips.uart_receive(t, 5) == wiring.uart_receive(t, "uart0")
        first, witness = chips.first_difference(place), wiring.witnesses[0]
        assert first is not None and witness.effective
        assert (first.time_ns, first.line, first.slot) == (witness.time_ns, witness.line, witness.slot)


def test_the_wires_of_a_board_are_parts_of_the_vehicle_and_feeds_are_in_chip_axes() -> None:
    board = load_board("pilotpi")
    assert set(places_of(board)) == {"imu", "i2c1", "mag", "baro", "motors", "adc", "gps", "radio"}
    wired = with_wires(load_vehicle("quad_f450", control="external"), board)
    assert "wire/imu/miso" in wired.diagram.blocks and "wire/mag" in wired.diagram.blocks
    rig = make_rig("quad_f450", until_s=1.0, log=["body"])
    rig.step(20)
    feeder = Feeder(board, rig)
    feeder.take()
    body = rig.accels[0].values
    assert feeder.values[0, :3] == pytest.approx([-body[0], body[1], -body[2]])  # axes -x +y -z


class Heard:
    """Takes what drivers say, in place of the autopilot."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}

    def sample(self, place: str, value: float | Sequence[float], time_s: float) -> None:
        self.values[place] = [float(v) for v in np.atleast_1d(value)]


def test_drivers_give_back_what_the_vehicle_measures() -> None:
    """Over the chips of a Pixhawk 1 and their axes, to the last count."""
    board = load_board("pixhawk1")
    chips, heard = NativeBoard(board), Heard()
    force, rate, field = (0.5, -1.0, -9.7), (0.2, -0.1, 0.05), (2e-5, -1e-6, 4e-5)
    for number, device in enumerate(board.device):
        for name, body in (("accel", force), ("gyro", rate), ("field", field)):
            turned = {
                f"{name}_{axis}": sign * body[row] for axis, (row, sign) in zip("xyz", device.axis_rows(), strict=True)
            }
            chips.feed(number, **{key: value for key, value in turned.items() if key in chip_class(device.chip).feeds})
        if device.chip == "ms4525do":
            chips.feed(number, differential_pressure=300.0, temperature=298.15)
    made = {"lsm303d", "l3gd20h", "hmc5883l", "ms4525do", "mpu6000"}
    drivers = [DRIVERS[d.chip](chips, n, heard) for n, d in enumerate(board.device) if d.chip in made]
    for tick in range(250):
        chips.tick(tick * 4_000_000)
        for driver in drivers:
            driver.poll(tick * 4_000_000)
    assert heard.values["imu/2/accel_fault"] == pytest.approx(force, abs=0.732e-3 * 9.81)
    assert heard.values["imu/2/gyro_fault"] == pytest.approx(rate, abs=0.0013)
    assert heard.values["mag/2/fault"] == pytest.approx(field, abs=0.9e-8)
    assert heard.values["mag/1/fault"] == pytest.approx(field, abs=1e-7)
    assert heard.values["airspeed/1/fault"] == pytest.approx([300.0], abs=1.1)


def test_a_reset_of_the_motors_driver_is_seen_at_its_outputs() -> None:
    flight = flown("chip.reset@1:instance=motors,start=9")
    assert flight.witnesses[0].effective and "output 0" in flight.witnesses[0].signal
    assert abs(flight.witnesses[0].first_s - 9.0) < 0.01


def test_a_wire_fault_that_is_injected_and_ended_in_flight_has_the_witness_of_its_repeat() -> None:
    late, short = parse_fault("wire.miso_open_high@1:instance=imu"), parse_fault("chip.reset@1:instance=baro")
    seen: list[OwnWitness | None] = []
    ordered = make_order("quad_f450", control="chips", mission="hover", seed=1, until_s=6.0)
    seat = take_seat(ordered, fit(ordered))

    def between(rig: Rig) -> bool:
        at_ms = round(1e3 * rig.time_s)
        if at_ms == 2000:
            rig.inject(short)
        if at_ms == 5000:
            rig.inject(late)
        if at_ms == 5100:
            seen.append(seat.system.acted(replace(late, start_s=5.0)))
            rig.end(late)
        return True

    try:
        live = fly(ordered, control=seat.system, pilot=seat.pilot, between=between)
    finally:
        seat.close()
    (own,) = seen
    assert own is not None and "miso" in own.signal and 5.0 <= own.first_s < 5.02  # while it flies
    again = fly(live.order)
    assert again.sha256 == live.sha256
    for injected, repeated in zip(live.witnesses, again.witnesses, strict=True):
        assert injected.effective and injected == repeated
