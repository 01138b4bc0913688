"""The real PX4 and ArduPilot, built for the PilotPi, on our chips; `make test-autopilots` runs it.

Needs IRONBIRD_PX4_PILOTPI or IRONBIRD_ARDUPILOT_PILOTPI: what is not there is skipped.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.systems.ardupilot import on_chips as ardupilot
from ironbird.systems.px4 import on_chips as px4

VARIABLES = {"px4": px4.variable_of("pilotpi"), "ardupilot": ardupilot.variable_of("pilotpi")}
pytestmark = pytest.mark.autopilot
WATCHED = ("/tmp", "/var/tmp", "/dev/shm", "/var/lib", "/var/log", "/fs", "/home", "/etc", "/")


def flown(control: str, folder: Path, *faults: str, until_s: float = 200.0) -> Flight:
    """The square, in virtual time."""
    if not os.environ.get(VARIABLES[control]):
        pytest.skip(f"{VARIABLES[control]} names no program")
    return fly(
        "quad_f450", control=control, mission="square", faults=faults, seed=1, until_s=until_s,
        options={"chips": "pilotpi", "time": "virtual"}, folder=folder,
    )  # fmt: skip


def said(flight: Flight) -> str:
    return " | ".join(event.text for event in flight.autopilot_events)


def belongings(control: str) -> set[str]:
    """Names that a program could have left behind, and what it would have changed in its own folder."""
    build = Path(os.environ[VARIABLES[control]])
    found = {str(path) for place in WATCHED if Path(place).is_dir() for path in Path(place).iterdir()}
    own = {f"{path} {path.stat().st_mtime_ns}" for path in (build, *build.iterdir()) if path.exists()}
    return found | own


@pytest.mark.parametrize("control", list(VARIABLES))
def test_a_mission_over_its_own_drivers_repeats_to_the_last_request(control: str, tmp_path: Path) -> None:
    first, again = flown(control, tmp_path / "1"), flown(control, tmp_path / "2")
    assert first.survived and "landed and disarmed" in said(first)
    assert first.measured["requests"] > 100_000
    assert first.measured["bus_hash"] == again.measured["bus_hash"] and first.sha256 == again.sha256


@pytest.mark.parametrize("control", list(VARIABLES))
def test_nothing_on_the_host_changes(control: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.environ.get(VARIABLES[control]):
        pytest.skip(f"{VARIABLES[control]} names no program")
    own = Path(tempfile.mkdtemp(prefix="host-"))  # the folders of this run alone
    own.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    before, clock_s = belongings(control), time.time() - time.monotonic()
    links = Path("/proc/net/dev").read_text().splitlines()[2:]
    flown(control, tmp_path, until_s=45.0)  # beyond the first fix, after which both set the clock
    assert abs(time.time() - time.monotonic() - clock_s) < 0.5
    assert not {name for name in belongings(control) - before if not name.startswith("/tmp/")}  # runs of others
    assert not list(own.iterdir())
    own.rmdir()
    assert [line.split(":")[0] for line in Path("/proc/net/dev").read_text().splitlines()[2:]] == [
        line.split(":")[0] for line in links
    ]


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("wire.miso_open_high@1:instance=imu,start=40,end=44", "Accel #0 fail"),
        ("wire.sda_short_low@1:instance=i2c1,start=40,end=43", "MAG #0 failed"),
        ("wire.nack@1:instance=baro,start=40,end=44", "BARO #0 failed"),
        ("chip.reset@1:instance=gps,start=40,end=41", "Failsafe activated"),
    ],
)
def test_px4_reports_what_a_broken_line_does(tmp_path: Path, order: str, text: str) -> None:
    flight = flown("px4", tmp_path, order)
    assert text in said(flight)
    assert flight.witnesses[0].effective and 40.0 <= flight.witnesses[0].first_s < 40.2


def test_px4_flies_on_after_a_reset_of_its_inertial_unit(tmp_path: Path) -> None:
    flight = flown("px4", tmp_path, "chip.reset@1:instance=imu,start=40,end=41")
    assert flight.survived and "landed and disarmed" in said(flight) and flight.witnesses[0].effective
