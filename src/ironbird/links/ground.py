"""Pilot: a ground station that takes an autopilot through a mission over MAVLink, in simulation time.

It is polled from the run loop and never blocks. What it does is written as a script of steps; each has a deadline in
wall time and one in simulation time, and a `LinkError` names the step, the last heartbeat and the last text.
Messages, handshakes, modes and readiness: [MAVLinkMission], [PX4], [ArduPilotDev].
"""

from __future__ import annotations

import contextlib
import importlib
import math
import socket
import struct
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ironbird.errors import LinkError
from ironbird.links.plan_file import ABSOLUTE, LAND, RETURN, TOUCHES, VTOL_LAND, WAYPOINT, Kind, PlanItem
from ironbird.links.system import Happening

Script = Generator[None, None, None]
GROUND_SYSTEM, GROUND_COMPONENT = 255, 190  # MAV_COMP_ID_MISSIONPLANNER, as ground stations use it
PREARM = 0x10000000  # MAV_SYS_STATUS_PREARM_CHECK
HEARTBEAT_S = 0.5  # of simulation time between ours
ASK_S, ASK_WALL_S = 1.0, 0.1  # a question is asked again after both
LOST_S, LOST_WALL_S = 15.0, 15.0  # without a heartbeat of the autopilot; its link is to notice before
SEEN_S = 3.0  # that other ground stations hear of the end too
OFF_THE_GROUND_M = 1.0  # above home, if the autopilot does not say that it flies
STATUS_CRITICAL = 5  # MAV_STATE: CRITICAL and EMERGENCY
STANDS_S, STILL_MPS = 5.0, 0.15  # landing for so long without sinking: it stands and does not know it
LANDED = {0: "undefined", 1: "on the ground", 2: "in the air", 3: "taking off", 4: "landing"}
RESULTS = {
    0: "accepted", 1: "temporarily rejected", 2: "denied", 3: "unsupported", 4: "failed", 5: "in progress",
    6: "cancelled",
}  # fmt: skip
MISSION_RESULTS = {
    0: "accepted", 1: "error", 2: "unsupported frame", 3: "unsupported command", 4: "no space", 5: "invalid",
    6: "invalid parameter 1", 7: "invalid parameter 2", 8: "invalid parameter 3", 9: "invalid parameter 4",
    10: "invalid x", 11: "invalid y", 12: "invalid z", 13: "wrong sequence", 14: "denied", 15: "cancelled",
}  # fmt: skip
# Flags of ESTIMATOR_STATUS and EKF_STATUS_REPORT, which number them alike up to bit 7.
EKF_FLAGS = {
    0x1: "attitude", 0x2: "horizontal velocity", 0x4: "vertical velocity", 0x8: "relative position",
    0x10: "absolute position", 0x20: "height", 0x80: "constant position",
}  # fmt: skip
MORE_EKF_FLAGS = {
    "px4": {0x400: "GPS glitch", 0x800: "accelerometer error"},
    "ardupilot": {0x400: "not initialised", 0x8000: "GPS glitch"},
}
EKF_NEEDED = 0x1 | 0x2 | 0x4 | 0x10 | 0x20
EKF_CONSTANT_POSITION = 0x80
HEARTBEAT, SYS_STATUS, PARAM_VALUE, GPS_RAW_INT, GLOBAL_POSITION, MISSION_REQUEST, MISSION_CURRENT = (
    0,
    1,
    22,
    24,
    33,
    40,
    42,
)
MISSION_REACHED, MISSION_ACK, MISSION_REQUEST_INT, COMMAND_ACK, EKF_REPORT, ESTIMATOR = 46, 47, 51, 77, 193, 230
HOME_POSITION, EXTENDED_STATE, STATUSTEXT = 242, 245, 253
WANTED = {
    HEARTBEAT, SYS_STATUS, PARAM_VALUE, GPS_RAW_INT, GLOBAL_POSITION, MISSION_REQUEST, MISSION_CURRENT,
    MISSION_REACHED, MISSION_ACK, MISSION_REQUEST_INT, COMMAND_ACK, EKF_REPORT, ESTIMATOR, HOME_POSITION,
    EXTENDED_STATE, STATUSTEXT,
}  # fmt: skip
RATES_HZ = {  # asked for after the first heartbeat, in simulation time
    SYS_STATUS: 2.0, GPS_RAW_INT: 2.0, GLOBAL_POSITION: 5.0, HOME_POSITION: 1.0, EXTENDED_STATE: 5.0,
    MISSION_CURRENT: 2.0,
}  # fmt: skip
PX4_MAIN = {
    "MANUAL": 1, "ALTCTL": 2, "POSCTL": 3, "ACRO": 5, "OFFBOARD": 6, "STABILIZED": 7, "TERMINATION": 10,
}  # fmt: skip
PX4_AUTO = {
    "READY": 1, "TAKEOFF": 2, "LOITER": 3, "MISSION": 4, "RTL": 5, "LAND": 6, "FOLLOWME": 8, "PRECLAND": 9,
    "VTOL_TAKEOFF": 10,
}  # fmt: skip
AUTO_MAIN = 4
WORDS = {  # what we order, in the words of each autopilot
    "px4": {"mission": "MISSION", "land": "LAND", "return": "RTL", "hold": "LOITER"},
    "ardupilot": {"mission": "AUTO", "land": "LAND", "return": "RTL", "hold": "LOITER"},
}
DO_SET_MODE, ARM_DISARM, MISSION_START, SET_INTERVAL, NAV_LAND, NAV_TAKE_OFF, NAV_RETURN = (
    176,
    400,
    300,
    511,
    21,
    22,
    20,
)
HELICOPTER = 4  # MAV_TYPE
DO_AUX_FUNCTION, MOTOR_INTERLOCK, SWITCH_HIGH = 218, 32, 2  # a switch of the remote control, [ArduPilotCode] RC_Channel
DIALECTS = {"px4": "common", "ardupilot": "ardupilotmega"}


class Clock(Protocol):
    """What the pilot needs of a rig."""

    @property
    def time_s(self) -> float:
        """Simulation time."""


@dataclass
class Step:
    """What the pilot waits for."""

    name: str
    wall_s: float
    sim_s: float
    wall_0: float
    sim_0: float
    note: str = ""  # the last refusal


class Pilot:
    """A ground station for one flight. `poll` it about every 20 ms of simulation time; `close` it in any case.

    It waits for the autopilot, sets `params`, uploads `plan`, arms and starts it; without a plan it takes off to
    `takeoff_m` and stays. `order` (`land`, `return`, `hold`, `takeoff`, or a mode's name) may come at any time.
    PX4 is heard on 14540 + instance and spoken to on 14580 + instance (`peer_port`); ArduPilot on the port that its
    --serial0 sends to.
    A `passive` one sends nothing: it watches what another ground station does, and is finished when the vehicle has
    been in the air (or driven) and is down and disarmed again.
    Not done: geofences, rally points, offboard control.
    """

    def __init__(
        self, autopilot: Literal["px4", "ardupilot"], *, kind: Kind = "copter", port: int,
        peer_port: int | None = None, host: str = "127.0.0.1", plan: Sequence[PlanItem] = (), takeoff_m: float = 10.0,
        params: Mapping[str, float] | None = None, arm_after_s: float = 0.0, patience: float = 1.0,
        passive: bool = False,
    ) -> None:  # fmt: skip
        self.autopilot = autopilot
        self.kind = kind
        self.plan = list(plan)
        self.takeoff_m = takeoff_m
        self.params = dict(params or {})
        self.arm_after_s = arm_after_s
        self.patience = patience  # factor on wall deadlines, for slow machines
        self.happenings: list[Happening] = []
        self.mode = ""
        self.armed = False
        self.was_armed = False
        self.failsafe = False
        self.landed = ""
        self.ready = False
        self.flying = False  # the mission was started
        self.mission_done = False
        self.finished = False
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
        self.bad = 0
        self._system, self._component = 0, 1
        self._vehicle_type = 0  # MAV_TYPE
        self._rotor_at_speed = False  # of a helicopter
        self._health = 0
        self._heard_s, self._heard_wall = 0.0, 0.0
        self._beat_s = -math.inf
        self._now_s = 0.0
        self._sank_s = 0.0  # when it last sank or did not try to land
        self._step: Step | None = None
        self._orders: list[str] = []
        self._acks: dict[int, int] = {}
        self._values: dict[str, tuple[float, int]] = {}
        self._requests: list[int] = []
        self._mission_ack: int | None = None
        self._texts: dict[int, str] = {}
        self._rest = b""
        self._wanted = WANTED
        self._heard_from: tuple[str, int] | None = None  # the autopilot; others may send here too
        self._mav = _codec(autopilot, self._send)
        self._passive = passive
        self._peer: tuple[str, int] | None = (host, peer_port) if peer_port is not None and not passive else None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise LinkError(
                f"UDP port {port}, where {autopilot} speaks to a ground station, cannot be opened: {error.strerror}; "
                "`ironbird doctor` says who holds it"
            ) from None
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._script = self._watch() if passive else self._fly()

    def __enter__(self) -> Pilot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the port. May be called twice."""
        self._socket.close()

    def order(self, what: str) -> None:
        """Have `land`, `return`, `hold`, `takeoff`, `disarm` or a mode flown as soon as the script allows it."""
        self._orders.append(what)

    def poll(self, rig: Clock) -> None:
        """Read what came, say what is due, go on with the script."""
        self._now_s = rig.time_s
        self._receive()
        if self._peer is not None and self._now_s - self._beat_s >= HEARTBEAT_S:
            self._beat_s = self._now_s
            self._mav.heartbeat_send(6, 8, 0, 0, 4)  # MAV_TYPE_GCS, MAV_AUTOPILOT_INVALID, MAV_STATE_ACTIVE
        self._check_deadlines()
        with contextlib.suppress(StopIteration):
            next(self._script)

    # ------------------------------------------------------------------------------------------ the flight

    def _fly(self) -> Script:
        yield from self._wait("heartbeat", lambda: self._system > 0, wall_s=90, sim_s=90)
        for message, rate in RATES_HZ.items():
            self._command(SET_INTERVAL, message, 1e6 / rate)
        self._command(SET_INTERVAL, EKF_REPORT if self.autopilot == "ardupilot" else ESTIMATOR, 2e5)
        for name, value in self.params.items():
            yield from self._set_param(name, value)
        yield from self._wait("readiness", self._is_ready, wall_s=240, sim_s=150)
        self.ready = True
        self._note("ready", f"ready after {self._now_s:.1f} s")
        if self.plan:
            yield from self._upload()
        yield from self._wait("the time to arm", lambda: self._now_s >= self.arm_after_s, wall_s=3600, sim_s=1e9)
        if self.plan:
            yield from self._start_mission()
        elif self.kind in TOUCHES:
            yield from self._arm()
        else:
            yield from self._take_off()
        self.flying = True
        yield from self._until_down()
        self.finished = True
        self._note("finished", "landed and disarmed" if self.kind not in TOUCHES else "disarmed")

    def _watch(self) -> Script:
        yield from self._wait("heartbeat", lambda: self._system > 0, wall_s=90, sim_s=90)
        self._step = None
        while not self.flying:
            off = self.kind in TOUCHES or self.landed == LANDED[2] or self.height_m > OFF_THE_GROUND_M
            self.flying = self.armed and off
            yield
        yield from self._until_down()
        down_s = self._now_s
        while self._now_s - down_s < SEEN_S:
            yield
        self.finished = True
        self._note("finished", "landed and disarmed" if self.kind not in TOUCHES else "disarmed")

    def _is_ready(self) -> bool:
        healthy = bool(self._health & PREARM)
        if self.autopilot == "px4":
            return healthy and (self.home is not None or self.kind == "sub")
        if self.kind == "sub" and not self.plan:  # depth and heading are enough without a place to go to
            return healthy
        sure = self.ekf_flags & EKF_NEEDED == EKF_NEEDED and not self.ekf_flags & EKF_CONSTANT_POSITION
        return healthy and sure and self.gps_fix >= 3 and self.home is not None

    def _start_mission(self) -> Script:
        if self.autopilot == "px4":
            yield from self._set_mode("MISSION")
            yield from self._arm()
        elif self.kind in ("plane", "vtol"):
            yield from self._set_mode("AUTO")
            yield from self._arm()
        else:  # a copter refuses to arm in AUTO, and starts the mission on this command only
            yield from self._set_mode("ALT_HOLD" if self.kind == "sub" else "GUIDED")
            yield from self._arm()
            yield from self._ask("start of the mission", MISSION_START)  # from item to item is refused

    def _take_off(self) -> Script:
        home_m = self.home[2] if self.home is not None else 0.0
        if self.autopilot == "px4":  # its height is above the sea, and it waits for the motors
            yield from self._ask(
                "take-off", NAV_TAKE_OFF, 0, 0, 0, math.nan, math.nan, math.nan, home_m + self.takeoff_m
            )
            yield from self._arm()
        elif self.kind == "plane":
            yield from self._set_mode("TAKEOFF")
            yield from self._arm()
        else:
            yield from self._set_mode("GUIDED")
            yield from self._arm()
            yield from self._ask("take-off", NAV_TAKE_OFF, 0, 0, 0, 0, 0, 0, self.takeoff_m)

    def _until_down(self) -> Script:
        self._step = None
        ends_itself = bool(self.plan) and self.plan[-1].command in (LAND, RETURN, VTOL_LAND)
        told_to_end = not self.plan
        while True:
            while self._orders:
                yield from self._obey(self._orders.pop(0))
                self._step = None
            if self.mission_done and not ends_itself and not told_to_end and self.armed:
                told_to_end = True
                self._orders.append("disarm" if self.kind in TOUCHES else "land")
            if not self.armed and self.landed in ("", LANDED[0], LANDED[1]):
                return
            if self._stands_unaware():
                self._note(
                    "pilot", f"landing, but has not sunk for {STANDS_S:g} s: sticks to the middle, throttle down"
                )
                self._orders += ["settle", "land"]
            yield

    def _stands_unaware(self) -> bool:
        """Whether ArduPilot stands on the ground and cannot tell.

        Its land detector wants a lean of less than 15 degrees to be asked for. After a touch-down in a gust the
        position loop asks for more, and more with time, as nothing moves [ArduPilotCode] land_detector.cpp.
        """
        ours = self.autopilot == "ardupilot" and self.kind == "copter" and not self._passive
        if not ours or self.landed != LANDED[4] or abs(self.sink_mps) > STILL_MPS:
            self._sank_s = self._now_s
        unaware = self._now_s - self._sank_s > STANDS_S
        if unaware:
            self._sank_s = self._now_s
        return unaware

    def _settle(self) -> Script:
        """Sticks decide the lean in ALT_HOLD, and no remote control means level and down: the detector works again."""
        yield from self._set_mode("ALT_HOLD")
        begin_s = self._now_s
        while self.landed != LANDED[1] and self._now_s - begin_s < STANDS_S:
            yield

    def _obey(self, what: str) -> Script:
        if what == "takeoff":
            yield from self._take_off()
        elif what == "disarm":
            yield from self._ask("disarming", ARM_DISARM, 0)
            yield from self._wait("disarmed", lambda: not self.armed, wall_s=30, sim_s=20)
        elif what == "settle":
            yield from self._settle()
        elif what == "land" and self.autopilot == "ardupilot" and self.kind == "plane":
            yield from self._set_mode("RTL")
        elif what == "land" and self.autopilot == "ardupilot" and self.kind == "vtol":
            yield from self._set_mode("QLAND")
        else:
            yield from self._set_mode(WORDS[self.autopilot].get(what, what))

    def _arm(self) -> Script:
        yield from self._ask("arming", ARM_DISARM, 1, wall_s=120, sim_s=60)
        yield from self._wait("armed", lambda: self.armed, wall_s=30, sim_s=20)
        if self.autopilot == "ardupilot" and self._vehicle_type == HELICOPTER:
            self._rotor_at_speed = False
            yield from self._ask("rotor switched on", DO_AUX_FUNCTION, MOTOR_INTERLOCK, SWITCH_HIGH)
            yield from self._wait("rotor at speed", lambda: self._rotor_at_speed, wall_s=120, sim_s=90)

    def _set_mode(self, name: str) -> Script:
        name = name.upper()
        if self.autopilot == "px4":
            if name in PX4_AUTO:
                main, sub = AUTO_MAIN, PX4_AUTO[name]
            elif name in PX4_MAIN:
                main, sub = PX4_MAIN[name], 0
            else:
                raise LinkError(f"PX4 has no mode '{name}'; it has {', '.join([*PX4_MAIN, *PX4_AUTO])}")
        else:
            numbers = {mode: number for number, mode in _ardupilot_modes(self.kind).items()}
            if name not in numbers:
                raise LinkError(f"ArduPilot's {self.kind} has no mode '{name}'; it has {', '.join(numbers)}")
            main, sub = numbers[name], 0
        yield from self._ask(f"mode {name}", DO_SET_MODE, 1, main, sub)
        yield from self._wait(f"mode {name} in the heartbeat", lambda: self.mode == name, wall_s=30, sim_s=20)

    # ------------------------------------------------------------------------------------------ handshakes

    def _wait(self, name: str, done: Callable[[], bool], *, wall_s: float, sim_s: float) -> Script:
        self._begin(name, wall_s, sim_s)
        while not done():
            yield

    def _begin(self, name: str, wall_s: float, sim_s: float) -> Step:
        self._step = Step(name, wall_s * self.patience, sim_s, time.monotonic(), self._now_s)
        return self._step

    def _repeat(self, send: Callable[[], None], heard: Callable[[], bool]) -> Script:
        """Say something until there is an answer; ends with the answer, or with the step's deadline."""
        while True:
            send()
            asked_s, asked_wall = self._now_s, time.monotonic()
            while self._now_s - asked_s < ASK_S or time.monotonic() - asked_wall < ASK_WALL_S:
                yield
                if heard():
                    return

    def _ask(self, name: str, command: int, *params: float, wall_s: float = 60, sim_s: float = 30) -> Script:
        """A command until it is accepted."""
        step = self._begin(name, wall_s, sim_s)
        while True:
            self._acks.pop(command, None)
            yield from self._repeat(lambda: self._command(command, *params), lambda: command in self._acks)
            result = self._acks[command]
            if result in (0, 5):
                return
            step.note = f"answer: {RESULTS.get(result, str(result))}"
            if result == 3:
                raise self._failed(step, "was refused")
            asked_s, asked_wall = self._now_s, time.monotonic()
            while self._now_s - asked_s < ASK_S or time.monotonic() - asked_wall < ASK_WALL_S:
                yield

    def _set_param(self, name: str, value: float) -> Script:
        step = self._begin(f"parameter {name}", 30, 10)
        step.note = "no answer: is the name right for this version?"
        self._values.pop(name, None)
        key = name.encode()
        yield from self._repeat(
            lambda: self._mav.param_request_read_send(self._system, self._component, key, -1),
            lambda: name in self._values,
        )
        kind = self._values.pop(name)[1]
        coded = _param_bits(value, kind) if self.autopilot == "px4" else float(value)
        while True:
            yield from self._repeat(
                lambda: self._mav.param_set_send(self._system, self._component, key, coded, kind),
                lambda: name in self._values,
            )
            stored, kind_now = self._values.pop(name)
            if self.autopilot == "px4":
                stored = _param_value(stored, kind_now)
            if math.isclose(stored, value, rel_tol=1e-6, abs_tol=1e-9):
                return
            step.note = f"it is {stored:g}, not {value:g}"

    def _upload(self) -> Script:
        items = self._items()
        step = self._begin(f"upload of {len(items)} mission items", 120, 60)
        while True:
            self._requests.clear()
            self._mission_ack = None
            yield from self._repeat(
                lambda: self._mav.mission_count_send(self._system, self._component, len(items), 0),
                lambda: bool(self._requests) or self._mission_ack is not None,
            )
            while self._mission_ack is None:
                seq = self._requests[-1] if self._requests else -1
                self._requests.clear()
                if 0 <= seq < len(items):
                    last = seq

                    def send(number: int = last) -> None:
                        self._send_item(number, items[number])

                    yield from self._repeat(send, lambda: bool(self._requests) or self._mission_ack is not None)
                else:
                    yield
            if self._mission_ack == 0:
                self._note("mission", f"{len(items)} items accepted")
                return
            step.note = f"answer: {MISSION_RESULTS.get(self._mission_ack, str(self._mission_ack))}"
            if self._mission_ack in (2, 3, 4, 14):
                raise self._failed(step, "was refused")

    def _items(self) -> list[PlanItem]:
        if self.autopilot == "px4":
            return self.plan
        latitude, longitude, height = self.home or (0.0, 0.0, 0.0)  # ArduPilot keeps home in place 0
        home = PlanItem(WAYPOINT, ABSOLUTE, (0.0, 0.0, 0.0, 0.0), latitude, longitude, height)
        return [home, *self.plan]

    def _send_item(self, number: int, item: PlanItem) -> None:
        params: tuple[float, ...] = item.params
        if self.autopilot == "ardupilot":
            params = tuple(0.0 if math.isnan(value) else value for value in params)
        self._mav.mission_item_int_send(
            self._system, self._component, number, item.frame, item.command, int(number == 0), 1, *params,
            round(item.latitude_deg * 1e7), round(item.longitude_deg * 1e7), item.altitude_m, 0,
        )  # fmt: skip

    def _command(self, command: int, *params: float) -> None:
        full = [*params, *[0.0] * (7 - len(params))]
        self._mav.command_long_send(self._system, self._component, command, 0, *full)

    # ------------------------------------------------------------------------------------------ what came

    def _send(self, packet: bytes) -> None:
        if self._peer is not None:
            with contextlib.suppress(OSError):  # nobody there yet, or no longer: the deadlines tell
                self._socket.sendto(packet, self._peer)

    def _receive(self) -> None:
        while True:
            try:
                data, peer = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:  # the other side's port is closed; the deadlines tell
                return
            known = peer == self._heard_from
            frames, rest = split_frames(self._rest + data if known else data, self._wanted)
            if known:
                self._rest = rest
            for frame in frames:
                try:
                    message = self._mav.decode(bytearray(frame))
                except Exception:  # pymavlink raises its own kinds; a bad frame is only counted
                    self.bad += 1
                    continue
                self.received += 1
                self._take(message)
                if message.get_msgId() == HEARTBEAT and message.get_srcSystem() == self._system != 0:
                    self._heard_from = peer
                    self._peer = None if self._passive else peer

    def _take(self, message: Any) -> None:
        kind = message.get_msgId()
        if kind == HEARTBEAT:
            self._take_heartbeat(message)
        elif self._system == 0 or message.get_srcSystem() != self._system:
            return
        elif kind == SYS_STATUS:
            self._health = message.onboard_control_sensors_health
        elif kind == GPS_RAW_INT:
            self.gps_fix = message.fix_type
        elif kind == GLOBAL_POSITION:
            self.height_m, self.sink_mps = message.relative_alt * 1e-3, message.vz * 1e-2
        elif kind == HOME_POSITION:
            self.home = (message.latitude * 1e-7, message.longitude * 1e-7, message.altitude * 1e-3)
        elif kind in (EKF_REPORT, ESTIMATOR):
            self._take_estimator(message.flags)
        elif kind == EXTENDED_STATE:
            landed = LANDED.get(message.landed_state, "undefined")
            if landed != self.landed:
                self.landed = landed
                self._note("landed", landed)
        elif kind == COMMAND_ACK:
            self._acks[message.command] = message.result
        elif kind == PARAM_VALUE:
            self._values[message.param_id] = (message.param_value, message.param_type)
        elif kind in (MISSION_REQUEST, MISSION_REQUEST_INT):
            self._requests.append(message.seq)
        elif kind == MISSION_ACK:
            self._mission_ack = message.type
        elif kind == MISSION_REACHED:
            self._take_reached(message.seq)
        elif kind == MISSION_CURRENT:
            if message.seq != self.current:
                self.current = message.seq
                if self.flying:
                    self._note("item", f"item {message.seq}")
            if self.flying and getattr(message, "mission_state", 0) == 5:  # MISSION_STATE_COMPLETE
                self.mission_done = True
        elif kind == STATUSTEXT:
            self._take_text(message)

    def _take_heartbeat(self, message: Any) -> None:
        if message.autopilot == 8 or message.get_srcComponent() != 1:  # a ground station, gimbal, ...
            return
        self._system, self._component = message.get_srcSystem(), message.get_srcComponent()
        self._vehicle_type = message.type
        self._heard_s, self._heard_wall = self._now_s, time.monotonic()
        armed = bool(message.base_mode & 128)
        mode = self._mode_name(message.base_mode, message.custom_mode)
        self.last_heartbeat = f"{mode}, {'armed' if armed else 'disarmed'}, status {message.system_status}"
        if armed != self.armed:
            self.armed = armed
            self.was_armed = self.was_armed or armed
            self._note("armed", "armed" if armed else "disarmed")
        if mode != self.mode:
            self.mode = mode
            self._note("mode", mode)
        critical = message.system_status in (STATUS_CRITICAL, STATUS_CRITICAL + 1)
        if critical != self.failsafe:
            self.failsafe = critical
            self._note("failsafe", "failsafe" if critical else "failsafe over")

    def _mode_name(self, base: int, custom: int) -> str:
        if self.autopilot == "ardupilot":
            return _ardupilot_modes(self.kind).get(custom, f"mode {custom}")
        main, sub = custom >> 16 & 0xFF, custom >> 24 & 0xFF
        table, number = (PX4_AUTO, sub) if main == AUTO_MAIN else (PX4_MAIN, main)
        return next((name for name, value in table.items() if value == number), f"mode {main}.{sub} ({base})")

    def _take_estimator(self, flags: int) -> None:
        if flags == self.ekf_flags:
            return
        names = EKF_FLAGS | MORE_EKF_FLAGS[self.autopilot]
        gained = [text for bit, text in names.items() if flags & bit and not self.ekf_flags & bit]
        lost = [text for bit, text in names.items() if self.ekf_flags & bit and not flags & bit]
        self.ekf_flags = flags
        words = [f"{sign}{text}" for sign, texts in (("+", gained), ("-", lost)) for text in texts]
        if words:
            self._note("estimator", ", ".join(words))

    def _take_reached(self, number: int) -> None:
        if number != self.reached:
            self.reached = number
            self._note("item", f"item {number} reached")
        if number >= len(self._items()) - 1:
            self.mission_done = True

    def _take_text(self, message: Any) -> None:
        chunk = getattr(message, "id", 0)
        text = message.text if isinstance(message.text, str) else message.text.decode(errors="replace")
        text = text.rstrip("\0\t ")
        if chunk:  # long texts come in pieces of 50 bytes
            text = self._texts.pop(chunk, "") + text
            if len(message.text) >= 50:
                self._texts[chunk] = text
                return
        self.last_text = text
        self._rotor_at_speed = self._rotor_at_speed or text.startswith("Runup Complete")
        self._note("failsafe" if "failsafe" in text.lower() else "text", f"{text} (severity {message.severity})")

    def _note(self, kind: str, text: str) -> None:
        self.happenings.append(Happening(self._now_s, kind, text))

    # ------------------------------------------------------------------------------------------ deadlines

    def _check_deadlines(self) -> None:
        wall = time.monotonic()
        step = self._step
        if step is not None:
            wall_s, sim_s = wall - step.wall_0, self._now_s - step.sim_0
            if wall_s > step.wall_s or sim_s > step.sim_s:
                raise self._failed(
                    step, f"not done after {wall_s:.1f} s of wall time, {sim_s:.1f} s of simulation time"
                )
        if self._system and not self.finished:
            wall_s, sim_s = wall - self._heard_wall, self._now_s - self._heard_s
            if wall_s > LOST_WALL_S * self.patience and sim_s > LOST_S:
                name = step.name if step is not None else "flight"
                raise self._failed(
                    Step(name, 0, 0, 0, 0), f"lost: no heartbeat for {wall_s:.1f} s (wall), {sim_s:.1f} s (simulation)"
                )

    def _failed(self, step: Step, why: str) -> LinkError:
        return LinkError(
            f"{self.autopilot} at {self._now_s:.2f} s, step '{step.name}': {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {self.last_heartbeat or 'none'}; last text: {self.last_text or 'none'}"
        )


def split_frames(data: bytes, wanted: set[int]) -> tuple[list[bytes], bytes]:
    """Whole MAVLink frames of the wanted messages, and what is left of an unfinished one. Checks no checksum."""
    frames = []
    place, end = 0, len(data)
    while place < end:
        magic = data[place]
        if magic == 0xFD:
            if end - place < 12:
                break
            size = 12 + data[place + 1] + (13 if data[place + 2] & 1 else 0)
            number = data[place + 7] | data[place + 8] << 8 | data[place + 9] << 16
        elif magic == 0xFE:
            if end - place < 8:
                break
            size = 8 + data[place + 1]
            number = data[place + 5]
        else:
            place += 1
            continue
        if end - place < size:
            break
        if number in wanted:
            frames.append(data[place : place + size])
        place += size
    return frames, data[place:]


def _codec(autopilot: str, send: Callable[[bytes], None]) -> Any:
    """pymavlink's codec in the dialect of the autopilot; imported late, as it is large."""
    dialect = importlib.import_module(f"pymavlink.dialects.v20.{DIALECTS[autopilot]}")

    class File:
        """What pymavlink writes its packets to."""

        def write(self, packet: bytes) -> None:
            send(bytes(packet))

    return dialect.MAVLink(File(), srcSystem=GROUND_SYSTEM, srcComponent=GROUND_COMPONENT)


def _ardupilot_modes(kind: Kind) -> dict[int, str]:
    return ARDUPILOT_MODES[{"vtol": "plane", "boat": "rover"}.get(kind, kind)]


# Mode numbers of ArduPilot's vehicles [ArduPilotDev].
ARDUPILOT_MODES: dict[str, dict[int, str]] = {
    "copter": {
        0: "STABILIZE", 1: "ACRO", 2: "ALT_HOLD", 3: "AUTO", 4: "GUIDED", 5: "LOITER", 6: "RTL", 7: "CIRCLE",
        9: "LAND", 11: "DRIFT", 13: "SPORT", 14: "FLIP", 15: "AUTOTUNE", 16: "POSHOLD", 17: "BRAKE", 18: "THROW",
        19: "AVOID_ADSB", 20: "GUIDED_NOGPS", 21: "SMART_RTL", 22: "FLOWHOLD", 23: "FOLLOW", 24: "ZIGZAG",
        25: "SYSTEMID", 26: "AUTOROTATE", 27: "AUTO_RTL", 28: "TURTLE",
    },
    "plane": {
        0: "MANUAL", 1: "CIRCLE", 2: "STABILIZE", 3: "TRAINING", 4: "ACRO", 5: "FBWA", 6: "FBWB", 7: "CRUISE",
        8: "AUTOTUNE", 10: "AUTO", 11: "RTL", 12: "LOITER", 13: "TAKEOFF", 14: "AVOID_ADSB", 15: "GUIDED",
        16: "INITIALISING", 17: "QSTABILIZE", 18: "QHOVER", 19: "QLOITER", 20: "QLAND", 21: "QRTL", 22: "QAUTOTUNE",
        23: "QACRO", 24: "THERMAL", 25: "LOITERALTQLAND", 26: "AUTOLAND",
    },
    "rover": {
        0: "MANUAL", 1: "ACRO", 3: "STEERING", 4: "HOLD", 5: "LOITER", 6: "FOLLOW", 7: "SIMPLE", 8: "DOCK",
        9: "CIRCLE", 10: "AUTO", 11: "RTL", 12: "SMART_RTL", 15: "GUIDED", 16: "INITIALISING",
    },
    "sub": {
        0: "STABILIZE", 1: "ACRO", 2: "ALT_HOLD", 3: "AUTO", 4: "GUIDED", 7: "CIRCLE", 9: "SURFACE", 16: "POSHOLD",
        19: "MANUAL", 20: "MOTOR_DETECT", 21: "SURFTRAK",
    },
}  # fmt: skip
_PARAM_FORMS = {1: "<B3x", 2: "<b3x", 3: "<H2x", 4: "<h2x", 5: "<I", 6: "<i", 9: "<f"}  # MAV_PARAM_TYPE


def _param_bits(value: float, kind: int) -> float:
    """PX4 sends whole numbers as the bits of a float [PX4]."""
    form = _PARAM_FORMS.get(kind, "<f")
    number = value if form == "<f" else round(value)
    try:
        return float(struct.unpack("<f", struct.pack(form, number))[0])
    except struct.error:
        raise LinkError(f"the value {value:g} does not fit a parameter of MAVLink type {kind}") from None


def _param_value(coded: float, kind: int) -> float:
    return float(struct.unpack(_PARAM_FORMS.get(kind, "<f"), struct.pack("<f", coded))[0])
