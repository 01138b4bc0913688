"""Handshakes of a ground station: commands, parameters and missions until they are accepted, each with its deadlines.

A step has a deadline in wall time and one in simulation time; a `LinkError` names the step, the last heartbeat and the
last text. Steps are generators: the pilot goes on with them at each poll, and none ever blocks. [MAVLinkMission]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironbird.errors import LinkError
from ironbird.ground.dialects import Arm, AutopilotDialect, Procedure, SetMode
from ironbird.ground.station import Station
from ironbird.ground.texts import MISSION_RESULTS, RESULTS
from ironbird.ground.wires import Wire
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import PlanItem
from ironbird.vehicles.kinds import VehicleClass

Script = Generator[None, None, None]
ASK_S, ASK_WALL_S = 1.0, 0.1  # a question is asked again after both
LOST_S, LOST_WALL_S = 15.0, 15.0  # without a heartbeat of the autopilot; its link is to notice before
FOUND_S = 60.0  # in which an autopilot finds what a parameter shows
TAKEN = 76  # parameter by which ArduPilot accepts a calibration for the sensors it has [ArduPilotCode]
REFUSED = (
    numbers.MAV_MISSION_UNSUPPORTED_FRAME,
    numbers.MAV_MISSION_UNSUPPORTED,
    numbers.MAV_MISSION_NO_SPACE,
    numbers.MAV_MISSION_DENIED,
)


@dataclass
class Step:
    """What the pilot waits for."""

    name: str
    wall_s: float
    sim_s: float
    wall_0: float
    sim_0: float
    note: str = ""  # the last refusal


class Handshakes(Station):
    """A station that asks until it is answered. `patience` is a factor on wall deadlines, for slow machines."""

    refusals: tuple[int, ...] = (numbers.MAV_RESULT_UNSUPPORTED,)  # after which it is not asked again

    def __init__(
        self,
        autopilot: AutopilotDialect,
        *,
        kind: VehicleClass,
        wire: Wire,
        passive: bool,
        plan: Sequence[PlanItem],
        patience: float,
    ) -> None:
        self.plan = list(plan)
        self.patience = patience
        self.finished = False
        self._step: Step | None = None
        super().__init__(autopilot, kind=kind, wire=wire, passive=passive)

    def _wait(self, name: str, done: Callable[[], bool], *, wall_s: float, sim_s: float) -> Script:
        self._begin(name, wall_s, sim_s)
        while not done():
            yield

    def _begin(self, name: str, wall_s: float, sim_s: float) -> Step:
        self._step = Step(name, wall_s * self.patience, sim_s, self._wall_s(), self._now_s)
        return self._step

    def _repeat(self, send: Callable[[], None], heard: Callable[[], bool]) -> Script:
        """Say something until there is an answer; ends with the answer, or with the step's deadline."""
        while True:
            send()
            asked_s, asked_wall = self._now_s, self._wall_s()
            while self._now_s - asked_s < ASK_S or self._wall_s() - asked_wall < ASK_WALL_S:
                yield
                if heard():
                    return

    def _ask(self, name: str, command: int, *params: float, wall_s: float = 60, sim_s: float = 30) -> Script:
        """A command until it is accepted."""
        send, final = functools.partial(self._command, command, *params), self.refusals
        yield from self._insist(name, command, send, wall_s=wall_s, sim_s=sim_s, final=final)

    def _ask_to_accept_calibration(self) -> Script:
        """Have ArduPilot accept the given offsets as those of the sensors that it has found."""
        yield from self._ask("acceptance of the calibration", numbers.PREFLIGHT_CALIBRATION, 0, TAKEN, 0, 0, TAKEN)

    def _insist(
        self,
        name: str,
        command: int,
        send: Callable[[], None],
        *,
        wall_s: float = 60,
        sim_s: float = 30,
        final: Sequence[int] = (numbers.MAV_RESULT_UNSUPPORTED,),
    ) -> Script:
        """Send a command until it is accepted, again after a while if it is refused for now."""
        step = self._begin(name, wall_s, sim_s)
        while True:
            self._acks.pop(command, None)
            yield from self._repeat(send, lambda: command in self._acks)
            result = self._acks[command]
            if result in (numbers.MAV_RESULT_ACCEPTED, numbers.MAV_RESULT_IN_PROGRESS):
                return
            step.note = f"answer: {RESULTS.get(result, str(result))}"
            if result in final:
                raise self._failed(step, "was refused")
            asked_s, asked_wall = self._now_s, self._wall_s()
            while self._now_s - asked_s < ASK_S or self._wall_s() - asked_wall < ASK_WALL_S:
                yield

    def _read_param(self, name: str) -> Generator[None, None, tuple[float, int]]:
        """Value and type of a parameter."""
        step = self._begin(f"parameter {name}", 30, 10)
        step.note = "no answer: is the name right for this version?"
        self._values.pop(name, None)
        target: dict[str, Any] = {"target_system": self._system, "target_component": self._component}
        yield from self._repeat(
            lambda: self._say(dialect.PARAM_REQUEST_READ, param_index=-1, param_id=name.encode(), **target),
            lambda: name in self._values,
        )
        coded, kind = self._values.pop(name)
        return self.dialect.decoded(coded, kind), kind

    def _set_param(self, name: str, wanted: float | None) -> Script:
        found, kind = yield from self._read_param(name)
        begin_s = self._now_s
        while wanted is None and not found:  # an autopilot that starts has not looked for its sensors yet
            if self._now_s - begin_s > FOUND_S:
                raise self._failed(self._begin(f"parameter {name}", 0, 0), f"was still 0 after {FOUND_S:g} s")
            asked_s = self._now_s
            while self._now_s - asked_s < ASK_S:
                yield
            found, kind = yield from self._read_param(name)
        value = found if wanted is None else wanted
        step = self._begin(f"parameter {name}", 30, 10)
        target: dict[str, Any] = {"target_system": self._system, "target_component": self._component}
        target["param_id"] = name.encode()
        coded = self.dialect.encoded(value, kind)
        while True:
            yield from self._repeat(
                lambda: self._say(dialect.PARAM_SET, param_value=coded, param_type=kind, **target),
                lambda: name in self._values,
            )
            stored = self.dialect.decoded(*self._values.pop(name))
            if math.isclose(stored, value, rel_tol=1e-6, abs_tol=1e-9):
                return
            step.note = f"it is {stored:g}, not {value:g}"

    def _upload(self) -> Script:
        """Hand over the plan; an empty one deletes what is there."""
        yield from self._hand_over("mission", numbers.MAV_MISSION_TYPE_MISSION, self._items())

    def _hand_over(self, word: str, kind: int, items: Sequence[PlanItem]) -> Script:
        """Upload a mission, a fence or rally points; a refusal names the item that was last asked for."""
        step = self._begin(f"upload of {len(items)} {word} items", 120, 60)
        last = -1
        while True:
            self._requests.clear()
            self._mission_ack = None
            yield from self._repeat(
                lambda: self._say(
                    dialect.MISSION_COUNT,
                    count=len(items),
                    target_system=self._system,
                    target_component=self._component,
                    mission_type=kind,
                ),
                lambda: bool(self._requests) or self._mission_ack is not None,
            )
            while self._mission_ack is None:
                seq = self._requests[-1] if self._requests else -1
                self._requests.clear()
                if 0 <= seq < len(items):
                    last = seq

                    def send(number: int = last) -> None:
                        self._send_item(number, items[number], kind)

                    yield from self._repeat(send, lambda: bool(self._requests) or self._mission_ack is not None)
                else:
                    yield
            if self._mission_ack == numbers.MAV_MISSION_ACCEPTED:
                self._note("mission", f"{len(items)} {'' if word == 'mission' else f'{word} '}items accepted")
                return
            asked = f" at item {last} (MAV_CMD {items[last].command})" if last >= 0 else ""
            step.note = f"answer{asked}: {MISSION_RESULTS.get(self._mission_ack, str(self._mission_ack))}"
            if self._mission_ack in REFUSED:
                raise self._failed(step, "was refused")

    def _items(self) -> list[PlanItem]:
        return self.dialect.mission_items(self.plan, self.home)

    def _send_item(self, number: int, item: PlanItem, kind: int) -> None:
        first, second, third, fourth = self.dialect.item_params(item.params)
        self._say(
            dialect.MISSION_ITEM_INT,
            target_system=self._system,
            target_component=self._component,
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

    def _set_mode(self, name: str) -> Script:
        name = name.upper()
        main, sub = self.dialect.mode_numbers(self.kind, name)
        yield from self._ask(f"mode {name}", numbers.DO_SET_MODE, 1, main, sub)
        yield from self._see_mode(name)

    def _see_mode(self, name: str) -> Script:
        yield from self._wait(f"mode {name} in the heartbeat", lambda: self.mode == name, wall_s=30, sim_s=20)

    def _ask_for(self, rates_hz: Mapping[dialect.Message, float]) -> None:
        for message, rate in rates_hz.items():
            self._command(numbers.SET_MESSAGE_INTERVAL, message.id, 1e6 / rate)

    def _arm(self) -> Script:
        order = (numbers.COMPONENT_ARM_DISARM, 1)
        yield from self._insist("arming", order[0], lambda: self._command(*order), wall_s=120, sim_s=60)
        yield from self._wait("armed", lambda: self.armed, wall_s=30, sim_s=20)
        if self.dialect.rotor_on is not None and self._vehicle_type == numbers.MAV_TYPE_HELICOPTER:
            self._rotor_at_speed = False
            yield from self._carry_out((self.dialect.rotor_on,))
            yield from self._wait("rotor at speed", lambda: self._rotor_at_speed, wall_s=120, sim_s=90)

    def _carry_out(self, procedure: Procedure) -> Script:
        """What the autopilot wants for something, step by step."""
        for step in procedure:
            if isinstance(step, SetMode):
                yield from self._set_mode(step.name)
            elif isinstance(step, Arm):
                yield from self._arm()
            else:
                yield from self._ask(step.name, step.command, *step.params)

    def _start_mission(self) -> Script:
        yield from self._carry_out(self.dialect.start_mission(self.kind))

    def _take_off(self, height_m: float) -> Script:
        home_m = self.home[2] if self.home is not None else 0.0
        yield from self._carry_out(self.dialect.take_off(self.kind, height_m, home_m))

    def _check_deadlines(self) -> None:
        wall = self._wall_s()
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
            f"{self.dialect.name} at {self._now_s:.2f} s, step '{step.name}': {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {self.last_heartbeat or 'none'}; last text: {self.last_text or 'none'}"
        )
