"""The pilot with sticks against a submarine that is played: PX4's position control on the other side of a socket."""

from __future__ import annotations

import math
import socket
from typing import Any

import pytest
from pymavlink.dialects.v20 import common

from ironbird.errors import LinkError
from ironbird.protocols.geodesy import to_geodetic
from ironbird.protocols.mavlink.numbers import DO_CHANGE_SPEED, NAV_LAND, NAV_WAYPOINT
from ironbird.protocols.plan_file import PlanItem
from ironbird.systems.px4.sticks import StickPilot
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.templates.underwater import UnderwaterSpec

STEP_S = 0.05
POSCTL = 3 << 16


class Clock:
    time_s = 0.0


class Submarine:
    """Moves its place to be at by the sticks, as PX4 does, and follows it with a lag."""

    def __init__(self, port: int, spec: UnderwaterSpec) -> None:
        assert spec.station is not None
        self.full_mps, self.full_radps = spec.station.cruise_speed_mps, spec.station.yaw_rate_radps
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(("127.0.0.1", 0))
        self.link.connect(("127.0.0.1", port))
        self.link.setblocking(False)
        self.codec = common.MAVLink(self, srcSystem=1, srcComponent=1)
        self.armed, self.mode = False, 4 << 16 | 3 << 24
        self.place, self.goal, self.yaw, self.yaw_goal = [0.3, 0.0, 1.0], [0.3, 0.0, 1.0], 0.0, 0.0
        self.sticks = (0.0, 0.0, 0.0, 0.0)
        self.heard = 0

    def write(self, packet: bytes) -> None:
        self.link.send(packet)

    def step(self) -> None:
        """What it does in a step of time."""
        try:
            while True:
                for message in self.codec.parse_buffer(self.link.recv(65536)) or []:
                    self.take(message)
        except BlockingIOError:
            pass
        if self.armed:
            for n in range(3):
                self.goal[n] += STEP_S * self.full_mps * self.sticks[n]
                self.place[n] += STEP_S * 0.6 * (self.goal[n] - self.place[n])
            self.yaw_goal += STEP_S * self.full_radps * self.sticks[3]
            self.yaw += STEP_S * (self.yaw_goal - self.yaw)
        self.codec.heartbeat_send(12, 12, 128 if self.armed else 1, self.mode, 4)
        self.codec.sys_status_send(0, 0, 0x10000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        self.codec.local_position_ned_send(0, *self.place, 0, 0, 0)
        self.codec.attitude_send(0, 0, 0, math.remainder(self.yaw, 2 * math.pi), 0, 0, 0)

    def take(self, message: Any) -> None:
        """Sticks and commands."""
        if message.get_type() == "MANUAL_CONTROL":
            self.heard += 1
            self.sticks = (message.x / 1000, message.y / 1000, 1 - message.z / 500, message.r / 1000)
        elif message.get_type() == "COMMAND_LONG":
            if message.command == 400:
                assert self.mode == POSCTL and self.heard  # PX4 arms with sticks only
                self.armed = message.param1 == 1
            elif message.command == 176:
                self.mode = int(message.param2) << 16 | int(message.param3) << 24
            self.codec.command_ack_send(message.command, 0)


def spec() -> UnderwaterSpec:
    """Of the BlueROV2."""
    found = load_vehicle("rov_bluerov2_heavy", control="external").spec
    assert isinstance(found, UnderwaterSpec)
    return found


def waypoint(north: float, east: float, depth: float, hold_s: float = 0.0, yaw_deg: float = math.nan) -> PlanItem:
    """Metres from home."""
    home = spec().home
    latitude, longitude, _ = to_geodetic(home, (north, east, 0.0))
    return PlanItem(
        NAV_WAYPOINT,
        params=(hold_s, 0.0, 0.0, yaw_deg),
        latitude_deg=latitude,
        longitude_deg=longitude,
        altitude_m=-depth,
    )


def dive(plan: list[PlanItem], until_s: float, **settings: float) -> tuple[StickPilot, Submarine, list[list[float]]]:
    """Both, to the end."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pilot = StickPilot(spec(), plan, port=port, peer_port=9)
    with pilot:
        played, clock, path = Submarine(port, spec()), Clock(), []
        for name, value in settings.items():
            setattr(played, name, value)
        with played.link:
            while not pilot.finished and clock.time_s < until_s:
                played.step()
                pilot.poll(clock)
                path.append([*played.place, played.yaw])
                clock.time_s += STEP_S
    return pilot, played, path


def test_waypoints_are_reached_in_turn_and_the_vehicle_is_disarmed() -> None:
    plan = [
        waypoint(0, 0, 3),
        PlanItem(DO_CHANGE_SPEED),
        waypoint(2, -1, 3, hold_s=2.0, yaw_deg=90.0),
        waypoint(2, 1, 2),
    ]
    pilot, played, path = dive(plan, 200.0)
    assert pilot.finished and not played.armed
    assert [h.text for h in pilot.autopilot_events if "reached" in h.text] == [f"item {n} reached" for n in range(3)]
    for target in ((0, 0, 3), (2, -1, 3), (2, 1, 2)):
        assert min(math.dist(place[:3], target) for place in path) < 0.5
    assert path[-1][3] == pytest.approx(math.pi / 2, abs=0.2)  # kept where the last waypoint has no heading


def test_sticks_keep_to_their_ends_and_direction() -> None:
    pilot, _, _ = dive([waypoint(0.3, 0.0, 1.0)], 60.0)
    north, east, down, yaw = pilot._towards((30.0, 0.0, -40.0), -3.0)
    assert (north, east, down, yaw) == pytest.approx((0.6, 0.0, -0.8, -1.0))
    assert pilot._towards((0.1, 0.0, 0.0), 0.0)[0] == pytest.approx(0.15 * 0.1 / 0.25)


def test_a_vehicle_that_cannot_get_there_ends_the_dive() -> None:
    with pytest.raises(LinkError, match="step 'item 0': not done"):
        dive([waypoint(1, 0, 1)], 1000.0, full_mps=0.0)


def test_plans_with_more_than_waypoints_are_refused() -> None:
    with pytest.raises(LinkError, match="MAV_CMD 21"):
        StickPilot(spec(), [waypoint(0, 0, 1), PlanItem(NAV_LAND)], port=0, peer_port=9)


def test_it_turns_the_short_way_round() -> None:
    pilot, _, path = dive(
        [waypoint(0, 0, 1, yaw_deg=-170.0)], 200.0, yaw=math.radians(170.0), yaw_goal=math.radians(170.0)
    )

    assert pilot.finished
    # From 170 to 190 degrees, not back by 340
    assert min(place[3] for place in path) > math.radians(165.0)
    assert path[-1][3] == pytest.approx(math.radians(190.0), abs=0.2)
