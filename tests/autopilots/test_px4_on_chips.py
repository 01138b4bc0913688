"""The real PX4, built for the PilotPi, on our chips. Needs IRONBIRD_PX4_PILOTPI; `make test-autopilots` runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.links.px4.on_chips import variable_of

VARIABLE = variable_of("pilotpi")
pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]


def flown(folder: Path, *faults: str) -> Flight:
    """The square, in virtual time."""
    options = {"chips": "pilotpi", "time": "virtual"}
    return fly(
        "quad_f450", control="px4", mission="square", faults=faults, seed=1, until_s=200.0, options=options,
        folder=folder,
    )  # fmt: skip


def said(flight: Flight) -> str:
    return " | ".join(event.text for event in flight.autopilot_events)


def test_px4_flies_a_mission_over_its_own_drivers_and_repeats(tmp_path: Path) -> None:
    first, again = flown(tmp_path / "1"), flown(tmp_path / "2")
    assert first.survived and "landed and disarmed" in said(first) and "item 6 reached" in said(first)
    assert first.measured["requests"] > 100_000
    assert first.measured["bus_hash"] == again.measured["bus_hash"] and first.sha256 == again.sha256


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("wire.miso_open_high@1:instance=imu,start=40,end=44", "Accel #0 fail"),
        ("wire.sda_short_low@1:instance=i2c1,start=40,end=43", "MAG #0 failed"),
    ],
)
def test_px4_reports_a_broken_wire(tmp_path: Path, order: str, text: str) -> None:
    flight = flown(tmp_path, order)
    assert text in said(flight)
    assert flight.witnesses[0].effective and 40.0 <= flight.witnesses[0].first_s < 40.1
