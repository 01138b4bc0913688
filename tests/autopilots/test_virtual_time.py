"""PX4 and ArduPilot in virtual time: flights to the last byte of their own logs, and what a fault caused in them."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

import ironbird as ib
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.cause import cause_of
from ironbird.flight.flight import fly
from ironbird.flight.healthy import fly_healthy
from ironbird.flight.order import Weather

pytestmark = pytest.mark.autopilot
LATER_S = {"px4": 0.0, "ardupilot": 30.0}  # ArduPilot is ready so much later, and its log begins when it is armed


def test_the_same_flight_again_to_the_last_byte_of_its_own_log_also_with_a_listening_ground_station(
    autopilot: str, tmp_path: Path
) -> None:
    later_s = LATER_S[autopilot]
    faults = [
        f"rotor.speed_loss@1:instance=1,severity=0.15,start={20 + later_s:g},end={35 + later_s:g}",
        f"environment.gnss_denied@1:severity=1,start={37 + later_s:g},end={45 + later_s:g}",
    ]
    found = set()
    for number in range(2):
        flight = fly(
            "quad_f450",
            control=autopilot,
            mission="square",
            weather=Weather(5.0, 270.0, 7.7),
            faults=faults,
            seed=3,
            until_s=50.0 + later_s,
            options={"time": "virtual", "ground_station": bool(number)},
            folder=tmp_path / str(number),
        )
        assert any(path.suffix in (".BIN", ".ulg") for path in flight.logs) and flight.repeats
        assert all(witness.effective for witness in flight.witnesses)
        own = beside(flight)
        assert isinstance(own, AutopilotEstimate) and own.uncovered() == ""
        found.add(flight.sha256_of_all)
    assert len(found) == 1


def test_a_fault_caused_what_its_healthy_twin_does_not_do(autopilot: str, tmp_path: Path) -> None:
    flight = fly(
        "quad_f450",
        control=autopilot,
        mission="square",
        faults=["environment.gnss_denied@1:severity=1,start=3,when=altitude > 8 m"],
        seed=3,
        until_s=45.0 + LATER_S[autopilot],
        options={"time": "virtual"},
        folder=tmp_path / "faulted",
    )
    begin_s = flight.witnesses[0].first_s
    cause = cause_of(flight, fly_healthy(flight.order, tmp_path / "healthy")[1])
    assert begin_s - 0.1 < cause.first_s < begin_s + 1.0
    assert any("no longer fused" in event.text for event in cause.caused)
    assert all(event.time_s >= cause.first_s for event in cause.caused)


def test_a_twin_without_a_fault_that_acts_is_the_same_to_the_last_byte(autopilot: str, tmp_path: Path) -> None:
    flight = fly(
        "quad_f450",
        control=autopilot,
        mission="square",
        faults=["rotor.speed_loss@1:instance=1,severity=0.5,start=0,when=altitude > 500 m"],
        until_s=20.0 + LATER_S[autopilot],
        options={"time": "virtual"},
        folder=tmp_path / "faulted",
    )
    cause = cause_of(flight, fly_healthy(flight.order, tmp_path / "healthy")[1])
    assert cause.first_s == math.inf and cause.caused == []


# ------------------------------------------------------------------------------ ground stations of others


def command(found: list[BaseException], address: str = "udpin:127.0.0.1:14550") -> None:
    """A client in wall time: take-off to 4 m and landing."""
    try:
        with ib.connect(address, within_s=120.0) as vehicle:
            vehicle.wait_ready(within_s=240.0)
            vehicle.arm(within_s=120.0)
            vehicle.take_off(4.0, within_s=120.0)
            vehicle.land()
            vehicle.wait_disarmed(within_s=120.0)
    except BaseException as error:
        found.append(error)


def test_what_another_ground_station_commanded_is_recorded_and_flown_again_to_the_last_byte(
    autopilot: str, tmp_path: Path
) -> None:
    failed: list[BaseException] = []
    client = threading.Thread(target=command, args=(failed,))
    client.start()
    flight = fly(
        "quad_f450",
        control=autopilot,
        mission=None,
        weather=Weather(3.0, 270.0, 5.0),
        seed=2,
        until_s=200.0,
        speed=3.0,
        options={"time": "paced", "pilot": "none"},
        folder=tmp_path / "commanded",
    )
    client.join(timeout=300.0)
    assert failed == [] and not client.is_alive()
    assert flight.records and flight.repeats and -flight.log["body.p_NB_N"][:, 2].min() > 3.0
    again = fly(flight.order, speed=1e6, folder=tmp_path / "again")  # nobody commands
    assert again.sha256 == flight.sha256 and again.sha256_of_all == flight.sha256_of_all
