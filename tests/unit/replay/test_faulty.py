"""Faults on logged values: by the taps of vehicles, on the samples of their sensor alone, each with its own witness."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.autopilots.px4.groups import ACCEL, BARO, GYRO
from ironbird.errors import FaultError
from ironbird.faults.catalog import parse_fault
from ironbird.host.virtual_time.record import NEXT, STREAM, TIME, Entry
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.replay.faulty import FaultyEntries
from ironbird.transport.frames import FrameReader

STEP_US, STEPS = 4000, 500
LATITUDE, LONGITUDE = 47.3977, 8.5456


def recorded() -> list[Entry]:
    """Two inertial units, a barometer at 25 Hz, a receiver at 5 Hz: 2 s."""
    packer, entries = Packer(), []
    for n in range(1, STEPS + 1):
        now_us = n * STEP_US
        baro = BARO if n % 10 == 0 else 0
        wave = math.sin(0.01 * n)
        values = [0.1, wave, -9.8, 0.01 * wave, 0.02, -0.03, 0.0, 0.0, 0.0]
        air = [950.0 + wave, 0.0, 540.0, 11.5] if baro else [0.0] * 4
        for unit in (0, 1):
            packer.add(
                dialect.HIL_SENSOR,
                now_us,
                *values,
                *(air if not unit else [0.0] * 4),
                ACCEL | GYRO | baro * (not unit),
                unit,
            )
        if n % 50 == 0:
            place = round(1e7 * LATITUDE) + n, round(1e7 * LONGITUDE) - n, 488_000
            packer.add(dialect.HIL_GPS, now_us, *place, 90, 130, 0, 3, -4, 0, 65535, 3, 12, 0, 0)
        entries += [Entry(STREAM, 4560, data=bytes(packer.take())), Entry(NEXT, data=TIME.pack(1000 * now_us))]
    return entries


def flown(*faults: str, seed: int = 0) -> tuple[list[Entry], FaultyEntries]:
    entries = recorded()
    made = FaultyEntries(lambda: entries, [parse_fault(text) for text in faults], seed)
    return list(made), made


def messages(entries: list[Entry], number: int, unit: int = 0, index: int = 15) -> np.ndarray:
    reader = FrameReader()
    kind = dialect.MESSAGES[number]
    frames = [f for e in entries if e.kind == STREAM for f in reader.feed(e.data)]
    rows = [kind.unpack(f.payload) for f in frames if f.id == number]
    return np.array([row for row in rows if row[index] == unit], float)


def sensors(entries: list[Entry], unit: int = 0) -> np.ndarray:
    return messages(entries, dialect.HIL_SENSOR.id, unit)


def fixes(entries: list[Entry]) -> np.ndarray:
    return messages(entries, dialect.HIL_GPS.id, 0, 13)


def test_a_fault_of_no_severity_changes_no_bit_and_is_void() -> None:
    entries, made = flown("imu.gyro_bias@1:instance=1,severity=0,start=0.5")
    assert entries == recorded()
    assert math.isnan(made.acted(made.faults[0]).first_s)
    assert made.acted(made.faults[0]).sentence() == "it changed nothing"


def test_a_bias_is_that_of_the_catalogue_on_one_unit_in_its_time() -> None:
    entries, made = flown("imu.gyro_bias@1:instance=2,severity=0.1,start=0.5,end=1.5")
    before, after = sensors(recorded(), 1), sensors(entries, 1)
    inside = (after[:, 0] >= 0.5e6) & (after[:, 0] < 1.5e6)
    np.testing.assert_allclose(after[inside, 4:7] - before[inside, 4:7], 0.1, atol=1e-7)  # of a float
    np.testing.assert_array_equal(after[~inside], before[~inside])
    np.testing.assert_array_equal(sensors(entries, 0), sensors(recorded(), 0))
    acted = made.acted(made.faults[0])
    assert acted.first_s == 0.5
    assert acted.largest == pytest.approx(0.1 * math.sqrt(3), rel=1e-6)
    assert "0.1732 rad/s" in acted.sentence()


def test_a_lost_sample_is_not_in_the_message_and_pressure_takes_its_height_along() -> None:
    entries, made = flown("baro.dropout@1:instance=1,start=0.5,end=1.0", "baro.bias@1:instance=1,start=1.5")
    fields = sensors(entries)[:, 14].astype(int) & BARO == BARO
    time_s = sensors(entries)[:, 0] * 1e-6
    assert not fields[(time_s >= 0.5) & (time_s < 1.0)].any()
    assert fields[(time_s < 0.5) | (time_s >= 1.0)].sum() == 50 - 13 + 1  # every 10th of 125 steps is lost
    lost, biased = (made.acted(fault) for fault in made.faults)
    assert (lost.first_s, lost.lost) == (0.52, 12)
    assert biased.first_s == 1.52 and biased.largest == pytest.approx(500.0)  # each its own
    with_air = fields & (time_s > 1.5)
    rise = sensors(entries)[with_air, 10] - sensors(recorded())[with_air, 10]
    assert rise.size == 13
    np.testing.assert_allclose(rise, 5.0, atol=1e-4)  # hPa, of a float
    heights = sensors(entries)[with_air, 12]
    assert (heights < 510.0).all() and (heights > 450.0).all()  # 5 hPa are about 44 m lower than 540 m


def test_metres_of_a_receiver_become_degrees_and_its_speed_follows() -> None:
    entries, _ = flown(
        "gnss.position_bias@1:instance=1,start=1", "gnss.velocity_bias@1:instance=1,severity=0.2,start=1"
    )
    before, after = fixes(recorded()), fixes(entries)
    late = after[:, 0] >= 1e6
    np.testing.assert_array_equal(after[~late], before[~late])
    north_m = (after[late, 1] - before[late, 1]) * 1e-7 * 111_178  # of a degree of latitude here [NIMA8350]
    np.testing.assert_allclose(north_m, 30.0, rtol=2e-3)
    np.testing.assert_allclose(after[late, 3] - before[late, 3], -30_000, atol=1)  # mm; down is lower
    np.testing.assert_allclose(after[late, 7:10] - before[late, 7:10], 100, atol=1)  # 1 m/s
    np.testing.assert_allclose(after[late, 6], np.hypot(103, 96), atol=1)
    np.testing.assert_allclose(after[late, 10], 100 * math.degrees(math.atan2(96, 103)), atol=1)


def test_noise_is_that_of_the_seed() -> None:
    one, again, other = (flown("imu.accel_noise@1:instance=1,severity=0.1", seed=seed)[0] for seed in (1, 1, 2))
    assert one == again != other
    away = sensors(one)[:, 1:4] - sensors(recorded())[:, 1:4]
    assert np.std(away) == pytest.approx(0.5, rel=0.1)  # 1500 numbers


def test_what_is_no_logged_value_is_refused_with_those_that_are() -> None:
    known = r"imu/1/accel_fault, imu/1/gyro_fault, imu/2/accel_fault, imu/2/gyro_fault, baro/1/fault, gnss/1/position"
    with pytest.raises(
        FaultError, match=rf"acts on rotor/1/motor\.health, which is no logged sensor value; .* {known}"
    ):
        flown("rotor.speed_loss@1:instance=1")
    with pytest.raises(FaultError, match=r"acts on imu/3/gyro_fault\.offset"):
        flown("imu.gyro_bias@1:instance=3")
    with pytest.raises(FaultError, match="a replay has no conditions on the vehicle"):
        flown("imu.gyro_bias@1:instance=1,when=altitude > 5 m")
