"""Logs of autopilots in the formats of other tools, read back by readers of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_files import BEGIN_UTC_S, TIME_S, px4_flight, roll_deg, write_ardupilot_flight, write_px4_flight

from ironbird.credibility.readers import read_record
from ironbird.errors import RecordError, RunError
from ironbird.report.log.read import read_flight_log
from ironbird.report.log_formats import FLIGHT_FORMATS, convert_log
from ironbird.runtime.parquet_log import read_log


@pytest.fixture
def ulog(tmp_path: Path) -> Path:
    return write_px4_flight(tmp_path / "flight.ulg")


@pytest.fixture
def dataflash(tmp_path: Path) -> Path:
    return write_ardupilot_flight(tmp_path / "flight.BIN")


def decoded(path: Path) -> dict[str, list[tuple[int, Any]]]:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found: dict[str, list[tuple[int, Any]]] = {}
    with path.open("rb") as file:
        for _, channel, message, content in make_reader(
            file, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


def test_mcap_has_every_sample_of_every_topic_at_its_own_time(ulog: Path) -> None:
    found, topics = decoded(convert_log(ulog, "mcap")), px4_flight()

    for (name, _), columns in topics.items():
        assert len(found[f"/px4/{name}"]) == len(columns["timestamp"]), name
    stamp, attitude = found["/px4/vehicle_attitude"][2000]
    expected = [topics["vehicle_attitude", 0][f"q[{i}]"][2000] for i in range(4)]
    np.testing.assert_allclose(attitude.q, expected)
    assert stamp == (BEGIN_UTC_S + 10) * 10**9  # UTC, by the receiver's clock
    place = found["/odom"][2000][1].pose.pose.position
    assert (place.y, place.z) == (pytest.approx(15.0), pytest.approx(10.0))  # north and up, in ROS's axes
    assert found["/fix"] and found["/fix"][0][1].latitude == pytest.approx(40.1540302)


def test_mcap_of_ardupilot_keeps_texts_and_sensors_apart(dataflash: Path) -> None:
    found = decoded(convert_log(dataflash, "mcap"))

    assert found["/ardupilot/MSG"][0][1].message == "ArduCopter V4.7.0 (1511f271)"
    assert {content.i for _, content in found["/ardupilot/IMU"]} == {0, 1}


def test_matlab_has_a_structure_for_each_topic(ulog: Path) -> None:
    from scipy.io import loadmat

    read = loadmat(convert_log(ulog, "mat"), simplify_cells=True)

    np.testing.assert_allclose(read["vehicle_attitude"]["time_s"], TIME_S)
    assert read["vehicle_attitude"]["q"].shape == (len(TIME_S), 4)
    assert read["parameters"]["MC_ROLL_P"] == 7.5 and read["meta"]["firmware"] == "PX4 1.16.0"
    assert list(read["messages"]["text"])[-1] == "[commander] Failure"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_read_like_any_record(ulog: Path, tmp_path: Path, ending: str) -> None:
    path = convert_log(ulog, ending, tmp_path / f"table.{ending}")

    record = read_record(path)
    roll = record.track("roll")
    np.testing.assert_allclose(np.degrees(roll.values), roll_deg(roll.time_s), atol=1e-3)
    asked = record.track("wanted_roll")
    np.testing.assert_allclose(np.degrees(asked.values), roll_deg(asked.time_s + 0.1), atol=1e-3)
    np.testing.assert_allclose(record.track("motor_2").values, 0.5)
    again = read_flight_log(path)
    assert {"position", "attitude", "attitude_set", "output", "battery_voltage"} <= set(again.series)


def test_a_row_of_a_table_holds_the_values_of_its_time(dataflash: Path, tmp_path: Path) -> None:
    log = read_log(convert_log(dataflash, "parquet", tmp_path / "a.parquet"))

    assert np.diff(log.time()) == pytest.approx(0.04) and log.signals["roll"].unit == "rad"
    np.testing.assert_allclose(np.degrees(log["roll"]), roll_deg(log.time()), atol=0.006)  # centidegrees
    np.testing.assert_allclose(log["battery_remaining"][3:5], [1.0, 1.0])  # logged every 0.2 s, held between
    np.testing.assert_allclose(log["battery_remaining"][5:10], 0.998)


def test_a_csv_keeps_all_its_columns(tmp_path: Path) -> None:
    rows = "".join(f"{i / 50},{i},{2 * i}\n" for i in range(100))
    (tmp_path / "a.csv").write_text("time_s,roll_deg,something\n" + rows)

    log = read_log(convert_log(tmp_path / "a.csv", "parquet"))

    np.testing.assert_allclose(log["something"], 2 * np.arange(100))
    np.testing.assert_allclose(np.degrees(log["roll"]), np.arange(100))


@pytest.mark.parametrize("name", FLIGHT_FORMATS)
def test_every_format_repeats_to_the_byte(ulog: Path, tmp_path: Path, name: str) -> None:
    first, second = (convert_log(ulog, name, tmp_path / f"{n}.{name}").read_bytes() for n in "ab")
    assert first == second and len(first) > 1000


def test_a_ulog_is_not_converted_to_a_ulog(ulog: Path, dataflash: Path) -> None:
    with pytest.raises(RecordError, match=r"is a ULog of PX4: it can be converted to csv, mat, mcap, parquet"):
        convert_log(ulog, "ulg")
    with pytest.raises(RecordError, match="is a DataFlash log of ArduPilot: it can be converted to csv"):
        convert_log(dataflash, "ulg")
    (ulog.parent / "a.csv").write_text("time_s,roll\n" + "".join(f"{i / 50},0.1\n" for i in range(50)))
    with pytest.raises(RecordError, match="is a CSV file already"):
        convert_log(ulog.parent / "a.csv", "csv")


def test_no_library_speaks_when_a_file_is_no_parquet_log(ulog: Path) -> None:
    with pytest.raises(RunError, match="it is a ULog of PX4 \\('ironbird log show'") as refused:
        read_log(ulog)
    assert "magic" not in str(refused.value) and "footer" not in str(refused.value)
