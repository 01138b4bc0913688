"""The pilot with sticks against a multicopter that is played: it goes to places, and gives up before a wall."""

from __future__ import annotations

import math
import socket
from typing import Any

import pytest
from pymavlink.dialects.v20 import common

from ironbird.errors import LinkError
from ironbird.protocols.plan_file import LocalItem
from ironbird.systems.px4.hand_flown import HandPilot, stick_params

STEP_S = 0.05
POSCTL = 3 << 16


class Clock:
    time_s = 0.0


class Copter:
    """Flies with the speed that the sticks ask for, in the axes of its heading; a wall stands across its way north."""

    def __init__(self, port: int, wall_m: float = math.inf) -> None:
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(("127.0.0.1", 0))
        self.link.connect(("127.0.0.1", port))
        self.link.setblocking(False)
        self.codec = common.MAVLink(self, srcSystem=1, srcComponent=1)
        self.armed, self.mode, self.landed = False, 4 << 16 | 3 << 24, 1
        self.place, self.velocity, self.heading, self.wall_m = [0.0, 0.0, 0.0], [0.0] * 3, 1.0, wall_m
        self.sticks, self.rising = (0.0, 0.0, 0.0), False

    def write(self, packet: bytes) -> None:
        self.link.send(packet)

    def step(self) -> None:
        try:
            while True:
                for message in self.codec.parse_buffer(self.link.recv(65536)) or []:
                    self.take(message)
        except BlockingIOError:
            pass
        forward, right, up = self.sticks if self.mode == POSCTL else (0.0, 0.0, 0.0)
        cosine, sine = math.cos(self.heading), math.sin(self.heading)
        north, east = 5.0 * (cosine * forward - sine * right), 5.0 * (sine * forward + cosine * right)
        self.velocity = [north, east, -3.0 * up]
        if self.rising:
            self.velocity[2] = -1.0 if self.place[2] > -4.0 else 0.0
        if self.place[0] + STEP_S * north > self.wall_m - 2.0:  # its own collision prevention
            self.velocity[0] = 0.0
            self.velocity[1] = 0.0
        self.place = [p + STEP_S * v for p, v in zip(self.place, self.velocity, strict=True)]
        self.landed = 2 if self.armed and self.place[2] < -1.0 else 1
        self.codec.heartbeat_send(2, 12, 128 if self.armed else 1, self.mode, 4)
        self.codec.sys_status_send(0, 0, 0x10000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        self.codec.home_position_send(474000000, 85000000, 488000, 0, 0, 0, [1, 0, 0, 0], 0, 0, 0)
        self.codec.local_position_ned_send(0, *self.place, *self.velocity)
        self.codec.attitude_send(0, 0, 0, self.heading, 0, 0, 0)
        self.codec.extended_sys_state_send(0, self.landed)

    def take(self, message: Any) -> None:
        if message.get_type() == "MANUAL_CONTROL":
            self.sticks = (message.x / 1000, message.y / 1000, message.z / 500 - 1)
        elif message.get_type() == "COMMAND_LONG":
            self.codec.command_ack_send(message.command, 0)
            if message.command == 400:
                self.armed = bool(message.param1)
            elif message.command == 22:
                self.rising, self.mode = True, 4 << 16 | 2 << 24
            elif message.command == 176:
                self.rising, self.mode = False, int(message.param2) << 16 | int(message.param3) << 24
                if int(message.param3) == 6:  # it lands at once
                    self.place[2], self.armed = 0.0, False


def at(north_m: float, east_m: float, height_m: float) -> LocalItem:
    return LocalItem(north_m, east_m, height_m, 0.0, "waypoint")


def flown(*items: LocalItem, wall_m: float = math.inf) -> tuple[HandPilot, Copter]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    pilot = HandPilot(items, 5.0, port=port, peer_port=1)
    copter, clock = Copter(port, wall_m), Clock()
    try:
        while clock.time_s < 120.0 and not pilot.finished:
            clock.time_s += STEP_S
            copter.step()
            pilot.poll(clock)
    finally:
        pilot.close()
        copter.link.close()
    return pilot, copter


def test_it_goes_to_its_places_whatever_its_heading_is_and_lands() -> None:
    pilot, copter = flown(at(20.0, -5.0, 4.0), at(20.0, 10.0, 6.0))
    said = [event.text for event in pilot.autopilot_events if event.kind == "item"]
    assert pilot.finished and not copter.armed
    assert said == ["item 0", "item 0 reached", "item 1", "item 1 reached"]
    assert copter.place[:2] == pytest.approx([20.0, 10.0], abs=1.6)


def test_it_gives_up_before_a_wall_and_lands_there() -> None:
    pilot, copter = flown(at(30.0, 0.0, 4.0), wall_m=15.0)
    assert pilot.finished and copter.place[0] == pytest.approx(13.0, abs=0.3)
    assert any("not reached: it stands 17" in event.text for event in pilot.autopilot_events)


def test_sticks_need_somewhere_to_go() -> None:
    with pytest.raises(LinkError, match="the mission has none"):
        HandPilot([LocalItem(0.0, 0.0, 0.0, 0.0, "land")], 5.0, port=0, peer_port=1)
    assert stick_params(4.0)["MPC_VEL_MANUAL"] == 4.0
