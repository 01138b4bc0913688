"""What a log shows in numbers: each is known from how the flight was made."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from log_files import ROLL_DEG, write_ardupilot_flight, write_px4_flight

from ironbird.protocols.flight_log import ERROR, WARNING, FlightLog, Message
from ironbird.report.log.read import read_flight_log
from ironbird.report.log.summary import (
    battery,
    duration,
    extremes,
    figures,
    findings,
    flown_spans,
    followed,
    gnss,
    sentence,
    summary_rows,
)


@pytest.fixture
def px4(tmp_path: Path) -> FlightLog:
    return read_flight_log(write_px4_flight(tmp_path / "flight.ulg"))


@pytest.fixture
def ardupilot(tmp_path: Path) -> FlightLog:
    return read_flight_log(write_ardupilot_flight(tmp_path / "flight.BIN"))


@pytest.mark.parametrize("kind", ["px4", "ardupilot"])
def test_extremes_are_those_of_the_flight(kind: str, request: pytest.FixtureRequest) -> None:
    log = request.getfixturevalue(kind)
    most = extremes(log)

    assert flown_spans(log) == [(3.0, 18.0)]
    assert most["tilt_deg"].value == pytest.approx(ROLL_DEG, abs=0.01)
    assert most["tilt_deg"].time_s == pytest.approx(10.0, abs=0.05)
    assert most["height_m"].value == pytest.approx(10.0) and most["distance_m"].value == pytest.approx(30.0)
    assert sentence(log).startswith("Flew 15.0 s in ") and "tilted by up to 20° at 10.0 s" in sentence(log)


def test_battery_and_gnss_are_those_of_the_log(px4: FlightLog) -> None:
    used, receiver = battery(px4), gnss(px4)

    assert used["first_v"] == pytest.approx(16.8) and used["used_mah"] == pytest.approx(55, abs=0.1)
    # 10 A at 16.3 V for the 19.8 s between the first and the last sample
    assert used["used_wh"] == pytest.approx(16.3 * 10 * 19.8 / 3600, rel=1e-3)
    assert receiver["satellites"] == 12 and receiver["without_fix_s"] == pytest.approx(0.8, abs=0.21)


def test_what_is_beyond_a_limit_stands_out_with_its_time(px4: FlightLog, ardupilot: FlightLog) -> None:
    found = {one.text: one for one in findings(px4)}
    (ratio,) = [one for text, one in found.items() if text.startswith("The estimator rejects velocity")]
    assert ratio.level == WARNING and ratio.time_s == pytest.approx(8.2) and "up to 2.5" in ratio.text
    (lost,) = [one for text, one in found.items() if "no position fix" in text]
    assert lost.level == ERROR and lost.time_s == pytest.approx(14.2)
    assert [one.level for one in findings(px4)] == sorted(
        (one.level for one in findings(px4)), key=["error", "warning", "info"].index
    )

    texts = [one.text for one in findings(ardupilot)]
    assert any(text.startswith("Vibration is doubtful: usually 40 m/s²") for text in texts)
    assert any(text.startswith("The estimator rejects height for 1.0 s") for text in texts)
    assert any("out of its range 4 times" in text for text in texts)


def test_messages_that_differ_in_numbers_alone_stand_out_once(px4: FlightLog) -> None:
    px4.messages = [Message(float(n), WARNING, f"delay of {n} ms") for n in range(1, 4)]
    assert [one.text for one in findings(px4) if "delay" in one.text] == ["“delay of 1 ms”, 3 times"]


def test_set_points_are_compared_with_what_was_logged_at_the_time(px4: FlightLog) -> None:
    rows = {(loop, axis): (rms, most) for loop, axis, rms, most in followed(px4)}

    # the greatest slope of the bump is 20 sqrt(2/e) degrees a second; the set-point is 0.1 s ahead
    assert rows["attitude", "roll"][1] == pytest.approx(2 * math.sqrt(2 / math.e), rel=0.02)
    assert rows["attitude", "pitch"][1] == pytest.approx(0.0, abs=1e-6)


def test_the_table_says_what_there_is(px4: FlightLog) -> None:
    rows = summary_rows(px4)

    assert rows["firmware"] == "PX4 1.16.0" and rows["in the air"] == "15.0 s" and rows["length"] == "20.0 s"
    assert rows["messages"] == "1 error, 1 warning, 3 in all" and rows["dropouts"] == "1, 0.12 s in all"
    assert rows["parameters"] == "1, 1 not at their default, 1 change while logging"
    assert figures(px4)["largest"]["height_m"]["value"] == pytest.approx(10.0)


def test_modes_of_flight_that_follow_each_other_are_one_flight(px4: FlightLog) -> None:
    modes = [(0.0, "disarmed"), (3.0, "take-off"), (7.0, "mission"), (12.0, "disarmed"), (14.0, "hold")]
    log = replace(px4, landed=[], armed=[], modes=modes, length_s=18.0)

    assert flown_spans(log) == [(3.0, 12.0), (14.0, 18.0)] and "in 2 flights" in sentence(log)
    once = replace(log, modes=modes[:4])
    assert flown_spans(once) == [(3.0, 12.0)] and sentence(once).startswith("Flew 9.0 s in take-off and mission")


def test_a_log_of_a_vehicle_that_was_never_armed_says_so(px4: FlightLog) -> None:
    px4.armed, px4.landed = [(0.0, "disarmed")], [(0.0, "landed")]
    assert sentence(px4) == "It was not armed in the 20.0 s of this log."


def test_times_in_words() -> None:
    assert [duration(s) for s in (41.33, 725, 3725)] == ["41.3 s", "12 min 05 s", "1 h 02 min"]
