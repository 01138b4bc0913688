"""ArduPilot in virtual time: a flight with faults in wind, to the last byte of its own log."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ironbird.flight.flight import fly
from ironbird.flight.order import Weather

pytestmark = pytest.mark.autopilot
FAULTS = [
    "rotor.speed_loss@1:instance=1,severity=0.15,start=45,end=60",
    "environment.gnss_denied@1:severity=1,start=62,end=70",
]


def test_ardupilot_flies_the_same_flight_again_to_the_last_byte_of_its_own_log(tmp_path: Path) -> None:
    found = set()
    for number in range(2):
        flight = fly(
            "quad_f450",
            control="ardupilot",
            mission="square",
            weather=Weather(5.0, 270.0, 7.7),
            faults=FAULTS,
            seed=3,
            until_s=75.0,
            options={"time": "virtual"},
            folder=tmp_path / str(number),
        )
        logs = [hashlib.sha256(path.read_bytes()).hexdigest() for path in flight.logs if path.suffix == ".BIN"]
        assert logs and flight.repeats
        assert all(witness.effective for witness in flight.witnesses)
        found.add((flight.sha256, *logs, str(flight.happenings), str(flight.link)))
    assert len(found) == 1
