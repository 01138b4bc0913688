"""The grammar in which faults are ordered."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults.catalog import FAULTS, parse_fault


def test_a_fault_is_read_as_written() -> None:
    order = parse_fault("rotor.speed_loss@1:instance=2,severity=0.2,start=5,end=9,shape=ramp,rise=1")
    assert order.targets == ["rotor/2/motor.health"] and order.witness == "rotor/2/motor.speed"
    assert order.fault.changes[0].value(order.severity) == pytest.approx(0.8)
    assert (order.start_s, order.end_s, order.shape, order.rise_s) == (5.0, 9.0, "ramp", 1.0)
    assert parse_fault("battery.low_voltage@1").end_s == math.inf
    assert parse_fault("battery.low_voltage@1:start=2,duration=3").end_s == 5.0
    triggered = parse_fault("imu.bias@1:instance=3,axis=2,start=1,when=altitude > 20 and mode == 'mission'")
    assert triggered.when == "altitude > 20 and mode == 'mission'" and triggered.axis == 2
    assert parse_fault(triggered.describe()) == triggered


def test_a_part_may_have_a_name() -> None:
    order = parse_fault("servo.stuck@1:instance=left_aileron,start=3")
    assert order.targets == ["surface/left_aileron/servo.stuck"]
    assert order.witness == "surface/left_aileron/servo.deflection"
    assert parse_fault(order.describe()) == order
    assert parse_fault("wheel.drive_loss@1:instance=3").instance == 3


def test_every_fault_says_what_it_is() -> None:
    assert len(FAULTS) > 100
    for fault in FAULTS.values():
        assert fault.summary.endswith(".") and fault.severity and fault.reference.startswith("[") and fault.changes


@given(
    fault=st.sampled_from(sorted(FAULTS)),
    severity=st.floats(0, 1),
    start=st.floats(0, 1e3),
    length=st.floats(1e-3, 1e3),
)
def test_what_is_described_reads_back(fault: str, severity: float, start: float, length: float) -> None:
    text = f"{fault}:severity={severity!r},start={start!r},duration={length!r}"
    once = parse_fault(text)
    again = parse_fault(once.describe())
    assert again.fault is once.fault
    assert again.severity == pytest.approx(once.severity, abs=1e-5) and again.start_s == pytest.approx(
        once.start_s, rel=1e-5
    )


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
        ("battery.low_voltage@1:instance=1", "has no instances"),
        ("servo.stuck@1:instance=*", "instance is a number or a name"),
        ("rotor.stuck@1:instance=1.5", "instance is a number or a name"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises((FaultError, UnknownNameError), match=message):
        parse_fault(text)
