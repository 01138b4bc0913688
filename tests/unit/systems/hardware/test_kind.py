"""A flight controller as a kind of control system: what a task becomes, and what it says of itself."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hil_board import BoardCable, StillClock
from pydantic import ValidationError

from ironbird.errors import LinkError
from ironbird.files.trust import Trust
from ironbird.ground.pilot import Pilot
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.rig import make_rig
from ironbird.rig.system import Seat, Task
from ironbird.systems.hardware.kind import HARDWARE, HardwareKind, HardwareOptions
from ironbird.systems.hardware.link import HardwareLink
from ironbird.transport.cable import SerialCable
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.load import Vehicle, load_vehicle

ITEMS = [LocalItem(10.0, 0.0, 5.0, 0.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
QUAD = load_vehicle("quad_f450", control="external")
QUIET = HardwareOptions(udp=1, control_hz=500.0, priority=False, ground_station=False)
TRUST = Trust(cables=frozenset({"1", "/dev/null"}))  # what the options of these tests name


def bench(cable: BoardCable) -> HardwareKind:
    return HardwareKind(cable=lambda options: cable, clock=StillClock)


def fly(kind: HardwareKind, task: Task) -> Seat:
    with contextlib.closing(kind.seat(task)) as seat:
        rig = make_rig(task.vehicle, until_s=task.until_s)
        seat.system.start(rig)
        while rig.step(seat.system.step_ticks) and not seat.system.failure:
            seat.system.exchange(rig)
            if seat.pilot is not None:
                seat.pilot.poll(rig)
    return seat


def test_the_vehicle_samples_as_often_as_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = HARDWARE.fitted(QUAD, HardwareOptions(sensor_hz=500.0))
    assert fitted.diagram.blocks["imu/1/chip"].sample_s == 0.002
    assert QUAD.diagram.blocks["imu/1/chip"].sample_s == 0.004
    with pytest.raises(LinkError, match=r"400 Hz do not fit.*give 1000, 500"):
        HARDWARE.fitted(QUAD, HardwareOptions(sensor_hz=400.0))
    nameless = replace(KINDS.load("tilt_rotor"), autopilot_class=None)
    monkeypatch.setattr(Vehicle, "kind", nameless)
    with pytest.raises(LinkError, match=r"no flight controller flies a vehicle of kind 'tilt_rotor' yet"):
        HARDWARE.fitted(load_vehicle("tiltrotor_provant", control="external"), HardwareOptions())


def test_one_cable_has_to_be_given_and_wrong_words_are_refused() -> None:
    for options in (HardwareOptions(), HardwareOptions(port="/dev/nowhere", udp=1)):
        with pytest.raises(LinkError, match=r"give --port DEVICE or --udp PORT, one of the two; this computer has"):
            HARDWARE.loads(QUAD, options)
    with pytest.raises(ValidationError, match="extra"):
        HardwareOptions(bauds=9600)  # type: ignore[call-arg]


def test_a_board_that_is_given_no_mission_is_told_nothing() -> None:
    cable = BoardCable()
    vehicle = HARDWARE.fitted(QUAD, QUIET)
    seat = fly(bench(cable), Task(vehicle, [], QUIET, until_s=2.5, trust=TRUST))
    assert seat.pilot is None and seat.system.mistrust() == "" and seat.system.failure == ""
    figures, measured = seat.system.figures(), seat.system.measured()
    assert figures["link"] == "board in memory, network, ordinary priority, as asked"
    assert figures["link rates"].startswith("sensors 500.0 Hz") and measured["late_steps"] == 0


def test_figures_are_shown_each_second() -> None:
    lines: list[str] = []
    vehicle = HARDWARE.fitted(QUAD, QUIET)
    seat = fly(bench(BoardCable()), Task(vehicle, [], QUIET, until_s=2.5, trust=TRUST, show=lines.append))
    assert len(lines) == 3 and "late 0" in lines[-1]
    assert seat.pilot is not None and not seat.pilot.finished and seat.pilot.autopilot_events == []


def test_a_mission_goes_over_the_same_cable_and_counts_in_the_budget() -> None:
    options = QUIET.model_copy(update={"port": "/dev/null", "udp": None})
    vehicle = HARDWARE.fitted(QUAD, options)
    for items in (ITEMS, []):
        with contextlib.closing(HARDWARE.seat(Task(vehicle, items, options, until_s=9.0, trust=TRUST))) as seat:
            link = seat.system
            assert isinstance(link, HardwareLink) and isinstance(link.cable, SerialCable)
            assert isinstance(seat.pilot, Pilot) == (link.bridge is not None) == bool(items)
            assert link.loads(vehicle) == HARDWARE.loads(vehicle, options, told=bool(items))
    seat.close()


def test_a_link_that_breaks_in_flight_says_so_and_had_taken_part() -> None:
    def cut(number: int, frame: bytes) -> bytes:
        if number == 1000:
            raise OSError(5, "Input/output error")
        return frame

    cable = BoardCable(spoil=cut)
    task = Task(HARDWARE.fitted(QUAD, QUIET), [], QUIET, until_s=5.0, trust=TRUST)
    seat, rig = bench(cable).seat(task), make_rig(task.vehicle, until_s=task.until_s)
    with contextlib.closing(seat), pytest.raises(LinkError, match="the cable is gone"):
        seat.system.start(rig)
        while rig.step(seat.system.step_ticks):
            seat.system.exchange(rig)
    assert seat.system.taking_part and cable.closed  # whoever flies it keeps the flight
    assert rig.time_s == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("option", "name"), [({"port": "/dev/ttyACM0"}, "/dev/ttyACM0"), ({"udp": 14999}, "14999")])
def test_a_cable_that_only_a_file_names_is_not_opened(option: dict[str, Any], name: str) -> None:
    """An order, a case or a store of another person may name any port: a board there would be commanded."""
    task = Task(HARDWARE.fitted(QUAD, QUIET), [], HardwareOptions(**option), until_s=5.0)
    with pytest.raises(LinkError, match=f"port '{name}' is named by a file alone"):
        HARDWARE.seat(task)
