"""The grammar in which faults are ordered."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from typing import Any

import pytest

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults.catalog import FAMILIES, FAULTS, parse_fault, search
from ironbird.faults.spec import NEEDS, Injection


def test_a_fault_is_read_as_written() -> None:
    order = parse_fault("rotor.speed_loss@1:instance=2,severity=0.2,start=5,end=9,shape=ramp,rise=1")
    assert order.targets == ["rotor/2/motor.health"] and order.witness == "rotor/2/motor.speed"
    assert order.fault.changes[0].value(order.severity) == pytest.approx(0.8)
    assert (order.start_s, order.end_s, order.shape, order.rise_s) == (5.0, 9.0, "ramp", 1.0)
    assert parse_fault("battery.low_voltage@1").end_s == math.inf
    assert parse_fault("battery.low_voltage@1:start=2,duration=3").end_s == 5.0
    triggered = parse_fault("imu.bias@1:instance=3,axis=2,start=1,when=altitude > 20 m and mode == 'mission'")
    assert triggered.when == "altitude > 20 m and mode == 'mission'" and triggered.axis == 2
    assert parse_fault(triggered.text()) == triggered


def test_a_part_may_have_a_name() -> None:
    order = parse_fault("servo.stuck@1:instance=left_aileron,start=3")
    assert order.targets == ["surface/left_aileron/servo.stuck"]
    assert order.witness == "surface/left_aileron/servo.deflection"
    assert parse_fault(order.text()) == order
    assert parse_fault("wheel.drive_loss@1:instance=3").instance == 3


def test_every_fault_says_what_it_is() -> None:
    assert len(FAULTS) > 100
    for fault in FAULTS.values():
        assert fault.summary.endswith(".") and fault.severity and fault.reference.startswith("[") and fault.changes


def test_what_severity_1_means_is_what_it_does() -> None:
    said = {fault.id: re.match(r"1 is (?:a deviation of )?(-?[0-9.e-]+) ", fault.severity) for fault in FAULTS.values()}
    found = {
        name: float(match[1])
        for name, match in said.items()
        if match and not re.search("mass|degrees", FAULTS[name].severity)
    }
    for name, size in found.items():
        assert size in [abs(change.effect.at_1) for change in FAULTS[name].changes], name
    assert len(found) > 50 and found["baro.bias@1"] == 500.0 and found["wind.gust@2"] == 20.0
    assert FAULTS["imu.bias@1"].severity == "1 is 5 m/s^2 and 1 rad/s on each axis"


@pytest.mark.parametrize(
    ("words", "some", "none"),
    [
        ("motor", ["rotor.stuck@1", "wheel.stuck@1", "thruster.loss@1"], ["mag.bias@1"]),
        ("engine", ["rotor.speed_loss@1", "wheel.drive_loss@1"], ["battery.power_off@1"]),
        ("propeller", ["rotor.propeller_damage@1", "thruster.fouled@1"], ["gnss.jamming@1"]),
        (
            "GPS",
            ["gnss.jamming@1", "gnss.position_bias@1", "environment.gnss_denied@1", "wire.rx_open_low@1"],
            ["mag.bias@1"],
        ),
        ("compass", ["mag.bias@1", "environment.magnetic_anomaly@1"], ["gnss.jamming@1"]),
        ("compass noise", ["mag.noise@1"], ["mag.bias@1", "baro.noise@1"]),
        ("battery", ["battery.power_off@1"], ["rotor.stuck@1"]),
        ("wind", ["wind.gust@2", "wind.turbulence@1"], ["current.rise@1"]),
        ("camera", ["sight.black@1", "flow.stuck@1"], ["range.stuck@1"]),
        ("lidar", ["sight.black@1", "range.stuck@1"], ["flow.stuck@1"]),
        ("radio", ["route.drop@1"], ["rotor.stuck@1"]),
        ("spi", ["wire.miso_open_high@1"], ["wire.sda_open_high@1"]),
        ("ice", ["road.slippery@1"], ["chip.off@1"]),  # the beginning of a word, not its middle
        ("accelerometer", ["imu.accel_bias@1"], ["imu.gyro_bias@1"]),
        ("payload", ["load.drop@1"], ["rotor.stuck@1"]),
        ("rudder", ["servo.stuck@1"], ["rotor.stuck@1"]),
        ("tyre", ["wheel.friction_loss@1", "road.slippery@1"], ["rotor.stuck@1"]),
        ("rotor.s", ["rotor.stuck@1", "rotor.speed_loss@1"], ["servo.stuck@1"]),
    ],
)
def test_faults_are_found_by_what_people_call_them(words: str, some: list[str], none: list[str]) -> None:
    found = {fault.id for fault in search(words, FAULTS.values())}
    assert set(some) <= found and not set(none) & found


def test_every_fault_can_be_found_by_a_word_that_is_not_in_its_id() -> None:
    found = functools.cache(lambda word: search(word, FAULTS.values()))
    for fault in FAULTS.values():
        own = [words for family in FAMILIES for begin, words in family.KEYWORDS.items() if fault.id.startswith(begin)]
        assert own, f"{fault.id} has no keywords beside its family"
        for word in " ".join(own).split():
            assert fault in found(word), (fault.id, word)


def test_every_fault_says_what_it_needs() -> None:
    needs = Counter(fault.needs for fault in FAULTS.values())
    assert set(needs) == set(NEEDS) and needs == {"part": 159, "firmware": 6, "chips": 74, "link": 10, "world": 7}


# What each does to which parameter at severity 0, a half and 1; and the signal in which that must show
MEANINGS: dict[str, tuple[dict[str, tuple[str, float, float, float]], str]] = {
    "rotor.speed_loss@1": ({"rotor/1/motor.health": ("scale", 1.0, 0.5, 0.0)}, "rotor/1/motor.speed"),
    # A propeller that lost its blades turns as before: only its thrust tells
    "rotor.blade_damage@1": ({"rotor/1/propeller.blade_health": ("scale", 1.0, 0.5, 0.0)}, "rotor/1/propeller.thrust"),
    "imu.gyro_bias@1": ({"imu/1/gyro_fault.offset": ("offset", 0.0, 0.5, 1.0)}, "imu/1/gyro_fault.value"),
    "imu.accel_open@1": (
        {"imu/1/accel_fault.replace": ("replace", 1, 1, 1), "imu/1/accel_fault.replacement": ("replace", 0, 0, 0)},
        "imu/1/accel_fault.value",
    ),
    "imu.accel_short@1": (  # 16 g
        {
            "imu/1/accel_fault.replace": ("replace", 1, 1, 1),
            "imu/1/accel_fault.replacement": ("replace", 156.9, 156.9, 156.9),
        },
        "imu/1/accel_fault.value",
    ),
    "range.saturation@1": (
        {"range/1/fault.high": ("replace", 12.0, 6.0, 0.0), "range/1/fault.low": ("replace", -12.0, -6.0, 0.0)},
        "range/1/fault.value",
    ),
    "wheel.seized@1": ({"wheel/1/drive.seized": ("replace", 0.0, 0.5, 1.0)}, "wheel/1/drive.brake_torque"),
    "gnss.jamming@1": ({"gnss/1/chip.jamming": ("replace", 0.0, 0.5, 1.0)}, "gnss/1/chip.satellites_used"),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_a_fault_does_what_its_name_says_and_shows_where_it_must(name: str) -> None:
    changes, witness = MEANINGS[name]
    order = parse_fault(name)

    does = zip(order.targets, order.fault.changes, strict=True)
    found = {path: (change.effect.effect, *(change.value(s) for s in (0.0, 0.5, 1.0))) for path, change in does}
    assert found == changes and order.witness == witness


def test_a_gust_without_an_axis_is_horizontal_and_an_order_may_name_another() -> None:
    assert parse_fault("wind.gust@2").axis == 0 and parse_fault("wind.gust@2:axis=2").axis == 2
    assert parse_fault("wind.steady@1").axis is None  # all three, as old reports have it


@pytest.mark.parametrize(
    "order",
    [
        "rotor.speed_loss@1:instance=2,severity=1,start=8",
        "battery.low_voltage@1:severity=0.3333333333333333,start=0.1,end=12.3456789,shape=intermittent,period=2,duty=0.4",
        "rotor.blade_damage@1:instance=4,severity=0.123456789012,start=1234.56789,shape=ramp,rise=1e-05",
        "imu.accel_bias@1:instance=3,axis=2,severity=0.1,start=1,when=altitude > 20 and mode == 'mission'",
    ],
)
def test_the_text_of_an_order_is_its_shortest_exact_form(order: str) -> None:
    assert parse_fault(order).text() == order


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"start_s": -math.inf}, "start_s must be finite, got -inf"),
        ({"rise_s": math.inf, "shape": "ramp"}, "rise_s must be finite"),
        ({"duty": math.nan}, "duty must be finite"),
        ({"end_s": math.nan}, "it ends at nan s"),
        ({"start_s": -1.0}, "start -1 s is negative; a flight begins at 0 s"),
        ({"start_s": 3.0, "end_s": 3.0}, "it ends at 3 s, not after its start 3 s"),
        ({"instance": "*"}, "instance is a number or a name"),
        ({"instance": "3"}, "instance is a number or a name"),  # a word that would be read as a number
        ({"instance": -1}, "instance is a number or a name"),
        ({"shape": "zigzag"}, "shape 'zigzag' is not"),
    ],
)
def test_an_order_that_has_no_text_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(FaultError, match=message):
        Injection(FAULTS["rotor.stuck@1"], **values)
    with pytest.raises(FaultError, match=r"battery.power_off@1 has no instances"):
        Injection(FAULTS["battery.power_off@1"], instance=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rotor.sped_loss@1", "unknown fault 'rotor.sped_loss@1'; did you mean 'rotor.speed_loss@1'"),
        ("rotor.speed_loss@1:severty=1", "unknown key 'severty'; did you mean 'severity'"),
        ("rotor.speed_loss@1:severity=2", r"severity 2 is outside 0 .. 1 \(share of speed lost"),
        ("rotor.speed_loss@1:severity=lots", "severity needs a number, got 'lots'"),
        ("rotor.speed_loss@1:severity=nan", "severity must be finite"),
        ("rotor.speed_loss@1:severity", "'severity' is not key=value"),
        ("rotor.speed_loss@1:start=5,end=4", "it ends at 4 s, not after its start 5 s"),
        ("rotor.speed_loss@1:shape=zigzag", "shape 'zigzag' is not step, ramp or intermittent"),
        (
            "rotor.speed_loss@1:start=1,end=4,duration=3",
            "rotor.speed_loss@1: both end and duration are given; keep one",
        ),
        ("rotor.speed_loss@1:rise=2", "rise_s has no meaning with shape 'step'; order shape=ramp, or leave it out"),
        (
            "rotor.speed_loss@1:shape=ramp,rise=1,period=2",
            "period_s has no meaning with shape 'ramp'; order shape=inter",
        ),
        ("rotor.speed_loss@1:duty=0.4", "duty has no meaning with shape 'step'; order shape=intermittent, or leave"),
        ("battery.low_voltage@1:instance=1", "has no instances"),
        ("servo.stuck@1:instance=*", "instance is a number or a name"),
        ("rotor.stuck@1:instance=1.5", "instance is a number or a name"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises((FaultError, UnknownNameError), match=message):
        parse_fault(text)
