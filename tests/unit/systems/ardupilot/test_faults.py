"""Faults as parameters of ArduPilot: the table, the timing, and the handshake with a stand-in."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink

from ironbird.conditions.trigger import compile_trigger
from ironbird.errors import LinkError
from ironbird.faults.catalog import FAULTS, parse_fault
from ironbird.faults.sensor import SIGNALS
from ironbird.flight.derived import names_of
from ironbird.protocols.atmosphere import pressure_height_m
from ironbird.rig.rig import Rig, attach, make_rig
from ironbird.runtime.events import ParamEvent
from ironbird.systems.ardupilot import faults as ardupilot_faults
from ironbird.systems.ardupilot.faults import (
    PLANS,
    FaultDriver,
    Moment,
    Routes,
    level,
    parameter,
    plan_of,
)
from ironbird.systems.ardupilot.parameters import ParameterLink

MADE_BY_ARDUPILOT = ("mag", "baro")
ALL = Routes(receivers=True, units=3)


def moment(severity: float = 1.0, age_s: float = 0.0) -> Moment:
    return Moment(FAULTS["baro.bias@1"], severity, age_s, 100.0)


def values(text: str, at: Moment) -> dict[str, float]:
    injection = parse_fault(text)
    at = replace(at, fault=injection.fault)
    return {parameter(s, injection.instance): s.value(at) for s in plan_of(injection, ALL).settings}


def test_every_fault_of_a_sensor_that_ardupilot_makes_has_parameters_or_a_reason() -> None:
    taps = [signal.id for signal in SIGNALS if signal.id in MADE_BY_ARDUPILOT]
    assert len(taps) == len(MADE_BY_ARDUPILOT)
    for name in FAULTS:
        if name.startswith(("mag.", "baro.")):
            plan = plan_of(parse_fault(f"{name}:instance=1"), ALL)
            assert (plan.route == "parameters" and plan.settings) or (plan.route == "none" and plan.reason), name
    assert set(PLANS) <= set(FAULTS)


@pytest.mark.parametrize(
    ("signal", "name", "per_unit", "without"),
    [
        ("baro", "SIM_BARO_GLITCH", -1 / 12.0, 0.0),
        ("mag", "SIM_MAG1_OFS_Y", -1e7, 13.0),
    ],
)
def test_a_fault_is_as_large_as_the_catalogue_says(signal: str, name: str, per_unit: float, without: float) -> None:
    """In the vehicle a tap adds the catalogue's number; ArduPilot is told the same in its unit."""
    size = next(tapped.size for tapped in SIGNALS if tapped.id == signal)
    at = moment(0.5, age_s=4.0)
    bias, drift = (values(f"{signal}.{kind}@1:instance=1", at)[name] for kind in ("bias", "drift"))
    assert bias - without == pytest.approx(0.5 * size * per_unit)
    assert drift - without == pytest.approx(0.5 * size / 10 * 4.0 * per_unit)
    twice = FAULTS[f"{signal}.bias@1"]
    (change,) = twice.changes
    twice = replace(twice, changes=(replace(change, effect=replace(change.effect, at_1=2 * change.effect.at_1)),))
    setting = next(s for s in PLANS[twice.id].settings if parameter(s, 1) == name)
    assert setting.value(replace(at, fault=twice)) - without == pytest.approx(size * per_unit)


def test_parameters_of_the_table_fit_into_a_message_and_go_back() -> None:
    for name, plan in PLANS.items():
        for setting in plan.settings:
            assert setting.name.startswith("SIM_") and len(parameter(setting, 1)) <= 16, name
            assert math.isfinite(setting.value(replace(moment(0.5, 2.0), fault=FAULTS[name])))


def test_what_is_on_our_side_stays_there() -> None:
    for text in ("rotor.speed_loss@1:instance=2", "imu.gyro_bias@1:instance=1", "wind.gust@1", "link.delay@1"):
        assert plan_of(parse_fault(text), Routes()).route == "vehicle"
    for text in ("imu.gyro_bias@1:instance=2", "flow.bias@1:instance=1", "baro.open@1:instance=1"):
        assert plan_of(parse_fault(text), Routes()).route == "none"


def test_units_and_receivers_of_the_vehicle_have_all_their_faults() -> None:
    for name in FAULTS:
        if name.startswith(("imu.", "gnss.")) or name == "environment.gnss_denied@1":
            given = ":instance=2" if name.startswith(("imu.", "gnss.")) else ""
            assert plan_of(parse_fault(name + given), ALL) == ardupilot_faults.VEHICLE, name
    assert "takes 3 inertial units" in plan_of(parse_fault("imu.gyro_bias@1:instance=4"), ALL).reason
    silent = plan_of(parse_fault("imu.gyro_dropout@1:instance=1"), Routes(units=1))
    assert [setting.name for setting in silent.settings] == ["SIM_GYR_FAIL_MSK"]  # JSON cannot be silent
    by_hand = plan_of(parse_fault("gnss.jamming@1:instance=1"), Routes(receivers=False))
    assert by_hand.route == "none" and "started by hand" in by_hand.reason


def test_noise_is_new_at_each_setting_and_the_same_in_each_flight() -> None:
    def ordered(seed: int) -> list[float]:
        noisy = make_rig("quad_f450", until_s=20.0, log=[], seed=seed)
        noise = parse_fault("mag.noise@1:instance=1,severity=0.5")
        driver = FaultDriver(noisy, [noise], lambda *_: None, ParameterLink(noisy))
        found: list[float] = []
        try:
            for _ in range(400):
                noisy.step(10)
                driver.link.poll()
                driver.poll()
                (z,) = (order.value for name, order in driver._orders.items() if name.endswith("_Z"))
                if not found or found[-1] != z:
                    found.append(z)
        finally:
            driver.link.close()
        return found

    first = ordered(7)
    wanted = 1e7 * FAULTS["mag.noise@1"].changes[0].value(0.5)  # milligauss
    assert 38 <= len(first) <= 41  # each tenth of a second
    assert 0.7 < float(np.std(first)) / wanted < 1.3 and abs(float(np.mean(first)) + 18.0) < 0.4 * wanted
    assert ordered(7) == first and ordered(8) != first


def test_a_shorted_compass_reads_full_scale_whatever_the_earth_does() -> None:
    got = values("mag.short@1:instance=1", moment())
    full = next(tapped.full for tapped in SIGNALS if tapped.id == "mag")
    for letter, hard in {"X": 5.0, "Y": 13.0, "Z": -18.0}.items():
        for earth in (-500.0, 500.0):  # milligauss
            reads = (earth + hard - got[f"SIM_MAG1_OFS_{letter}"]) * got["SIM_MAG1_SCALING"]
            assert reads == pytest.approx(1e7 * full, rel=1e-3)


def test_pressure_becomes_height() -> None:
    # [ICAO7488]: 89874.6 Pa at 1000 m, 107478 Pa at -500 m
    assert pressure_height_m(89874.6) == pytest.approx(1000.0, abs=1.0)
    assert pressure_height_m(107478.0) == pytest.approx(-500.0, abs=1.5)
    assert values("baro.bias@1:instance=1", moment())["SIM_BARO_GLITCH"] == pytest.approx(
        -500 / (1.225 * 9.8), rel=0.001
    )
    assert values("baro.stuck@1:instance=2", moment()) == {"SIM_BAR2_FREEZE": 1.0}


def test_a_compass_bias_goes_against_ardupilots_offset() -> None:
    got = values("mag.bias@1:instance=1,severity=0.1", moment(0.1))
    assert got["SIM_MAG1_OFS_X"] == pytest.approx(5.0 - 50.0)  # 5e-6 T are 50 mG


def test_an_axis_alone_is_set_alone() -> None:
    rig = make_rig("quad_f450", until_s=1.0, log=[])
    driver = FaultDriver(rig, [parse_fault("mag.bias@1:instance=1,axis=1")], lambda *_: None, ParameterLink(rig))
    rig.step(1)
    driver.link.poll()
    driver.poll()
    assert list(driver._orders) == ["SIM_MAG1_OFS_Y"]
    driver.link.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mag.stuck@1:start=2,end=3", {1.9: 0.0, 2.0: 1.0, 2.9: 1.0, 3.0: 0.0}),
        ("mag.bias@1:start=1,severity=0.5,shape=ramp,rise=2", {0.9: 0.0, 2.0: 0.25, 3.5: 0.5}),
        ("mag.stuck@1:start=1,shape=intermittent,period=1,duty=0.3", {1.1: 1.0, 1.5: 0.0, 2.2: 1.0, 2.4: 0.0}),
    ],
)
def test_shapes_in_time(text: str, expected: dict[float, float]) -> None:
    for time_s, wanted in expected.items():
        assert level(parse_fault(text), time_s) == pytest.approx(wanted)


class Autopilot:
    """Answers PARAM_SET with PARAM_VALUE, in pymavlink's words."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.to = ("127.0.0.1", port)
        self.mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
        self.values: dict[str, float] = {}
        self.deaf = 0

    def say(self, message: Any) -> None:
        self.socket.sendto(message.pack(self.mav), self.to)

    def beat(self) -> None:
        self.say(self.mav.heartbeat_encode(2, 3, 0, 0, 4))
        ground = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)  # passed on by routing
        self.socket.sendto(ground.heartbeat_encode(6, 8, 0, 0, 4).pack(ground), self.to)

    def listen(self) -> None:
        while True:
            try:
                data = self.socket.recv(4096)
            except BlockingIOError:
                return
            for message in self.mav.parse_buffer(data) or []:
                assert message.get_type() == "PARAM_SET" and message.target_system == 1
                if self.deaf:
                    self.deaf -= 1
                    continue
                self.values[message.param_id] = message.param_value
                self.say(self.mav.param_value_encode(message.param_id.encode(), message.param_value, 9, 1000, 3))


@pytest.fixture
def rig() -> Rig:
    return make_rig("quad_f450", until_s=20.0, log=[])


def run(driver: FaultDriver, autopilot: Autopilot, rig: Rig, until_s: float) -> None:
    autopilot.beat()
    while rig.time_s < until_s:
        rig.step(10)
        driver.link.poll()
        driver.poll()
        autopilot.listen()


@pytest.fixture
def notes() -> list[tuple[float, str]]:
    return []


def drive(rig: Rig, notes: list[tuple[float, str]], *texts: str) -> Iterator[tuple[FaultDriver, Autopilot]]:
    driver = FaultDriver(
        rig,
        [parse_fault(text) for text in texts],
        lambda r, kind, text: notes.append((r.time_s, text)),
        ParameterLink(rig),
    )
    autopilot = Autopilot(driver.link.port)
    try:
        yield driver, autopilot
    finally:
        driver.link.close()
        autopilot.socket.close()


def test_a_fault_is_set_confirmed_and_taken_back(rig: Rig, notes: list[tuple[float, str]]) -> None:
    for driver, autopilot in drive(rig, notes, "baro.dropout@1:instance=1,start=1,end=2"):
        run(driver, autopilot, rig, 0.9)
        assert autopilot.values == {} and driver.settled()
        run(driver, autopilot, rig, 1.5)
        assert autopilot.values == {"SIM_BARO_DISABLE": 1.0} and driver.settled()
        assert [(echo.name, echo.value) for echo in driver.echoes] == [("SIM_BARO_DISABLE", 1.0)]
        assert driver.echoes[0].time_s == pytest.approx(1.0, abs=0.05)
        run(driver, autopilot, rig, 2.5)
        assert autopilot.values == {"SIM_BARO_DISABLE": 0.0}
        assert [text for _, text in notes][:2] == [
            "baro.dropout@1 begins", "SIM_BARO_DISABLE = 1 confirmed after 0.010 s",
        ]  # fmt: skip


def test_what_ardupilot_confirmed_is_the_witness_and_nothing_else_is(rig: Rig, notes: list[tuple[float, str]]) -> None:
    texts = (
        "baro.dropout@1:instance=1,start=1,end=2", "mag.stuck@1:instance=1,start=5",
        "mag.delay@1:instance=1", "imu.gyro_bias@1:instance=1",
    )  # fmt: skip
    lost, later, impossible, vehicle = (parse_fault(text) for text in texts)
    for driver, autopilot in drive(rig, notes, *texts):
        run(driver, autopilot, rig, 2.5)  # the end of the first is confirmed as well
        acted = driver.acted(lost)
        assert acted is not None and (acted.signal, acted.size) == ("SIM_BARO_DISABLE", 1.0)
        assert acted.first_s == pytest.approx(1.0, abs=0.05)
        for injection, signal in ((later, "SIM_MAG1_FAIL"), (impossible, "")):
            idle = driver.acted(injection)
            assert idle is not None and idle.signal == signal and math.isnan(idle.first_s)
        assert driver.acted(vehicle) is None  # its twin is the witness


def test_overlapping_offsets_add_up_and_the_end_of_one_leaves_the_other(
    rig: Rig, notes: list[tuple[float, str]]
) -> None:
    texts = (
        "baro.bias@1:instance=1,start=1,end=2",
        "baro.bias@1:instance=1,severity=0.5,start=1.5,end=3",
    )
    first, second = (parse_fault(text) for text in texts)
    driver = FaultDriver(rig, [first, second], lambda *_: None, ParameterLink(rig))
    autopilot = Autopilot(driver.link.port)
    try:
        heights = []
        for until_s in (1.4, 1.9, 2.5, 3.5):
            run(driver, autopilot, rig, until_s)
            heights.append(autopilot.values["SIM_BARO_GLITCH"])
        assert heights == pytest.approx([-500 / 12, -750 / 12, -250 / 12, 0.0])
        own = [driver.acted(first), driver.acted(second)]
        assert [witness.size for witness in own if witness] == pytest.approx([500 / 12, 250 / 12])
        assert [witness.first_s for witness in own if witness] == pytest.approx([1.0, 1.5], abs=0.05)
    finally:
        driver.link.close()
        autopilot.socket.close()


def test_a_fault_that_never_began_has_no_witness_of_another_on_the_same_parameter(
    rig: Rig, notes: list[tuple[float, str]]
) -> None:
    acts = parse_fault("baro.bias@1:instance=1,start=1,end=2")
    never = parse_fault("baro.drift@1:instance=1,start=15")
    driver = FaultDriver(rig, [acts, never], lambda *_: None, ParameterLink(rig))
    autopilot = Autopilot(driver.link.port)
    try:
        run(driver, autopilot, rig, 3.0)
        assert (idle := driver.acted(never)) is not None and math.isnan(idle.first_s) and idle.size == 0.0
        assert (own := driver.acted(acts)) is not None and own.size > 0.0
    finally:
        driver.link.close()
        autopilot.socket.close()


@pytest.mark.parametrize(
    ("join", "healthy", "values", "wanted"),
    [
        (ardupilot_faults.farthest, 1.0, [0.0, 1.0], 0.0),
        (ardupilot_faults.farthest, 100.0, [300.0, 250.0], 300.0),
        (ardupilot_faults.added, 5.0, [8.0, 1.0], 4.0),
        (ardupilot_faults.multiplied, 1.0, [0.5, 0.5], 0.25),
        (ardupilot_faults.root_of_squares, 12.0, [3.0, 4.0], 13.0),
    ],
)
def test_values_of_several_faults_are_joined_by_their_kind(
    join: Any, healthy: float, values: list[float], wanted: float
) -> None:
    assert join(healthy, values) == pytest.approx(wanted)


def test_a_trigger_starts_it(rig: Rig, notes: list[tuple[float, str]]) -> None:
    when = "imu/1/accel_fault.stamp > 0.5 s"
    trigger = compile_trigger(when, names_of(rig.state.model))
    rig.state.add_event(ParamEvent("mag/1/fault.lost", 1.0, start_s=0.25, when=trigger))
    waiting = attach(rig.vehicle, rig.state, until_s=20.0, log=[])
    for driver, autopilot in drive(waiting, notes, f"mag.dropout@1:instance=1,start=0.25,when={when}"):
        run(driver, autopilot, waiting, 0.7)
        assert autopilot.values == {}
        run(driver, autopilot, waiting, 0.9)
        assert autopilot.values == {"SIM_MAG1_FAIL": 1.0}


def test_a_trigger_that_the_run_does_not_know_is_refused(rig: Rig) -> None:
    fault, link = parse_fault("mag.dropout@1:instance=1,when=body.height > 5 m"), ParameterLink(rig)
    with contextlib.closing(link), pytest.raises(LinkError, match="no event with its trigger"):
        FaultDriver(rig, [fault], lambda *_: None, link)


def test_lost_orders_are_sent_again_and_silence_is_an_error(
    rig: Rig, notes: list[tuple[float, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ardupilot_faults, "ANSWER_S", 0.01)
    monkeypatch.setattr(ardupilot_faults, "TRIES", 4)
    for driver, autopilot in drive(rig, notes, "baro.stuck@1:instance=1,start=0.1"):
        autopilot.deaf = 2
        autopilot.beat()
        while rig.time_s < 1.0:
            rig.step(10)
            driver.link.poll()
            driver.poll()
            autopilot.listen()
            time.sleep(0.002)
        assert autopilot.values == {"SIM_BARO_FREEZE": 1.0} and driver.settled()
    for driver, autopilot in drive(rig, notes, "baro.stuck@1:instance=1,start=0.1"):
        autopilot.deaf = 10**6
        autopilot.beat()
        with pytest.raises(LinkError, match="did not confirm SIM_BARO_FREEZE = 1, sent 4 times"):
            while rig.time_s < 10.0:
                rig.step(10)
                driver.link.poll()
                driver.poll()
                time.sleep(0.002)


def test_faults_without_effect_are_told(rig: Rig, notes: list[tuple[float, str]]) -> None:
    for driver, _ in drive(rig, notes, "mag.delay@1:instance=1", "imu.gyro_bias@1:instance=3"):
        assert driver.settled()
    assert [text.partition(":")[0] for _, text in notes] == ["mag.delay@1", "imu.gyro_bias@1"]


def test_a_ramp_grows_in_steps_and_says_little(rig: Rig, notes: list[tuple[float, str]]) -> None:
    seen = []
    for driver, autopilot in drive(rig, notes, "baro.bias@1:instance=1,start=0.1,shape=ramp,rise=1,severity=0.5"):
        for step in range(1, 14):
            run(driver, autopilot, rig, step / 10)
            seen.append(autopilot.values.get("SIM_BARO_GLITCH", 0.0))
        assert seen == sorted(seen, reverse=True) and len(set(seen)) > 8
        assert seen[-1] == pytest.approx(-0.5 * 500 / 12.0, rel=1e-6)
        assert len(notes) <= 3 and len(driver.echoes) > 20


@pytest.mark.parametrize(
    ("fault", "unit"),
    [
        ("baro.bias@1", "m"), ("baro.noise@1:severity=0.5", "m"), ("baro.delay@1", "ms"), ("baro.dropout@1", "1"),
        ("mag.bias@1", "mGauss"), ("mag.dropout@1", "1"), ("environment.magnetic_anomaly@1:axis=0", "m"),
    ],
)  # fmt: skip
def test_a_parameter_that_shows_a_fault_has_a_unit(fault: str, unit: str) -> None:
    assert plan_of(parse_fault(fault), ALL).settings[0].unit == unit
