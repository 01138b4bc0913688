"""SECURITY.md names all that listens; links in it lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()

# Every file that opens a socket for others, and what the page says of it. Whoever adds one adds a row.
LISTENERS = {
    "app/server.py": "the page of the live rig",
    "boards/firmware/gdb.py": "a debugger's port of emulated firmware",
    "boards/served.py": "a program on chips (`board run`)",
    "flight/live.py": "live tuning",
    "systems/ardupilot/parameters.py": "parameters for ArduPilot's faults",
    "systems/ardupilot/receivers.py": "ArduPilot's receivers",
    "systems/ardupilot/link.py": "ArduPilot's simulator link",
    "ground/relay.py": "a ground station that commands in virtual time",
    "ground/wires.py": "the built-in ground station",
    "systems/hardware/bridge.py": "bridge to ground stations",
    "transport/cable.py": "a board on a network",
    "rflysim/ports.py": "RflySim's interface",
    "systems/commanded/mavlink/connections.py": "a vehicle served by MAVLink",
    "transport/router/cables.py": "the router",
    "host/process.py": "PX4's simulator link",  # and looks for free ports
    "host/virtual_time/run.py": "an autopilot in virtual time",
}


def test_all_that_listens_is_named() -> None:
    source = ROOT / "src" / "ironbird"
    opening = re.compile(r"\.bind\(\(|\.bind\(self|\.bind\(str|create_server|\.listen\([A-Z0-9_]+\)")
    found = {str(path.relative_to(source)) for path in source.rglob("*.py") if opening.search(path.read_text())}
    assert found == set(LISTENERS)
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for what in LISTENERS.values():
        assert any(row.startswith(f"| {what}") for row in rows), what


def test_nothing_listens_on_all_addresses() -> None:
    for name in LISTENERS:
        text = (ROOT / "src" / "ironbird" / name).read_text()
        assert "0.0.0.0" not in text and 'bind(("",' not in text, name


def test_ports_are_those_of_the_code() -> None:
    from ironbird.autopilots.ardupilot.process import PHYSICS_PORT, TCP_PORT
    from ironbird.autopilots.px4.process import LISTENER_PORT, PILOT_PORT, PX4_PORTS, SIMULATOR_PORT

    for port in (SIMULATOR_PORT, PILOT_PORT, LISTENER_PORT, PHYSICS_PORT, TCP_PORT, *PX4_PORTS):
        assert str(port) in PAGE, port


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert "://" in target or (ROOT / target).exists(), target
