"""Logs in the formats of other tools, read back by readers that nobody here wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.errors import RunError, UnknownNameError
from ironbird.report.log_formats import FORMATS, convert_log
from ironbird.rotations import rotate
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle

PATHS = ["body", "rotor/1/motor", "imu/1/accel_fault", "imu/1/gyro_fault", "gnss/1/chip"]


@pytest.fixture(scope="module")
def log() -> Log:
    state = start(compile_model(load_vehicle("quad_f450", control="external").diagram), seed=3)
    state.set_param("body.p_0", [3.0, 4.0, -20.0])
    state.set_param("body.w_0", [0.5, -0.3, 0.2])
    found = run(state, 0.5, log=PATHS, log_s=0.02, threads=1)
    found.meta = {"ironbird.vehicle": "quad_f450", "ironbird.seed": "3"}
    return found


@pytest.fixture
def parquet(log: Log, tmp_path: Path) -> Path:
    log.to_parquet(tmp_path / "flight.parquet")
    return tmp_path / "flight.parquet"


def test_a_log_read_back_from_parquet_is_the_same_to_the_bit(log: Log, parquet: Path) -> None:
    again = read_log(parquet)

    assert again.sha256() == log.sha256() and again.meta == log.meta
    assert again.signals["body.p_NB_N"].unit == "m" and again.signals["body.p_NB_N"].frame == "N"


def test_mcap_is_read_by_the_ros_2_decoder_in_the_axes_of_rep_103(log: Log, parquet: Path) -> None:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found: dict[str, list[Any]] = {}
    with convert_log(parquet, "mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, _, message in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append(message)

    assert {"/odom", "/tf", "/imu", "/fix", "/ironbird/rotor/1/motor", "/ironbird/body"} <= set(found)
    assert all(len(messages) == len(log.time_s) for messages in found.values())
    row = 7
    odom = found["/odom"][row]
    north, east, down = log["body.p_NB_N"][row]
    place, turn = odom.pose.pose.position, odom.pose.pose.orientation
    assert (place.x, place.y, place.z) == (east, north, -down)
    # the body's forward axis in both worlds: east-north-up is north-east-down with x and y exchanged and z turned
    ahead = rotate(log["body.q_NB"][row], [1.0, 0.0, 0.0])
    seen = rotate([turn.w, turn.x, turn.y, turn.z], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(seen, [ahead[1], ahead[0], -ahead[2]], atol=1e-12)
    assert odom.header.stamp.nanosec == round(log.time_s[row] * 1e9)
    imu = found["/imu"][row]
    assert imu.linear_acceleration.z == -log["imu/1/accel_fault.value"][row][2]
    motor = found["/ironbird/rotor/1/motor"][row]
    assert motor.speed == log["rotor/1/motor.speed"][row]
    fix = found["/fix"][-1]
    assert fix.latitude == pytest.approx(40.154, abs=0.01)


def test_definitions_in_the_mcap_file_are_those_of_ros_2(parquet: Path) -> None:
    from mcap.reader import make_reader

    with convert_log(parquet, "mcap").open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None and reader.get_header().profile == "ros2"
    schemas = {schema.name: schema for schema in summary.schemas.values()}

    assert schemas["nav_msgs/msg/Odometry"].encoding == "ros2msg"
    assert b"MSG: geometry_msgs/Quaternion" in schemas["nav_msgs/msg/Odometry"].data
    assert b"[rad/s]" in schemas["ironbird_msgs/msg/Rotor1Motor"].data


def test_matlab_files_are_read_by_scipy_with_units(log: Log, parquet: Path) -> None:
    from scipy.io import loadmat

    read = loadmat(convert_log(parquet, "mat"), simplify_cells=True)

    assert (read["body"]["p_NB_N"] == log["body.p_NB_N"]).all() and (read["time_s"] == log.time_s).all()
    assert (read["rotor_1_motor"]["speed"] == log["rotor/1/motor.speed"]).all()
    assert read["units"]["rotor_1_motor"]["speed"] == "rad/s" and read["meta"]["ironbird_vehicle"] == "quad_f450"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_repeats_to_the_byte(parquet: Path, tmp_path: Path, name: str) -> None:
    first, second = (convert_log(parquet, name, tmp_path / f"{n}.{name}").read_bytes() for n in "ab")

    assert first == second and len(first) > 1000


def test_what_is_no_log_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(RunError, match="is no log"):
        read_log(tmp_path / "a.parquet")
    with pytest.raises(RunError, match="is no log"):
        read_log(tmp_path / "missing.parquet")
    with pytest.raises(UnknownNameError, match="mcap"):
        convert_log(tmp_path / "a.parquet", "mcapp")
