"""The ears of a ground station: the messages that come in on its wire, and what they say of the autopilot."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironbird.ground.dialects import PX4, AutopilotDialect, dialects_by_number
from ironbird.ground.texts import KINDS, LANDED
from ironbird.ground.wires import Disturbed, Source, Wire
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rig.link_faults import FlownLinks
from ironbird.rig.system import AutopilotEvent, EventList
from ironbird.vehicles.kinds import VehicleClass

GROUND_SYSTEM = 255
HEARTBEAT_S = 0.5  # of simulation time between heartbeats
MOST_SENDERS = 32
SILENT_S = 2.0  # of wall time, after which another sender may be the autopilot
MOST_KEPT = 10_000  # parameters and requests that wait to be looked at
LONGEST_TEXT = 2000
MOST_OTHERS = 8
MOST_NOTES = 10_000


class Station:
    """What a ground station knows of one autopilot, from its messages, and its voice; `passive` ones say nothing.

    The autopilot is the first that says a heartbeat; while it speaks, no other sender is taken for it. Others may send
    to the wire too: they are never answered. Without a given `autopilot` the first heartbeat of a known one, with a
    `system` that of this MAVLink id, says which it is and what kind of vehicle. Whoever has a station sets its time
    (`now_s`) and has it `receive` and `beat`. `simulated`: that time alone decides, never the wall's.
    """

    def __init__(
        self,
        wire: Wire,
        autopilot: AutopilotDialect | None = None,
        *,
        kind: VehicleClass = "copter",
        system: int = 0,
        passive: bool = False,
        simulated: bool = False,
    ) -> None:
        self.wire = wire
        self.dialect = autopilot or PX4
        self.kind = kind
        self.autopilot_events: list[AutopilotEvent] = EventList()
        self.mode = ""
        self.armed = False
        self.was_armed = False
        self.failsafe = False
        self.landed = ""
        self.flying = False  # the mission was started
        self.mission_done = False
        self.home: tuple[float, float, float] | None = None  # degrees, degrees, m above sea level
        self.height_m = 0.0  # above home, as the autopilot says
        self.sink_mps = 0.0  # the same
        self.ekf_flags = 0
        self.gps_fix = 0
        self.reached = -1
        self.current = -1
        self.last_heartbeat = ""
        self.last_text = ""
        self.received = 0
        self.now_s = 0.0
        self.system, self.component = 0, numbers.MAV_COMP_ID_AUTOPILOT1
        self.vehicle_type = numbers.MAV_TYPE_GENERIC
        self.rotor_at_speed = False  # of a helicopter
        self.health = 0
        self.heard_s, self.heard_wall = 0.0, 0.0
        self._beat_s = -math.inf
        self.acks: dict[int, int] = {}
        self.values: dict[str, tuple[float, int]] = {}
        self.requests: list[int] = []
        self.mission_ack: int | None = None
        self._texts: dict[int, str] = {}
        self._takers: dict[int, tuple[Message, list[Callable[[Any], None]]]] = {}
        for message, taker in (
            (dialect.HEARTBEAT, self._take_heartbeat),
            (dialect.SYS_STATUS, self._take_status),
            (dialect.GPS_RAW_INT, self._take_fix),
            (dialect.GLOBAL_POSITION_INT, self._take_position),
            (dialect.HOME_POSITION, self._take_home),
            (dialect.EKF_STATUS_REPORT, self._take_estimator),
            (dialect.ESTIMATOR_STATUS, self._take_estimator),
            (dialect.EXTENDED_SYS_STATE, self._take_landed),
            (dialect.COMMAND_ACK, self._take_answer),
            (dialect.PARAM_VALUE, self._take_param),
            (dialect.MISSION_REQUEST, self._take_request),
            (dialect.MISSION_REQUEST_INT, self._take_request),
            (dialect.MISSION_ACK, self._take_mission_ack),
            (dialect.MISSION_ITEM_REACHED, self._take_reached),
            (dialect.MISSION_CURRENT, self._take_current),
            (dialect.STATUSTEXT, self._take_text),
        ):
            self.listen(message, taker)
        self._packer = Packer(GROUND_SYSTEM, numbers.MAV_COMP_ID_MISSIONPLANNER, 512)
        self._parsers: dict[Source, Parser] = {}  # one for each sender
        self._heard_from: Source | None = None  # the autopilot
        self._passive, self._simulated, self._wanted = passive, simulated, system
        self._known = {} if autopilot is not None else dialects_by_number()
        self.others: set[str] = set()  # senders that are not the vehicle
        self.heard: set[int] = set()  # messages that came
        self.last_message, self.last_message_wall = "", 0.0

    @property
    def modes(self) -> dict[str, str]:
        """The autopilot's names of modes by Ironbird's words."""
        return self.dialect.modes(self.kind)

    @property
    def healthy(self) -> bool:
        """Whether its checks before arming pass."""
        return bool(self.health & numbers.MAV_SYS_STATUS_PREARM_CHECK)

    def close(self) -> None:
        """Let go of the wire. May be called twice."""
        self.wire.close()

    def disturb(self, links: FlownLinks | None) -> None:
        """Have the rig's faults of links act on the wire, if the telemetry has none of them yet."""
        if links is not None and links.take("telemetry"):
            self.wire = Disturbed(self.wire, links.way("ground"), links.way("vehicle"))

    # ------------------------------------------------------------------------------------------ over the wire

    def listen(self, message: Message, taker: Callable[[Any], None]) -> None:
        """Have a message of the autopilot read by its names and handed over, after those who asked earlier."""
        self._takers.setdefault(message.id, (message, []))[1].append(taker)

    def say(self, message: Message, **fields: Any) -> None:
        """Send a message; fields that are not given are zero."""
        self.send(message, message.record(**fields))

    def send(self, message: Message, fields: Sequence[Any]) -> None:
        """Send a message with all its fields in the order of the wire."""
        self._packer.add(message, *fields)
        packet = self._packer.take()
        if not self._passive:
            self.wire.send(packet)

    @property
    def target(self) -> dict[str, Any]:
        """Fields of messages that say whom they are for."""
        return {"target_system": self.system, "target_component": self.component}

    def command(self, command: int, *params: float) -> None:
        """Send a command once; whether it is accepted comes later (`acks`)."""
        named = {f"param{place}": value for place, value in enumerate(params, start=1)}
        self.say(dialect.COMMAND_LONG, command=command, **self.target, **named)

    def ask_for(self, rates_hz: Mapping[Message, float]) -> None:
        """Request messages, each so many times a second."""
        for message, rate in rates_hz.items():
            self.command(numbers.SET_MESSAGE_INTERVAL, message.id, 1e6 / rate)

    def beat(self) -> None:
        """Send the heartbeat when it is due."""
        if not self._passive and self.wire.answered and self.now_s - self._beat_s >= HEARTBEAT_S:
            self._beat_s = self.now_s
            self.say(
                dialect.HEARTBEAT,
                type=numbers.MAV_TYPE_GCS,
                autopilot=numbers.MAV_AUTOPILOT_INVALID,
                system_status=numbers.MAV_STATE_ACTIVE,
                mavlink_version=numbers.MAVLINK_VERSION,
            )

    def receive(self) -> None:
        """Take what came."""
        for source, data in self.wire.read():
            if source not in self._parsers:
                if len(self._parsers) >= MOST_SENDERS:
                    continue
                self._parsers[source] = Parser()
            for number, payload, system, component in self._parsers[source].feed(data):
                self.received += 1
                if not self._is_heard(source):
                    continue
                if number == dialect.HEARTBEAT.id:
                    if not self._is_the_vehicle(dialect.HEARTBEAT.read(payload), system, component):
                        continue
                    self._heard_from, self.component = source, component
                    self.system = system
                    if not self._passive:
                        self.wire.answer(source)
                if system == self.system != 0 and number in self._takers:
                    self._hand_over(*self._takers[number], payload)

    def _is_heard(self, source: Source) -> bool:
        """Whether this sender may be the autopilot."""
        return self._heard_from in (None, source) or self.wall_s() - self.heard_wall > SILENT_S

    # ------------------------------------------------------------------------------------------ what came

    def _hand_over(self, message: Message, takers: Sequence[Callable[[Any], None]], payload: bytes) -> None:
        said = message.read(payload)
        self.heard.add(message.id)
        self.last_message, self.last_message_wall = message.name, self.wall_s()
        for take in takers:
            take(said)

    def _is_the_vehicle(self, said: Any, system: int, component: int) -> bool:
        """Whether a heartbeat is the vehicle's; the first says what it is."""
        if said.autopilot == numbers.MAV_AUTOPILOT_INVALID or component != numbers.MAV_COMP_ID_AUTOPILOT1:
            return False  # a ground station, gimbal, ...
        known = self._known.get(said.autopilot)
        strange = self._wanted not in (0, system) or (bool(self._known) and known is None)
        if strange or self.system not in (0, system):
            if len(self.others) < MOST_OTHERS:
                name = known.name if known else f"autopilot {said.autopilot}, which is not known here"
                self.others.add(f"system {system} ({name})")
            if strange or self.wall_s() - self.heard_wall < SILENT_S:
                return False  # another vehicle on the same wire
        if known is not None and not self.system:
            self.dialect, self.kind = known, KINDS.get(said.type, "copter")
        return True

    def _take_heartbeat(self, said: Any) -> None:
        self.vehicle_type = said.type
        self.heard_s, self.heard_wall = self.now_s, self.wall_s()
        armed = bool(said.base_mode & numbers.MAV_MODE_FLAG_SAFETY_ARMED)
        mode = self.dialect.mode_name(self.kind, said.base_mode, said.custom_mode)
        self.last_heartbeat = f"{mode}, {'armed' if armed else 'disarmed'}, status {said.system_status}"
        if armed != self.armed:
            self.armed = armed
            self.was_armed = self.was_armed or armed
            self.note("armed", "armed" if armed else "disarmed")
        if mode != self.mode:
            self.mode = mode
            self.note("mode", mode)
        critical = said.system_status in (numbers.MAV_STATE_CRITICAL, numbers.MAV_STATE_EMERGENCY)
        if critical != self.failsafe:
            self.failsafe = critical
            self.note("failsafe", "failsafe" if critical else "failsafe over")

    def _take_status(self, said: Any) -> None:
        self.health = said.onboard_control_sensors_health

    def _take_fix(self, said: Any) -> None:
        self.gps_fix = said.fix_type

    def _take_position(self, said: Any) -> None:
        self.height_m, self.sink_mps = said.relative_alt * 1e-3, said.vz * 1e-2

    def _take_home(self, said: Any) -> None:
        self.home = (said.latitude * 1e-7, said.longitude * 1e-7, said.altitude * 1e-3)

    def _take_estimator(self, said: Any) -> None:
        changes = self.dialect.estimator_changes(self.ekf_flags, said.flags)
        self.ekf_flags = said.flags
        if changes:
            self.note("estimator", changes)

    def _take_landed(self, said: Any) -> None:
        landed = LANDED.get(said.landed_state, "undefined")
        if landed != self.landed:
            self.landed = landed
            self.note("landed", landed)

    def _take_answer(self, said: Any) -> None:
        self.acks[said.command] = said.result

    def _take_param(self, said: Any) -> None:
        if len(self.values) >= MOST_KEPT:
            self.values.clear()
        self.values[_text(said.param_id)] = (said.param_value, said.param_type)

    def _take_request(self, said: Any) -> None:
        if len(self.requests) < MOST_KEPT:
            self.requests.append(said.seq)

    def _take_mission_ack(self, said: Any) -> None:
        self.mission_ack = said.type

    def _take_current(self, said: Any) -> None:
        if said.seq != self.current:
            self.current = said.seq
            if self.flying:
                self.note("item", f"item {said.seq}")
        if self.flying and said.mission_state == numbers.MISSION_STATE_COMPLETE:
            self.mission_done = True

    def _take_reached(self, said: Any) -> None:
        if said.seq != self.reached:
            self.reached = said.seq
            self.note("item", f"item {said.seq} reached")

    def _take_text(self, said: Any) -> None:
        text = _text(said.text).rstrip("\t ")
        if said.id:  # long texts come in pieces
            text = self._texts.pop(said.id, "") + text
            if said.text[-1] and len(text) < LONGEST_TEXT:  # it fills the message: more comes
                self._texts[said.id] = text
                return
        self.last_text = text
        ready = self.dialect.rotor_text
        self.rotor_at_speed = self.rotor_at_speed or (ready is not None and text.startswith(ready))
        self.note("failsafe" if "failsafe" in text.lower() else "text", f"{text} (severity {said.severity})")

    def wall_s(self) -> float:
        """Wall time, for patience; in virtual time only simulation time may decide anything."""
        return self.now_s if self._simulated or self.wire.virtual else time.monotonic()

    def note(self, kind: str, text: str) -> None:
        """Keep what happened; the first of very many are kept."""
        if len(self.autopilot_events) < MOST_NOTES:
            self.autopilot_events.append(AutopilotEvent(self.now_s, kind, text))


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")
