"""ArduPilot as a kind of control system: what a task becomes."""

from __future__ import annotations

import contextlib
import re

from ironbird.autopilots.kind import AutopilotOptions
from ironbird.faults.catalog import parse_fault
from ironbird.ground.pilot import Pilot
from ironbird.ground.relay import HEADER
from ironbird.protocols.mavlink.numbers import NAV_LAND, NAV_TAKEOFF, NAV_WAYPOINT
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.system import Task
from ironbird.systems.ardupilot.kind import ARDUPILOT, WATCHED, WATCHED_TCP
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.vehicles.load import load_vehicle

ITEMS = [LocalItem(10.0, 0.0, 5.0, 0.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
QUAD = load_vehicle("quad_f450", control="external")


def test_a_mission_becomes_the_plan_of_our_ground_station_on_the_first_link() -> None:
    fault = parse_fault("link.loss@1:start=20")
    task = Task(QUAD, ITEMS, AutopilotOptions(ground_station=True), until_s=60.0, injections=[fault])
    with contextlib.closing(ARDUPILOT.seat(task)) as seat:
        system, pilot = seat.system, seat.pilot
        assert isinstance(system, ArduPilot) and isinstance(pilot, Pilot) and system.process is not None
        assert [item.command for item in pilot.plan] == [NAV_TAKEOFF, NAV_WAYPOINT, NAV_LAND]
        assert system.process.extra == ("--serial2", "udpclient:127.0.0.1:14550") and not system.process.params
        assert system.injections == (fault,)


def test_other_ground_stations_get_ports_of_their_own_per_instance() -> None:
    told: list[str] = []
    task = Task(QUAD, ITEMS, AutopilotOptions(pilot="none", instance=3), until_s=90.0, announce=told.append)
    with contextlib.closing(ARDUPILOT.seat(task)) as seat:
        assert isinstance(seat.system, ArduPilot) and seat.system.process is not None
        assert seat.system.process.params == WATCHED_TCP + WATCHED
        serial = dict(zip(seat.system.process.extra[::2], seat.system.process.extra[1::2], strict=True))
    assert serial["--serial2"] == "udpclient:127.0.0.1:14580"
    tcp = re.search(r"listens on TCP (\d+)", told[0])
    assert tcp is not None and serial["--serial5"] == f"tcp:{tcp[1]}" and (int(tcp[1]) - 5790) % 10 == 0


def test_in_virtual_time_they_get_one_link_that_is_recorded() -> None:
    told: list[str] = []
    options = AutopilotOptions(pilot="none", instance=3, time="paced")
    task = Task(QUAD, ITEMS, options, until_s=90.0, announce=told.append)
    with contextlib.closing(ARDUPILOT.seat(task)) as seat:
        assert isinstance(seat.system, ArduPilot) and seat.system.process is not None
        assert seat.system.process.params == WATCHED
        assert seat.system.process.extra == ("--serial2", "udpclient:127.0.0.1:14550")
        assert seat.system.script() == f"{HEADER}\n"  # nothing was said yet
    assert "UDP 14580" in told[0] and "TCP" not in told[0]
