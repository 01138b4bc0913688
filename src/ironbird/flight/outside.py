"""Flights under a control system outside the kernel: PX4, ArduPilot, a cable, a function.

The vehicle, weather and faults are those of any other flight; the control system is exchanged with every few ticks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.errors import FaultError, LinkError
from ironbird.faults.spec import Injection
from ironbird.flight.far_field import FarField
from ironbird.flight.judge import Flown, Judged, judge
from ironbird.flight.order import Order
from ironbird.flight.prepare import (
    Fitted,
    end_s,
    far_field_of,
    give_sight,
    has_link_faults,
    inject,
    prepare,
    surroundings_of,
)
from ironbird.flight.start_line import StartLine
from ironbird.flight.surroundings import Surroundings
from ironbird.flight.twins import Twins, in_turn
from ironbird.flight.witness import Witness
from ironbird.rig.link_faults import FlownLinks, is_link
from ironbird.rig.rig import Rig, attach
from ironbird.rig.system import AutopilotEvent, ControlSystem, Seat
from ironbird.runtime.clock import Pace
from ironbird.runtime.paced import PacedLoop
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState, Stop
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.runtime.stepper import Stepper
from ironbird.runtime.tuning import Tuning, apply_tuning
from ironbird.world.runner import Sample

# Kinds of autopilot_events that answer a fault; the last ones are in the control system's own log
REACTIONS = ("failsafe", "mode", "estimator", "text", "armed", "fusion", "rejection", "sensor", "saturation")
PROGRESS_EXCHANGES = 250  # between two reports of progress
LOOK_S = 0.01  # between two looks at a loop that keeps time by itself


@dataclass(frozen=True)
class Reaction:
    """What the control system did first after a fault began."""

    injection: Injection
    begin_s: float
    event: AutopilotEvent

    @property
    def after_s(self) -> float:
        """Reaction time in simulation time."""
        return self.event.time_s - self.begin_s

    def sentence(self) -> str:
        """What it did, and how long after which fault."""
        said = self.event
        return f"{said.kind}: {said.text}, {self.after_s:.2f} s after {self.injection.fault.id}"


def reactions_of(
    faults: Sequence[Injection],
    witnesses: Sequence[Witness],
    autopilot_events: Sequence[AutopilotEvent],
) -> list[Reaction]:
    """The first thing of each kind of `REACTIONS` that the control system did after each fault began to act.

    Nothing answers a fault that never acted. It came after the fault; that it came because of the fault is for a
    flight without the fault to decide (`flight/cause.py`).
    """
    found = []
    for injection, witness in zip(faults, witnesses, strict=True):
        if not witness.effective:
            continue
        begin = witness.first_s
        seen: set[str] = set()
        for event in autopilot_events:
            if event.time_s >= begin and event.kind in REACTIONS and event.kind not in seen:
                seen.add(event.kind)
                found.append(Reaction(injection, begin, event))
    return found


@dataclass
class FlownOutside:
    """The results of a flight under an external control system."""

    log: Log
    stop: Stop | None
    ended_s: float
    judged: Judged
    witnesses: list[Witness]
    triggered_s: list[float]
    autopilot_events: list[AutopilotEvent] = field(default_factory=list)
    order: Order = field(kw_only=True)  # with all that came on the way
    records: bool = False  # whether that order repeats it: all commands to the control system are recorded
    samples: list[Sample] = field(default_factory=list)  # that sensors of the world took


def fly_outside(
    order: Order,
    fitted: Fitted,
    seat: Seat,
    *,
    speed: float | None = None,
    progress: Callable[[float], None] | None = None,
    line: StartLine | None = None,
    between: Callable[[Rig], bool] | None = None,
) -> FlownOutside:
    """Fly an order; `LinkError` if the control system never takes part, with nothing left behind.

    A link that fails later ends the flight, whose log is kept; its verdict is error.
    With `speed` the flight keeps to the wall clock; without, it runs as fast as the control system answers. Ctrl-C
    after the first exchange ends the flight; `log.interrupted` says so, and its verdict is error. An open-ended one,
    which an external program flies, ends as if its time was over. `between` is called after every exchange: it may wait
    (the flight stands still), inject faults and change parameters, and ends the flight as Ctrl-C does by False. Beside
    a loop in native code (`rig.loop`) it is called about every 10 ms, and must hold that loop for whatever it changes.
    """
    model, system, pilot = fitted.model, seat.system, seat.pilot
    exchanges, next_watch = 0, CHUNK_TICKS
    interrupted = False
    loop: PacedLoop | None = None
    try:  # the seat is taken: it is given back whatever comes
        until_s = end_s(order, model)
        state = prepare(model, [order])
        around = surroundings_of([order], model)
        if around is not None:
            around.begin(state, f"vehicle '{order.vehicle}'")
        sights, far = give_sight(state, [order], keep=True), far_field_of([order], model)
        twins = Twins(state, [order], apart=True)
        rig = attach(fitted.vehicle, state, until_s=until_s, log=list(model.signals()), log_s=order.log_s)
        rig.sight = sights.feeds[0] if sights is not None else None
        if has_link_faults(order):
            rig.disturb_links(order.faults, order.seed)
        links = rig.links
        faults: list[Injection] = []  # that came on the way

        def injected(injection: Injection) -> None:
            if injection.when:
                raise FaultError(f"{injection.text()}: a fault with a trigger is ordered before the flight")
            if is_link(injection):
                raise FaultError(f"{injection.text()}: a fault of a link is ordered before the flight")
            now_s = rig.time_s
            later = replace(injection, start_s=injection.start_s + now_s, end_s=injection.end_s + now_s)
            rig.stepper.note_fired()
            inject(state, later)
            faults.append(later)
            if loop is not None:  # it is held: its twin begins with the state as it is now
                twins.add(faults, state)

        def ended(injection: Injection) -> None:
            now_s = rig.time_s
            for number, running in reversed(list(enumerate(faults))):
                if running.end_s > now_s and replace(running, start_s=0.0, end_s=math.inf) == injection:
                    over = replace(running, end_s=max(now_s, running.start_s + model.step_s))
                    rig.stepper.note_fired()
                    twins.end(running, over, state)
                    faults[number] = over
                    return
            raise FaultError(f"{injection.fault.id}: no such fault is in force")

        rig.injector, rig.ender = injected, ended
        due = sorted(order.tunings, key=lambda tuning: tuning.tick)
        if line is not None:
            system.abandoned = lambda: not line.is_open()  # not waiting for a board if another vehicle gave up
        system.start(rig)
        if not 0 < system.step_ticks <= CHUNK_TICKS:
            raise LinkError(f"{system.name}: an exchange every {system.step_ticks} ticks; give 1 to {CHUNK_TICKS}")
        commands = np.zeros((round(until_s / model.step_s) // system.step_ticks + 2, len(rig.stepper.inputs)))
        every = max(1, round(system.pilot_s / (system.step_ticks * model.step_s)))
        twins.watch(state)  # after the start, which may command: a twin has the same commands
        begin_ns = line.wait() if line is not None else -1
        pace = Pace(speed, (lambda: begin_ns) if line is not None else None) if speed else None
        rig.loop = loop = None if around is not None else system.take_over(rig, begin_ns)
        while loop is not None:
            running = loop.look()
            exchanges, commands = loop.steps, loop.given
            system.watch(rig)
            if between is not None and exchanges and not between(rig):
                raise KeyboardInterrupt
            if pilot is not None:
                pilot.poll(rig)
            if (pilot is not None and pilot.finished) or system.failure or system.finished:
                break
            if progress is not None:
                progress(rig.time_s / until_s)
            _look_at(line)
            if not running:
                break
            time.sleep(LOOK_S)
        while loop is None and _tuned(rig, due) and rig.step(system.step_ticks):
            far.look(state, system.step_ticks)
            if around is not None:
                around.look(state)
            system.exchange(rig)
            commands[exchanges] = rig.stepper.inputs
            exchanges += 1
            goes_on = between is None or between(rig)
            twins.add(faults, state)  # after the exchange: a twin has the same commands
            if not goes_on:
                raise KeyboardInterrupt
            if state.tick + system.step_ticks > next_watch:  # the next step would leave the piece
                rig.stepper.note_fired()
                twins.watch(state)
                next_watch = state.tick + CHUNK_TICKS
            if pilot is not None and exchanges % every == 0:
                pilot.poll(rig)
                if pilot.finished:
                    break
            if system.failure or system.finished:
                break
            if progress is not None and exchanges % PROGRESS_EXCHANGES == 0:
                progress(rig.time_s / until_s)
            if pace is not None:
                pace.wait(rig.time_s)
            _look_at(line)
    except KeyboardInterrupt:
        if not exchanges:
            raise
        interrupted = not system.open_ended
    except LinkError as error:
        if not exchanges or not system.taking_part:  # there is no flight
            raise
        system.failure = str(error)
        system.note(rig, "link", system.failure)
    finally:
        seat.close()
    if loop is not None:  # it has ended with its seat
        exchanges, commands = loop.steps, loop.given
        rig.stepper.note_fired()
        for then in loop.past():
            twins.watch(then)
    log, stop = rig.finish()
    log.interrupted = interrupted
    ended_s = stop.time_s if stop else rig.time_s

    if faults or rig.tunings or system.script():
        order = replace(
            order,
            faults=(*order.faults, *faults),
            tunings=tuple(rig.tunings),
            script=system.script() or order.script,
            until_s=order.until_s if stop else rig.time_s,
        )

    def replay(twin: RunState, twin_end_s: float, wanted: list[str] | None) -> Log:
        given = commands[:exchanges]
        flown = _replay(twin, twin_end_s, wanted, order.log_s, given, system.step_ticks, rig.tunings, around, far)
        log.interrupted |= flown.interrupted  # without its twin a flight shows nothing
        return flown

    witnesses = twins.observe(state, log, rig.time_s, in_turn(replay))[0]
    witnesses = [own_witness(system, links, witness, ended_s) or witness for witness in witnesses]
    if sights is not None:
        witnesses = [sights.witness(witness) for witness in witnesses]
    triggered_s = twins.triggers_s(state)[0]
    autopilot_events = sorted(
        [*system.autopilot_events, *(pilot.autopilot_events if pilot else [])], key=lambda h: h.time_s
    )
    told = Flown(
        witnesses=witnesses,
        triggered_s=triggered_s,
        ended_s=ended_s,
        rig_failure=system.failure or system.mistrust(),
        reactions=[r.sentence() for r in reactions_of(order.faults, witnesses, autopilot_events)],
    )
    judged = judge([order], [told], log, model)[0]
    records = bool(system.script())
    return FlownOutside(
        log, stop, ended_s, judged, witnesses, triggered_s, autopilot_events, order=order, records=records,
        samples=sights.kept[0] if sights is not None else [],
    )  # fmt: skip


def _look_at(line: StartLine | None) -> None:
    """End as Ctrl-C does if all who fly together are to end."""
    if line is not None and line.over:
        raise KeyboardInterrupt


def _tuned(rig: Rig, due: list[Tuning]) -> bool:
    """Change the parameters whose time has come, as ordered; always true."""
    while due and due[0].tick <= rig.state.tick:
        tuning = due.pop(0)
        rig.tune(tuning.path, tuning.value)
    return True


def own_witness(system: ControlSystem, links: FlownLinks | None, witness: Witness, ended_s: float) -> Witness | None:
    """The witness of a fault of a link, or of one that the control system made itself, at a sensor of its own."""
    own = links.acted(witness.injection) if links is not None else None
    own = own or system.acted(witness.injection)
    if own is None:
        return None
    return Witness(witness.injection, own.signal, own.unit, own.first_s, own.size, own.size, ended_s)


def _replay(
    twin: RunState,
    until_s: float,
    wanted: list[str] | None,
    log_s: float,
    commands: np.ndarray,
    step_ticks: int,
    tunings: Sequence[Tuning],
    around: Surroundings | None,
    far: FarField,
) -> Log:
    """A twin that is given the very commands and parameters that the flight got from its tick on; Ctrl-C ends it."""
    stepper = Stepper(twin, until_s=until_s, log=wanted, log_s=log_s)
    interrupted = False
    due = [tuning for tuning in tunings if tuning.tick >= twin.tick]

    def tuned() -> None:
        while due and due[0].tick <= twin.tick:
            apply_tuning(twin, due.pop(0))

    try:
        tuned()
        for row in commands[twin.tick // step_ticks :]:
            if not stepper.step(step_ticks):
                break
            stepper.inputs[:] = row
            far.look(twin, step_ticks)
            if around is not None:
                around.look(twin)
            tuned()
        else:
            stepper.step(step_ticks)  # the flight's last step, after which nothing was exchanged
    except KeyboardInterrupt:
        interrupted = True
    log = stepper.finish()
    log.interrupted = interrupted
    return log
