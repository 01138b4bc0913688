"""The built-in ground station under live control: it carries out orders in flight and records them.

It is the pilot of a flight: polled between steps, in simulation time, it never waits. It sends the same messages as the
client (`ironbird.ground.client.calls`), with the simulation's clock in place of the wall's; so in virtual time the same
orders give the same flight to the last byte. An order that the autopilot refuses or does not carry out in time is
reported as text (`orders`), and the flight goes on.

Not done: orders that are carried out at once on the vehicle's side of a cut link; they are sent again until their time
is over.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from ironbird.errors import IronbirdError, LinkError, UnknownNameError, shortened
from ironbird.ground.client.calls import Calls
from ironbird.ground.client.telemetry import Telemetry
from ironbird.ground.handshakes import Script
from ironbird.ground.wires import Wire
from ironbird.protocols.mavlink import numbers
from ironbird.protocols.orders import HEADER, Order, read_orders
from ironbird.protocols.plan_file import LocalItem, Plan
from ironbird.rig.rig import Rig

READY_S, MISSION_S, MOVE_S = 240.0, 240.0, 180.0  # of simulation time, for an order
TAKE_OFF_M = 5.0
MOST_RUNNING = 64  # orders on their way at once
MOST_KEPT = 200  # orders that are reported
WAITS, RUNS, DONE, REFUSED, REPLACED = "waits", "on its way", "done", "refused", "replaced"


@dataclass
class Ordered:
    """An order, its state (waiting, done, failed), and the reason of a failure."""

    order: Order
    state: str = WAITS
    why: str = ""
    future: Future[Any] | None = None

    def words(self) -> str:
        """The order as a short text for a list."""
        args = " ".join(f"{key}={shortened(value, 20)}" for key, value in self.order.args.items() if value is not None)
        return f"{self.order.name} {args}".strip()


class Attended:
    """The pilot of one flight that carries out orders (`ORDERS`); `script` is a record of orders to begin with.

    `plan` is flown by the order `mission` until another mission is given, `items` is the same in metres from home. With
    `accept_calibration` ArduPilot gets the command to accept the given sensor offsets.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        plan: Plan | None = None,
        items: Sequence[LocalItem] = (),
        script: str = "",
        accept_calibration: bool = False,
    ) -> None:
        self.calls = Calls(wire, simulated=True)
        self.station, self.hands = self.calls.station, self.calls.hands
        self.autopilot_events = self.station.autopilot_events
        self.items = list(items)
        self.orders: list[Ordered] = []
        self.finished = False
        self._own: Plan | None = plan if plan is not None and plan.items else None
        self._played = read_orders(script)
        self._next: list[Order] = []
        self._lines = [HEADER]
        if accept_calibration:
            self.calls.core.submit(self._accept_calibration())
        for order in self._played:
            _checked(order.name, order.args)

    # ------------------------------------------------------------------------------------------ the pilot of a flight

    def poll(self, rig: Rig) -> None:
        """Send orders that are due, exchange messages, check results."""
        now_us = rig.time_us
        self.station.disturb(rig.links)
        while self._played and self._played[0].time_us <= now_us:
            self._give(self._played.popleft(), now_us)
        due, self._next = self._next, []
        for order in due:
            self._give(order, now_us)
        self.station.now_s = rig.time_s
        self.calls.core.turn(rig.time_s)
        for ordered in self.orders:
            if ordered.state == RUNS and ordered.future is not None and ordered.future.done():
                self._look(ordered, ordered.future)

    @property
    def telemetry(self) -> Telemetry:
        """The newest telemetry of the vehicle."""
        return self.calls.telemetry

    def close(self) -> None:
        """Close the link; further calls do nothing."""
        self.calls.core.close()

    def order(self, name: str, args: Mapping[str, Any]) -> None:
        """Carry out an order at the next poll; `TypeError` or `ValueError` if its arguments are wrong."""
        _checked(name, args)
        json.dumps(dict(args))  # refuse arguments that a record cannot hold
        ORDERS[name](self, **args).close()
        if name == "sticks":  # while time is paused only their newest position counts
            self._next = [order for order in self._next if order.name != name]
        if sum(one.state == RUNS for one in self.orders) + len(self._next) >= MOST_RUNNING:
            raise LinkError(f"{MOST_RUNNING} orders are on their way already: wait until some have ended")
        self._next.append(Order(0, name, dict(args)))

    def end(self) -> None:
        """Mark the flight as finished."""
        self.finished = True

    def record(self) -> str:
        """All orders so far, as a script."""
        return "\n".join(self._lines) + "\n"

    def params_known(self) -> dict[str, float]:
        """The autopilot's parameters that were received so far, by name."""
        return dict(sorted(self.calls.table.values()))

    def _give(self, order: Order, now_us: int) -> None:
        entry = Ordered(Order(now_us, order.name, order.args))
        self._lines.append(entry.order.text())
        if order.name in MOVES:
            for other in self.orders:
                if other.state == RUNS and other.order.name in MOVES and other.future is not None:
                    other.future.cancel()
                    other.state, other.why = REPLACED, f"by {order.name}"
        if len(self.orders) >= MOST_KEPT:  # drop the oldest that is over
            oldest = next((one for one in self.orders if one.state != RUNS), None)
            self.orders = [one for one in self.orders if one is not oldest]
        self.orders.append(entry)
        if order.name != "sticks":
            self.station.note("order", entry.words())
        try:
            entry.future = self.calls.core.submit(ORDERS[order.name](self, **order.args))
            entry.state = RUNS
        except (TypeError, ValueError, OverflowError, IronbirdError) as error:  # of a record written by hand
            entry.state, entry.why = REFUSED, str(error)

    def _look(self, ordered: Ordered, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is None:
            ordered.state = REPLACED if future.cancelled() else DONE
            return
        ordered.state, ordered.why = REFUSED, str(error)
        self.station.note("order", f"{ordered.order.name} was not done: {shortened(error, 300)}")

    # ------------------------------------------------------------------------------------------ orders

    def _accept_calibration(self) -> Script:
        """Make ArduPilot accept the calibration before the first order; until then arming is refused and retried."""
        yield from self.calls.meet(READY_S)
        yield from self.hands.wait("an attitude", lambda: not math.isnan(self.calls.telemetry.attitude[0]))
        yield from self.hands.ask_to_accept_calibration()

    def fly_mission(self, item: int = 0) -> Script:
        """Fly the mission from an item; the flight's own mission is uploaded first, once the vehicle is ready."""
        if self._own is not None:
            yield from self.calls.wait_ready(READY_S)
            plan, self._own = self._own, None
            for word, kind, items in (
                ("fence", numbers.MAV_MISSION_TYPE_FENCE, plan.fence),
                ("rally", numbers.MAV_MISSION_TYPE_RALLY, plan.rally),
            ):
                if items:
                    yield from self.hands.hand_over(word, kind, items)
            yield from self.calls.upload_mission(plan.items, MISSION_S)
        self.hands.allow(MISSION_S)
        yield from self.hands.wait("the new mission", lambda: not self._runs("set_mission"))
        yield from self.calls.start_mission(int(item), MISSION_S)

    def take_mission(self, items: Sequence[Sequence[Any]]) -> Script:
        """Replace the mission; items are in metres from home."""
        local = [LocalItem(*item) for item in items]
        yield from self.calls.upload_mission(local, MISSION_S)
        self._own, self.items = None, local

    def go_to(self, north_m: float, east_m: float, height_m: float | None = None) -> Script:
        """Fly to a place (m from home) with a reposition command: the autopilot holds there by itself."""
        self.hands.allow(MOVE_S)
        if not self.station.armed:
            raise LinkError("goto: the vehicle is not armed; order 'arm' or 'take_off' first")
        if height_m is None:
            yield from self.hands.wait("a height", lambda: not math.isnan(self.calls.telemetry.height_m))
            height_m = max(self.calls.telemetry.height_m, 0.0)
        yield from self.hands.reposition((float(north_m), float(east_m), -float(height_m)))
        self.calls.core.streams.pop("set-point", None)

    def _runs(self, name: str) -> bool:
        return any(one.state == RUNS and one.order.name == name for one in self.orders)


def _take_off(pilot: Attended, height_m: float | None = None) -> Script:
    return pilot.calls.take_off(TAKE_OFF_M if height_m is None else float(height_m), MOVE_S)


def _tune(pilot: Attended, path: str, value: float) -> Script:
    return pilot.calls.set_param(str(path), float(value))


def _sticks(pilot: Attended, roll: float, pitch: float, throttle: float, yaw: float) -> Script:
    return pilot.calls.sticks(float(roll), float(pitch), float(throttle), float(yaw))


ORDERS: dict[str, Callable[..., Generator[None, None, Any]]] = {
    "arm": lambda pilot: pilot.calls.arm(MOVE_S),
    "disarm": lambda pilot, force=False: pilot.calls.disarm(bool(force)),
    "take_off": _take_off,
    "land": lambda pilot: pilot.calls.land(),
    "return": lambda pilot: pilot.calls.return_home(),
    "hold": lambda pilot: pilot.calls.hold(),
    "mission": lambda pilot, item=0: pilot.fly_mission(item),
    "set_mission": lambda pilot, items: pilot.take_mission(items),
    "mode": lambda pilot, mode: pilot.calls.set_mode(str(mode)),
    "goto": Attended.go_to,
    "sticks": _sticks,
    "tune": _tune,
    "read_params": lambda pilot: pilot.calls.params(),
}
MOVES = frozenset({"arm", "disarm", "take_off", "land", "return", "hold", "mission", "mode", "goto"})  # one at a time


def _checked(name: str, args: Mapping[str, Any]) -> None:
    if name not in ORDERS:
        raise UnknownNameError("order", shortened(name, 40), ORDERS)
    inspect.signature(ORDERS[name]).bind(None, **args)
