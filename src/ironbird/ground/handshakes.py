"""Handshakes of a ground station: commands, parameters and missions until they are accepted, each with its deadlines.

A step has a deadline in wall time and one in simulation time; a `LinkError` names the step, the last heartbeat and the
last text. Steps are generators: the pilot advances them at each poll, and none ever blocks. [MAVLinkMission]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from ironbird.errors import LinkError
from ironbird.ground.dialects import Arm, Procedure, SetMode
from ironbird.ground.station import Station
from ironbird.ground.texts import MISSION_RESULTS, RESULTS
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import PlanItem

Script = Generator[None, None, None]
ASK_S, ASK_WALL_S = 1.0, 0.1  # a request is repeated after both
LOST_S, LOST_WALL_S = 15.0, 15.0  # without a heartbeat of the autopilot; its link reports a loss before
FOUND_S = 60.0  # in which an autopilot detects the sensor that a parameter shows
TAKEN = 76  # parameter by which ArduPilot accepts a calibration for the sensors it has [ArduPilotCode]
REFUSED = (
    numbers.MAV_MISSION_UNSUPPORTED_FRAME,
    numbers.MAV_MISSION_UNSUPPORTED,
    numbers.MAV_MISSION_NO_SPACE,
    numbers.MAV_MISSION_DENIED,
)


@dataclass
class Step:
    """A step that the pilot waits for, with its deadlines in wall and simulation time (s)."""

    name: str
    wall_s: float
    sim_s: float
    wall_0: float
    sim_0: float
    note: str = ""  # the last refusal


class Handshakes:
    """Repeats requests through a station until they are answered; `patience` is a factor on wall deadlines."""

    refusals: tuple[int, ...] = (numbers.MAV_RESULT_UNSUPPORTED,)  # after which the command is not repeated

    def __init__(self, station: Station, *, patience: float = 1.0) -> None:
        self.station = station
        self.patience = patience
        self.step: Step | None = None

    def wait(self, name: str, done: Callable[[], bool], *, wall_s: float = math.inf, sim_s: float = math.inf) -> Script:
        """Yield until `done` returns True, with deadlines in wall and simulation time (s)."""
        self.begin(name, wall_s, sim_s)
        while not done():
            yield

    def begin(self, name: str, wall_s: float = math.inf, sim_s: float = math.inf) -> Step:
        """Begin a step with its deadlines in wall and simulation time (s)."""
        self.step = Step(name, wall_s * self.patience, sim_s, self.station.wall_s(), self.station.now_s)
        return self.step

    def repeat(self, send: Callable[[], None], answered: Callable[[], bool]) -> Script:
        """Call `send` repeatedly until `answered` returns True, or the step's deadline passes."""
        station = self.station
        while True:
            send()
            asked_s, asked_wall = station.now_s, station.wall_s()
            while station.now_s - asked_s < ASK_S or station.wall_s() - asked_wall < ASK_WALL_S:
                yield
                if answered():
                    return

    def ask(self, name: str, command: int, *params: float, wall_s: float = 60, sim_s: float = 30) -> Script:
        """Repeat a command (COMMAND_LONG) until it is accepted."""
        send, final = functools.partial(self.station.command, command, *params), self.refusals
        yield from self.insist(name, command, send, wall_s=wall_s, sim_s=sim_s, final=final)

    def ask_to_accept_calibration(self) -> Script:
        """Make ArduPilot accept the given offsets for the sensors that it has detected."""
        yield from self.ask("acceptance of the calibration", numbers.PREFLIGHT_CALIBRATION, 0, TAKEN, 0, 0, TAKEN)

    def insist(
        self,
        name: str,
        command: int,
        send: Callable[[], None],
        *,
        wall_s: float = 60,
        sim_s: float = 30,
        final: Sequence[int] = (numbers.MAV_RESULT_UNSUPPORTED,),
    ) -> Script:
        """Send a command until it is accepted; retried after a while if it is temporarily refused."""
        station = self.station
        step = self.begin(name, wall_s, sim_s)
        while True:
            station.acks.pop(command, None)
            yield from self.repeat(send, lambda: command in station.acks)
            result = station.acks[command]
            if result in (numbers.MAV_RESULT_ACCEPTED, numbers.MAV_RESULT_IN_PROGRESS):
                return
            step.note = f"answer: {RESULTS.get(result, str(result))}"
            if result in final:
                raise self.failed(step, "was refused")
            asked_s, asked_wall = station.now_s, station.wall_s()
            while station.now_s - asked_s < ASK_S or station.wall_s() - asked_wall < ASK_WALL_S:
                yield

    def read_param(self, name: str) -> Generator[None, None, tuple[float, int]]:
        """Value and MAV_PARAM_TYPE of a parameter."""
        station = self.station
        step = self.begin(f"parameter {name}", 30, 10)
        step.note = "no answer: is the name right for this version?"
        station.values.pop(name, None)
        target = station.target
        yield from self.repeat(
            lambda: station.say(dialect.PARAM_REQUEST_READ, param_index=-1, param_id=name.encode(), **target),
            lambda: name in station.values,
        )
        coded, kind = station.values.pop(name)
        return station.dialect.decoded(coded, kind), kind

    def set_param(self, name: str, desired: float | None) -> Script:
        """Set a parameter and check that it is stored; None stores its present value as soon as that is not 0."""
        station = self.station
        present, kind = yield from self.read_param(name)
        begin_s = station.now_s
        while desired is None and not present:  # a starting autopilot has not detected its sensors yet
            if station.now_s - begin_s > FOUND_S:
                raise self.failed(self.begin(f"parameter {name}", 0, 0), f"was still 0 after {FOUND_S:g} s")
            asked_s = station.now_s
            while station.now_s - asked_s < ASK_S:
                yield
            present, kind = yield from self.read_param(name)
        value = present if desired is None else desired
        step = self.begin(f"parameter {name}", 30, 10)
        target = {**station.target, "param_id": name.encode()}
        coded = station.dialect.encoded(value, kind)
        while True:
            yield from self.repeat(
                lambda: station.say(dialect.PARAM_SET, param_value=coded, param_type=kind, **target),
                lambda: name in station.values,
            )
            stored = station.dialect.decoded(*station.values.pop(name))
            if math.isclose(stored, value, rel_tol=1e-6, abs_tol=1e-9):
                return
            step.note = f"it is {stored:g}, not {value:g}"

    def upload(self, plan: Sequence[PlanItem]) -> Script:
        """Upload a plan; an empty one deletes the stored mission."""
        items = self.station.dialect.mission_items(plan, self.station.home)
        yield from self.hand_over("mission", numbers.MAV_MISSION_TYPE_MISSION, items)

    def hand_over(self, word: str, kind: int, items: Sequence[PlanItem]) -> Script:
        """Upload a mission, a fence or rally points; a refusal names the item that was requested last."""
        station = self.station
        step = self.begin(f"upload of {len(items)} {word} items", 120, 60)
        station.warnings.clear()
        last = -1
        while True:
            station.requests.clear()
            station.mission_ack = None
            yield from self.repeat(
                lambda: station.say(
                    dialect.MISSION_COUNT,
                    count=len(items),
                    **station.target,
                    mission_type=kind,
                ),
                lambda: bool(station.requests) or station.mission_ack is not None,
            )
            while station.mission_ack is None:
                seq = station.requests[-1] if station.requests else -1
                station.requests.clear()
                if 0 <= seq < len(items):
                    last = seq

                    def send(number: int = last) -> None:
                        self._send_item(number, items[number], kind)

                    yield from self.repeat(send, lambda: bool(station.requests) or station.mission_ack is not None)
                else:
                    yield
            if station.mission_ack == numbers.MAV_MISSION_ACCEPTED:
                station.note("mission", f"{len(items)} {'' if word == 'mission' else f'{word} '}items accepted")
                return
            where = f" at item {last} (MAV_CMD {items[last].command})" if last >= 0 else ""
            step.note = f"answer{where}: {MISSION_RESULTS.get(station.mission_ack, str(station.mission_ack))}"
            if station.mission_ack in REFUSED:
                raise self.failed(step, "was refused")

    def _send_item(self, number: int, item: PlanItem, kind: int) -> None:
        first, second, third, fourth = self.station.dialect.item_params(item.params)
        self.station.say(
            dialect.MISSION_ITEM_INT,
            **self.station.target,
            seq=number,
            frame=item.frame,
            command=item.command,
            current=int(number == 0),
            autocontinue=1,
            param1=first,
            param2=second,
            param3=third,
            param4=fourth,
            x=round(item.latitude_deg * 1e7),
            y=round(item.longitude_deg * 1e7),
            z=item.altitude_m,
            mission_type=kind,
        )

    def set_mode(self, name: str) -> Script:
        """Change to a mode by the autopilot's own name."""
        name = name.upper()
        main, sub = self.station.dialect.mode_numbers(self.station.kind, name)
        yield from self.ask(f"mode {name}", numbers.DO_SET_MODE, 1, main, sub)
        yield from self.see_mode(name)

    def see_mode(self, name: str) -> Script:
        """Wait until the heartbeat reports a mode."""
        yield from self.wait(f"mode {name} in the heartbeat", lambda: self.station.mode == name, wall_s=30, sim_s=20)

    def arm(self) -> Script:
        """Arm, and switch the rotor of a helicopter on."""
        station = self.station
        order = (numbers.COMPONENT_ARM_DISARM, 1)
        yield from self.insist("arming", order[0], lambda: station.command(*order), wall_s=120, sim_s=60)
        yield from self.wait("armed", lambda: station.armed, wall_s=30, sim_s=20)
        if station.dialect.rotor_on is not None and station.vehicle_type == numbers.MAV_TYPE_HELICOPTER:
            station.rotor_at_speed = False
            yield from self._carry_out((station.dialect.rotor_on,))
            yield from self.wait("rotor at speed", lambda: station.rotor_at_speed, wall_s=120, sim_s=90)

    def _carry_out(self, procedure: Procedure) -> Script:
        """Carry out the steps of a procedure, one after the other."""
        for step in procedure:
            if isinstance(step, SetMode):
                yield from self.set_mode(step.name)
            elif isinstance(step, Arm):
                yield from self.arm()
            else:
                yield from self.ask(step.name, step.command, *step.params)

    def start_mission(self) -> Script:
        """Arm and fly the mission that the autopilot has."""
        yield from self._carry_out(self.station.dialect.start_mission(self.station.kind))

    def take_off(self, height_m: float) -> Script:
        """Arm and take off to a height above home."""
        station = self.station
        home_m = station.home[2] if station.home is not None else 0.0
        yield from self._carry_out(station.dialect.take_off(station.kind, height_m, home_m))

    def check_deadlines(self) -> None:
        """`LinkError` if the step, or the autopilot's next heartbeat, takes too long."""
        station = self.station
        wall = station.wall_s()
        step = self.step
        if step is not None:
            wall_s, sim_s = wall - step.wall_0, station.now_s - step.sim_0
            if wall_s > step.wall_s or sim_s > step.sim_s:
                raise self.failed(step, f"not done after {wall_s:.1f} s of wall time, {sim_s:.1f} s of simulation time")
        if station.system:
            wall_s, sim_s = wall - station.heard_wall, station.now_s - station.heard_s
            if wall_s > LOST_WALL_S * self.patience and sim_s > LOST_S:
                name = step.name if step is not None else "flight"
                raise self.failed(
                    Step(name, 0, 0, 0, 0), f"lost: no heartbeat for {wall_s:.1f} s (wall), {sim_s:.1f} s (simulation)"
                )

    def failed(self, step: Step, why: str) -> LinkError:
        """The error of a step, with the last heartbeat, the warnings since the last upload, and the last text."""
        station = self.station
        warned = "; ".join(text for text in station.warnings if text != station.last_text)
        return LinkError(
            f"{station.dialect.name} at {station.now_s:.2f} s, step '{step.name}': {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {station.last_heartbeat or 'none'}"
            + (f"; it warned: {warned}" if warned else "")
            + f"; last text: {station.last_text or 'none'}"
        )
