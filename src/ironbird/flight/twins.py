"""Twins: the effect of each fault is shown by the same flight without it, flown from where the fault begins.

Up to there both are equal to the last bit, so a twin starts from a copy of the faulted flight's state. In the kernel it
flies on with its own control system; with an external control system it gets the recorded commands of the faulted
flight, so that the difference is caused by the fault alone: such a control system need not repeat to the bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ironbird.faults.spec import Injection
from ironbird.flight.order import Order
from ironbird.flight.prepare import targets_in
from ironbird.flight.witness import Witness, observe, witness_programs
from ironbird.runtime.log import Log
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.vehicles import places as at

WITNESS_S = 5.0  # a fault is compared with its twin for this long after its start (and rise), or until it acts
Watched = Sequence[Predicate]  # numbers whose extremes between rows are kept
# flies twins on, each until its own time; logs these signals of all, and watches these numbers of each
Advance = Callable[[Sequence[RunState], Sequence[float], list[str] | None, Sequence[Watched]], list[Log]]


def in_turn(fly: Callable[[RunState, float, list[str] | None, Watched], Log]) -> Advance:
    """Flies twins one after the other, by a function that flies one."""
    return lambda twins, ends_s, paths, watch: [
        fly(twin, end_s, paths, own) for twin, end_s, own in zip(twins, ends_s, watch, strict=True)
    ]


@dataclass
class _Fault:
    """One fault of one flight, its place in the flight's list of events, and its twin."""

    lane: int
    injection: Injection
    first: int
    last: int
    twin: tuple[int, int] | None = None  # group and lane
    after: int | None = None  # ticks from its trigger, or the beginning, to its start

    def triggered_s(self, state: RunState) -> float:
        """Time at which its trigger fired, s: 0 without one, infinite if it has not."""
        tick = self._fired(state)
        return math.inf if tick < 0 else tick * state.model.step_s

    def begin(self, state: RunState) -> float:
        """Tick at which it acts for the first time; infinite if its trigger has not fired."""
        if self.after is None:
            self.after = round(self.injection.start_s / state.model.step_s)
        if not self.injection.when:
            return self.after
        tick = self._fired(state)
        return math.inf if tick < 0 else tick + self.after

    def _fired(self, state: RunState) -> int:
        return state.fired[self.lane][self.first] if self.injection.when else 0


class Twins:
    """Watches a run that advances in pieces of at most CHUNK_TICKS from tick 0, and flies the twins later.

    With `healthy`, the flight of lane 0 also has a twin without any fault at all, which flies to the end. With `apart`
    every twin is a separate run.
    """

    def __init__(self, state: RunState, orders: Sequence[Order], *, healthy: bool = False, apart: bool = False) -> None:
        self.faults: list[_Fault] = []
        for lane, order in enumerate(orders):
            first = 0
            for injection in order.faults:
                last = first + len(targets_in(state.model, injection))
                self.faults.append(_Fault(lane, injection, first, last))
                first = last
        self.healthy, self.apart = healthy and bool(self.faults), apart
        self.waiting = list(self.faults)
        self.groups: list[RunState] = []  # twins that begin at the same tick, at most a block of lanes each
        self.ticks: list[int] = []  # at which they begin
        self.before: RunState | None = None  # the state one piece ago, while triggers are waited for
        self.kernel_s = 0.0
        self.added = 0  # faults that came on the way
        self._whole: RunState | None = None  # the twin without any fault, where the first fault begins
        self._whole_tick = 0
        self._whole_log: Log | None = None

    def add(self, injections: Sequence[Injection], state: RunState) -> None:
        """Add faults that were injected into a run of one flight, scheduled after those that were ordered."""
        if len(injections) == self.added:
            return
        for injection in injections[self.added :]:
            first = self.faults[-1].last if self.faults else 0
            fault = _Fault(0, injection, first, first + len(targets_in(state.model, injection)))
            self.faults.append(fault)
            self.waiting.append(fault)
        self.added = len(injections)
        self.watch(state)

    def end(self, injection: Injection, over: Injection, state: RunState) -> None:
        """End a fault that was injected into a run of one flight: there, and in the twins of others."""
        changed = {path for path, _ in targets_in(state.model, injection)}
        for run in filter(None, (state, self.before, self._whole, *self.groups)):
            for events in run.events:
                for number, event in enumerate(events):
                    if event.param in changed and (event.start_s, event.end_s) == (injection.start_s, injection.end_s):
                        events[number] = replace(event, end_s=over.end_s)
            run.kernel_events = None
        for fault in self.faults:
            if fault.injection == injection:
                fault.injection, fault.after = over, None

    # ------------------------------------------------------------------ while the flights fly

    def watch(self, state: RunState) -> None:
        """Copy the flights whose fault begins within the next piece, or (by its trigger) began within the last one."""
        now: list[_Fault] = []
        late: list[_Fault] = []
        later: list[_Fault] = []
        for fault in self.waiting:
            begin = fault.begin(state)
            (late if begin < state.tick else now if begin < state.tick + CHUNK_TICKS else later).append(fault)
        if self.before is not None:
            self._copy(self.before, late)
        self._copy(state, now)
        self.waiting = later
        self.before = state.branch() if any(fault.injection.when for fault in later) else None

    def _copy(self, state: RunState, faults: list[_Fault]) -> None:
        """Create twins from a state; flights that are equal except for their fault share one.

        Each block of lanes is a separate run, of faults that follow each other: it ends as soon as they allow.
        """
        if self.apart and len(faults) > 1:
            for fault in faults:
                self._copy(state, [fault])
            return
        first, width = len(self.groups), state.width
        shared = Counter(state.seed_of(fault.lane) for fault in faults)
        key: object
        places: dict[object, int] = {}
        lanes: list[int] = []
        events = []
        for fault in sorted(faults, key=lambda fault: fault.begin(state) * state.model.step_s + fault.injection.rise_s):
            rest = slice(0, fault.first), slice(fault.last, None)
            others = [event for part in rest for event in state.events[fault.lane][part]]
            fired = [tick for part in rest for tick in state.fired[fault.lane][part]]
            alone = shared[state.seed_of(fault.lane)] == 1  # no other lane can be equal
            key = fault.lane if alone else (state.content(fault.lane), *others, *fired)
            if key not in places:
                places[key] = len(lanes)
                lanes.append(fault.lane)
                events.append((others, fired))
            fault.twin = first + places[key] // width, places[key] % width
        for begin in range(0, len(lanes), width):
            group = state.pick(lanes[begin : begin + width])
            group.events, group.fired = map(list, zip(*events[begin : begin + width], strict=True))
            self.groups.append(group)
            self.ticks.append(group.tick)
        if lanes and self.healthy and self._whole is None:  # the first fault: no fault has acted until here
            self._whole, self._whole_tick = state.pick([0]), state.tick
            self._whole.events, self._whole.fired = [[]], [[]]

    # ------------------------------------------------------------------ afterwards

    def observe(self, state: RunState, log: Log, until_s: float, advance: Advance) -> list[list[Witness]]:
        """Fly the twins; returns the witness of every fault, by flight."""
        if self.before is not None:
            self._copy(self.before, [fault for fault in self.waiting if fault.begin(state) < state.tick])
        log_s = log.plan.every * log.plan.step_s
        watched_s = max(WITNESS_S, 2 * log_s)
        needs = [
            min(until_s, f.injection.start_s + f.triggered_s(state) + f.injection.rise_s + watched_s)
            for f in self.faults
        ]
        signals = {at.NAVIGATOR.mode, *(fault.injection.witness for fault in self.faults)}
        paths = sorted(path for path in signals if path in log)
        longest = [0.0] * len(self.groups)
        for fault, need in zip(self.faults, needs, strict=True):
            if fault.twin is not None:
                longest[fault.twin[0]] = max(longest[fault.twin[0]], need)
        # all rows that are looked at, however times are rounded
        ends_s = [(math.floor(need / log_s) + 2) * log_s for need in longest]
        ends_s = [max(min(until_s, e), group.time_s) for e, group in zip(ends_s, self.groups, strict=True)]
        watch = self._watched(state, log_s)
        logs = advance(self.groups, ends_s, paths, watch) if self.groups else []
        if self._whole is not None:
            self._whole_log = advance([self._whole], [until_s], None, [()])[0]
        starts = [
            log.plan.rows_between(0, tick) - twin.begins_within for tick, twin in zip(self.ticks, logs, strict=True)
        ]

        def look(fault: _Fault, need: float) -> Witness:
            triggered_s = fault.triggered_s(state)
            if fault.twin is None:  # it never began: both flights are equal
                return observe(fault.injection, log, fault.lane, log, fault.lane, triggered_s, need)
            number, lane = fault.twin
            twin, first_row = logs[number], starts[number]
            return observe(fault.injection, log, fault.lane, twin, lane, triggered_s, need, first_row)

        witnesses = [look(fault, need) for fault, need in zip(self.faults, needs, strict=True)]
        # A part that stands still when its fault begins (a lifting rotor in cruise) shows it when it is used
        idle = [i for i, w in enumerate(witnesses) if self.faults[i].twin is not None and w.signal and not w.effective]
        idle = [] if any(twin.interrupted for twin in logs) else idle  # an interrupted twin shows nothing
        for number in {twin[0] for i in idle if (twin := self.faults[i].twin) is not None}:
            group = self.groups[number]
            if group.time_s < until_s:
                logs[number] = logs[number].followed_by(advance([group], [until_s], paths, [watch[number]])[0])
        for i in idle:
            witnesses[i] = look(self.faults[i], until_s)
        self.kernel_s = sum(group.kernel_s for group in self.groups)
        by_flight: list[list[Witness]] = [[] for _ in range(state.lanes)]
        for fault, witness in zip(self.faults, witnesses, strict=True):
            by_flight[fault.lane].append(witness)
        return by_flight

    def _watched(self, state: RunState, log_s: float) -> list[Watched]:
        """What is watched between rows, for each group of twins."""
        watch: list[dict[Predicate, None]] = [{} for _ in self.groups]
        for fault in self.faults:
            if fault.twin is not None:
                watch[fault.twin[0]] |= dict.fromkeys(witness_programs(fault.injection, state.model, log_s))
        return [tuple(own) for own in watch]

    def triggers_s(self, state: RunState) -> list[list[float]]:
        """Times at which the trigger of each fault fired, by flight: 0 without one, infinite if it did not."""
        times: list[list[float]] = [[] for _ in range(state.lanes)]
        for fault in self.faults:
            times[fault.lane].append(fault.triggered_s(state))
        return times

    def whole_twin(self, log: Log) -> Log | None:
        """The whole flight of lane 0 without any fault; None without faults, or if none of them ever began."""
        if self._whole_log is None:
            return None
        return log.between(0, log.plan.rows_between(0, self._whole_tick)).followed_by(self._whole_log)
