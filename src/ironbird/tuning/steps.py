"""Step responses: a vehicle in steady flight is given a new set-point; how fast and how cleanly it gets there.

All sets of gains fly side by side in lanes of one run, in calm air: hovering vehicles from a hover, a wing from
straight and level flight to the north at its cruise speed. The response is read from the true motion. Not modelled:
steps of cars, boats and vehicles under water.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.blocks.controllers import command_ports as commands
from ironbird.blocks.controllers.navigator import BY_ATTITUDE, BY_POSITION, BY_RATE, BY_VELOCITY
from ironbird.errors import ModelError, RunError, UnknownNameError
from ironbird.flight.prepare import one_for_many
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run
from ironbird.tuning.steady import (
    HOVER_M,
    HOVER_S,
    LAUNCH_S,
    LINK,
    STRAIGHT_S,
    fly_straight,
    hovering,
    is_wing,
    launched,
)
from ironbird.vehicles import places as at

LOG_S = 0.004
BAND = 0.05  # share of the step: settled when the response stays within it
SATURATED = (0.001, 0.999)  # limits of an actuator's command; propellers have no negative commands
USED = 0.01  # smallest command of an actuator that takes part in the hover
HELD_S = 3.0  # s for which attitude and throttle are held before a step


@dataclass(frozen=True)
class Step:
    """A step of a set-point: the input of the model, its entry, and the signal of the response."""

    name: str
    unit: str  # unit of the size, for display
    scale: float  # factor to SI
    usual: float  # default size in that unit
    lasts_s: float
    kind: int  # kind of the offboard set-point
    input: str
    entry: int
    signal: str
    read: int  # entry of the signal
    sign: float = 1.0  # sign of the set-point in the model: up is -down
    read_sign: float | None = None  # sign of the response, if it differs


def _three(
    names: str, unit: str, scale: float, usual: float, lasts_s: float, kind: int, set_: str, read: str
) -> list[Step]:
    steps = []
    for entry, name in enumerate(names.split()):
        sign = -1.0 if name in ("up", "climb") else 1.0
        steps.append(Step(name, unit, scale, usual, lasts_s, kind, set_, entry, read, entry, sign))
    return steps


DEGREE = math.pi / 180
STEPS = {
    step.name: step
    for step in (
        *_three("roll_rate pitch_rate", "deg/s", DEGREE, 30.0, 0.8, BY_RATE, "offboard_rate", at.BODY.rates),
        Step("yaw_rate", "deg/s", DEGREE, 30.0, 4.0, BY_RATE, "offboard_rate", 2, at.BODY.rates, 2),
        *_three("roll pitch", "deg", DEGREE, 10.0, 2.0, BY_ATTITUDE, "offboard_attitude", at.BODY.euler),
        Step("yaw", "deg", DEGREE, 30.0, 6.0, BY_POSITION, "offboard_yaw", 0, at.BODY.euler, 2),
        *_three("speed_north speed_east climb", "m/s", 1.0, 2.0, 8.0, BY_VELOCITY, "offboard_velocity",
            at.BODY.velocity,
        ),
        *_three("north east up", "m", 1.0, 2.0, 15.0, BY_POSITION, "offboard_position", at.BODY.position),
    )
}  # fmt: skip


COURSE_KIND, ATTITUDE_KIND = int(commands.BY_COURSE), int(commands.BY_ATTITUDE)
WING_STEPS = {
    step.name: step
    for step in (
        Step("bank", "deg", DEGREE, 20.0, 8.0, ATTITUDE_KIND, "offboard_attitude", 0, at.BODY.euler, 0),
        Step("pitch", "deg", DEGREE, 3.0, 8.0, ATTITUDE_KIND, "offboard_attitude", 1, at.BODY.euler, 1),
        Step("height", "m", 1.0, 5.0, 40.0, COURSE_KIND, "offboard_height", 0, at.BODY.position, 2, read_sign=-1.0),
        Step("airspeed", "m/s", 1.0, 1.0, 40.0, COURSE_KIND, "offboard_speed", 0, at.AIR.airspeed, 0),
    )
}


@dataclass(frozen=True)
class Answer:
    """Response with one set of gains; times in s from the step, shares of the step."""

    time_s: np.ndarray
    value: np.ndarray  # change since the step, in the step's unit
    size: float
    failure: str  # why the run ended early
    saturated: float  # share of time in which an actuator was at a limit

    @property
    def rise_s(self) -> float:
        """Rise time in s, from 10 to 90 % of the step."""
        return self._first(0.9) - self._first(0.1)

    @property
    def delay_s(self) -> float:
        """Delay in s until 50 % of the step."""
        return self._first(0.5)

    @property
    def overshoot(self) -> float:
        """Overshoot as a share of the step."""
        return max(0.0, float(np.max(self.share)) - 1.0) if len(self.share) else math.nan

    @property
    def settling_s(self) -> float:
        """Time in s after which the response stays within 5 % of the step; nan if it does not."""
        outside = np.flatnonzero(np.abs(self.share - 1.0) > BAND)
        if self.failure or not len(self.share) or (len(outside) and outside[-1] == len(self.share) - 1):
            return math.nan
        return float(self.time_s[outside[-1] + 1]) if len(outside) else 0.0

    @property
    def error(self) -> float:
        """Remaining error at the end as a share of the step."""
        tail = self.share[-max(1, len(self.share) // 10) :]
        return float(np.mean(tail) - 1.0) if len(tail) and not self.failure else math.nan

    @property
    def share(self) -> np.ndarray:
        """Response over time as a share of the step."""
        return self.value / self.size

    def _first(self, share: float) -> float:
        above = np.flatnonzero(self.share >= share)
        if not len(above):
            return math.nan
        i = int(above[0])
        if i == 0:
            return float(self.time_s[0])
        part = (share - self.share[i - 1]) / (self.share[i] - self.share[i - 1])
        return float(self.time_s[i - 1] + part * (self.time_s[i] - self.time_s[i - 1]))

    def figures(self) -> dict[str, float]:
        """Figures of the response as numbers by name."""
        return {
            "rise_s": self.rise_s, "delay_s": self.delay_s, "overshoot": self.overshoot, "settling_s": self.settling_s,
            "error": self.error, "saturated": self.saturated,
        }  # fmt: skip


def step_of(name: str, vehicle: str | None = None) -> Step:
    """The step with a name, among those the vehicle can fly; without a vehicle, those of hovering vehicles."""
    known = WING_STEPS if vehicle is not None and is_wing(vehicle) else STEPS
    if name not in known:
        same = "; roll is bank" if name == "roll" and known is WING_STEPS else ""
        unknown = UnknownNameError("step", name, known, f"those of '{vehicle}'" if known is WING_STEPS else "")
        raise RunError(f"{unknown}{same}") if same else unknown
    return known[name]


def usual_step(vehicle: str) -> str:
    """Name of the default step of a vehicle."""
    return "bank" if is_wing(vehicle) else "roll"


def answers_to(
    vehicle: str,
    step: Step,
    size: float | None = None,
    sets: Sequence[Mapping[str, Number]] = ({},),
    *,
    control: str = "truth",
    seed: int = 0,
    lasts_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Answer]:
    """Responses of the vehicle to a step of a size (in the step's unit), one for each set of parameters."""
    size, lasts_s = step.usual if size is None else size, step.lasts_s if lasts_s is None else lasts_s
    if not math.isfinite(size) or size == 0:
        raise RunError(f"a step of {size} {step.unit} is none: give a size other than 0")
    if not sets:
        raise RunError("a step needs at least one set of parameters")
    wing = step in WING_STEPS.values()
    state = (
        launched(vehicle, control=control, lanes=len(sets))
        if wing
        else hovering(vehicle, control=control, lanes=len(sets))
    )
    if step.input not in state.model.flat.u.start:
        raise ModelError(f"{vehicle} takes no set-point of {step.name}: its controller has no input for it")
    state.seeds[:] = seed
    for lane, values in enumerate(sets):
        for path, value in values.items():
            one_for_many(state.model, path, value)
            state.set_param(path, value, lane if len(sets) > 1 else None)
    ready_s = LAUNCH_S + STRAIGHT_S if wing else HOVER_S
    whole_s = ready_s + lasts_s
    links = [path for path in state.model.flat.held.start if path.endswith(LINK)]
    rotors = np.array([path.startswith("rotor/") for path in links])
    bar = progress or (lambda share: None)
    if wing:
        fly_straight(state)
        _hold_attitude(state, step)
    else:
        run(state, HOVER_S, log=[step.signal], progress=lambda share: bar(share * HOVER_S / whole_s))
    ready_s = state.time_s
    flown = [state.stop_of(lane) for lane in range(len(sets))]
    before = _now(state, step)
    (_order_wing if wing else _order)(state, step, size * step.scale)
    log = run(
        state, ready_s + lasts_s, log=[step.signal, *links], log_s=LOG_S,
        progress=lambda share: bar((ready_s + share * lasts_s) / (ready_s + lasts_s)),
    )  # fmt: skip
    answers = []
    for lane in range(len(sets)):
        stop = flown[lane] or state.stop_of(lane)
        failure = f"{stop.reason} at {stop.time_s:.2f} s" if stop else ""
        time_s = log.time(lane) - ready_s
        signal = log.lane(step.signal, lane)
        read = signal.reshape(len(time_s), math.prod(signal.shape[1:]))[:, step.read]
        moved = (step.read_sign or step.sign) * (read - before[lane]) / step.scale
        commands = np.array([log.lane(path, lane) for path in links]).T
        used = np.abs(commands[:1]) > USED if len(commands) else True
        limits = ((np.abs(commands) > SATURATED[1]) | (used & (np.abs(commands) < SATURATED[0]) & rotors)).any(axis=1)
        if flown[lane] is not None:  # the lane ended before the step
            time_s, moved, limits = time_s[:0], moved[:0], limits[:0]
        saturated = float(limits.mean()) if len(limits) else math.nan
        answers.append(Answer(time_s, moved, size, failure, saturated))
    return answers


def _now(state: RunState, step: Step) -> list[float]:
    """Value of the signal at the step, for each lane."""
    log = run(state.branch(), state.time_s + LOG_S, log=[step.signal], log_s=LOG_S, threads=1)
    values = log.all_lanes(step.signal)
    return [float(values[lane, 0].reshape(-1)[step.read]) for lane in range(state.lanes)]


def _hold_attitude(state: RunState, step: Step) -> None:
    """Hold attitude and throttle before a step of the attitude."""
    if step.kind != ATTITUDE_KIND:
        return
    for lane in range(state.lanes):
        pitch, throttle = (float(state.get(at.CONTROL(name), lane)[0]) for name in ("pitch_set", "throttle"))
        state.set_input("offboard_attitude", [0.0, pitch, 0.0], lane)
        state.set_input("offboard_thrust", throttle, lane)
    state.set_input("offboard_kind", commands.BY_ATTITUDE)
    run(state, state.time_s + HELD_S, log=[step.signal])


def _order_wing(state: RunState, step: Step, size: float) -> None:
    """Set the new set-point of every lane of a wing: the current value plus the step."""
    rows = state.model.flat.u.rows(step.input)
    for lane in range(state.lanes):
        block, place = divmod(lane, state.width)
        value = state.inputs[block, rows, place].tolist()
        value[step.entry] += size
        state.set_input(step.input, value if len(value) > 1 else value[0], lane)


def _order(state: RunState, step: Step, size: float) -> None:
    """Set the new set-point of every lane."""
    state.set_input("offboard_kind", float(step.kind))
    signal = state.model.flat.u.signals[step.input]
    value = [0.0] * signal.size
    if step.input == "offboard_position":
        value[2] = -HOVER_M
    value[step.entry] += step.sign * size
    state.set_input(step.input, value)
    if step.kind in (BY_ATTITUDE, BY_RATE):
        full = state.model.param_rows(at.CONTROL("max_thrust"))
        for lane in range(state.lanes):
            block, place = divmod(lane, state.width)
            lift = float(state.get(at.CONTROL("thrust_total"), lane)[0])
            state.set_input("offboard_thrust", lift / float(state.params[block, full, place].sum()), lane)
