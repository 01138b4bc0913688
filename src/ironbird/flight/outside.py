"""Flights with an external control system: PX4, ArduPilot, a cable, a function.

The vehicle, weather and faults are those of any other flight; data are exchanged with the control system every few
ticks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ironbird.errors import FaultError, LinkError
from ironbird.faults.spec import Injection, is_link
from ironbird.flight.duration import end_s
from ironbird.flight.far_field import FarField
from ironbird.flight.flown import Flown
from ironbird.flight.judge import watched_by
from ironbird.flight.order import Order
from ironbird.flight.prepare import Fitted, far_field_of, give_sight, has_link_faults, inject, prepare, surroundings_of
from ironbird.flight.start_line import StartLine
from ironbird.flight.surroundings import Surroundings
from ironbird.flight.twins import Twins, Watched, in_turn
from ironbird.flight.witness import Witness, witness_programs
from ironbird.rig.link_faults import FlownLinks
from ironbird.rig.rig import Rig, attach
from ironbird.rig.system import AutopilotEvent, ControlSystem, Seat
from ironbird.runtime.clock import Pace
from ironbird.runtime.log import Log
from ironbird.runtime.paced import PacedLoop
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.runtime.stepper import Stepper
from ironbird.runtime.tuning import Tuning, apply_tuning

PROGRESS_EXCHANGES = 250  # between two reports of progress
LOOK_S = 0.01  # s between two checks of a real-time loop
JUDGED = "Ctrl-C ends the flight and judges it"
KEPT = "Ctrl-C ends the flight; what was flown until then is kept"


def fly_outside(
    order: Order,
    fitted: Fitted,
    seat: Seat,
    *,
    speed: float | None = None,
    progress: Callable[[float], None] | None = None,
    line: StartLine | None = None,
    between: Callable[[Rig], bool] | None = None,
    on_event: Callable[[AutopilotEvent], None] | None = None,
) -> Flown:
    """Fly an order; `LinkError` if the control system never takes part, with nothing left behind.

    A link that fails later ends the flight, whose log is kept; its verdict is error.
    With `speed` the flight keeps to the wall clock; without, it runs as fast as the control system answers. Ctrl-C
    after the first exchange ends the flight; `log.interrupted` is set, and its verdict is error. An open-ended one,
    which an external program flies, ends as if its time was over. `between` is called after every exchange: it may wait
    (the flight is paused), inject faults and change parameters, and ends the flight as Ctrl-C does by returning False.
    With a loop in native code (`rig.loop`) it is called about every 10 ms, and must pause that loop to change anything.
    `on_event` gets all events of the control system and its pilot when they come, and first one of kind "begin".
    """
    if on_event is not None:
        seat.listen(on_event)
    try:  # the seat is closed in any case
        flight = _Exchanged(order, fitted, seat, line)
        flight.fly(speed, progress, between, on_event)
    finally:
        seat.close()
    return flight.flown()


class _Exchanged:
    """A flight with an external control system: preparation, flight, result."""

    def __init__(self, order: Order, fitted: Fitted, seat: Seat, line: StartLine | None) -> None:
        self.order, self.model, self.line = order, fitted.model, line
        self.system, self.pilot = seat.system, seat.pilot
        self.until_s = end_s(order, self.model)
        self.state = prepare(self.model, [order])
        self.around = surroundings_of([order], self.model)
        if self.around is not None:
            self.around.begin(self.state, f"vehicle '{order.vehicle}'")
        self.sights, self.far = give_sight(self.state, [order], keep=True), far_field_of([order], self.model)
        self.twins = Twins(self.state, [order], apart=True)
        self.rig = rig = attach(
            fitted.vehicle,
            self.state,
            until_s=self.until_s,
            log=list(self.model.signals()),
            log_s=order.log_s,
            watch=[watched_by(order, self.model)],
        )
        rig.sight = self.sights.feeds[0] if self.sights is not None else None
        if has_link_faults(order):
            rig.disturb_links(order.faults, order.seed)
        self.links = rig.links
        rig.injector, rig.ender = self._inject, self._end
        self.faults: list[Injection] = []  # that came on the way
        self.loop: PacedLoop | None = None  # in native code; None: stepped here
        self.exchanges, self.commands = 0, np.empty((0, 0))
        self.interrupted = False

    # ------------------------------------------------------------------ faults that come on the way

    def _inject(self, injection: Injection) -> None:
        if injection.when:
            raise FaultError(f"{injection.text()}: a fault with a trigger is ordered before the flight")
        if is_link(injection):
            raise FaultError(f"{injection.text()}: a fault of a link is ordered before the flight")
        now_s = self.rig.time_s
        later = replace(injection, start_s=injection.start_s + now_s, end_s=injection.end_s + now_s)
        self.rig.stepper.watch(witness_programs(later, self.model, self.order.log_s))
        self.rig.stepper.note_fired()
        inject(self.state, later)
        self.faults.append(later)
        self.system.injected(later)
        if self.loop is not None:  # the loop is paused: the twin begins with the present state
            self.twins.add(self.faults, self.state)

    def _end(self, injection: Injection) -> None:
        now_s = self.rig.time_s
        for number, running in reversed(list(enumerate(self.faults))):
            if running.end_s > now_s and replace(running, start_s=0.0, end_s=math.inf) == injection:
                over = replace(running, end_s=max(now_s, running.start_s + self.model.step_s))
                self.rig.stepper.note_fired()
                self.twins.end(running, over, self.state)
                self.faults[number] = over
                return
        raise FaultError(f"{injection.fault.id}: no such fault is in force; give the injection as it was injected")

    # ------------------------------------------------------------------ flying

    def fly(
        self,
        speed: float | None,
        progress: Callable[[float], None] | None,
        between: Callable[[Rig], bool] | None,
        on_event: Callable[[AutopilotEvent], None] | None = None,
    ) -> None:
        """Start the control system and exchange with it until the end; the reason of an early end is recorded."""
        system = self.system
        try:
            begin_ns = self._start()
            if on_event is not None:
                on_event(AutopilotEvent(self.rig.time_s, "begin", JUDGED if system.open_ended else KEPT))
            if self.loop is not None:
                self._watch_loop(self.loop, progress, between)
            else:
                start_line = (lambda: begin_ns) if self.line is not None else None
                self._exchange(Pace(speed, start_line) if speed else None, progress, between)
        except KeyboardInterrupt:
            if not self.exchanges:
                raise
            self.interrupted = not system.open_ended
        except LinkError as error:
            if not self.exchanges or not system.taking_part:  # there is no flight
                raise
            system.failure = str(error)
            system.note(self.rig, "link", system.failure)

    def _start(self) -> int:
        """Start the control system and wait at the start line; returns the start in ns of the monotonic clock or -1."""
        system, line, rig = self.system, self.line, self.rig
        if line is not None:
            system.abandoned = lambda: not line.is_open()  # not waiting for a board if another vehicle gave up
        system.start(rig)
        if not 0 < system.step_ticks <= CHUNK_TICKS:
            raise LinkError(f"{system.name}: an exchange every {system.step_ticks} ticks; give 1 to {CHUNK_TICKS}")
        rows = round(self.until_s / self.model.step_s) // system.step_ticks + 2
        self.commands = np.zeros((rows, len(rig.stepper.inputs)))
        self.twins.watch(self.state)  # after the start, which may set commands: a twin has the same ones
        begin_ns = line.wait() if line is not None else -1
        rig.loop = self.loop = None if self.around is not None else system.take_over(rig, begin_ns)
        return begin_ns

    def _watch_loop(
        self, loop: PacedLoop, progress: Callable[[float], None] | None, between: Callable[[Rig], bool] | None
    ) -> None:
        """Service a loop in native code, which steps and exchanges by itself, until it has ended."""
        system, pilot, rig = self.system, self.pilot, self.rig
        while True:
            running = loop.look()
            self.exchanges, self.commands = loop.steps, loop.given
            system.watch(rig)
            if between is not None and self.exchanges and not between(rig):
                raise KeyboardInterrupt
            if pilot is not None:
                pilot.poll(rig)
            if (pilot is not None and pilot.finished) or system.failure or system.finished:
                return
            if progress is not None:
                progress(rig.time_s / self.until_s)
            self._look_at_line()
            if not running:
                return
            time.sleep(LOOK_S)

    def _exchange(
        self,
        pace: Pace | None,
        progress: Callable[[float], None] | None,
        between: Callable[[Rig], bool] | None,
    ) -> None:
        """Step the vehicle and exchange with the control system, in turn, until one of them ends the flight."""
        system, pilot, rig, state = self.system, self.pilot, self.rig, self.state
        due = sorted(self.order.tunings, key=lambda tuning: tuning.tick)
        every = max(1, round(system.pilot_s / (system.step_ticks * self.model.step_s)))  # exchanges of the pilot
        next_watch = CHUNK_TICKS
        while _tuned(rig, due) and rig.step(system.step_ticks):
            self.far.look(state, system.step_ticks)
            if self.around is not None:
                self.around.look(state)
            system.exchange(rig)
            self.commands[self.exchanges] = rig.stepper.inputs
            self.exchanges += 1
            goes_on = between is None or between(rig)
            self.twins.add(self.faults, state)  # after the exchange: a twin has the same commands
            if not goes_on:
                raise KeyboardInterrupt
            if state.tick + system.step_ticks > next_watch:  # the next step would leave the piece
                rig.stepper.note_fired()
                self.twins.watch(state)
                next_watch = state.tick + CHUNK_TICKS
            if pilot is not None and self.exchanges % every == 0:
                pilot.poll(rig)
                self.twins.add(self.faults, state)  # those that a ground station injected
                if pilot.finished:
                    return
            if system.failure or system.finished:
                return
            if progress is not None and self.exchanges % PROGRESS_EXCHANGES == 0:
                progress(rig.time_s / self.until_s)
            if pace is not None:
                pace.wait(rig.time_s)
            self._look_at_line()

    def _look_at_line(self) -> None:
        """End as Ctrl-C does if all flights of the start line are to end."""
        if self.line is not None and self.line.over:
            raise KeyboardInterrupt

    # ------------------------------------------------------------------ the result

    def flown(self) -> Flown:
        """The flight after its end; its twins are flown here. The seat is closed."""
        system, rig = self.system, self.rig
        if self.loop is not None:  # it has ended with its seat
            self.exchanges, self.commands = self.loop.steps, self.loop.given
            rig.stepper.note_fired()
            for then in self.loop.past():
                self.twins.watch(then)
        log, stop = rig.finish()
        log.interrupted = self.interrupted
        script = system.script()
        events = [*system.autopilot_events, *(self.pilot.autopilot_events if self.pilot else [])]
        return Flown(
            order=self._order_as_flown(script, None if stop else rig.time_s),
            log=log,
            run_ended_s=rig.time_s,
            witnesses=self._witnesses(log, stop.time_s if stop else rig.time_s),
            triggered_s=self.twins.triggers_s(self.state)[0],
            rig_failure=system.failure or system.mistrust(),
            autopilot_events=sorted(events, key=lambda event: event.time_s),
            link=system.figures(),
            measured=system.measured(),
            logs=list(system.process.logs) if system.process else [],
            records=bool(script),
            reads=system.reads(),
            samples=self.sights.kept[0] if self.sights is not None else [],
        )

    def _order_as_flown(self, script: str, ended_s: float | None) -> Order:
        """The order with everything that was added in flight; `ended_s` if nothing stopped the vehicle."""
        if not (self.faults or self.rig.tunings or script):
            return self.order
        return replace(
            self.order,
            faults=(*self.order.faults, *self.faults),
            tunings=tuple(self.rig.tunings),
            script=script or self.order.script,
            until_s=self.order.until_s if ended_s is None else ended_s,
        )

    def _witnesses(self, log: Log, ended_s: float) -> list[Witness]:
        """Fly the twins with the recorded commands of the flight, and compare."""
        commands, step_ticks, log_s = self.commands[: self.exchanges], self.system.step_ticks, self.order.log_s

        def replay(twin: RunState, twin_end_s: float, wanted: list[str] | None, watch: Watched) -> Log:
            flown = _replay(
                twin, twin_end_s, wanted, watch, log_s, commands, step_ticks, self.rig.tunings, self.around, self.far
            )
            log.interrupted |= flown.interrupted  # without its twin a flight shows nothing
            return flown

        witnesses = self.twins.observe(self.state, log, self.rig.time_s, in_turn(replay))[0]
        witnesses = [own_witness(self.system, self.links, witness, ended_s) or witness for witness in witnesses]
        return witnesses if self.sights is None else [self.sights.witness(witness) for witness in witnesses]


def _tuned(rig: Rig, due: list[Tuning]) -> bool:
    """Apply the ordered parameter changes that are due; always true."""
    while due and due[0].tick <= rig.state.tick:
        tuning = due.pop(0)
        rig.tune(tuning.path, tuning.value)
    return True


def own_witness(system: ControlSystem, links: FlownLinks | None, witness: Witness, ended_s: float) -> Witness | None:
    """Evidence of a link fault, or of a fault that the control system carried out itself; None for others."""
    own = links.acted(witness.injection) if links is not None else None
    own = own or system.acted(witness.injection)
    if own is None:
        return None
    return Witness(witness.injection, own.signal, own.unit, own.first_s, own.size, own.size, ended_s)


def _replay(
    twin: RunState,
    until_s: float,
    signals: list[str] | None,
    watch: Watched,
    log_s: float,
    commands: np.ndarray,
    step_ticks: int,
    tunings: Sequence[Tuning],
    around: Surroundings | None,
    far: FarField,
) -> Log:
    """Log of a twin with the recorded commands and parameters of the flight from its tick on; Ctrl-C ends it."""
    stepper = Stepper(twin, until_s=until_s, log=signals, log_s=log_s, watch=[watch])
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
