"""LaneStepper: many vehicles of one model advanced a few ticks at a time, in parts for several threads.

The log and the results do not depend on how the parts are distributed over threads.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

from ironbird.runtime.border import ticks_of
from ironbird.runtime.interface import RunArgs
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState
from ironbird.runtime.step import kernel, kernel_events, run_args


class LaneStepper:
    """Steps a run state of many lanes; rows of the planned signals are logged."""

    def __init__(
        self,
        state: RunState,
        *,
        until_s: float,
        log: list[str] | None = None,
        log_s: float = 0.02,
        watch: Sequence[Sequence[Predicate]] = (),
        parts: int = 1,
    ) -> None:
        self.state = state
        self.plan = LogPlan.make(state.model, log, log_s)
        self.until_tick = ticks_of(until_s, state.model.step_s, "until_s")
        self.log = Log.empty(self.plan, state, state.tick, self.until_tick, watch)
        self.first_tick = self.plan.begin(state.tick, watch)
        self._run = kernel(state).ib_run
        self._parts = parts
        self._prepare()

    def _prepare(self) -> None:
        """Build the arguments of the kernel, with all events."""
        state = self.state
        self._events = kernel_events(state)
        state.kernel_events = self._events
        args = run_args(state, self._events, 0, self.log, 0)
        blocks = state.x.shape[0]
        edges = [blocks * i // self._parts for i in range(self._parts + 1)]
        self._args: list[RunArgs] = []
        for first, last in itertools.pairwise(edges):
            if last > first:
                part = RunArgs.from_buffer_copy(args)
                part.first_block, part.last_block = first, last
                self._args.append(part)

    def jobs(self, ticks: int) -> list[Callable[[], None]]:
        """Calls that advance all lanes, for threads; after all have returned, call `done` to advance the time."""
        if self.state.kernel_events is not self._events:  # events were added
            self._prepare()
        tick, every = self.state.tick, self.plan.every
        first = -(-tick // every) - (-(-self.first_tick // every))

        def job(args: RunArgs) -> Callable[[], None]:
            def call() -> None:
                args.tick, args.ticks, args.log_first = tick, ticks, first
                self._run(ctypes.byref(args))

            return call

        return [job(args) for args in self._args]

    def done(self, ticks: int) -> None:
        """Advance the time, after all calls of `jobs` have returned."""
        self.state.tick += ticks

    def note_fired(self) -> None:
        """Copy to the state which triggers have fired; needed before events are added."""
        self._events.note_fired(self.state)

    def finish(self) -> Log:
        """The log up to the current time."""
        self.note_fired()
        self.log.finish(self.state, self.plan.rows_between(self.first_tick, self.state.tick))
        return self.log
