"""The pilot against an autopilot that is played with pymavlink: handshakes, losses, refusals, silences."""

from __future__ import annotations

import math
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega, common

from ironbird.errors import LinkError
from ironbird.ground import handshakes, station
from ironbird.ground.pilot import SEEN_S, Pilot
from ironbird.ground.wires import Port
from ironbird.protocols.mavlink.numbers import NAV_LAND, NAV_TAKEOFF, NAV_WAYPOINT, PX4_AUTO_MODES
from ironbird.protocols.plan_file import PlanItem
from ironbird.rig.rig import TrafficReport
from ironbird.world.model import World
from ironbird.world.runner import Feed, WorldSensors, sensor_of
from ironbird.world.track import Track

PLAN = [
    PlanItem(NAV_TAKEOFF, altitude_m=10.0, latitude_deg=47.4, longitude_deg=8.5),
    PlanItem(
        NAV_WAYPOINT,
        params=(1.0, 0.0, 0.0, math.nan),
        latitude_deg=47.4001,
        longitude_deg=8.5001,
        altitude_m=10.0,
    ),
    PlanItem(NAV_LAND, latitude_deg=47.4, longitude_deg=8.5),
]
INT32 = 6  # MAV_PARAM_TYPE


class Clock:
    time_s = 0.0


class Played:
    """An autopilot: a socket, a codec, and the least that it knows. Every `deaf`-th message is not heard."""

    def __init__(self, dialect: Any, pilot_port: int, *, deaf: int = 0) -> None:
        self.dialect = dialect
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(("127.0.0.1", 0))
        self.link.connect(("127.0.0.1", pilot_port))
        self.link.setblocking(False)
        self.codec = dialect.MAVLink(self, srcSystem=1, srcComponent=1)
        self.deaf, self.heard = deaf, 0
        self.armed, self.mode, self.landed = False, 0, 1
        self.healthy = self.alive = True
        self.type, self.sink_cmps = 2, 0  # MAV_TYPE: quadrotor
        self.refuse: dict[int, int] = {}
        self.params: dict[str, tuple[float, int]] = {}
        self.items: dict[int, Any] = {}
        self.expected = 0
        self.commands: list[int] = []
        self.beats = 0  # of the ground station
        self.told: list[str] = []  # names of all messages that it answered or could have

    def write(self, packet: bytes) -> None:
        self.link.send(packet)

    def say(self) -> None:
        """What it sends all the time."""
        if not self.alive:
            return
        self.codec.heartbeat_send(self.type, 12, 128 if self.armed else 1, self.mode, 4)
        self.codec.global_position_int_send(0, 0, 0, 0, 0, 0, 0, self.sink_cmps, 0)
        health = 0x10000000 if self.healthy else 0
        self.codec.sys_status_send(0, 0, health, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        self.codec.home_position_send(474000000, 85000000, 488000, 0, 0, 0, [1, 0, 0, 0], 0, 0, 0)
        self.codec.extended_sys_state_send(0, self.landed)
        self.codec.gps_raw_int_send(0, 3, 0, 0, 0, 0, 0, 0, 0, 9)
        if self.dialect is ardupilotmega:
            self.codec.ekf_status_report_send(0x37, 0, 0, 0, 0, 0)

    def listen(self) -> None:
        """Answer what came."""
        while True:
            try:
                data = self.link.recv(65536)
            except BlockingIOError:
                return
            for message in self.codec.parse_buffer(data) or []:
                self.heard += 1
                if self.deaf and self.heard % self.deaf == 0:
                    continue
                if self.alive:
                    self.answer(message)

    def answer(self, message: Any) -> None:
        name = message.get_type()
        self.told.append(name)
        if name == "HEARTBEAT":
            self.beats += 1
        elif name == "PARAM_REQUEST_READ" and message.param_id in self.params:
            self.codec.param_value_send(message.param_id.encode(), *self.params[message.param_id], 9, 1)
        elif name == "PARAM_SET":
            self.params[message.param_id] = (message.param_value, message.param_type)
            self.codec.param_value_send(message.param_id.encode(), *self.params[message.param_id], 9, 1)
        elif name == "MISSION_COUNT":
            self.expected = message.count
            self.items.clear()
            self.codec.mission_request_int_send(255, 190, 0)
        elif name == "MISSION_ITEM_INT":
            self.items[message.seq] = message
            following = len(self.items)
            if following == self.expected:
                self.codec.mission_ack_send(255, 190, self.refuse.get(-1, 0))
            else:
                self.codec.mission_request_int_send(255, 190, following)
        elif name == "COMMAND_LONG":
            self.obey(message)

    def obey(self, message: Any) -> None:
        self.commands.append(message.command)
        result = self.refuse.get(message.command, 0)
        self.codec.command_ack_send(message.command, result)
        if result:
            return
        if message.command == 400:
            self.armed = bool(message.param1)
        elif message.command == 176:
            main, sub = int(message.param2), int(message.param3)
            self.mode = main if self.dialect is ardupilotmega else main << 16 | sub << 24
        elif message.command == 300:
            self.mode = 3


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "ASK_WALL_S", 0.0)  # simulation time alone decides here


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pair(autopilot: str, *, deaf: int = 0, **options: Any) -> Iterator[tuple[Pilot, Played]]:
    port = free_port()
    with Pilot(autopilot, port=port, **options) as pilot:
        played = Played(common if autopilot == "px4" else ardupilotmega, port, deaf=deaf)
        try:
            yield pilot, played
        finally:
            played.link.close()


def fly(pilot: Pilot, played: Played, clock: Clock, seconds: float) -> None:
    """Both turn about, in simulation time only."""
    end = clock.time_s + seconds
    while clock.time_s < end and not pilot.finished:
        clock.time_s += 0.02
        if round(clock.time_s / 0.02) % 10 == 0:
            played.say()
        played.listen()
        pilot.poll(clock)


def test_an_identity_is_stored_when_the_autopilot_has_found_its_sensor(clock: Clock) -> None:
    for pilot, played in pair("ardupilot", params={"INS_ACC_ID": None}):
        played.params["INS_ACC_ID"] = (0.0, INT32)
        fly(pilot, played, clock, 10.0)
        assert "PARAM_SET" not in played.told and not pilot.station.flying
        played.params["INS_ACC_ID"] = (2753028.0, INT32)
        fly(pilot, played, clock, 10.0)
        assert "PARAM_SET" in played.told and pilot.station.flying
    for pilot, played in pair("ardupilot", params={"INS_ACC_ID": None}):
        played.params["INS_ACC_ID"] = (0.0, INT32)
        with pytest.raises(LinkError, match=r"parameter INS_ACC_ID': was still 0 after 60 s"):
            fly(pilot, played, clock, 70.0)


@pytest.mark.parametrize(("autopilot", "deaf"), [("px4", 0), ("px4", 3), ("ardupilot", 0), ("ardupilot", 3)])
def test_a_mission_is_flown_although_a_third_of_our_messages_is_lost(autopilot: str, deaf: int, clock: Clock) -> None:
    for pilot, played in pair(autopilot, deaf=deaf, plan=PLAN, params={"COM_X": 7}):
        coded = struct.unpack("<f", struct.pack("<i", 3))[0] if autopilot == "px4" else 3.0
        played.params["COM_X"] = (coded, INT32)

        fly(pilot, played, clock, 60.0)

        assert pilot.station.flying and played.armed and pilot.station.armed
        first = 0 if autopilot == "px4" else 1  # ArduPilot keeps home in place 0
        assert [played.items[n + first].command for n in range(3)] == [
            NAV_TAKEOFF,
            NAV_WAYPOINT,
            NAV_LAND,
        ]
        assert (played.items[first + 1].x, played.items[first + 1].y) == (474001000, 85001000)
        stored = played.params["COM_X"][0]
        assert (struct.unpack("<i", struct.pack("<f", stored))[0] if autopilot == "px4" else stored) == 7
        assert pilot.station.mode == ("MISSION" if autopilot == "px4" else "AUTO")
        if autopilot == "px4":
            assert math.isnan(played.items[1].param4)
        else:
            assert played.items[2].param4 == 0.0 and played.items[0].z == 488.0
        assert played.beats > 0.5 * clock.time_s / station.HEARTBEAT_S

        played.codec.mission_item_reached_send(2 + first)
        played.landed, played.armed = 1, False
        fly(pilot, played, clock, 5.0)

        assert pilot.finished and pilot.station.mission_done
        kinds = [h.kind for h in pilot.autopilot_events]
        assert [k for k in kinds if k in ("ready", "mission", "armed", "finished")] == [
            "ready", "mission", "armed", "armed", "finished",
        ]  # fmt: skip
        assert all(0 < h.time_s <= clock.time_s for h in pilot.autopilot_events)


def test_without_a_plan_it_takes_off_and_obeys_orders(clock: Clock) -> None:
    for pilot, played in pair("px4", takeoff_m=15.0):
        fly(pilot, played, clock, 5.0)
        assert 22 in played.commands and pilot.station.flying
        played.landed = 2

        pilot.order("return")
        fly(pilot, played, clock, 2.0)
        assert pilot.station.mode == "RTL" and played.mode == 4 << 16 | PX4_AUTO_MODES["RTL"] << 24
        pilot.order("land")
        fly(pilot, played, clock, 2.0)
        assert pilot.station.mode == "LAND" and not pilot.finished
        with pytest.raises(LinkError, match=r"PX4 has no mode 'DANCE'; it has MANUAL"):
            pilot.order("dance")
            fly(pilot, played, clock, 2.0)


def test_a_mission_without_landing_is_ended_by_an_order(clock: Clock) -> None:
    for pilot, played in pair("px4", plan=PLAN[:2]):
        fly(pilot, played, clock, 5.0)
        played.landed = 2
        played.codec.mission_item_reached_send(1)
        fly(pilot, played, clock, 3.0)
        assert pilot.station.mode == "LAND"


@pytest.mark.parametrize("passive", [False, True])
def test_a_copter_that_stands_but_leans_too_much_to_know_it_is_helped(passive: bool, clock: Clock) -> None:
    for pilot, played in pair("ardupilot", plan=() if passive else PLAN, passive=passive):
        if passive:
            played.armed, played.mode, played.landed = True, 3, 2
        fly(pilot, played, clock, 8.0)
        assert pilot.station.flying and pilot.station.mode == "AUTO"
        played.landed, played.sink_cmps = 4, 50
        fly(pilot, played, clock, 10.0)
        assert pilot.station.mode == "AUTO"  # it sinks
        played.sink_cmps = 3
        fly(pilot, played, clock, 4.0)
        assert pilot.station.mode == "AUTO"
        fly(pilot, played, clock, 3.0)
        assert pilot.station.mode == ("AUTO" if passive else "ALT_HOLD")  # no lean is asked for any more
        played.landed = 1
        fly(pilot, played, clock, 2.0)
        assert pilot.station.mode == ("AUTO" if passive else "LAND")
        assert any(h.kind == "pilot" for h in pilot.autopilot_events) != passive


def test_a_helicopter_gets_its_rotor_switched_on_before_its_mission_begins(clock: Clock) -> None:
    for pilot, played in pair("ardupilot", plan=PLAN):
        played.type = 4
        fly(pilot, played, clock, 20.0)
        assert played.commands[-1] == 218 and played.armed and not pilot.station.flying
        played.codec.statustext_send(5, b"Runup Complete")
        fly(pilot, played, clock, 3.0)
        assert played.commands[-1] == 300 and pilot.station.flying
    assert 218 not in _commands_of_a_quadrotor(clock)


def _commands_of_a_quadrotor(clock: Clock) -> list[int]:
    for pilot, played in pair("ardupilot", plan=PLAN):
        fly(pilot, played, clock, 20.0)
        assert pilot.station.flying
        return played.commands
    raise AssertionError


def test_a_rover_is_disarmed_at_the_end(clock: Clock) -> None:
    for pilot, played in pair("px4", kind="rover", plan=PLAN[1:2]):
        fly(pilot, played, clock, 5.0)
        played.codec.mission_item_reached_send(0)
        fly(pilot, played, clock, 3.0)
        assert pilot.finished and not played.armed


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("dead", "step 'heartbeat': not done after .* last heartbeat: none; last text: none"),
        (
            "unready",
            "step 'readiness': not done .* last heartbeat: .*, disarmed, .* last text: Preflight Fail: compass",
        ),
        ("arming", "step 'arming': not done .* answer: temporarily rejected"),
        ("mission", "step 'upload of 3 mission items': was refused; answer at item 2 .MAV_CMD 21.: no space"),
        ("command", "step 'mode MISSION': was refused; answer: unsupported"),
        ("lost", "step 'flight': lost: no heartbeat for"),
        ("param", "step 'parameter NO_SUCH': not done .* is the name right"),
    ],
)
def test_an_error_names_the_step_and_the_last_words(
    trouble: str, says: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "LOST_WALL_S", 0.0)
    for pilot, played in pair("px4", plan=PLAN, params={"NO_SUCH": 1.0} if trouble == "param" else {}):
        played.alive = trouble != "dead"
        played.healthy = trouble != "unready"
        played.refuse = {"arming": {400: 1}, "mission": {-1: 4}, "command": {176: 3}}.get(trouble, {})
        with pytest.raises(LinkError, match=f"px4 at .*{says}"):
            fly(pilot, played, clock, 1.0)
            if trouble == "unready":
                played.codec.statustext_send(2, b"Preflight Fail: compass")
            if trouble == "lost":
                fly(pilot, played, clock, 4.0)
                assert pilot.station.flying
                played.alive = False
            fly(pilot, played, clock, 200.0)


def test_a_refusal_quotes_every_warning_since_the_upload(clock: Clock) -> None:
    """PX4 names the waypoint outside of the fence first, and its general refusal to arm last."""
    for pilot, played in pair("px4", plan=PLAN):
        played.refuse = {400: 1}
        played.codec.statustext_send(4, b"long ago")
        with pytest.raises(LinkError) as refused:
            for text in (b"Geofence violation for waypoint 3", b"Arming denied: Resolve failures", b"Takeoff detected"):
                fly(pilot, played, clock, 10.0)
                played.codec.statustext_send(6 if text.startswith(b"T") else 2, text)
            fly(pilot, played, clock, 200.0)
        assert str(refused.value).endswith(
            "it warned: Geofence violation for waypoint 3; Arming denied: Resolve failures; last text: Takeoff detected"
        )


def test_what_it_says_is_recorded_with_its_kind_and_time(clock: Clock) -> None:
    for pilot, played in pair("px4"):
        played.healthy = False
        fly(pilot, played, clock, 1.0)
        long = b"The estimator has lost its position and the vehicle" + b" lands"
        played.codec.statustext_send(4, long[:50], 7, 0)
        played.codec.statustext_send(4, long[50:], 7, 1)
        played.codec.statustext_send(2, b"Failsafe activated")
        played.codec.estimator_status_send(0, 0x37, 0, 0, 0, 0, 0, 0, 0, 0)
        fly(pilot, played, clock, 0.1)
        played.codec.estimator_status_send(0, 0x427, 0, 0, 0, 0, 0, 0, 0, 0)
        played.codec.heartbeat_send(2, 12, 129, 4 << 16 | 6 << 24, 5)
        fly(pilot, played, clock, 0.1)

        said = {(h.kind, h.text) for h in pilot.autopilot_events if h.time_s > 1.0}
        assert ("text", f"{long.decode()} (severity 4)") in said
        assert ("failsafe", "Failsafe activated (severity 2)") in said
        assert ("failsafe", "failsafe") in said
        assert ("mode", "LAND") in said and ("armed", "armed") in said
        assert ("estimator", "+GPS glitch, -absolute position") in said


def test_a_busy_port_is_named() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        with pytest.raises(LinkError, match=f"UDP port {port}, where px4 speaks .*ironbird doctor"):
            Pilot("px4", port=port)


def test_a_passive_one_says_nothing_and_sees_the_flight_of_another(clock: Clock) -> None:
    """Arming alone is no flight; the end comes some seconds after the landing, so that others hear of it."""
    for pilot, played in pair("px4", passive=True, peer_port=14580):
        for armed, landed, seconds in ((False, 1, 2), (True, 1, 2), (False, 1, 2), (True, 2, 5), (True, 4, 2)):
            played.armed, played.landed = armed, landed
            fly(pilot, played, clock, seconds)
            assert not pilot.finished
        played.armed, played.landed = False, 1
        fly(pilot, played, clock, SEEN_S - 1.0)
        assert not pilot.finished
        fly(pilot, played, clock, 2.0)
        assert pilot.finished and played.heard == 0
        assert [h.text for h in pilot.autopilot_events if h.kind == "armed"] == ["armed", "disarmed"] * 2


@pytest.mark.parametrize("flights", [2, 0])
def test_a_passive_one_watches_several_flights_of_another(flights: int, clock: Clock) -> None:
    for pilot, played in pair("px4", passive=True, peer_port=14580, flights=flights):
        for number in (1, 2):
            played.armed, played.landed = True, 2
            fly(pilot, played, clock, 5.0)
            assert pilot.station.flying and not pilot.finished
            played.armed, played.landed = False, 1
            fly(pilot, played, clock, SEEN_S + 1.0)
            assert pilot.finished == (number == flights)
        said = [h.text for h in pilot.autopilot_events if h.kind in ("pilot", "finished")]
        counted = ["landed and disarmed: flight 1", "landed and disarmed: flight 2"]
        assert said == (counted if not flights else ["landed and disarmed: flight 1 of 2", "landed and disarmed"])


def test_a_stranger_does_not_draw_the_answers_to_itself(clock: Clock) -> None:
    for pilot, played in pair("px4"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.setblocking(False)
            assert isinstance(pilot.station.wire, Port)
            for _ in range(20):
                stranger.sendto(
                    b"\xfd\xff garbage that begins as a long message", pilot.station.wire.socket.getsockname()
                )
                fly(pilot, played, clock, 0.5)
            assert played.beats > 5 and pilot.station.mode and pilot.station.armed
            with pytest.raises(BlockingIOError):
                stranger.recv(10)


@pytest.mark.parametrize(("autopilot", "flow"), [("px4", "OPTICAL_FLOW_RAD"), ("ardupilot", "OPTICAL_FLOW")])
def test_what_sensors_of_the_world_saw_is_told_once_in_messages_that_the_autopilot_reads(
    autopilot: str, flow: str, clock: Clock
) -> None:
    tables: list[dict[str, Any]] = [
        {"kind": "ring", "name": "around"},
        {"kind": "rangefinder", "name": "down"},
        {"kind": "odometry", "name": "vio"},
        {"kind": "optical_flow", "name": "flow", "width": 16, "height": 16},
        {"kind": "camera", "name": "eye", "width": 8, "height": 8},  # for which there is no message
    ]
    sensors = [sensor_of(table) for table in tables]
    samples = WorldSensors(World("plane"), sensors).due(Track.still((0.0, 0.0, -5.0)))
    feed = Feed()
    for pilot, played in pair(autopilot):
        told = played.told
        clock.sight = feed  # type: ignore[attr-defined]
        fly(pilot, played, clock, 1.0)
        for sensor, sample in zip(sensors, samples, strict=True):
            feed.put(sensor, sample)
        fly(pilot, played, clock, 1.0)
        seen = [name for name in told if name in ("OBSTACLE_DISTANCE", "DISTANCE_SENSOR", "ODOMETRY") or "FLOW" in name]
        assert seen == ["OBSTACLE_DISTANCE", "DISTANCE_SENSOR", "ODOMETRY", flow]
        assert feed.newest["eye"].sensor == "eye" and not feed.untold


@pytest.mark.parametrize("autopilot", ["px4", "ardupilot"])
def test_adsb_reports_of_other_vehicles_are_told_once(autopilot: str, clock: Clock) -> None:
    place = np.array([120.0, -40.0, -30.0])
    for pilot, played in pair(autopilot):
        clock.traffic = deque()  # type: ignore[attr-defined]
        clock.geodetic = lambda p: (47.0 + p[0] * 1e-5, 8.0, -p[2])  # type: ignore[attr-defined]
        fly(pilot, played, clock, 1.0)
        clock.traffic += [TrafficReport(n, f"other_{n}", clock.time_s, place, np.zeros(3)) for n in (1, 2)]  # type: ignore[attr-defined]
        fly(pilot, played, clock, 1.0)
        assert played.told.count("ADSB_VEHICLE") == 2 and not clock.traffic  # type: ignore[attr-defined]
