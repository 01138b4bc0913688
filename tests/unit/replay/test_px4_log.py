"""A ULog as input for a whole PX4: what is taken from it, and what is refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from autopilot_files import write_ulog_topics

from ironbird.autopilots.px4.groups import BARO, MAG
from ironbird.errors import LinkError
from ironbird.host.virtual_time.record import CONNECTED, DATAGRAM, NEXT, STREAM, Entry
from ironbird.protocols.mavlink import dialect
from ironbird.replay.px4_log import ACCEL_LSB, BEFORE_S, GYRO_LSB
from ironbird.replay.replay import read_recording
from ironbird.transport.frames import FrameReader

Topics = dict[tuple[str, int], dict[str, np.ndarray]]
SECOND_US = 1_000_000


def topics(begin_s: float = 0.1) -> Topics:
    """Ten seconds of a multicopter at rest, armed from 5 to 8 s."""

    def at(rate_hz: float) -> np.ndarray:
        return np.arange(begin_s * 1e6, (begin_s + 10) * 1e6, 1e6 / rate_hz).astype(np.int64)

    def of(rate_hz: float, **columns: float) -> dict[str, np.ndarray]:
        time = at(rate_hz)
        return {"timestamp": time, **{name: np.full(len(time), value) for name, value in columns.items()}}

    gyro, accel = 3 * GYRO_LSB, -2048 * ACCEL_LSB
    inertial = {f"gyro_rad[{i}]": gyro * (i - 1) for i in range(3)}
    inertial |= {f"accelerometer_m_s2[{i}]": accel * (i == 2) for i in range(3)}
    status = of(2.0, nav_state=4.0, arming_state=1.0, system_type=2.0)
    since = (status["timestamp"] - begin_s * 1e6) * 1e-6
    status["arming_state"][(since >= 5) & (since < 8)] = 2.0
    speed = {f"vel_{axis}_m_s": 0.0 for axis in "ned"}
    return {
        ("sensor_combined", 0): of(250.0, **inertial),
        ("vehicle_magnetometer", 0): of(50.0, **{f"magnetometer_ga[{i}]": 0.2 for i in range(3)}),
        ("vehicle_air_data", 0): of(20.0, baro_pressure_pa=95_000.0),
        ("vehicle_gps_position", 0): of(
            5.0, latitude_deg=47.4, longitude_deg=8.5, altitude_msl_m=488.0, eph=0.9, epv=1.3, fix_type=3.0,
            satellites_used=12.0, **speed,
        ),
        ("vehicle_status", 0): status,
    }  # fmt: skip


def written(folder: Path, made: Topics) -> Path:
    return write_ulog_topics(folder / "flight.ulg", made)


def packets(entries: list[Entry], number: int) -> list[tuple[float, ...]]:
    reader = FrameReader()
    frames = [f for e in entries if e.kind == STREAM for f in reader.feed(e.data)]
    return [dialect.MESSAGES[number].unpack(f.payload) for f in frames if f.id == number]


def test_sensors_come_at_their_logged_times_and_rates(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, topics()))
    assert not recording.exact and recording.shift_s == 0.0
    entries = list(recording.entries())
    assert entries[0].kind == CONNECTED
    rows = np.array(packets(entries, dialect.HIL_SENSOR.id))
    times = rows[:, 0]
    assert list(times[-2500:]) == list(topics()["sensor_combined", 0]["timestamp"])
    assert [e.time_ns for e in entries if e.kind == NEXT] == [1000 * int(time) for time in times]
    logged = rows[-2500:]
    assert ((logged[:, 14].astype(int) & MAG) > 0).sum() == 500
    assert ((logged[:, 14].astype(int) & BARO) > 0).sum() == 200
    assert len(packets(entries, dialect.HIL_GPS.id)) == 50
    whole = np.trunc(logged[:, 4:7] / GYRO_LSB)  # as PX4's driver cuts off
    np.testing.assert_array_equal(whole, np.tile([-3, 0, 3], (2500, 1)))
    np.testing.assert_array_equal(np.trunc(logged[:, 1:4] / ACCEL_LSB), np.tile([0, 0, -2048], (2500, 1)))


def test_px4_is_armed_and_switched_when_the_log_says_so(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, topics()))
    assert recording.rows["commands"] == "mode 4.3 at 0.0 s; armed at 5.0 s; disarmed at 8.0 s"
    commands, now_s = [], 0.0
    for entry in recording.entries():
        now_s = entry.time_ns * 1e-9 if entry.kind == NEXT else now_s
        for frame in FrameReader().feed(entry.data) if entry.kind == DATAGRAM else ():
            if frame.id == dialect.COMMAND_LONG.id:
                values = dialect.COMMAND_LONG.unpack(frame.payload)
                commands.append((values[7], values[0], round(now_s - 0.1, 1)))
    assert commands[0] == (176, 1.0, 0.0)
    arming = [(value, at_s) for command, value, at_s in commands if command == 400]
    assert arming[0] == (1.0, 5.0) and arming[-1] == (0.0, 8.0)
    assert all(value == 1.0 for value, _ in arming[:-1])  # again each second, for a late estimator


def test_a_log_that_begins_late_is_preceded_by_its_first_samples_in_reverse(tmp_path: Path) -> None:
    made = topics(begin_s=600.0)
    length = len(made["sensor_combined", 0]["timestamp"])
    made["sensor_combined", 0]["gyro_rad[0]"] = GYRO_LSB * np.arange(length)
    recording = read_recording(written(tmp_path, made))
    assert recording.shift_s == pytest.approx(BEFORE_S + 0.004 - 600.0)
    assert recording.begin_s == pytest.approx(BEFORE_S + 0.004)
    rows = np.array(packets(list(recording.entries()), dialect.HIL_SENSOR.id))
    assert (np.diff(rows[:, 0]) > 0).all() and rows[0, 0] >= 4000
    counted = np.trunc(rows[:, 4] / GYRO_LSB)
    low = int(np.argmin(counted[-length - 5 : -length + 5])) + len(counted) - length - 5
    assert rows[low, 0] == pytest.approx(1e6 * (BEFORE_S + 0.004), abs=1)
    np.testing.assert_array_equal(counted[low - 50 : low][::-1], counted[low + 1 : low + 51])


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("sensor_combined", r"has no topic sensor_combined, PX4's inertial unit: log with SDLOG_PROFILE"),
        ("vehicle_magnetometer", r"has no samples of a magnetometer \(looked in vehicle_magnetometer, sensor_combined"),
        ("vehicle_air_data", "has no samples of a barometer"),
        ("vehicle_gps_position", r"has no samples of a receiver \(looked in vehicle_gps_position, sensor_gps\)"),
    ],
)
def test_a_log_without_a_sensor_is_refused_with_where_it_was_looked_for(tmp_path: Path, lost: str, words: str) -> None:
    made = {key: columns for key, columns in topics().items() if key[0] != lost}
    with pytest.raises(LinkError, match=words):
        read_recording(written(tmp_path, made))


def test_slow_logs_other_vehicles_and_other_files_are_refused(tmp_path: Path) -> None:
    slow = topics()
    slow["sensor_combined", 0] = {name: column[::10] for name, column in slow["sensor_combined", 0].items()}
    with pytest.raises(LinkError, match=r"inertial unit at 25\.0 Hz: an estimator needs 50 Hz"):
        read_recording(written(tmp_path, slow))
    rover = topics()
    rover["vehicle_status", 0]["system_type"][:] = 10.0
    with pytest.raises(LinkError, match="is of a vehicle of MAV_TYPE 10: logs of multicopters, fixed wings and VTOLs"):
        read_recording(written(tmp_path, rover))
    other = tmp_path / "notes.txt"
    other.write_text("no log")
    with pytest.raises(LinkError, match=r"notes\.txt is no ULog of PX4: .* of ArduPilot give the folder of a flight"):
        read_recording(other)
    with pytest.raises(LinkError, match=r"no record \(\*\.sent\) there"):
        read_recording(written(tmp_path, topics()), "record")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LinkError, match=r"has no log \(\*\.ulg\) and no record"):
        read_recording(tmp_path / "empty")
