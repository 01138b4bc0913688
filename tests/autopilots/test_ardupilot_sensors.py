"""The real ArduPilot on the vehicle's sensors: how many it has, how good they are, and what a fault of one does."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymavlink import DFReader

from ironbird.autopilots.ardupilot.process import find_program
from ironbird.errors import LinkError
from ironbird.flight import flight as flights
from ironbird.flight.flight import Flight
from ironbird.flight.order import make_order


def _missing() -> str:
    try:
        find_program("arducopter")
    except LinkError as error:
        return str(error)
    return ""


pytestmark = [pytest.mark.autopilot, pytest.mark.skipif(bool(_missing()), reason=_missing())]
Records = dict[tuple[str, int], list[dict[str, Any]]]


def fly(folder: Path, **ordered: Any) -> tuple[Flight, Records, list[str]]:
    options = {"time": "virtual"} | ordered.pop("options", {})
    flight = flights.fly(make_order("quad_f450", control="ardupilot", options=options, **ordered), folder=folder)
    found: Records = defaultdict(list)
    texts = []
    for log in folder.glob("*.BIN"):
        reader = DFReader.DFReader_binary(str(log))
        while (message := reader.recv_match(type=["IMU", "GPS", "GPA", "MAG", "BARO", "XKF1", "MSG"])) is not None:
            row = message.to_dict()
            if message.get_type() == "MSG":
                texts.append(str(row["Message"]))
            else:
                found[message.get_type(), int(row.get("I", row.get("C", 0)))].append(row)
        reader.filehandle.close()
    return flight, found, texts


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Flight, Records, list[str]]:
    return fly(tmp_path_factory.mktemp("healthy") / "out")


def test_it_has_as_many_sensors_as_the_vehicle(healthy: tuple[Flight, Records, list[str]]) -> None:
    flight, found, texts = healthy
    assert flight.verdict == "pass"
    kinds = [kind for kind, _ in found]
    assert {kind: kinds.count(kind) for kind in ("IMU", "GPS", "MAG", "BARO", "XKF1")} == {
        "IMU": 3, "GPS": 2, "MAG": 2, "BARO": 1, "XKF1": 2,
    }  # fmt: skip
    assert all(any(f"u-blox {n} HW: 00080000" in text for text in texts) for n in (1, 2))  # its own driver found them
    for unit, (gyro_hz, accel_hz) in enumerate(((1000, 1000), (760, 800), (1000, 1000))):
        row = found["IMU", unit][-1]
        assert row["GHz"] == pytest.approx(gyro_hz, abs=5) and row["AHz"] == pytest.approx(accel_hz, abs=5)
        assert row["GH"] == row["AH"] == 1
    fixes = [np.array([(row["Lat"], row["Lng"]) for row in found["GPS", n][-50:]]) for n in (0, 1)]
    assert np.abs(fixes[0] - fixes[1]).max() * 111_320 > 0.3  # each receiver has an error of its own
    assert found["GPA", 0][-1]["HAcc"] == pytest.approx(1.08, abs=0.1) and found["GPS", 0][-1]["NSats"] == 14


def test_units_differ_as_the_vehicles_do(healthy: tuple[Flight, Records, list[str]]) -> None:
    flight, found, _ = healthy
    for unit in range(3):
        name = f"imu/{unit + 1}/gyro_fault.value"
        if name not in flight.log:
            pytest.skip("the log has no inertial units")
        mean = np.array([[row[f"Gyr{axis}"] for axis in "XYZ"] for row in found["IMU", unit]]).mean(axis=0)
        rows = flight.log.time_s > found["IMU", unit][0]["TimeUS"] * 1e-6
        assert mean == pytest.approx(flight.log[name][rows].mean(axis=0), abs=0.01)


def test_a_fault_of_one_unit_is_logged_at_that_unit_and_the_lane_is_switched(tmp_path: Path) -> None:
    flight, found, texts = fly(tmp_path / "out", faults="imu.gyro_bias@1:instance=1,severity=0.2,start=70")
    ends = [found["IMU", unit][-100:] for unit in range(3)]
    rates = [float(np.mean([row["GyrX"] for row in rows])) for rows in ends]
    assert rates[0] == pytest.approx(0.2, abs=0.02) and max(map(abs, rates[1:])) < 0.02
    assert flight.verdict == "pass" and any("lane switch 1" in text for text in texts)


def test_a_late_position_has_a_velocity_that_is_not_late(tmp_path: Path) -> None:
    """Under ArduPilot's own delay both were late."""
    _, found, _ = fly(tmp_path / "out", faults="gnss.position_delay@1:instance=1,severity=1,start=55", until_s=100.0)
    first, second = ({round(row["TimeUS"], -5): row for row in found["GPS", n] if row["TimeUS"] > 60e6} for n in (0, 1))
    common = sorted(first.keys() & second.keys())
    assert len(common) > 50
    speeds = [abs(first[t]["Spd"] - second[t]["Spd"]) for t in common]
    places = [math.hypot(first[t]["Lat"] - second[t]["Lat"], first[t]["Lng"] - second[t]["Lng"]) for t in common]
    assert float(np.median(speeds)) < 0.3
    assert max(places) * 111_320 > 5.0


def test_a_parameter_that_it_lacks_is_an_error(tmp_path: Path) -> None:
    flight, _, _ = fly(tmp_path / "out", options={"params": "NOT_A_PARAM=3"}, until_s=30.0)
    assert flight.verdict == "error" and "has no parameter 'NOT_A_PARAM'" in flight.judged.sentence
