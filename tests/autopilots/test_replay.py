"""Flights of the real PX4 replayed through the real PX4. Needs IRONBIRD_PX4; `make test-autopilots` runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironbird.autopilots.px4.process import VARIABLE
from ironbird.faults.catalog import parse_fault
from ironbird.flight import flight as flights
from ironbird.flight.order import make_order
from ironbird.replay.replay import read_recording, replay

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.limit(600),
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a flight: it takes off, flies a square and lands."""
    folder = tmp_path_factory.mktemp("flown")
    order = make_order("quad_f450", control="px4", mission="square", options={"time": "virtual"}, until_s=90.0)
    assert flights.fly(order, folder=folder).verdict == "pass"
    return folder


def test_the_same_build_writes_the_same_log_with_all_its_estimators(folder: Path, tmp_path: Path) -> None:
    recording = read_recording(folder)
    done = replay(recording, [None], tmp_path)
    assert done.agrees and done.same_program and done.recording.exact
    assert done.comparison.parted is None  # far within 1e-5
    assert done.played[0].log.read_bytes() == recording.log.read_bytes()
    states = [topic for topic in done.comparison.topics if topic.topic.startswith("estimator_states")]
    assert [topic.topic for topic in states] == ["estimator_states", "estimator_states/1", "estimator_states/2"]
    assert all(topic.samples > 3000 for topic in states)


def test_a_fault_in_one_logged_unit_parts_its_estimator_first(folder: Path, tmp_path: Path) -> None:
    fault = parse_fault("imu.gyro_bias@1:instance=2,severity=0.02,start=30")
    done = replay(read_recording(folder), [None], tmp_path, faults=[fault])
    beyond = done.comparison.beyond
    assert beyond is not None
    assert beyond.topic.endswith("/1") and beyond.time_s == pytest.approx(30.0, abs=0.05)
    assert done.acted[fault.text()].first_s == pytest.approx(30.0)


def test_a_ulog_alone_comes_near(folder: Path, tmp_path: Path) -> None:
    done = replay(read_recording(folder, "log"), [None], tmp_path)
    assert not done.recording.exact and not done.played[0].ended
    for name, limit in (("attitude", 2.0), ("velocity", 0.3), ("position", 1.0)):
        assert float(done.figures[name].split()[2]) < limit
