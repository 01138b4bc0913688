"""The front end "mavlink": ground stations, MAVSDK, MAVProxy and scripts command the vehicle's own autopilot.

In real time, or at a factor, messages act when they arrive. In lockstep the simulation waits for one partner: a
set-point with `time_boot_ms` t, or a SYSTEM_TIME with it, lets the simulation advance to t; there the set-point begins
to act, the vehicle reports t in its SYSTEM_TIME, and the simulation waits again. A message without a time acts at the
present simulation time. So the same messages give the same flight, bit for bit, however slow the partner is.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rig.commander.commander import Commander
from ironbird.rig.link_faults import FlownLinks
from ironbird.systems.commanded.front import FrontOptions
from ironbird.systems.commanded.mavlink import parameters
from ironbird.systems.commanded.mavlink.answers import Answers
from ironbird.systems.commanded.mavlink.clients import Clients, Refusals
from ironbird.systems.commanded.mavlink.commands import Commands
from ironbird.systems.commanded.mavlink.connections import Channel, Endpoint, Sender, Watch, parse_link, usual_links
from ironbird.systems.commanded.mavlink.identity import constants
from ironbird.systems.commanded.mavlink.missions import Missions
from ironbird.systems.commanded.mavlink.parameters import Parameters
from ironbird.systems.commanded.mavlink.place import Home
from ironbird.systems.commanded.mavlink.setpoints import SetPoints
from ironbird.systems.commanded.mavlink.telemetry import Telemetry
from ironbird.systems.commanded.mavlink.texts import Texts

Taker = Callable[[Channel, Any, Sender], None]
MOST_WAITING = 2000  # messages; what is sent beyond that before a read is lost
LOOK_S = 0.25  # wall time between two heartbeats while the simulation waits
END_MS = 0xFFFFFFFF  # SYSTEM_TIME with this time ends a flight in lockstep
TIMED = (
    dialect.SYSTEM_TIME.id, dialect.SET_POSITION_TARGET_LOCAL_NED.id, dialect.SET_POSITION_TARGET_GLOBAL_INT.id,
    dialect.SET_ATTITUDE_TARGET.id,
)  # fmt: skip
SEEN_S = 3.0  # simulation time after the last landing, so that clients receive the end too
FTP_TARGET = slice(1, 3)  # system and component in FILE_TRANSFER_PROTOCOL


class MavlinkOptions(FrontOptions):
    """Options of the front end `mavlink`: links, and whether time is real, scaled or in lockstep."""

    links: Annotated[
        str,
        Field(
            description="Connections, with commas: udp:HOST:PORT[:OWN], udpin:HOST:PORT, "
            "tcp:HOST:PORT, serial:DEVICE[:BAUD]; empty: UDP to 14550 and 14540, TCP 5760, all on 127.0.0.1."
        ),
    ] = ""
    instance: Annotated[int, Field(ge=0, le=99, description=texts.INSTANCE)] = 0
    lockstep: Annotated[bool, Field(description="The simulation waits for the time stamps of a client.")] = False
    wait_s: Annotated[float, Field(gt=0, le=3600, description=texts.WAIT)] = 60.0
    param_file: Annotated[str, Field(description="File that keeps parameters which were changed.")] = ""
    flights: Annotated[int, Field(ge=0, le=1000, description=texts.FLIGHTS)] = 1


class Landings:
    """Counts flights: the vehicle was armed, left the ground (or drove) and is disarmed again. 0 flights never end."""

    def __init__(self, flights: int) -> None:
        self._flights, self._count = flights, 0
        self._flying, self._down_s = False, 0.0

    def look(self, commander: Commander) -> bool:
        """Whether the last flight has ended, and clients had the time to see it."""
        moves = commander.flying or not commander.kind.flies
        if commander.armed and moves:
            self._flying = True
        elif self._flying and not commander.armed:
            self._flying, self._down_s = False, commander.time_s
            self._count += 1
        return 0 < self._flights <= self._count and commander.time_s >= self._down_s + SEEN_S

    def announce(self) -> str:
        """A line for the user: when the run ends."""
        if not self._flights:
            return "the run goes on after landings; Ctrl-C ends it"
        often = "" if self._flights == 1 else f" after {self._flights} flights"
        return (
            f"the run ends {SEEN_S:g} s after the vehicle has landed and is disarmed{often}, or with Ctrl-C; with "
            "--flights 0 it goes on"
        )


class MavlinkFront:
    """MAVLink interface of one vehicle."""

    options_type = MavlinkOptions
    open_ended = True

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        try:
            self.options = MavlinkOptions.model_validate(dict(options or {}))
        except ValidationError as error:
            first = error.errors()[0]
            raise LinkError(f"mavlink option {first['loc'][0]}: {first['msg']} (got {first['input']!r})") from None
        self.sysid = self.options.instance + 1
        texts = self.options.links.split(",") if self.options.links else usual_links(self.options.instance)
        self.endpoints: list[Endpoint] = [parse_link(text.strip(), self.sysid) for text in texts]
        self.texts = Texts()
        self._inbox: deque[tuple[Channel, int, bytes, Sender]] = deque()
        self._takers: dict[int, tuple[Message, Taker]] = {}
        self._over = False
        self.landings = Landings(0 if self.options.lockstep else self.options.flights)
        self._failsafes: tuple[str, ...] = ()
        self.watch: Watch | None = None  # gets every packet: partner, direction, bytes
        self.clients = Clients(lapses=not self.options.lockstep)
        self._commander: Commander | None = None

    def open(self, commander: Commander) -> None:
        """Open all links; if one cannot be opened, all are closed again."""
        try:
            for endpoint in self.endpoints:
                endpoint.open()
            self.attend(commander)
        except LinkError:
            self.close()
            raise

    def attend(self, commander: Commander) -> None:
        """Prepare everything for a vehicle that needs no port."""
        self._commander = commander
        self.clients.note = commander.note
        self.texts.on_refusal = Refusals(commander)
        self.home = Home(commander.vehicle.spec)
        file = Path(self.options.param_file) if self.options.param_file else None
        self.parameters = Parameters(commander, self.texts, constants(commander.vehicle, self.sysid), file)
        self.missions = Missions(commander, self.texts, self.home)
        self.setpoints = SetPoints(commander, self.texts, self.home)
        self.telemetry = Telemetry(commander, self.missions, self.home, lambda: self.setpoints.channels)
        self.commands = Commands(commander, self.texts, self.home, self.missions, self.telemetry)
        self.telemetry.mode = lambda: self.commands.reported_mode
        self.telemetry.offered = lambda: self.commands.offered
        answers = Answers(commander)
        for message, taker in (
            (dialect.SYSTEM_TIME, self._take_time),
            (dialect.PING, answers.take_ping),
            (dialect.SET_MODE, self.commands.take_set_mode),
            (dialect.PARAM_REQUEST_READ, self.parameters.take_read),
            (dialect.PARAM_REQUEST_LIST, self.parameters.take_list),
            (parameters.SET, self.parameters.take_set),
            (dialect.MISSION_REQUEST_PARTIAL_LIST, self.missions.take_partial),
            (dialect.MISSION_WRITE_PARTIAL_LIST, self.missions.take_partial),
            (dialect.MISSION_ITEM, self.missions.take_item),
            (dialect.MISSION_REQUEST, self.missions.take_request),
            (dialect.MISSION_SET_CURRENT, self.missions.take_current),
            (dialect.MISSION_REQUEST_LIST, self.missions.take_list),
            (dialect.MISSION_COUNT, self.missions.take_count),
            (dialect.MISSION_CLEAR_ALL, self.missions.take_clear),
            (dialect.MISSION_ACK, self.missions.take_ack),
            (dialect.MISSION_REQUEST_INT, self.missions.take_request_int),
            (dialect.MISSION_ITEM_INT, self.missions.take_item_int),
            (dialect.MANUAL_CONTROL, self.setpoints.take_manual),
            (dialect.RC_CHANNELS_OVERRIDE, self.setpoints.take_override),
            (dialect.COMMAND_INT, self.commands.take_int),
            (dialect.COMMAND_LONG, self.commands.take_long),
            (dialect.SET_ATTITUDE_TARGET, self.setpoints.take_attitude),
            (dialect.SET_POSITION_TARGET_LOCAL_NED, self.setpoints.take_local),
            (dialect.SET_POSITION_TARGET_GLOBAL_INT, self.setpoints.take_global),
            (dialect.FILE_TRANSFER_PROTOCOL, answers.take_ftp),
            (dialect.TIMESYNC, answers.take_timesync),
            (dialect.LOG_REQUEST_LIST, answers.take_log_list),
            (dialect.LOG_REQUEST_DATA, answers.take_log_data),
            (dialect.SET_HOME_POSITION, self.commands.take_home),
        ):
            self._takers[message.id] = (message, taker)

    @property
    def channels(self) -> list[Channel]:
        """The channels of all partners, over all endpoints."""
        return [channel for endpoint in self.endpoints for channel in endpoint.channels]

    def poll(self, commander: Commander) -> None:
        """Process received messages and send what is due; in lockstep, wait for the partner's next message."""
        if commander.rig.links is not None:
            self._disturb(commander.rig.links)
        self._receive()
        self._work(commander)
        self._tell(commander)
        self._over |= self.landings.look(commander)
        if not self.options.lockstep:
            return
        deadline = time.monotonic() + self.options.wait_s
        while not self._over and not self._ahead(commander):
            handles = [handle for endpoint in self.endpoints for handle in endpoint.handles()]
            ready = select.select(handles, [], [], LOOK_S)[0] if handles else []
            self._receive()
            if self._inbox:
                deadline = time.monotonic() + self.options.wait_s
            elif time.monotonic() > deadline:
                raise LinkError(
                    f"lockstep: no client sent a time in {self.options.wait_s:g} s (wall) at {commander.time_s:.3f} s; "
                    "send SYSTEM_TIME or a set-point with time_boot_ms"
                )
            self._work(commander)
            if ready:
                self._answer(commander)
            else:
                self._tell(commander)

    def _disturb(self, links: FlownLinks) -> None:
        """Let link faults act on all partners, and process messages that they delayed until now."""
        for channel in self.channels:
            channel.disturb(links)
            self._keep(channel, channel.late())

    def announce(self) -> list[str]:
        """Lines for the user: how to reach the vehicle on each link, and how the flight ends."""
        if self.options.lockstep:
            end = f"the flight ends when the client sends SYSTEM_TIME with {END_MS}"
        else:
            end = self.landings.announce()
        return [*(endpoint.announce() for endpoint in self.endpoints), end]

    @property
    def finished(self) -> bool:
        """Whether a partner has ended the flight, or the vehicle has landed and is disarmed."""
        return self._over

    def close(self) -> None:
        """Close all ports; further calls do nothing."""
        for endpoint in self.endpoints:
            endpoint.close()

    # ------------------------------------------------------------------------------------------ in

    def _receive(self) -> None:
        for endpoint in self.endpoints:
            for channel, data in endpoint.receive():
                channel.watch = self.watch
                self._keep(channel, channel.read(data))

    def _keep(self, channel: Channel, messages: Sequence[tuple[int, bytes, Sender]]) -> None:
        for number, payload, sender in messages:
            if sender.system != self.sysid:
                self.clients.heard(channel.name, number, sender.system)
            if number in self._takers and len(self._inbox) < MOST_WAITING:
                self._inbox.append((channel, number, payload, sender))

    def _ahead(self, commander: Commander) -> bool:
        """Whether the next message is for a later simulation time."""
        return bool(self._inbox) and self._due_us(self._inbox[0]) > commander.time_us

    def _due_us(self, waiting: tuple[Channel, int, bytes, Sender]) -> int:
        _, number, payload, _ = waiting
        if number not in TIMED:
            return 0
        at_ms = int(self._takers[number][0].read(payload).time_boot_ms)
        return 0 if at_ms == END_MS else at_ms * 1000

    def _work(self, commander: Commander) -> None:
        """Process received messages; in lockstep, up to the first message for a later simulation time."""
        while self._inbox:
            if self.options.lockstep and self._ahead(commander):
                return
            channel, number, payload, sender = self._inbox.popleft()
            self.take(channel, number, payload, sender)
            if self.options.lockstep and number in TIMED:
                self.telemetry.tell(channel, dialect.SYSTEM_TIME.id)

    def take(self, channel: Channel, number: int, payload: bytes, sender: Sender) -> None:
        """Process one message, if it is addressed to this vehicle."""
        message, taker = self._takers[number]
        if sender == (self.sysid, numbers.MAV_COMP_ID_AUTOPILOT1):
            return  # an own message that was sent back
        if message.record is None:
            content: Any = message.unpack(payload)
            system, component = content[FTP_TARGET]
        else:
            content = message.read(payload)
            system = getattr(content, "target_system", getattr(content, "target", 0))
            component = getattr(content, "target_component", 0)
        answers_all = number in (dialect.PING.id, dialect.MISSION_ACK.id)
        if answers_all or (system in (0, self.sysid) and component in (0, numbers.MAV_COMP_ID_AUTOPILOT1)):
            commander = self._commander
            assert commander is not None
            commander.by = f"MAVLink client {sender.system}"
            try:
                taker(channel, content, sender)
            finally:
                commander.by = ""

    def _take_time(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SYSTEM_TIME: in lockstep the permission to continue; else the ground station's clock, which is not used."""
        self._over |= self.options.lockstep and message.time_boot_ms == END_MS

    # ------------------------------------------------------------------------------------------ out

    def _tell(self, commander: Commander) -> None:
        channels, status = self.channels, commander.status()
        self.clients.look([channel.name for channel in channels])
        if status.healthy:
            self.setpoints.remember_start()
        failsafes = status.failsafes
        for name in failsafes:
            if name not in self._failsafes:
                self.texts.say(f"failsafe: {name}", numbers.MAV_SEVERITY_CRITICAL)
        self._failsafes = failsafes
        self.missions.poll(channels)
        self.parameters.poll(channels)
        self.telemetry.poll(channels)
        self._answer(commander)

    def _answer(self, commander: Commander) -> None:
        channels = self.channels
        self.texts.send(channels)
        for channel in channels:
            channel.watch = self.watch
            channel.flush()
