"""The receiver of a ground station: messages on its wire, and the state of the autopilot that they report."""

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
SILENT_S = 2.0  # s of wall time after which another sender may be the autopilot
MOST_KEPT = 10_000  # parameters and requests that wait to be looked at
LONGEST_TEXT = 2000
MOST_WARNINGS = 8  # texts that an error quotes
MOST_OTHERS = 8
MOST_NOTES = 10_000


class Station:
    """State of one autopilot, from its messages, and functions to send to it; `passive` ones send nothing.

    The autopilot is the first sender of a heartbeat; while it sends, no other sender is taken for it. Messages of other
    senders on the wire are never answered. Without a given `autopilot` the first heartbeat of a known one (with a
    `system`, of this MAVLink id) defines the autopilot and the kind of vehicle. The owner of a station sets its time
    (`now_s`) and calls `receive` and `beat`. `simulated`: only that time counts, never wall time.
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
        self.warnings: list[str] = []  # texts of warnings and worse since the last upload began, each once
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
        """The autopilot's mode names by Ironbird's words."""
        return self.dialect.modes(self.kind)

    @property
    def healthy(self) -> bool:
        """Whether its checks before arming pass."""
        return bool(self.health & numbers.MAV_SYS_STATUS_PREARM_CHECK)

    def close(self) -> None:
        """Close the wire; further calls do nothing."""
        self.wire.close()

    def disturb(self, links: FlownLinks | None) -> None:
        """Let the rig's link faults act on the wire, if telemetry is not disturbed yet."""
        if links is not None and links.take("telemetry"):
            self.wire = Disturbed(self.wire, links.way("ground"), links.way("vehicle"))

    # ------------------------------------------------------------------------------------------ over the wire

    def listen(self, message: Message, taker: Callable[[Any], None]) -> None:
        """Call `taker` with the named fields of each such message, after those registered earlier."""
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
        """The fields target_system and target_component of the vehicle."""
        return {"target_system": self.system, "target_component": self.component}

    def command(self, command: int, *params: float) -> None:
        """Send a command (COMMAND_LONG) once; the result arrives later in `acks`."""
        fields = {f"param{place}": value for place, value in enumerate(params, start=1)}
        self.say(dialect.COMMAND_LONG, command=command, **self.target, **fields)

    def ask_for(self, rates_hz: Mapping[Message, float]) -> None:
        """Request messages, each at a rate in Hz."""
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
        """Read the wire and process all messages of the autopilot."""
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
        content = message.read(payload)
        self.heard.add(message.id)
        self.last_message, self.last_message_wall = message.name, self.wall_s()
        for take in takers:
            take(content)

    def _is_the_vehicle(self, message: Any, system: int, component: int) -> bool:
        """Whether a heartbeat is the vehicle's; the first one defines autopilot and kind of vehicle."""
        if message.autopilot == numbers.MAV_AUTOPILOT_INVALID or component != numbers.MAV_COMP_ID_AUTOPILOT1:
            return False  # a ground station, gimbal, ...
        known = self._known.get(message.autopilot)
        strange = self._wanted not in (0, system) or (bool(self._known) and known is None)
        if strange or self.system not in (0, system):
            if len(self.others) < MOST_OTHERS:
                name = known.name if known else f"autopilot {message.autopilot}, which is not known here"
                self.others.add(f"system {system} ({name})")
            if strange or self.wall_s() - self.heard_wall < SILENT_S:
                return False  # another vehicle on the same wire
        if known is not None and not self.system:
            self.dialect, self.kind = known, KINDS.get(message.type, "copter")
        return True

    def _take_heartbeat(self, message: Any) -> None:
        self.vehicle_type = message.type
        self.heard_s, self.heard_wall = self.now_s, self.wall_s()
        armed = bool(message.base_mode & numbers.MAV_MODE_FLAG_SAFETY_ARMED)
        mode = self.dialect.mode_name(self.kind, message.base_mode, message.custom_mode)
        self.last_heartbeat = f"{mode}, {'armed' if armed else 'disarmed'}, status {message.system_status}"
        if armed != self.armed:
            self.armed = armed
            self.was_armed = self.was_armed or armed
            self.note("armed", "armed" if armed else "disarmed")
        if mode != self.mode:
            self.mode = mode
            self.note("mode", mode)
        critical = message.system_status in (numbers.MAV_STATE_CRITICAL, numbers.MAV_STATE_EMERGENCY)
        if critical != self.failsafe:
            self.failsafe = critical
            self.note("failsafe", "failsafe" if critical else "failsafe over")

    def _take_status(self, message: Any) -> None:
        self.health = message.onboard_control_sensors_health

    def _take_fix(self, message: Any) -> None:
        self.gps_fix = message.fix_type

    def _take_position(self, message: Any) -> None:
        self.height_m, self.sink_mps = message.relative_alt * 1e-3, message.vz * 1e-2

    def _take_home(self, message: Any) -> None:
        self.home = (message.latitude * 1e-7, message.longitude * 1e-7, message.altitude * 1e-3)

    def _take_estimator(self, message: Any) -> None:
        changes = self.dialect.estimator_changes(self.ekf_flags, message.flags)
        self.ekf_flags = message.flags
        if changes:
            self.note("estimator", changes)

    def _take_landed(self, message: Any) -> None:
        landed = LANDED.get(message.landed_state, "undefined")
        if landed != self.landed:
            self.landed = landed
            self.note("landed", landed)

    def _take_answer(self, message: Any) -> None:
        self.acks[message.command] = message.result

    def _take_param(self, message: Any) -> None:
        if len(self.values) >= MOST_KEPT:
            self.values.clear()
        self.values[_text(message.param_id)] = (message.param_value, message.param_type)

    def _take_request(self, message: Any) -> None:
        if len(self.requests) < MOST_KEPT:
            self.requests.append(message.seq)

    def _take_mission_ack(self, message: Any) -> None:
        self.mission_ack = message.type

    def _take_current(self, message: Any) -> None:
        if message.seq != self.current:
            self.current = message.seq
            if self.flying:
                self.note("item", f"item {message.seq}")
        if self.flying and message.mission_state == numbers.MISSION_STATE_COMPLETE:
            self.mission_done = True

    def _take_reached(self, message: Any) -> None:
        if message.seq != self.reached:
            self.reached = message.seq
            self.note("item", f"item {message.seq} reached")

    def _take_text(self, message: Any) -> None:
        text = _text(message.text).rstrip("\t ")
        if message.id:  # long texts come in pieces
            text = self._texts.pop(message.id, "") + text
            if message.text[-1] and len(text) < LONGEST_TEXT:  # the text fills the message: another piece follows
                self._texts[message.id] = text
                return
        self.last_text = text
        if message.severity <= numbers.MAV_SEVERITY_WARNING and text not in self.warnings:
            self.warnings = [*self.warnings, text][-MOST_WARNINGS:]
        ready = self.dialect.rotor_text
        self.rotor_at_speed = self.rotor_at_speed or (ready is not None and text.startswith(ready))
        self.note("failsafe" if "failsafe" in text.lower() else "text", f"{text} (severity {message.severity})")

    def wall_s(self) -> float:
        """Wall time in s for deadlines; in virtual time simulation time, so that flights repeat."""
        return self.now_s if self._simulated or self.wire.virtual else time.monotonic()

    def note(self, kind: str, text: str) -> None:
        """Record an event; beyond a limit further ones are dropped."""
        if len(self.autopilot_events) < MOST_NOTES:
            self.autopilot_events.append(AutopilotEvent(self.now_s, kind, text))


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")
