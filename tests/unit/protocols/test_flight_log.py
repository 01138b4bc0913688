"""Logs of real flights as one kind of thing, whoever wrote them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from autopilot_files import dataflash_bytes, write_ulog_topics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_files import (
    BEGIN_UTC_S,
    OUT_FORMS,
    ROLL_DEG,
    TIME_S,
    ardupilot_rows,
    px4_flight,
    roll_deg,
    write_ardupilot_flight,
    write_old_ardupilot_flight,
    write_px4_flight,
)

from ironbird.errors import IronbirdError, LinkError
from ironbird.protocols.ardupilot_flight import read_ardupilot_flight
from ironbird.protocols.flight_log import ERROR, INFO, WARNING, FlightLog, gaps, grouped, spans
from ironbird.protocols.px4_flight import read_px4_flight

DATA = Path(__file__).parents[2] / "data" / "autopilot_logs"


@pytest.fixture
def px4(tmp_path: Path) -> FlightLog:
    return read_px4_flight(write_px4_flight(tmp_path / "flight.ulg"))


@pytest.fixture
def ardupilot(tmp_path: Path) -> FlightLog:
    return read_ardupilot_flight(write_ardupilot_flight(tmp_path / "flight.BIN"))


def test_a_ulog_holds_what_was_logged(px4: FlightLog) -> None:
    assert px4.notes == [] and px4.facts["firmware"] == "PX4 1.16.0" and px4.facts["vehicle"] == "quadrotor"
    np.testing.assert_allclose(np.degrees(px4.series["attitude"].values[:, 0]), roll_deg(TIME_S), atol=1e-6)
    assert np.degrees(px4.series["attitude_set"].values[:, 0]).max() == pytest.approx(ROLL_DEG, abs=0.01)
    assert px4.modes == [(0.0, "LOITER"), (2.0, "TAKEOFF"), (12.0, "MISSION")]
    assert px4.armed == [(0.0, "disarmed"), (2.0, "armed"), (19.0, "disarmed")]
    assert px4.landed == [(0.0, "landed"), (3.0, "in the air"), (18.0, "landed")]
    assert px4.started == datetime.fromtimestamp(BEGIN_UTC_S, UTC)
    assert px4.names["output"] == ["motor 1", "motor 2", "motor 3", "motor 4"] and px4.rotors == 4
    assert px4.length_s == pytest.approx(TIME_S[-1])
    assert {topic.name for topic in px4.topics} >= {"odd_topic", "vehicle_attitude"}


def test_messages_have_their_level_and_parameters_their_default(px4: FlightLog) -> None:
    assert [(one.level, one.time_s) for one in px4.messages] == [(INFO, 3.0), (WARNING, 8.5), (ERROR, 16.0)]
    assert px4.parameters == {"MC_ROLL_P": 7.5} and px4.non_default() == [("MC_ROLL_P", 7.5, 6.5)]
    (change,) = px4.changed
    assert (change.name, change.before, change.after) == ("MC_ROLL_P", 7.5, 7.0)
    assert [length for _, length in px4.dropouts] == [0.12]


def test_a_dataflash_log_holds_what_was_logged(ardupilot: FlightLog) -> None:
    assert ardupilot.notes == [] and ardupilot.facts["firmware"].startswith("ArduCopter V4.7.0")
    assert ardupilot.facts["frame"] == "QUAD/X" and ardupilot.rotors == 3  # the first output never moved
    roll = ardupilot.series["attitude"]
    np.testing.assert_allclose(np.degrees(roll.values[:, 0]), roll_deg(roll.time_s), atol=0.006)  # centidegrees
    assert ardupilot.modes == [(0.0, "LOITER"), (12.0, "AUTO")]
    assert ardupilot.armed == [(0.0, "disarmed"), (2.0, "armed"), (19.0, "disarmed")]
    assert ardupilot.landed == [(0.0, "landed"), (3.0, "in the air"), (18.0, "landed")]
    assert len(ardupilot.series["acceleration"]) == len(roll)  # of the first IMU alone
    np.testing.assert_allclose(ardupilot.series["acceleration"].values[:, 2], -9.8, rtol=1e-6)
    # week 2288 of GPS begins on 12 November 2023; GPS is 18 s ahead of UTC
    assert ardupilot.started == datetime(2023, 11, 11, 23, 59, 42, tzinfo=UTC)
    assert np.nanmax(ardupilot.series["battery_used"].values) == pytest.approx(3.6 * 3.0 * 19.8, rel=1e-3)


def test_ardupilots_errors_and_doubtful_messages_come_forward(ardupilot: FlightLog) -> None:
    bad = [(one.level, one.time_s, one.text) for one in ardupilot.messages if one.level != INFO]
    assert bad == [(ERROR, 14.0, "GPS: error 2"), (WARNING, 14.2, "GPS Glitch or Compass error")]
    ((name, value, usual),) = ardupilot.non_default()
    assert name == "ATC_RAT_RLL_P" and [value, usual] == pytest.approx([0.2, 0.135])
    (change,) = ardupilot.changed
    assert (change.name, change.time_s, change.after) == ("WPNAV_SPEED", 13.0, 500.0)


def test_logs_of_2014_have_milliseconds_and_records_without_a_time(tmp_path: Path) -> None:
    log = read_ardupilot_flight(write_old_ardupilot_flight(tmp_path / "old.BIN"))

    assert log.facts["vehicle"] == "copter" and log.notes == []
    assert log.length_s == pytest.approx(10.0) and log.modes == [(0.0, "STABILIZE"), (5.0, "ALT_HOLD")]
    assert [(one.time_s, one.text) for one in log.messages if one.level == ERROR] == [(5.0, "crash check: error 1")]
    assert log.series["battery_voltage"].values[0, 0] == pytest.approx(15.5)
    assert log.series["satellites"].time_s[0] == pytest.approx(0.1)  # time since the start, not of the week


@pytest.mark.parametrize("path", sorted([*DATA.glob("*.ulg"), *DATA.glob("*.BIN")]), ids=lambda path: path.name)
def test_pieces_of_real_autopilots_logs_are_read(path: Path) -> None:
    log = (read_px4_flight if path.suffix == ".ulg" else read_ardupilot_flight)(path)

    assert log.notes == [] and log.modes and log.topics and log.length_s > 1
    assert all(np.isfinite(series.values).any() for series in log.series.values())


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_log_that_is_cut_off_shows_what_is_whole(tmp_path: Path, share: float) -> None:
    data = write_px4_flight(tmp_path / "a.ulg").read_bytes()
    (tmp_path / "b.ulg").write_bytes(data[: int(share * len(data))])

    log = read_px4_flight(tmp_path / "b.ulg")

    assert log.notes == ["the file is damaged or cut off; what could be read is shown"]
    assert 0 < log.length_s < 20 and "attitude" in log.series


def test_a_part_of_another_form_is_a_note_and_does_not_lose_the_others(tmp_path: Path) -> None:
    topics = px4_flight()
    del topics["vehicle_gps_position", 0]["fix_type"]
    log = read_px4_flight(write_ulog_topics(tmp_path / "a.ulg", topics))

    assert len(log.notes) == 1 and log.notes[0].startswith("GNSS: not in a form that is known")
    assert "attitude" in log.series and "satellites" not in log.series


def test_a_dataflash_log_without_samples_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.BIN").write_bytes(b"\xa3\x95" * 100)
    with pytest.raises(LinkError, match="without a single sample"):
        read_ardupilot_flight(tmp_path / "a.BIN")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    damage=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=30), cut=st.floats(0.2, 1)
)
def test_damaged_bytes_never_raise_but_a_sentence(tmp_path: Path, damage: list[tuple[float, int]], cut: float) -> None:
    rows = dataflash_bytes(ardupilot_rows()[:400], OUT_FORMS)
    for name, data, read in (
        ("a.BIN", bytearray(rows), read_ardupilot_flight),
        ("a.ulg", bytearray((DATA / "px4_gyro_stuck.ulg").read_bytes()), read_px4_flight),
    ):
        for place, value in damage:
            data[int(place * len(data))] = value
        path = tmp_path / name
        path.write_bytes(bytes(data[: int(cut * len(data))]))
        try:
            with np.errstate(all="ignore"):
                log = read(path)
        except IronbirdError:
            continue
        assert math.isfinite(log.length_s)


def test_spans_gaps_and_groups() -> None:
    assert spans([(1.0, "a"), (3.0, "b")], 5.0) == [(1.0, 3.0, "a"), (3.0, 5.0, "b")] and spans([], 5.0) == []
    times = np.concatenate([np.arange(0, 1, 0.01), np.arange(3, 4, 0.01)])
    ((begin_s, length_s),) = gaps(times)
    assert [begin_s, length_s] == pytest.approx([0.99, 2.01])
    joined = grouped(
        {"q[0]": np.array([1, 2]), "q[1]": np.array([3, 4]), "x": np.array([5, 6]), "y[3]": np.array([7, 8])}
    )
    assert {name: values.shape for name, values in joined.items()} == {"q": (2, 2), "x": (2,), "y[3]": (2,)}
