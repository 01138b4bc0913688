"""What a Python function reads of a rig is noted, and the rig is the same to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ironbird as ib
from ironbird.rig.observed import ObservedRig
from ironbird.rig.rig import Rig, make_rig


@pytest.fixture(scope="module")
def rig() -> Rig:
    made = make_rig("quad_f450", until_s=1.0)
    made.step(4)
    return made


@pytest.mark.parametrize(
    ("read", "paths"),
    [
        (lambda rig: rig.gyros[0].values, {"imu/1/gyro_fault.value"}),
        (lambda rig: rig.accels[0].fresh(), {"imu/1/accel_fault.value"}),
        (lambda rig: rig.barometers[0].stamp[0], {"baro/1/fault.value"}),
        (lambda rig: rig.receivers[0].velocity_N.values, {"gnss/1/velocity_fault.value"}),
        (lambda rig: rig.held("mag/1/fault.value"), {"mag/1/fault.value"}),
        (lambda rig: (len(rig.gyros), rig.time_s, rig.truth("p"), rig.command("rotor/1", 0.5)), set()),
        (lambda rig: rig.stepper.held, None),
        (lambda rig: rig.state.x, None),
    ],
)
def test_what_is_read_is_noted(rig: Rig, read: Callable[[ib.Rig], object], paths: set[str] | None) -> None:
    observed = ObservedRig(rig)
    read(observed)
    assert observed.reads == paths


def test_details_of_a_receiver_are_those_of_its_chip(rig: Rig) -> None:
    observed = ObservedRig(rig)
    assert observed.receivers[0].details.keys() == rig.receivers[0].details.keys()
    assert observed.reads and all(path.startswith("gnss/1/chip") for path in observed.reads)


def test_it_is_the_same_rig(rig: Rig) -> None:
    observed = ObservedRig(rig)
    assert isinstance(observed, ib.Rig) and observed.time_s == rig.time_s > 0.0
    observed.command("rotor/2", 0.25)
    assert rig.stepper.inputs[rig.actuators["rotor/2"]] == 0.25
    assert observed.gyros[0].values is rig.gyros[0].values
    observed.loop = None
    assert rig.loop is None and len(observed.magnetometers) == len(rig.magnetometers)
