"""Commands of COMMAND_LONG and COMMAND_INT: each is answered with COMMAND_ACK, a refusal also with its reason as text.

Take-off and flying modes may be commanded before arming, as with PX4: they begin when the vehicle is armed. Numbers and
units of the parameters: [MAVLink2]; heights of COMMAND_LONG are above the sea as in PX4 [PX4].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.rig.commander.abilities import STICKS
from ironbird.rig.commander.commander import Commander
from ironbird.rig.failures import Failures
from ironbird.systems.commanded.mavlink.connections import Channel, Sender
from ironbird.systems.commanded.mavlink.missions import Missions
from ironbird.systems.commanded.mavlink.modes import ASKED, word_of
from ironbird.systems.commanded.mavlink.place import Home
from ironbird.systems.commanded.mavlink.setpoints import ABOVE_HOME
from ironbird.systems.commanded.mavlink.telemetry import Telemetry
from ironbird.systems.commanded.mavlink.texts import Texts

FORCE = 21196.0  # parameter that forces arming against the checks [MAVLink2]
DEGREE = 1e7
SPEEDS = (numbers.SPEED_TYPE_AIRSPEED, numbers.SPEED_TYPE_GROUNDSPEED)
TO_HOVER, TO_CRUISE = numbers.MAV_VTOL_STATE_MC, numbers.MAV_VTOL_STATE_FW
CLOSEST_M = 1.0  # of a take-off above home
FASTEST_MPS, FARTHEST_M = 1e4, 1e7
ACCEPTED, DENIED = numbers.MAV_RESULT_ACCEPTED, numbers.MAV_RESULT_DENIED
UNSUPPORTED, REJECTED = numbers.MAV_RESULT_UNSUPPORTED, numbers.MAV_RESULT_TEMPORARILY_REJECTED
NAMES = {value: name for name, value in vars(numbers).items() if name.split("_")[0] in ("NAV", "DO", "PREFLIGHT")}
NAMES |= {numbers.COMPONENT_ARM_DISARM: "arming", numbers.MISSION_START: "start of the mission"}


class Command(NamedTuple):
    """Content of COMMAND_LONG or COMMAND_INT, with latitude and longitude in degrees."""

    number: int
    p1: float
    p2: float
    p3: float
    p4: float
    x: float  # latitude in degrees, or north
    y: float
    z: float
    frame: int

    @property
    def params(self) -> tuple[float, ...]:
        """The seven parameters of the command in their order."""
        return (self.p1, self.p2, self.p3, self.p4, self.x, self.y, self.z)


class Answer(NamedTuple):
    """A MAV_RESULT and the reason of a refusal (empty if accepted)."""

    result: int
    why: str = ""


DONE = Answer(ACCEPTED)


class Commands:
    """Passes commands of ground stations to the commander of the vehicle."""

    def __init__(
        self, commander: Commander, texts: Texts, home: Home, missions: Missions, telemetry: Telemetry
    ) -> None:
        self.commander, self.texts, self.home = commander, texts, home
        self.missions, self.telemetry = missions, telemetry
        self.failures = Failures(commander)
        self.waiting = ""  # mode that begins when the vehicle is armed
        self.steered = ""  # manual mode that was commanded last
        self._waiting_height_m: float | None = None
        self._known: dict[int, Callable[[Command, Channel], Answer]] = {
            numbers.NAV_TAKEOFF: self._take_off,
            numbers.NAV_VTOL_TAKEOFF: self._take_off,
            numbers.NAV_LAND: lambda _c, _ch: self._mode("land"),
            numbers.NAV_VTOL_LAND: lambda _c, _ch: self._mode("land"),
            numbers.NAV_RETURN_TO_LAUNCH: lambda _c, _ch: self._mode("return"),
            numbers.NAV_LOITER_UNLIM: lambda _c, _ch: self._mode("hold"),
            numbers.DO_SET_MODE: self._set_mode,
            numbers.DO_CHANGE_SPEED: self._change_speed,
            numbers.DO_SET_HOME: self._set_home,
            numbers.DO_FLIGHTTERMINATION: self._terminate,
            numbers.DO_REPOSITION: self._reposition,
            numbers.DO_ORBIT: self._orbit,
            numbers.DO_CHANGE_ALTITUDE: self._change_altitude,
            numbers.DO_PAUSE_CONTINUE: self._pause,
            numbers.DO_SET_MISSION_CURRENT: self._set_current,
            numbers.DO_VTOL_TRANSITION: self._transition,
            numbers.INJECT_FAILURE: self._fail,
            numbers.MISSION_START: self._start_mission,
            numbers.COMPONENT_ARM_DISARM: self._arm,
            numbers.RUN_PREARM_CHECKS: self._check,
            numbers.GET_HOME_POSITION: self._tell(dialect.HOME_POSITION.id),
            numbers.REQUEST_AUTOPILOT_CAPABILITIES: self._tell(dialect.AUTOPILOT_VERSION.id),
            numbers.REQUEST_PROTOCOL_VERSION: self._tell(dialect.PROTOCOL_VERSION.id),
            numbers.REQUEST_MESSAGE: self._request,
            numbers.SET_MESSAGE_INTERVAL: self._set_interval,
            numbers.GET_MESSAGE_INTERVAL: self._get_interval,
            numbers.PREFLIGHT_CALIBRATION: self._calibrate,
            numbers.PREFLIGHT_SET_SENSOR_OFFSETS: self._calibrate,
            numbers.PREFLIGHT_STORAGE: self._store,
            numbers.PREFLIGHT_REBOOT_SHUTDOWN: self._reboot,
        }

    # ------------------------------------------------------------------------------------------ messages

    def take_long(self, channel: Channel, message: Any, sender: Sender) -> None:
        """COMMAND_LONG: carry out the command and acknowledge it."""
        first = (message.param1, message.param2, message.param3, message.param4)
        place = (message.param5, message.param6, message.param7)
        self._answer(Command(message.command, *first, *place, numbers.FRAME_GLOBAL), channel, sender)

    def take_int(self, channel: Channel, message: Any, sender: Sender) -> None:
        """COMMAND_INT: carry out the command and acknowledge it; INT32_MAX as latitude or longitude means not given."""
        x, y = (math.nan if value == 2**31 - 1 else value / DEGREE for value in (message.x, message.y))
        values = (message.param1, message.param2, message.param3, message.param4, x, y, message.z)
        self._answer(Command(message.command, *values, message.frame), channel, sender)

    def take_set_mode(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SET_MODE: change the mode; the message has no acknowledgement."""
        answer = self._mode_by_number(message.custom_mode)
        if answer.why:
            self.texts.refuse(f"mode: {answer.why}")

    def take_home(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SET_HOME_POSITION: move home; the message has no acknowledgement."""
        answer = self._move_home(message.latitude / DEGREE, message.longitude / DEGREE, message.altitude * 1e-3)
        if answer.why:
            self.texts.refuse(f"home: {answer.why}")

    def _answer(self, command: Command, channel: Channel, sender: Sender) -> None:
        known = self._known.get(command.number)
        answer = known(command, channel) if known else Answer(UNSUPPORTED)
        if known is None and self.texts.on_refusal is not None:  # the answer is word enough for its sender
            self.texts.on_refusal(f"command {command.number}: not known here")
        if answer.why:
            self.texts.refuse(f"{NAMES.get(command.number, f'command {command.number}')}: {answer.why}")
        channel.say(dialect.COMMAND_ACK, command.number, answer.result, 0, 0, *sender)

    # ------------------------------------------------------------------------------------------ modes, arming

    def _arm(self, command: Command, _channel: Channel) -> Answer:
        if command.p1 not in (0.0, 1.0):
            return Answer(DENIED, f"{command.p1:g} is neither 0 nor 1")
        if command.p1 == 0.0:
            answer = self._result(self.commander.disarm(force=command.p2 == FORCE))
            if answer.result == ACCEPTED:
                self.waiting = ""
            return answer
        if self.commander.armed:
            return DONE
        answer = self._result(self.commander.arm())
        if answer.result == ACCEPTED and self.waiting:
            waiting, self.waiting = self.waiting, ""
            begun = self._begin(waiting) if waiting in ("take-off", "mission") else DONE
            if begun.why:
                self.texts.refuse(f"{waiting}: {begun.why}")
        return answer

    def _begin(self, word: str) -> Answer:
        if word == "take-off":
            return self._result(self.commander.take_off(self._waiting_height_m))
        answer = self._result(self.missions.begin() if word == "mission" else self.commander.set_mode(word))
        if answer.result == ACCEPTED:
            self.steered = word if word in STICKS else ""
        return answer

    def _mode(self, word: str) -> Answer:
        """Change to a mode; a take-off and a mission wait until the vehicle is armed."""
        if word not in self.offered:
            return Answer(DENIED, f"a {self._kind} has no mode '{word}'")
        if self.commander.armed:
            self._waiting_height_m = None
            return self._begin(word)
        if word == "mission" and not self.commander.mission():
            return Answer(REJECTED, "there is no mission")
        if word not in ("take-off", "mission"):
            answer = self._begin(word)
            if answer.result != ACCEPTED:
                return answer
        self.waiting, self._waiting_height_m = word, None
        return DONE

    @property
    def offered(self) -> frozenset[str]:
        """Modes that this vehicle accepts."""
        accepts = self.commander.accepts
        return accepts | {"take-off"} if self.commander.kind.flies else accepts

    @property
    def _kind(self) -> str:
        return self.commander.kind.name.replace("_", " ")

    @property
    def reported_mode(self) -> str:
        """The mode reported to ground stations: one that waits for arming, or the manual mode chosen last."""
        mode = self.commander.mode
        if not self.commander.armed and mode != "terminated":
            return self.waiting or "hold"
        return self.steered if mode == "offboard" and self.steered else mode

    def _mode_by_number(self, custom: int) -> Answer:
        word = word_of(custom)
        if word is None:
            known = ", ".join(shown.title for shown in ASKED.values())
            return Answer(DENIED, f"custom mode {custom:#x} is not one of {known}")
        return self._mode(word)

    def _set_mode(self, command: Command, _channel: Channel) -> Answer:
        if not all(math.isfinite(value) and 0 <= value <= 255 for value in (command.p2, command.p3)):
            return Answer(DENIED, "the mode is no number")
        if not math.isfinite(command.p1) or not int(command.p1) & numbers.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return Answer(DENIED, "only custom modes are known; set the flag for them")
        return self._mode_by_number(int(command.p2) << 16 | int(command.p3) << 24)

    def _terminate(self, command: Command, _channel: Channel) -> Answer:
        return self._result(self.commander.disarm(force=True)) if command.p1 >= 0.5 else DONE

    def _check(self, _command: Command, _channel: Channel) -> Answer:
        status = self.commander.status()
        if not status.healthy:
            return Answer(REJECTED, "the estimator is not ready")
        return DONE

    # ------------------------------------------------------------------------------------------ flying

    def _take_off(self, command: Command, _channel: Channel) -> Answer:
        height: float | None = None
        if math.isfinite(command.z) and not (command.z == 0.0 and command.frame not in ABOVE_HOME):
            height = command.z - (0.0 if command.frame in ABOVE_HOME else self.home.height_m)
            if not CLOSEST_M <= height < FARTHEST_M:
                return Answer(
                    DENIED,
                    f"{command.z:g} m above sea is {height:.1f} m above home ({self.home.height_m:.1f} m); "
                    f"give at least {CLOSEST_M:g} m above home",
                )
        if "take-off" not in self.offered:
            return Answer(DENIED, f"a {self._kind} does not take off")
        if not self.commander.armed:
            self.waiting, self._waiting_height_m = "take-off", height
            return DONE
        return self._result(self.commander.take_off(height))

    def _start_mission(self, command: Command, _channel: Channel) -> Answer:
        first = int(command.p1) if math.isfinite(command.p1) and command.p1 > 0 else 0
        if not self.commander.armed:
            return self._mode("mission")
        return self._result(self.missions.go_to(first) if first else self.missions.begin())

    def _set_current(self, command: Command, _channel: Channel) -> Answer:
        if not math.isfinite(command.p1) or command.p1 < 0:
            return Answer(DENIED, "there is no such item")
        return self._result(self.missions.go_to(int(command.p1)))

    def _pause(self, command: Command, _channel: Channel) -> Answer:
        return self._mode("mission" if command.p1 >= 0.5 else "hold")

    def _place(self, command: Command) -> tuple[float, float, float] | str:
        """Position that a command names, in metres from the origin; coordinates that are not given stay as they are."""
        here = self.commander.estimate().p_N
        north, east, down = (float(value) for value in here)
        if math.isfinite(command.x) and math.isfinite(command.y) and (command.x or command.y):
            if abs(command.x) > 90 or abs(command.y) > 180:
                return f"{command.x:g}, {command.y:g} is no latitude and longitude"
            north, east, _ = to_local(self.home.origin, command.x, command.y, 0.0)
        if math.isfinite(command.z):
            above_sea = command.z + (self.home.height_m if command.frame in ABOVE_HOME else 0.0)
            down = self.home.origin.height_m - above_sea
        if max(abs(north), abs(east), abs(down)) > FARTHEST_M:
            return "the place is too far away"
        return north, east, down

    def _reposition(self, command: Command, _channel: Channel) -> Answer:
        place = self._place(command)
        if isinstance(place, str):
            return Answer(DENIED, place)
        if 0 < command.p1 < FASTEST_MPS:
            self.commander.set_speed(command.p1)
        radius = command.p3
        if math.isfinite(radius) and radius and "hold" in self.commander.accepts:
            self.commander.set_loiter_radius(radius)
        yaw = command.p4 if math.isfinite(command.p4) else None
        return self._result(self.commander.reposition(place, yaw))

    def _orbit(self, command: Command, _channel: Channel) -> Answer:
        place = self._place(command)
        if isinstance(place, str):
            return Answer(DENIED, place)
        why = self.commander.set_loiter_radius(command.p1) if math.isfinite(command.p1) else None
        if why:
            return Answer(DENIED, why)
        return self._result(self.commander.reposition(place, None))

    def _change_altitude(self, command: Command, _channel: Channel) -> Answer:
        frame = int(command.p2) if math.isfinite(command.p2) and 0 <= command.p2 <= 255 else numbers.FRAME_GLOBAL
        moved = command._replace(x=math.nan, y=math.nan, z=command.p1, frame=frame)
        place = self._place(moved)
        return Answer(DENIED, place) if isinstance(place, str) else self._result(self.commander.reposition(place, None))

    def _change_speed(self, command: Command, _channel: Channel) -> Answer:
        if command.p1 not in SPEEDS:
            return Answer(DENIED, f"speed of kind {command.p1:g}: give 0, through the air, or 1, over ground")
        if not 0 < command.p2 < FASTEST_MPS:
            return DONE if command.p2 in (-1.0, -2.0) else Answer(DENIED, f"{command.p2:g} m/s is no speed")
        return self._result(self.commander.set_speed(command.p2))

    def _set_home(self, command: Command, _channel: Channel) -> Answer:
        if command.p1 == 1.0:  # here
            p_N = [float(value) for value in self.commander.estimate().p_N]
            return self._home_at((p_N[0], p_N[1], p_N[2]))
        return self._move_home(command.x, command.y, command.z)

    def _move_home(self, latitude: float, longitude: float, height_m: float) -> Answer:
        if not (abs(latitude) <= 90 and abs(longitude) <= 180 and abs(height_m) < FARTHEST_M):
            return Answer(DENIED, "the place is no place on earth")
        p_N = to_local(self.home.origin, latitude, longitude, height_m)
        if max(map(abs, p_N)) > FARTHEST_M:
            return Answer(DENIED, "the place is too far away")
        return self._home_at(p_N)

    def _home_at(self, p_N: tuple[float, float, float]) -> Answer:
        answer = self._result(self.commander.set_home(p_N))
        if answer.result == ACCEPTED:
            self.home.move(p_N)
            self.telemetry.news(dialect.HOME_POSITION.id)
        return answer

    def _transition(self, command: Command, _channel: Channel) -> Answer:
        if not self.commander.kind.transitions:
            return Answer(DENIED, f"a {self._kind} has no transition")
        if command.p1 not in (TO_HOVER, TO_CRUISE):
            return Answer(DENIED, "give 3, to rotors, or 4, to wings")
        return self._result(self.commander.transition(command.p1 == TO_CRUISE))

    def _fail(self, command: Command, _channel: Channel) -> Answer:
        return self._result(self.failures.take(command.p1, command.p2, command.p3))

    # ------------------------------------------------------------------------------------------ telemetry, set-up

    def _tell(self, number: int) -> Callable[[Command, Channel], Answer]:
        def tell(_command: Command, channel: Channel) -> Answer:
            self.telemetry.tell(channel, number)
            return DONE

        return tell

    def _request(self, command: Command, channel: Channel) -> Answer:
        number = _message_number(command.p1)
        if number is None or not self.telemetry.knows(number):
            return Answer(UNSUPPORTED)
        which = int(command.p2) if math.isfinite(command.p2) else 0
        return DONE if self.telemetry.tell(channel, number, which) else Answer(DENIED)

    def _set_interval(self, command: Command, channel: Channel) -> Answer:
        number = _message_number(command.p1)
        if number is None or not self.telemetry.streams(number):
            return Answer(UNSUPPORTED)
        if not -1.0 <= command.p2 < 1e12:
            return Answer(DENIED, f"an interval of {command.p2:g} us")
        self.telemetry.set_interval(channel, number, command.p2 * 1e-6)
        return DONE

    def _get_interval(self, command: Command, channel: Channel) -> Answer:
        number = _message_number(command.p1)
        if number is None:
            return Answer(UNSUPPORTED)
        channel.say(dialect.MESSAGE_INTERVAL, self.telemetry.interval_us(channel, number), min(number, 65535))
        return DONE

    def _calibrate(self, command: Command, _channel: Channel) -> Answer:
        if not any(value for value in command.params if math.isfinite(value)):
            return DONE  # ends a calibration
        return Answer(DENIED, "sensors of a simulated vehicle need no calibration; give errors as faults")

    def _store(self, _command: Command, _channel: Channel) -> Answer:
        return DONE  # parameters are kept as they are set

    def _reboot(self, command: Command, _channel: Channel) -> Answer:
        if command.p1 == 0.0 and command.p2 == 0.0:
            return DONE
        return Answer(DENIED, "start the flight again instead")

    @staticmethod
    def _result(why: str | None) -> Answer:
        return DONE if why is None else Answer(REJECTED, why)


def _message_number(value: float) -> int | None:
    return int(value) if math.isfinite(value) and 0 <= value < 1 << 24 else None
