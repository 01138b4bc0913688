"""ULog files, read back with pyulog: the reference reader of the PX4 project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyulog import ULog
from pyulog.px4 import PX4ULog

from ironbird.flight.flight import Flight, fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Weather
from ironbird.report.ulog import MOTORS, Topic, _unique, topic_name, write_ulog
from ironbird.runtime.log import Log
from ironbird.runtime.state import Stop


@pytest.fixture(scope="module")
def flight() -> Flight:
    faults = ["rotor.speed_loss@1:instance=1,severity=0.1,start=2"]
    return fly("quad_f450", control="truth", weather=Weather(3.0, 200.0, 5.0), seed=3, until_s=4.0, faults=faults)


def read(log: Log, path: Path, lane: int = 0, **more: dict[str, float]) -> ULog:
    write_ulog(log, path, lane, **more)
    return ULog(str(path))


def test_every_signal_reads_back_to_the_same_bits(flight: Flight, tmp_path: Path) -> None:
    log = flight.log

    ulog = read(log, tmp_path / "flight.ulg")

    assert not ulog.file_corruption
    for signal, declared in log.signals.items():
        block, _, name = signal.rpartition(".")
        data = ulog.get_dataset(topic_name(block)).data
        np.testing.assert_array_equal(data["timestamp"], np.round(log.time() * 1e6))
        values = log[signal].reshape(log.rows(), -1)
        for i in range(declared.size):
            field = name if declared.size == 1 else f"{name}[{i}]"
            np.testing.assert_array_equal(data[field], values[:, i], err_msg=f"{signal}[{i}]")


def test_px4_topics_hold_the_flight_in_single_precision(flight: Flight, tmp_path: Path) -> None:
    log = flight.log

    ulog = read(log, tmp_path / "flight.ulg")

    position = ulog.get_dataset("vehicle_local_position").data
    for i, axis in enumerate("xyz"):
        np.testing.assert_array_equal(position[axis], log["body.p_NB_N"][:, i].astype(np.float32))
        np.testing.assert_array_equal(position[f"v{axis}"], log["body.v_NB_N"][:, i].astype(np.float32))
    rates = ulog.get_dataset("vehicle_angular_velocity").data
    np.testing.assert_array_equal(rates["xyz[1]"], log["body.w_NB_B"][:, 1].astype(np.float32))
    motors = ulog.get_dataset("actuator_motors").data
    np.testing.assert_array_equal(motors["control[2]"], log["control.throttle_3"].astype(np.float32))
    assert np.isnan(motors[f"control[{MOTORS - 1}]"]).all()
    PX4ULog(ulog).add_roll_pitch_yaw()
    attitude = ulog.get_dataset("vehicle_attitude").data
    np.testing.assert_allclose(attitude["roll"], log["body.euler"][:, 0], atol=1e-6)  # float q: 6e-8 times a few


def test_information_parameters_and_the_stop_are_written(flight: Flight, tmp_path: Path) -> None:
    log = replace(flight.log, stops=[Stop(1.5, "hard landing")], meta={"ironbird.vehicle": "quäd", "empty": ""})

    ulog = read(log, tmp_path / "flight.ulg", params={"MAV_TYPE": 2, "MASS": 1.5})

    assert ulog.msg_info_dict == {"sys_name": "Ironbird", "ironbird_vehicle": "quäd"}
    assert ulog.initial_parameters == {"MAV_TYPE": 2, "MASS": 1.5}
    assert [(m.message, m.timestamp) for m in ulog.logged_messages] == [("hard landing", 1_500_000)]
    assert ulog.last_timestamp == 1_500_000  # the lane ends where it stopped


def test_a_lane_is_chosen(flight: Flight, tmp_path: Path) -> None:
    orders = [replace(flight.order, seed=seed, until_s=1.0) for seed in (3, 4)]
    log = fly_lanes(orders, flight.model, everything=True)[0].log

    second = read(log, tmp_path / "second.ulg", lane=1).get_dataset("rotor_1_motor").data["speed"]

    np.testing.assert_array_equal(second, log.lane("rotor/1/motor.speed", 1))
    assert (second != log["rotor/1/motor.speed"]).any()


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_logs_are_valid_files(flight: Flight, tmp_path: Path, rows: int) -> None:
    log = replace(flight.log, time_s=flight.log.time_s[:rows], data=flight.log.data[:, :rows])

    ulog = read(log, tmp_path / "tiny.ulg")

    assert not ulog.file_corruption
    assert ulog.msg_info_dict["sys_name"] == "Ironbird"
    assert len(ulog.data_list) == (38 if rows else 0)  # 34 blocks and 4 topics of PX4


def test_blocks_with_the_same_sanitised_name_stay_apart() -> None:
    topics = [Topic(topic_name(block), "double", {}) for block in ("a/b", "a_b", "a-b")]

    assert [topic.name for topic in _unique(topics)] == ["a_b", "a_b_2", "a_b_3"]
