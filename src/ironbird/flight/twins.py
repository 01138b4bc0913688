"""Twins of a batch: each fault's witness is the same flight without this fault, flown from where the fault begins.

Up to there both are equal to the last bit, so the twin starts from a copy of the faulted flight's state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.campaign.case import FlightCase
from ironbird.faults.spec import Injection
from ironbird.flight.flight import targets_in
from ironbird.flight.witness import Witness, observe
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS, run
from ironbird.runtime.tuning import Tuning

TWIN_S = 5.0  # a twin flies this long beyond the start of the fault (and its rise): enough to see that it acted


@dataclass
class _Order:
    """One fault of one flight, and its place in the flight's list of events."""

    lane: int
    injection: Injection
    first: int
    last: int
    twin: tuple[int, int] | None = None  # group and lane of the twin

    def triggered_s(self, state: RunState) -> float:
        """When its trigger fired: 0 without one, infinite if it has not."""
        tick = state.fired[self.lane][self.first] if self.injection.when else 0
        return math.inf if tick < 0 else tick * state.model.step_s

    def begin(self, state: RunState) -> float:
        """Tick at which it acts for the first time; infinite if its trigger has not fired."""
        tick = state.fired[self.lane][self.first] if self.injection.when else 0
        return math.inf if tick < 0 else tick + round(self.injection.start_s / state.model.step_s)


class Twins:
    """Watches a run that goes forward in pieces of CHUNK_TICKS from tick 0 (`watch`), and flies the twins later."""

    def __init__(self, state: RunState, cases: Sequence[FlightCase]) -> None:
        self.orders: list[_Order] = []
        for lane, case in enumerate(cases):
            first = 0
            for injection in case.faults:
                last = first + len(targets_in(state.model, injection))
                self.orders.append(_Order(lane, injection, first, last))
                first = last
        self.waiting = list(self.orders)
        self.groups: list[RunState] = []  # twins that begin at the same tick
        self.ticks: list[int] = []  # at which they begin
        self.before: RunState | None = None  # the state one piece ago, while triggers are waited for

    def watch(self, state: RunState) -> list[Tuning]:
        """Copy the flights whose fault begins within the next piece, or (by its trigger) began within the last one."""
        now: list[_Order] = []
        late: list[_Order] = []
        later: list[_Order] = []
        for order in self.waiting:
            begin = order.begin(state)
            (late if begin < state.tick else now if begin < state.tick + CHUNK_TICKS else later).append(order)
        if self.before is not None:
            self._copy(self.before, late)
        self._copy(state, now)
        self.waiting = later
        self.before = state.branch() if any(order.injection.when for order in later) else None
        return []

    def _copy(self, state: RunState, orders: list[_Order]) -> None:
        """Twins from a state; flights that are equal but for their fault share one."""
        places: dict[object, int] = {}
        lanes: list[int] = []
        events = []
        for order in orders:
            rest = slice(0, order.first), slice(order.last, None)
            others = [event for part in rest for event in state.events[order.lane][part]]
            fired = [tick for part in rest for tick in state.fired[order.lane][part]]
            key = (state.content(order.lane), *others, *fired)
            if key not in places:
                places[key] = len(lanes)
                lanes.append(order.lane)
                events.append((others, fired))
            order.twin = len(self.groups), places[key]
        if lanes:
            group = state.pick(lanes)
            group.events, group.fired = [e for e, _ in events], [f for _, f in events]
            self.groups.append(group)
            self.ticks.append(group.tick)

    def observe(self, state: RunState, log: Log, until_s: float, log_s: float) -> tuple[list[list[Witness]], float]:
        """Fly the twins; the witness of every fault by flight, and the time spent in native code."""
        if self.before is not None:
            self._copy(self.before, [order for order in self.waiting if order.begin(state) < state.tick])
        needs = [
            min(until_s, o.injection.start_s + o.triggered_s(state) + o.injection.rise_s + TWIN_S) for o in self.orders
        ]
        paths = sorted({o.injection.witness for o in self.orders if o.injection.witness in log})
        longest = [0.0] * len(self.groups)
        for order, need in zip(self.orders, needs, strict=True):
            if order.twin is not None:
                longest[order.twin[0]] = max(longest[order.twin[0]], need)
        logs = []
        for group, need in zip(self.groups, longest, strict=True):
            end_s = (math.floor(need / log_s) + 2) * log_s  # all rows that are looked at, however times are rounded
            logs.append(run(group, max(min(until_s, end_s), group.time_s), log=paths, log_s=log_s, threads=1))
        starts = [log.plan.rows_between(0, tick) for tick in self.ticks]
        found: list[list[Witness]] = [[] for _ in range(state.lanes)]
        for order, need in zip(self.orders, needs, strict=True):
            triggered_s = order.triggered_s(state)
            if order.twin is None:  # it never began: both are one
                witness = observe(order.injection, log, order.lane, log, order.lane, triggered_s, need)
            else:
                number, lane = order.twin
                twin, first_row = logs[number], starts[number]
                witness = observe(order.injection, log, order.lane, twin, lane, triggered_s, need, first_row)
            found[order.lane].append(witness)
        return found, sum(group.kernel_s for group in self.groups)

    def triggers_s(self, state: RunState) -> list[list[float]]:
        """When the trigger of each fault fired, by flight: 0 without one, infinite if it did not."""
        found: list[list[float]] = [[] for _ in range(state.lanes)]
        for order in self.orders:
            found[order.lane].append(order.triggered_s(state))
        return found
