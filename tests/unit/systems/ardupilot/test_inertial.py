"""Inertial units as files that a driver reads three numbers at a time from, as ArduPilot's does."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.rig.rig import Rig, attach, make_rig
from ironbird.systems.ardupilot.inertial import COPIES, InertialUnits

SAMPLE = struct.Struct("<3f")
STEP = 4


def rig_with(*faults: str) -> Rig:
    rig = make_rig("quad_f450", until_s=10.0, log=[])
    for fault in faults:
        inject(rig.state, parse_fault(fault))
    return attach(rig.vehicle, rig.state, until_s=10.0, log=[])


class Driver:
    """Reads as [ArduPilotCode] AP_InertialSensor_SITL does: at the end it begins again, without a sample."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_RDONLY)

    def read(self) -> tuple[float, ...] | None:
        data = os.read(self.file, SAMPLE.size)
        if not data:
            os.lseek(self.file, 0, os.SEEK_SET)
        return SAMPLE.unpack(data) if len(data) == SAMPLE.size else None


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    units: list[InertialUnits] = []
    drivers: list[Driver] = []

    def open_(rig: Rig) -> tuple[InertialUnits, list[Driver]]:
        made = InertialUnits(rig, cast(Any, SimpleNamespace(folder=tmp_path, owner=None)), tmp_path)
        units.append(made)
        made.fill()
        drivers.extend(Driver(tmp_path / "tmp" / f"gyro{n}.dat") for n in range(made.count))
        return made, drivers

    yield open_
    for driver in drivers:
        os.close(driver.file)
    for one in units:
        one.close()


def test_each_unit_gives_its_own_newest_sample_at_each_reading(opened: Any) -> None:
    rig = rig_with()
    units, drivers = opened(rig)
    assert units.count == 3
    rig.step(STEP)  # the samples of 0 s
    for taken in (4, 3, 5, 4):
        rig.step(STEP)
        units.fill()
        for driver, gyro in zip(drivers, rig.gyros, strict=True):
            wanted = gyro.values.astype(np.float32).tolist()
            assert [driver.read() for _ in range(taken)] == [pytest.approx(wanted)] * taken  # none of a step before
    lost = [drivers[0].read() for _ in range(2 * COPIES)].count(None)
    assert lost == 2  # one reading in a thousand
    assert len({tuple(gyro.values.tolist()) for gyro in rig.gyros}) == 3  # each has errors of its own


def test_a_fault_of_one_unit_is_seen_at_that_unit_alone(opened: Any) -> None:
    rig = rig_with("imu.gyro_short@1:instance=2,start=1")
    units, drivers = opened(rig)
    for _ in range(300):
        rig.step(STEP)
        units.fill()
    read = [max(map(abs, driver.read() or ())) for driver in drivers]
    assert read[1] > 10.0 and max(read[0], read[2]) < 0.2


def test_a_silent_unit_gives_no_sample_and_comes_back(opened: Any) -> None:
    rig = rig_with("imu.gyro_dropout@1:instance=3,start=0.1,end=0.2")
    units, drivers = opened(rig)
    got: dict[bool, set[bool]] = {True: set(), False: set()}
    for _ in range(80):
        rig.step(STEP)
        units.fill()
        inside = 0.11 < rig.time_s < 0.2
        if inside or rig.time_s < 0.1 or rig.time_s > 0.21:
            got[inside] |= {drivers[2].read() is not None for _ in range(STEP)}
            assert drivers[0].read() is not None
    assert got == {True: {False}, False: {True}}
