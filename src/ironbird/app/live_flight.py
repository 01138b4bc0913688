"""One flight in its own thread, controlled by other threads while it flies.

Every request is an `Action`: carried out between two exchanges, at a tick that is recorded. The order of the flight
holds all of them afterwards (`ironbird.systems.commanded.stream`), so that `ironbird repeat` gives the same bytes; and
the actions, repeated at their ticks, bring a second flight to exactly the same state: a branch.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ironbird.app.live_twin import LiveTwin
from ironbird.app.monitor import Monitor
from ironbird.errors import IronbirdError, RunError
from ironbird.faults.spec import Injection
from ironbird.files.trust import NO_TRUST, Trust
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Order
from ironbird.flight.outside import own_witness
from ironbird.flight.prepare import fit
from ironbird.flight.seat import take_seat
from ironbird.flight.systems import is_outside, kind_of
from ironbird.flight.witness import Witness
from ironbird.ground.client.attended import Attended
from ironbird.ground.wires import Watched
from ironbird.report.flight.replay import hit
from ironbird.report.folder import write_flight_folder
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.obeyed import COMMANDS, Command, Obeyed
from ironbird.rig.commander.stand import Stand
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem
from ironbird.runtime.clock import Pace
from ironbird.runtime.log import Log
from ironbird.runtime.paced import PacedLoop
from ironbird.systems.commanded.front import FrontEnd
from ironbird.systems.commanded.kind import CommandedSystem

MOST_WAITING = 64  # actions that were requested and are not done yet
LOOK_S = 0.2  # s of wall time between two checks while a flight is paused
ANSWER_S = 10.0  # a flight carries out an action within this time, unless it is still compiling
STEP_S = 1e-3
SLOWEST, FASTEST = 0.02, 1000.0  # times real time
STARTING, RUNNING, PAUSED, OVER, FAILED = "starting", "running", "paused", "over", "failed"


@dataclass
class Action:
    """A request to a flight: a function of `DEEDS` with its arguments, and its result."""

    name: str
    args: Mapping[str, Any]
    tick: int = -1  # when it was done; set before: when it is to be done
    wished: bool = False  # ordered with the flight, and done as soon as the vehicle took it
    refusal: str | None = None
    done_at: float = 0.0  # wall time
    done: threading.Event = field(default_factory=threading.Event)


class LiveFlight:
    """A flight that can be paused, stepped, accelerated, commanded, faulted and tuned. Calls may come from any thread.

    Under the reference autopilot (`control = "commanded"`) commands act at once; PX4, ArduPilot and boards are
    commanded by the built-in ground station over MAVLink (`pilot`), with results in `pilot.orders`; the reference
    autopilot on chips and the firmware's base station have a commander inside (`obeyed`). Other control systems fly
    their mission and accept faults only. `wishes` are actions without arguments that are carried out as soon as the
    vehicle accepts them (it arms when its estimator has settled). A branch carries out the actions of `past` at their
    ticks, as fast as possible until `until_tick`.
    """

    def __init__(
        self,
        name: str,
        order: Order,
        *,
        speed: float | None = 1.0,
        folder: Path | None = None,
        wishes: Sequence[str] = (),
        past: Sequence[Action] = (),
        until_tick: int = 0,
        paused: bool = False,
        also: FrontEnd | None = None,
        monitor: Monitor | None = None,
        mavlink: bool | str = False,
        trust: Trust = NO_TRUST,
    ) -> None:
        self.name, self.order, self.folder, self.trust = name, order, folder, trust
        self.began_with, self.mavlink = tuple(wishes), mavlink  # for a reset
        self.pilot: Attended | None = None
        self._system: ControlSystem | None = None  # in whose seat it is flown
        self.flight: Flight | None = None
        self.hit = ""  # name of the obstacle that it flew into
        self.failure = ""
        self.deeds: list[Action] = []
        self.twins: list[LiveTwin] = []
        self.stand: Stand | None = None
        self.also, self.monitor = also, monitor or Monitor()
        self._past = deque(past)
        self._wishes: deque[str] = deque(wishes)
        self._fast_until = until_tick
        self._queue: deque[Action] = deque()
        self._changed = threading.Condition()
        self._ends = False
        self._paused, self._steps, self._run_until = paused, 0, 0
        self._speed = speed
        self._pace = Pace(speed) if speed else None
        self._state = STARTING
        self._announced: list[str] = []
        self.thread = threading.Thread(target=self._fly, name=f"flight {name}", daemon=True)

    # ------------------------------------------------------------------ state

    @property
    def state(self) -> str:
        """The state: starting, running, paused, over or failed."""
        return PAUSED if self._state == RUNNING and self._paused else self._state

    @property
    def speed(self) -> float | None:
        """Speed as a factor of real time; None: as fast as possible."""
        return self._speed

    @property
    def commander(self) -> Commander | None:
        """The receiver of commands; None if the control system accepts none from Ironbird."""
        if self.obeyed is not None:
            return self.obeyed.commander
        return self.stand if isinstance(self.stand, Commander) else None

    @property
    def obeyed(self) -> Obeyed | None:
        """The part of the control system that takes orders; None before it runs, or if it takes none."""
        return self._system.obeyed if self._system is not None else None

    @property
    def commanded(self) -> bool:
        """Whether commands are accepted."""
        return self.commander is not None or self.pilot is not None

    @property
    def deaf(self) -> str:
        """Reason why it accepts no commands; empty if it does, or may when it has started."""
        control = self.order.control
        if self.commanded or self.stand is None:
            return ""
        why = kind_of(control).takes_none() if is_outside(control) else "a stored flight is flown again"
        return f"control '{control}' takes no command: {why}"

    def params(self) -> dict[str, float]:
        """Parameters that can be tuned now: the vehicle's own, or those of the autopilot that were read so far."""
        if self.pilot is not None:
            return self.pilot.params_known()
        return self.commander.params() if self.commander is not None else {}

    @property
    def tick(self) -> int:
        """The simulation's tick; 0 before it runs."""
        return self.stand.rig.state.tick if self.stand is not None else 0

    @property
    def step_s(self) -> float:
        """Step of the simulation in s; before it runs, the default of Ironbird's vehicles."""
        return self.stand.rig.state.model.step_s if self.stand is not None else STEP_S

    @property
    def wishes(self) -> tuple[str, ...]:
        """Names of the actions that wait until the vehicle accepts them."""
        return tuple(self._wishes)

    @property
    def listens(self) -> list[str]:
        """Addresses at which ground stations reach it."""
        if self._state != RUNNING:
            return []
        return self.also.announce() if self.also is not None else list(self._announced)

    def log(self) -> Log | None:
        """The log so far: a view that later rows do not change; None before it runs."""
        if self.flight is not None:
            return self.flight.log
        if self.stand is None:
            return None
        return self.stand.rig.stepper.so_far()

    def witnesses(self) -> list[Witness]:
        """Effects of the faults that were injected in flight: so far, or as judged at the end."""
        if self.flight is not None:
            return list(self.flight.witnesses)
        return [self._own_witness(twin.witness()) for twin in list(self.twins)]

    def _own_witness(self, witness: Witness) -> Witness:
        """The control system's own evidence of a fault that it carries out itself, or else that of the vehicle."""
        if self._system is None or self.stand is None:
            return witness
        rig = self.stand.rig
        return own_witness(self._system, rig.links, witness, min(rig.time_s, witness.injection.end_s)) or witness

    # ------------------------------------------------------------------ control

    def start(self) -> None:
        """Start the flight in its own thread."""
        self.thread.start()

    def pause(self, paused: bool = True) -> None:
        """Pause simulation time, or resume it."""
        with self._changed:
            self._paused, self._steps = paused, 0
            self._pace = Pace(self._speed) if self._speed else None
            self._changed.notify_all()

    def step(self, exchanges: int = 1) -> None:
        """Pause, and advance by exchanges (4 ms of simulation time each under the reference autopilot)."""
        if self.stand is not None and self.stand.rig.loop is not None:
            raise RunError(f"{self.name}: a board keeps its own time: it can be paused, not stepped")
        with self._changed:
            self._paused = True
            self._steps += exchanges
            self._changed.notify_all()

    def run_to(self, time_s: float, wait_s: float = 600.0) -> None:
        """Advance to a simulation time and pause there; returns when it is reached, or when the flight is over."""
        self._run_until = round(time_s / self.step_s)
        self.pause()
        end = time.monotonic() + wait_s
        while self.tick < self._run_until and self._state in (STARTING, RUNNING) and time.monotonic() < end:
            self.thread.join(0.002)

    def set_speed(self, speed: float | None) -> None:
        """Set the speed as a factor of real time; None: as fast as possible."""
        if self.stand is not None and self.stand.rig.loop is not None and speed != 1.0:
            raise RunError(f"{self.name}: a board keeps its own time: speed is 1")
        if speed is not None and not SLOWEST <= speed <= FASTEST:
            raise RunError(f"speed {speed:g}: give {SLOWEST:g} to {FASTEST:g} times real time, or none for the fastest")
        with self._changed:
            self._speed, self._pace = speed, Pace(speed) if speed else None

    def do(self, name: str, args: Mapping[str, Any] | None = None, *, wait_s: float = ANSWER_S) -> str | None:
        """Carry out an action of `DEEDS`; returns None when it was done, or the reason of a refusal.

        Commands to an external autopilot are sent at that time; `pilot.orders` reports their results.
        """
        if name not in DEEDS:
            return f"there is nothing called '{name[:40]}' to do; there is {', '.join(DEEDS)}"
        if self._state in (OVER, FAILED):
            return "the flight is over"
        deed = Action(name, dict(args or {}))
        with self._changed:
            if len(self._queue) >= MOST_WAITING:
                return f"{MOST_WAITING} things wait to be done already"
            self._queue.append(deed)
            self._changed.notify_all()
        if not deed.done.wait(wait_s):
            with self._changed:
                if any(waiting is deed for waiting in self._queue):  # it must not be carried out later
                    self._queue.remove(deed)
                    return "the flight has not answered yet, it is starting: nothing was done"
            deed.done.wait(wait_s)
        return deed.refusal

    def end(self, wait_s: float = 60.0) -> None:
        """End the flight; it is judged as far as it was flown, and written into its folder."""
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        if self.thread.is_alive() and threading.current_thread() is not self.thread:
            self.thread.join(wait_s)

    def join(self, wait_s: float | None = None) -> bool:
        """Wait until the flight is over; returns whether it is."""
        self.thread.join(wait_s)
        return not self.thread.is_alive()

    # ------------------------------------------------------------------ in the flight's own thread

    def _fly(self) -> None:
        try:
            if self.order.control == "commanded":
                system = CommandedSystem(_Front(self), sees_truth=self.order.options.get("state") == "truth")
                flight = fly(self.order, control=system, folder=self.folder)
            elif is_outside(self.order.control):
                flight = self._fly_outside()
            else:  # a stored flight that is flown again: no live commands
                self._state = RUNNING
                flight = fly(self.order)
            if self.folder is not None:
                write_flight_folder(flight, self.folder)
            self.hit = (hit(flight) or {}).get("name", "")
            self.flight, self._state = flight, OVER
        except IronbirdError as error:
            self.failure, self._state = str(error), FAILED
        except Exception as error:  # a thread that ends without a report would leave the page waiting
            self.failure, self._state = f"{type(error).__name__}: {error}", FAILED
            raise
        finally:
            self._refuse_rest()

    def _fly_outside(self) -> Flight:
        seat = take_seat(
            self.order, fit(self.order), folder=self.folder, announce=self._announced.append, trust=self.trust
        )
        try:
            seat.system.fills, seat.system.tap = self.order.control, self.monitor.watch
            seat.system.abandoned = lambda: self._ends
            self._system = seat.system
            if isinstance(seat.pilot, Attended):
                self.pilot = seat.pilot
                self.pilot.station.wire = Watched(self.pilot.station.wire, self.monitor.watch)
            return fly(self.order, control=seat.system, pilot=seat.pilot, between=self._between)
        finally:
            seat.close()

    def _refuse_rest(self) -> None:
        with self._changed:
            for deed in self._queue:
                deed.refusal = self.failure or "the flight is over"
                deed.done.set()
            self._queue.clear()

    def _between(self, rig: Rig) -> bool:
        if self.stand is None:
            self.stand = Stand(rig.vehicle, rig)
        return self.attend(self.stand)

    def _attend_loop(self, stand: Stand, loop: PacedLoop) -> bool:
        """`attend` for a loop in native code, which is paused for actions that change the vehicle."""
        for twin in self.twins:
            twin.follow(loop.given, loop.step_ticks)
        self.stand = stand
        if self._state == STARTING:
            self._state = RUNNING
        self._try_wishes(stand)
        while self._queue:
            deed = self._queue.popleft()
            with stand.rig.stepper.hold(loop) if deed.name in CHANGES else contextlib.nullcontext():
                self._perform(stand, deed)
        if self._paused and not self._ends and stand.rig.state.tick >= self._run_until:
            with stand.rig.stepper.hold(loop, shifted=True):
                self._wait(stand)
        if self._ends and self.pilot is not None:
            self.pilot.end()
            return True
        return not self._ends

    def attend(self, stand: Stand) -> bool:
        """Between two exchanges: carry out actions, and wait while paused; returns whether the flight goes on."""
        if stand.rig.loop is not None:
            return self._attend_loop(stand, stand.rig.loop)
        for twin in self.twins:
            twin.step()
        self.stand, tick = stand, stand.rig.state.tick
        if self._state == STARTING:
            self._state = RUNNING
        while self._past and self._past[0].tick <= tick:
            deed = self._past.popleft()
            self._perform(stand, replace(deed, done=threading.Event()))
        if tick >= self._fast_until:  # a branch catches up before it accepts actions
            self._try_wishes(stand)
            self._wait(stand)
        for twin in self.twins:
            twin.take_over()
        if self._ends and self.pilot is not None and tick >= self._fast_until:
            self.pilot.end()  # it ends at its next poll, as in a repeat of the flight
            return True
        return not self._ends

    def _try_wishes(self, stand: Stand) -> None:
        """Try the actions that wait until the vehicle accepts them: arm, fly the mission."""
        while self._wishes and DEEDS[self._wishes[0]](self, stand) is None:
            self.deeds.append(Action(self._wishes.popleft(), {}, stand.rig.state.tick, wished=True))

    def _wait(self, stand: Stand) -> None:
        while True:
            while self._queue:
                self._perform(stand, self._queue.popleft())
            if not self._paused or self._ends:
                break
            if stand.rig.state.tick < self._run_until:
                break
            if self._steps and stand.rig.loop is None:
                self._steps -= 1
                return
            with self._changed:
                if not self._queue and self._paused and not self._steps and not self._ends:
                    self._changed.wait(LOOK_S)
        if self._pace is not None and stand.rig.loop is None:
            self._pace.wait(stand.time_s)

    def _perform(self, stand: Stand, deed: Action) -> None:
        deed.tick, deed.done_at = stand.rig.state.tick, time.perf_counter()
        try:
            deed.refusal = DEEDS[deed.name](self, stand, **deed.args)
        except (TypeError, ValueError, OverflowError) as error:  # arguments come from outside
            deed.refusal = f"{deed.name}: {error}"
        except IronbirdError as error:
            deed.refusal = str(error)
        if deed.refusal is None:
            self.deeds.append(deed)
        deed.done.set()


class _Front:
    """The front end of a live flight, together with a second one (MAVLink) if there is one."""

    open_ended = True

    def __init__(self, live: LiveFlight) -> None:
        self._live, self._also = live, live.also
        self._over = False

    def open(self, commander: Commander) -> None:
        """Open the second front end, if there is one."""
        if self._also is not None:
            self._also.open(commander)
        self._live.stand = commander

    def poll(self, commander: Commander) -> None:
        """Poll the second front end, then carry out the actions that the page requested."""
        if self._also is not None:
            self._also.poll(commander)
        self._over = not self._live.attend(commander)

    def announce(self) -> list[str]:
        """Lines for the user of the second front end, if there is one."""
        return self._also.announce() if self._also is not None else []

    @property
    def finished(self) -> bool:
        """Whether the flight was ended by a user."""
        return self._over

    def close(self) -> None:
        """Close the second front end, if there is one."""
        if self._also is not None:
            self._also.close()


# ---------------------------------------------------------------------- actions of a flight

Doer = Callable[..., str | None]


def _commanding(name: str, call: Command) -> Doer:
    """An action that needs a receiver of commands: a commander, or the built-in ground station over MAVLink."""

    def doer(live: LiveFlight, stand: Stand, **args: Any) -> str | None:
        if live.pilot is not None:
            live.pilot.order(name, args)
            return None
        if live.obeyed is not None:
            return live.obeyed.order(name, args, stand.time_us)
        if not isinstance(stand, Commander):
            return live.deaf
        return call(stand, **args)

    return doer


def _inject(live: LiveFlight, stand: Stand, injection: Injection) -> str | None:
    rig = stand.rig
    copy = rig.state.branch()
    if refusal := stand.inject(injection):
        return refusal
    later = replace(injection, start_s=injection.start_s + rig.time_s, end_s=injection.end_s + rig.time_s)
    for twin in live.twins:
        if not twin.over:
            twin.inject(later)
    live.twins.append(LiveTwin(later, rig, copy))
    return None


def _clear(live: LiveFlight, stand: Stand, number: int) -> str | None:
    """End the fault with this number, counted from 0 in the order of injection."""
    if not 0 <= number < len(live.twins):
        return f"no fault number {number} was injected"
    twin, now_s = live.twins[number], stand.time_s
    if twin.injection.end_s <= now_s:
        return f"{twin.injection.fault.id} has ended at {twin.injection.end_s:.2f} s"
    if refusal := stand.end(replace(twin.injection, start_s=0.0, end_s=math.inf)):
        return refusal
    end_s = max(now_s, twin.injection.start_s + stand.rig.state.model.step_s)
    twin.injection = replace(twin.injection, end_s=end_s)
    for other in live.twins:
        other.left_out |= other is not twin and not other.over
    return None


DEEDS: dict[str, Doer] = {
    **{name: _commanding(name, call) for name, call in COMMANDS.items()},
    "inject": _inject,
    "clear": _clear,
}
CHANGES = frozenset({"inject", "clear"})  # of these: what changes the vehicle itself
