"""The ears of a ground station: the messages that come in on its wire, and what they say of the autopilot."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ironbird.ground.dialects import AutopilotDialect
from ironbird.ground.texts import LANDED
from ironbird.ground.wires import Source, Wire
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rig.system import AutopilotEvent
from ironbird.vehicles.kinds import VehicleClass

GROUND_SYSTEM = 255
HEARTBEAT_S = 0.5  # of simulation time between heartbeats
MOST_SENDERS = 32
SILENT_S = 2.0  # of wall time, after which another sender may be the autopilot
MOST_KEPT = 10_000  # parameters and requests that wait to be looked at
LONGEST_TEXT = 2000


class Station:
    """What a ground station knows of one autopilot, from its messages; `passive` ones say nothing.

    The autopilot is the first that says a heartbeat; while it speaks, no other sender is taken for it. Others may send
    to the wire too: they are never answered.
    """

    def __init__(
        self,
        autopilot: AutopilotDialect,
        *,
        kind: VehicleClass,
        wire: Wire,
        passive: bool,
    ) -> None:
        self.dialect = autopilot
        self.kind = kind
        self.autopilot_events: list[AutopilotEvent] = []
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
        self._now_s = 0.0
        self._system, self._component = 0, numbers.MAV_COMP_ID_AUTOPILOT1
        self._vehicle_type = numbers.MAV_TYPE_GENERIC
        self._rotor_at_speed = False  # of a helicopter
        self._health = 0
        self._heard_s, self._heard_wall = 0.0, 0.0
        self._beat_s = -math.inf
        self._acks: dict[int, int] = {}
        self._values: dict[str, tuple[float, int]] = {}
        self._requests: list[int] = []
        self._mission_ack: int | None = None
        self._texts: dict[int, str] = {}
        self._takers: dict[int, tuple[Message, Callable[[Any], None]]] = {}
        for message, taker in (
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
            self._listen(message, taker)
        self._packer = Packer(GROUND_SYSTEM, numbers.MAV_COMP_ID_MISSIONPLANNER, 512)
        self._parsers: dict[Source, Parser] = {}  # one for each sender
        self._heard_from: Source | None = None  # the autopilot
        self._passive = passive
        self.wire = wire

    @property
    def healthy(self) -> bool:
        """Whether its checks before arming pass."""
        return bool(self._health & numbers.MAV_SYS_STATUS_PREARM_CHECK)

    def close(self) -> None:
        """Let go of the wire. May be called twice."""
        self.wire.close()

    # ------------------------------------------------------------------------------------------ over the wire

    def _listen(self, message: Message, taker: Callable[[Any], None]) -> None:
        """Have a message of the autopilot read by its names and handed over."""
        self._takers[message.id] = (message, taker)

    def _say(self, message: Message, **fields: Any) -> None:
        """Send a message; fields that are not given are zero."""
        self._packer.add(message, *message.record(**fields))
        packet = self._packer.take()
        if not self._passive:
            self.wire.send(packet)

    def _command(self, command: int, *params: float) -> None:
        named = {f"param{place}": value for place, value in enumerate(params, start=1)}
        self._say(
            dialect.COMMAND_LONG, command=command, target_system=self._system, target_component=self._component, **named
        )

    def _beat(self) -> None:
        """Send the heartbeat when it is due."""
        if not self._passive and self.wire.answered and self._now_s - self._beat_s >= HEARTBEAT_S:
            self._beat_s = self._now_s
            self._say(
                dialect.HEARTBEAT,
                type=numbers.MAV_TYPE_GCS,
                autopilot=numbers.MAV_AUTOPILOT_INVALID,
                system_status=numbers.MAV_STATE_ACTIVE,
                mavlink_version=numbers.MAVLINK_VERSION,
            )

    def _receive(self) -> None:
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
                    if self._take_heartbeat(dialect.HEARTBEAT.read(payload), system, component):
                        self._heard_from = source
                        if not self._passive:
                            self.wire.answer(source)
                elif system == self._system != 0 and number in self._takers:
                    message, taker = self._takers[number]
                    taker(message.read(payload))

    def _is_heard(self, source: Source) -> bool:
        """Whether this sender may be the autopilot."""
        return self._heard_from in (None, source) or self._wall_s() - self._heard_wall > SILENT_S

    # ------------------------------------------------------------------------------------------ what came

    def _take_heartbeat(self, said: Any, system: int, component: int) -> bool:
        """Whether it is the autopilot's."""
        if said.autopilot == numbers.MAV_AUTOPILOT_INVALID or component != numbers.MAV_COMP_ID_AUTOPILOT1:
            return False  # a ground station, gimbal, ...
        if self._system not in (0, system) and self._wall_s() - self._heard_wall < SILENT_S:
            return False  # another vehicle on the same wire
        self._system, self._component = system, component
        self._vehicle_type = said.type
        self._heard_s, self._heard_wall = self._now_s, self._wall_s()
        armed = bool(said.base_mode & numbers.MAV_MODE_FLAG_SAFETY_ARMED)
        mode = self.dialect.mode_name(self.kind, said.base_mode, said.custom_mode)
        self.last_heartbeat = f"{mode}, {'armed' if armed else 'disarmed'}, status {said.system_status}"
        if armed != self.armed:
            self.armed = armed
            self.was_armed = self.was_armed or armed
            self._note("armed", "armed" if armed else "disarmed")
        if mode != self.mode:
            self.mode = mode
            self._note("mode", mode)
        critical = said.system_status in (numbers.MAV_STATE_CRITICAL, numbers.MAV_STATE_EMERGENCY)
        if critical != self.failsafe:
            self.failsafe = critical
            self._note("failsafe", "failsafe" if critical else "failsafe over")
        return True

    def _take_status(self, said: Any) -> None:
        self._health = said.onboard_control_sensors_health

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
            self._note("estimator", changes)

    def _take_landed(self, said: Any) -> None:
        landed = LANDED.get(said.landed_state, "undefined")
        if landed != self.landed:
            self.landed = landed
            self._note("landed", landed)

    def _take_answer(self, said: Any) -> None:
        self._acks[said.command] = said.result

    def _take_param(self, said: Any) -> None:
        if len(self._values) >= MOST_KEPT:
            self._values.clear()
        self._values[_text(said.param_id)] = (said.param_value, said.param_type)

    def _take_request(self, said: Any) -> None:
        if len(self._requests) < MOST_KEPT:
            self._requests.append(said.seq)

    def _take_mission_ack(self, said: Any) -> None:
        self._mission_ack = said.type

    def _take_current(self, said: Any) -> None:
        if said.seq != self.current:
            self.current = said.seq
            if self.flying:
                self._note("item", f"item {said.seq}")
        if self.flying and said.mission_state == numbers.MISSION_STATE_COMPLETE:
            self.mission_done = True

    def _take_reached(self, said: Any) -> None:
        if said.seq != self.reached:
            self.reached = said.seq
            self._note("item", f"item {said.seq} reached")

    def _take_text(self, said: Any) -> None:
        text = _text(said.text).rstrip("\t ")
        if said.id:  # long texts come in pieces
            text = self._texts.pop(said.id, "") + text
            if said.text[-1] and len(text) < LONGEST_TEXT:  # it fills the message: more comes
                self._texts[said.id] = text
                return
        self.last_text = text
        ready = self.dialect.rotor_text
        self._rotor_at_speed = self._rotor_at_speed or (ready is not None and text.startswith(ready))
        self._note("failsafe" if "failsafe" in text.lower() else "text", f"{text} (severity {said.severity})")

    def _wall_s(self) -> float:
        """Wall time, for patience; in virtual time only simulation time may decide anything."""
        return self._now_s if self.wire.virtual else time.monotonic()

    def _note(self, kind: str, text: str) -> None:
        self.autopilot_events.append(AutopilotEvent(self._now_s, kind, text))


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")
