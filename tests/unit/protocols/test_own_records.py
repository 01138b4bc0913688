"""What an autopilot's own log shows of a fault, beside the log of the same flight without it: logs of real flights."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from ironbird.errors import LinkError
from ironbird.protocols.autopilot_log import read_autopilot_log
from ironbird.protocols.own_records import BATTERY_LATE_S, LATE_S, Sight, places_of, read_records, sight_of
from ironbird.vehicles.load import load_spec, vehicle_path

LOGS = Path(__file__).parents[2] / "data" / "autopilot_logs"  # what is in them: README.md there
PX4, ARDUPILOT = LOGS / "common_px4_healthy.ulg", LOGS / "common_ardupilot_healthy.BIN"


@pytest.mark.parametrize(
    ("fault", "log", "healthy", "record", "after_s"),
    [
        ("imu.gyro_stuck", "common_px4_gyro_stuck.ulg", PX4, "sensor_combined gyro_rad[0]", (20.96, 20.99)),
        (
            "environment.magnetic_anomaly", "common_px4_magnetic_anomaly.ulg", PX4,
            "vehicle_magnetometer magnetometer_ga[0]", (20.99, 21.10),
        ),
        ("environment.gnss_denied", "common_ardupilot_gnss_denied.BIN", ARDUPILOT, "GPS 1", (53.36, 54.0)),
    ],
)  # fmt: skip
def test_the_faulty_sensor_shows_in_the_log_before_the_vehicle_leaves_its_way(
    fault: str, log: str, healthy: Path, record: str, after_s: tuple[float, float]
) -> None:
    sight = sight_of(fault, 1, read_records(LOGS / log), read_records(healthy))
    assert sight.seen and sight.direct and sight.record.startswith(record)
    assert after_s[0] <= sight.first_s <= after_s[1] and sight.first_s <= sight.moved_s + 0.1


@pytest.mark.parametrize("healthy", [PX4, ARDUPILOT])
def test_a_log_beside_itself_shows_nothing(healthy: Path) -> None:
    sight = sight_of("gnss.position_bias", 1, read_records(healthy), read_records(healthy))
    assert not sight.seen and sight.first_s == math.inf and sight.moved_s == math.inf
    assert sight.sentence() == "its log shows nothing of it"


def test_a_sensor_that_only_follows_the_vehicle_off_its_way_is_no_witness() -> None:
    """The second gyroscope is healthy in this flight: it differs because the vehicle turns otherwise."""
    sight = sight_of("imu.gyro_stuck", 2, read_records(LOGS / "common_px4_gyro_stuck.ulg"), read_records(PX4))
    assert not sight.seen and sight.first_s > sight.moved_s + 0.1
    assert "only after the vehicle has left its way" in sight.sentence()


def test_what_has_no_record_is_seen_by_the_inertial_sensors() -> None:
    for ending in (".ulg", ".bin"):
        places, direct = places_of("rotor.speed_loss", 1, ending)
        assert not direct and {place.record for place in places} <= {
            "sensor_combined",
            "sensor_accel",
            "sensor_gyro",
            "IMU",
        }
        assert places_of("mag.bias", 2, ending)[1]


def test_two_logs_of_different_autopilots_are_refused() -> None:
    with pytest.raises(LinkError, match="no two logs of one autopilot"):
        sight_of("mag.bias", 1, read_records(PX4), read_records(ARDUPILOT))


@pytest.mark.parametrize(
    ("log", "begin_s", "change", "after_s"),
    [
        ("common_px4_gyro_stuck.ulg", 20.98, "estimator 1 takes over from 0", 0.58),
        ("common_px4_magnetic_anomaly.ulg", 21.0, "magnetic field disturbed", 0.18),
        ("common_ardupilot_gnss_denied.BIN", 53.36, "GNSS position no longer fused", 4.37),
    ],
)
def test_the_reactions_of_the_page_are_in_the_logs_at_their_times(
    log: str, begin_s: float, change: str, after_s: float
) -> None:
    read = read_autopilot_log(LOGS / log, load_spec(vehicle_path("quad_f450")).home)
    found = [state.time_s - begin_s for state in read.states if state.text == change]
    assert found and found[0] == pytest.approx(after_s, abs=0.03)


def test_a_battery_is_told_twice_a_second_and_may_be_that_much_later_than_the_motion() -> None:
    told = Sight("battery_status 1 voltage_v", 21.01, 2.4, "V", 20.86, True, BATTERY_LATE_S)
    assert told.seen and not replace(told, late_s=LATE_S).seen
    assert not replace(told, first_s=21.5).seen  # the record before should have shown it
