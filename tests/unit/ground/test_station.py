"""What a ground station hears: of whom, and in what units."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pymavlink.dialects.v20 import common

from ironbird.ground.dialects import DIALECTS
from ironbird.ground.station import Station
from ironbird.ground.wires import Port

QUADROTOR, PX4, GENERIC, ARMED = 2, 12, 0, 128
ACTIVE, CRITICAL, EMERGENCY = 4, 5, 6


class Voice:
    """Somebody who sends to the station's port."""

    def __init__(self, port: int, system: int = 1, component: int = 1) -> None:
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.connect(("127.0.0.1", port))
        self.codec = common.MAVLink(self, srcSystem=system, srcComponent=component)

    def write(self, packet: bytes) -> None:
        self.link.send(packet)

    def beat(self, autopilot: int = PX4, mode: int = 1, status: int = ACTIVE) -> None:
        self.codec.heartbeat_send(QUADROTOR, autopilot, mode, 0, status)


@pytest.fixture
def heard() -> Iterator[Any]:
    """A station, and a way to make voices that it hears."""
    port = Port(0)
    station = Station(port, DIALECTS.load("px4"), passive=True)
    voices: list[Voice] = []

    def voice(system: int = 1, component: int = 1) -> Voice:
        voices.append(Voice(port.socket.getsockname()[1], system, component))
        return voices[-1]

    yield station, voice
    station.close()
    for one in voices:
        one.link.close()


def test_heights_speeds_and_places_are_in_metres_and_degrees(heard: Any) -> None:
    station, voice = heard
    autopilot = voice()
    autopilot.beat()
    autopilot.codec.global_position_int_send(0, 0, 0, 500_000, 12_340, 0, 0, -150, 0)
    autopilot.codec.home_position_send(474_000_000, 85_000_000, 488_000, 0, 0, 0, [1, 0, 0, 0], 0, 0, 0)
    station.receive()

    assert (station.height_m, station.sink_mps) == pytest.approx((12.34, -1.5))  # mm above home, cm/s down
    assert station.home == pytest.approx((47.4, 8.5, 488.0))


@pytest.mark.parametrize("routed", [False, True], ids=["each from its own port", "all through one router"])
def test_other_systems_and_other_components_are_not_taken_for_the_autopilot(heard: Any, routed: bool) -> None:
    station, voice = heard
    autopilot, neighbour, gimbal, ground = voice(1), voice(2), voice(1, 154), voice(255, 190)
    for other in (neighbour, gimbal, ground) if routed else ():
        other.write = autopilot.write
    autopilot.beat()
    autopilot.codec.global_position_int_send(0, 0, 0, 0, 5_000, 0, 0, 0, 0)
    station.receive()

    neighbour.codec.global_position_int_send(0, 0, 0, 0, 77_000, 0, 0, 0, 0)
    neighbour.codec.extended_sys_state_send(0, 1)
    gimbal.beat(GENERIC, ARMED)  # as some payloads do
    ground.beat(8, ARMED)  # MAV_AUTOPILOT_INVALID
    station.receive()

    assert station.height_m == 5.0 and station.landed == "" and not station.armed
    assert station.system == 1 and station.component == 1


@pytest.mark.parametrize("status", [CRITICAL, EMERGENCY])
def test_a_failsafe_is_noted_when_it_begins_and_when_it_is_over(heard: Any, status: int) -> None:
    station, voice = heard
    autopilot = voice()
    for said in (ACTIVE, status, status, ACTIVE):
        autopilot.beat(status=said)
    station.receive()

    assert [h.text for h in station.autopilot_events if h.kind == "failsafe"] == ["failsafe", "failsafe over"]
