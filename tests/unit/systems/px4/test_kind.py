"""PX4 as a kind of control system: what a task becomes."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from ironbird.autopilots.kind import AutopilotKind, AutopilotOptions, read_params
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.process import PILOT_PORT, Px4Process, free_instance
from ironbird.errors import LinkError
from ironbird.files.trust import Trust
from ironbird.flight.flight import fly
from ironbird.flight.order import make_order, parse_order
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Port
from ironbird.protocols.mavlink.numbers import NAV_LAND, NAV_TAKEOFF, NAV_WAYPOINT
from ironbird.protocols.plan_file import Home, LocalItem, PlanItem, plan_text
from ironbird.rig.system import Task
from ironbird.systems.ardupilot.kind import ARDUPILOT
from ironbird.systems.px4.kind import PX4
from ironbird.systems.px4.link import Px4
from ironbird.systems.px4.sticks import StickPilot
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.load import Vehicle, load_vehicle

ITEMS = [LocalItem(10.0, 0.0, 5.0, 0.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
QUAD = load_vehicle("quad_f450", control="external")


def test_a_mission_becomes_the_plan_of_our_ground_station(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_PX4", "/some/where")
    options = AutopilotOptions(folder="/some/where", instance=free_instance())
    task = Task(QUAD, ITEMS, options, until_s=60.0, folder=tmp_path, cruise_speed_mps=3.0)
    with contextlib.closing(PX4.seat(task)) as seat:
        system, pilot = seat.system, seat.pilot
        assert isinstance(system, Px4) and isinstance(pilot, Pilot)
        assert system.process is not None and system.process.pid is None  # not started yet
        assert (system.process.where, system.process.keep, system.process.watched) == ("/some/where", tmp_path, False)
        assert system.instance == options.instance
        assert [item.command for item in pilot.plan] == [
            NAV_TAKEOFF,
            178,
            NAV_WAYPOINT,
            NAV_LAND,
        ]
        assert pilot.plan[1].params[1] == 3.0
        with pytest.raises(LinkError, match=rf"UDP port {PILOT_PORT + (options.instance or 0)}"):
            PX4.seat(task)
    seat.close()
    PX4.seat(task).close()  # its ports are free again


def test_a_script_is_flown_in_place_of_the_mission() -> None:
    text = plan_text([PlanItem(NAV_WAYPOINT, latitude_deg=47.1, longitude_deg=8.2)], Home(47.0, 8.0, 400.0))
    with contextlib.closing(PX4.seat(Task(QUAD, ITEMS, AutopilotOptions(), until_s=60.0, script=text))) as seat:
        assert isinstance(seat.pilot, Pilot)
        assert [item.latitude_deg for item in seat.pilot.plan] == [47.1]


@pytest.mark.parametrize(
    ("items", "options"), [(ITEMS, AutopilotOptions(pilot="none")), ([], AutopilotOptions())], ids=["none", "no items"]
)
def test_ours_only_watches_when_another_commands_or_there_is_nothing_to_fly(
    items: list[LocalItem], options: AutopilotOptions
) -> None:
    told: list[str] = []
    with contextlib.closing(PX4.seat(Task(QUAD, items, options, until_s=90.0, announce=told.append))) as seat:
        assert isinstance(seat.system, Px4) and isinstance(seat.pilot, Pilot) and seat.system.process is not None
        assert seat.system.process.watched and seat.pilot.plan == []
    (said,) = told
    assert "udpin:127.0.0.1:14550" in said and f"UDP {PILOT_PORT + (seat.system.instance or 0)}" in said
    assert "at 90 s of simulation time" in said


def test_ports_are_not_announced_when_ours_commands() -> None:
    told: list[str] = []
    PX4.seat(Task(QUAD, ITEMS, AutopilotOptions(), until_s=9.0, announce=told.append)).close()
    assert told == []


def test_a_submarine_is_flown_by_sticks() -> None:
    rov = load_vehicle("rov_bluerov2_heavy", control="external")
    items = [LocalItem(3.0, 0.0, -2.0, 0.0, "waypoint")]
    with contextlib.closing(PX4.seat(Task(rov, items, AutopilotOptions(), until_s=60.0))) as seat:
        assert isinstance(seat.pilot, StickPilot)


def test_a_vehicle_that_no_autopilot_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PX4.fitted(QUAD, AutopilotOptions()) is QUAD
    nameless = replace(KINDS.load("tilt_rotor"), autopilot_class=None)
    monkeypatch.setattr(Vehicle, "kind", nameless)
    with pytest.raises(LinkError, match=r"no autopilot flies a vehicle of kind 'tilt_rotor' yet"):
        PX4.fitted(load_vehicle("tiltrotor_provant", control="external"), AutopilotOptions())


def test_a_missing_log_is_told_with_what_was_left() -> None:
    with pytest.raises(LinkError, match=r"PX4 left no log \(\.ulg\); it left px4\.txt"):
        PX4.read_log([Path("kept/px4.txt")], QUAD.spec.home)


def test_a_program_that_only_a_file_names_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case, an order or a store of somebody else may name any folder."""
    monkeypatch.delenv("IRONBIRD_TRUSTED", raising=False)
    monkeypatch.delenv("IRONBIRD_PX4", raising=False)
    evil = tmp_path / "evil"
    order = parse_order(make_order("quad_f450", control="px4", options={"folder": str(evil)}).text())
    assert order.options == {"folder": str(evil)}

    with pytest.raises(LinkError, match=f"is named by a file alone.*set IRONBIRD_PX4={evil}"):
        fly(order)


@pytest.mark.parametrize("kind", [PX4, ARDUPILOT])
def test_a_folder_that_the_user_names_is_trusted(
    kind: AutopilotKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRONBIRD_TRUSTED", "")
    monkeypatch.delenv("IRONBIRD_PX4", raising=False)
    monkeypatch.delenv("IRONBIRD_ARDUPILOT", raising=False)
    task = Task(QUAD, ITEMS, AutopilotOptions(folder=str(tmp_path)), until_s=60.0)
    with pytest.raises(LinkError, match="is named by a file alone"):
        kind.seat(task)
    by_hand = Trust.by_hand({"folder": str(tmp_path / "x" / "..")})
    kind.seat(replace(task, trust=by_hand)).close()
    with pytest.raises(LinkError, match="is named by a file alone"):  # the trust was that task's
        kind.seat(task)


def test_parameters_of_ones_own_come_on_top_of_the_vehicles(tmp_path: Path) -> None:
    options = AutopilotOptions(time="virtual", params="MPC_XY_VEL_MAX=6, SYS_HAS_MAG=0\nMPC_XY_VEL_MAX=7.5")
    assert read_params(options.params) == {"MPC_XY_VEL_MAX": 7.5, "SYS_HAS_MAG": 0.0}
    with contextlib.closing(PX4.seat(Task(QUAD, ITEMS, options, until_s=60.0))) as seat:
        assert isinstance(seat.system, Px4)
        airframe = airframe_of(QUAD).with_params(seat.system.params)
    assert {"param set-default MPC_XY_VEL_MAX 7.5", "param set-default SYS_HAS_MAG 0"} <= set(
        airframe.script("").splitlines()
    )
    with contextlib.closing(ARDUPILOT.seat(Task(QUAD, ITEMS, options, until_s=60.0))) as seat:
        assert seat.system.process is not None
        assert "MPC_XY_VEL_MAX   7.5" in getattr(seat.system.process, "params", "")


@pytest.mark.parametrize("text", ["X", "A B C=1", "NAME=nan", "NAME=1e999", "rm -rf=1"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="params, line 1"):
        AutopilotOptions(params=text)


def test_in_virtual_time_a_ground_station_hears_what_ours_hears_and_is_not_heard(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(30.0)
        process = Px4Process(virtual=True)
        stack.callback(process.stop)
        port = Port(14540, process=process, mirror_port=listener.getsockname()[1])
        stack.callback(port.close)
        assert process.run is not None
        process.run.head.turn = 1  # no program: the turn is ours
        autopilot = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        autopilot.bind(process.run.address(14580))
        autopilot.sendto(b"from the autopilot", process.run.address(14540))
        assert [data for _, data in port.read()] == [b"from the autopilot"]
        data, source = listener.recvfrom(100)
        assert data == b"from the autopilot"
        listener.sendto(b"disarm", source)
        assert list(port.read()) == []


def test_what_repeats_in_virtual_time_includes_the_start_up_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bin/px4", "etc/init.d-posix/rcS", "etc/init.d-posix/px4-rc.params", "etc/init.d/rc.mc_defaults"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("IRONBIRD_PX4", str(tmp_path))
    assert [path.name for path in PX4.programs(AutopilotOptions())] == ["px4"]
    names = {path.name for path in PX4.programs(AutopilotOptions(time="virtual"))}
    assert names == {"px4", "rcS", "px4-rc.params", "rc.mc_defaults"}
