"""Autopilots as a ground station meets them: what each calls things, how it codes them, and where another comes in."""

import math
import re
import socket
import time
from pathlib import Path

import pytest

import ironbird.ground
from ironbird.errors import LinkError
from ironbird.ground.dialects import ARDUPILOT, DIALECTS, PX4, AutopilotDialect, SetMode
from ironbird.ground.station import Station
from ironbird.ground.wires import Port
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.numbers import NAV_WAYPOINT, PX4_AUTO_MAIN
from ironbird.protocols.plan_file import PlanItem
from ironbird.vehicles.kinds import VehicleClass

KINDS: tuple[VehicleClass, ...] = ("copter", "plane", "vtol", "rover", "boat", "sub")
INT32, REAL32 = 6, 9  # MAV_PARAM_TYPE
SLOW = '''
from ironbird.ground.dialects import Px4Dialect


class Slow(Px4Dialect):
    """An autopilot that speaks as PX4 does, but for its name and one mode."""

    name = "slow"
    number = 20
    words = {"hold": "POSCTL"}


SLOW = Slow()
'''


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("autopilot", [PX4, ARDUPILOT], ids=lambda one: one.name)
def test_a_mode_that_is_ordered_is_the_mode_that_the_heartbeat_reports(
    autopilot: AutopilotDialect, kind: VehicleClass
) -> None:
    """For each of Ironbird's words but take-off, which is a mode of ArduPilot's planes alone."""
    for word in set(PX4.words) - {"take-off"}:
        name = autopilot.modes(kind)[word]
        main, sub = autopilot.mode_numbers(kind, name)
        custom = main if autopilot is ARDUPILOT else main << 16 | sub << 24
        assert autopilot.mode_name(kind, 1, custom) == name, word


def test_a_mode_that_an_autopilot_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(LinkError, match=r"PX4 has no mode 'QLAND'; it has .*MISSION"):
        PX4.mode_numbers("copter", "QLAND")
    with pytest.raises(LinkError, match=r"ArduPilot's rover has no mode 'LAND'; it has .*HOLD"):
        ARDUPILOT.mode_numbers("rover", "LAND")
    assert PX4.mode_name("copter", 1, PX4_AUTO_MAIN << 16 | 99 << 24) == f"mode {PX4_AUTO_MAIN}.99 (1)"


def test_px4_sends_whole_numbers_as_the_bits_of_a_float_and_ardupilot_as_a_float() -> None:
    for value, kind in ((-7.0, INT32), (2.5, REAL32)):
        assert PX4.decoded(PX4.encoded(value, kind), kind) == value
        assert ARDUPILOT.encoded(value, kind) == ARDUPILOT.decoded(value, kind) == value
    assert PX4.encoded(7.0, INT32) == pytest.approx(7 * 2.0**-149, rel=0.0)  # the seventh of the smallest floats
    with pytest.raises(LinkError, match=r"3e\+09 does not fit a parameter of MAVLink type 6"):
        PX4.encoded(3e9, INT32)


def test_ardupilot_keeps_home_in_place_0_and_takes_0_for_what_is_left_to_it() -> None:
    plan = [PlanItem(NAV_WAYPOINT, params=(1.0, 0.0, 0.0, math.nan), latitude_deg=47.0, longitude_deg=8.0)]
    assert PX4.plan_of(PX4.mission_items(plan, (47.4, 8.5, 488.0))) == plan
    home, first = ARDUPILOT.mission_items(plan, (47.4, 8.5, 488.0))
    assert (home.latitude_deg, home.longitude_deg, home.altitude_m) == (47.4, 8.5, 488.0) and first == plan[0]
    assert ARDUPILOT.plan_of([home, first]) == plan
    assert list(ARDUPILOT.item_params(plan[0].params)) == [1.0, 0.0, 0.0, 0.0]
    assert PX4.item_params(plan[0].params) == plan[0].params


def test_another_autopilot_is_one_object_that_a_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    monkeypatch.setenv("IRONBIRD_DIALECTS", f"slow={file}:SLOW")
    slow = DIALECTS.load("slow")
    assert slow.start_mission("copter")[0] == SetMode("MISSION")
    packer = Packer(1, 1)
    packer.add(dialect.HEARTBEAT, 3 << 16, 2, slow.number, 1, 4, 3)
    port = Port(0)
    station = Station(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(packer.take(), port.socket.getsockname())
        deadline = time.monotonic() + 60.0
        while not station.received and time.monotonic() < deadline:
            station.receive()
    station.close()
    assert (station.dialect, station.mode, station.system) == (slow, slow.modes("copter")["hold"], 1)


def test_what_differs_between_autopilots_stands_in_their_dialects_alone() -> None:
    """Nothing else in the ground stations asks for the name of an autopilot."""
    asks = re.compile(r"""[!=]= *["'](px4|ardupilot)["']|\bin \(["'](px4|ardupilot)["']""")
    files = sorted(Path(ironbird.ground.__path__[0]).rglob("*.py"))
    assert len(files) > 10
    assert not [f"{file.name}: {line}" for file in files for line in file.read_text().splitlines() if asks.search(line)]
