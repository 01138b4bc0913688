"""Stepper: one vehicle advanced a few ticks at a time, with the least that Python can add.

For control systems outside the kernel: set inputs, step, read the sensors' outputs. All views are created once; a step
is one call of native code. Faults in the run state act as in any other run.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence

from ironbird.errors import RunError, UnknownNameError
from ironbird.runtime.border import ticks_of
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.paced import PacedLoop
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RUNNING, RunState, Stop
from ironbird.runtime.step import kernel, kernel_events, run_args
from ironbird.runtime.watch import Watches


class Stepper:
    """Steps a run state of one lane; with `log`, rows of the planned signals are logged."""

    def __init__(
        self,
        state: RunState,
        *,
        until_s: float,
        log: list[str] | None = None,
        log_s: float = 0.02,
        watch: Sequence[Sequence[Predicate]] = (),
    ) -> None:
        if state.width != 1:
            raise RunError(f"a stepper takes one vehicle, not {state.lanes}")
        self.state = state
        self.plan = LogPlan.make(state.model, log, log_s)
        self.until_tick = max(ticks_of(until_s, state.model.step_s, "until_s"), state.tick)
        self.log = Log.empty(self.plan, state, state.tick, self.until_tick, watch)
        self.first_tick = self.plan.begin(state.tick, watch)  # of the rows
        self.inputs = state.inputs[0, :, 0]  # a view: write commands here
        self.held = state.held[0, :, 0]  # a view: outputs of sampled blocks, after each step
        self._run = kernel(state).ib_run
        self._prepare()

    def _prepare(self) -> None:
        """Build the kernel's arguments; the objects whose addresses they contain are kept alive here."""
        state = self.state
        state.kernel_events = self._events = kernel_events(state)
        self._args = run_args(state, self._events, 0, self.log, 0)
        self._held = (state.x, state.xd, state.held, state.params, state.inputs, state.seeds, self.log.data, self.plan)
        self._watched = self.log.watches
        self._held_too = (state.stop_tick, state.stop_reason, state.stop_row)
        self._pointer = ctypes.byref(self._args)

    def input_row(self, name: str) -> int:
        """Row of an input in `inputs`."""
        flat = self.state.model.flat
        if name not in flat.u.start:
            raise UnknownNameError("input", name, flat.u.start, f"model '{flat.diagram.name}'")
        return int(flat.u.rows(name).start)

    def held_rows(self, path: str) -> slice:
        """Rows of a sampled block's output in `held`."""
        flat = self.state.model.flat
        if path not in flat.held.start:
            raise UnknownNameError("output of a sampled block", path, flat.held.start)
        return flat.held.rows(path)

    def step(self, ticks: int) -> bool:
        """Advance by some ticks; False if the vehicle has stopped or the end time is reached."""
        state = self.state
        ticks = min(ticks, self.until_tick - state.tick)
        if ticks <= 0:
            return False
        if state.kernel_events is not self._events:  # events were added
            self._prepare()
        if state.tick < self.first_tick:
            raise RunError(f"the stepper began at tick {self.first_tick}; it cannot continue from {state.tick}")
        args = self._args
        args.tick, args.ticks = state.tick, ticks
        args.log_first = self.rows
        self._run(self._pointer)
        state.tick += ticks
        return bool(state.stop_tick[0, 0] == RUNNING)

    def watch(self, programs: Sequence[Predicate]) -> None:
        """Keep the extremes of more programs, from the present tick on."""
        if not programs:
            return
        self.note_fired()
        state, log = self.state, self.log
        if log.watches is None:
            size = (state.x.shape[0], log.data.shape[1], state.width)
            log.watches = Watches.make([()] * state.lanes, size, state.model.flat.log.size)
        row = self.rows - 1 if state.tick % self.plan.every else None  # in the middle of which it is
        log.watches = log.watches.with_more(programs, row, state.model.flat.log.size)
        state.kernel_events = None  # the kernel gets new arguments before the next step

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self.plan.rows_between(self.first_tick, self.state.tick)

    def so_far(self) -> Log:
        """The log so far: a view that later rows do not change."""
        return self.log.between(0, self.rows)

    def on_time(
        self,
        step_ticks: int,
        *,
        exchange: tuple[int, int] | None = None,
        samples: tuple[int, int] | None = None,
        copy_ticks: int = 0,
        begin_ns: int = -1,
    ) -> PacedLoop:
        """A real-time loop that makes all steps to the end at their times; no other code may step meanwhile."""
        if self.state.kernel_events is not self._events:
            self._prepare()
        return PacedLoop(
            self._run,
            self._args,
            self.state,
            self.until_tick,
            step_ticks,
            begin_ns=begin_ns,
            exchange=exchange,
            samples=samples,
            commands=True,
            copy_ticks=copy_ticks,
            keeps=self,
            log_from=self.rows,
        )

    @contextlib.contextmanager
    def hold(self, loop: PacedLoop, *, shifted: bool = False) -> Iterator[None]:
        """Hold a real-time loop between two steps inside the `with` block; events added there take effect."""
        with loop.held(shifted=shifted):
            yield
            if self.state.kernel_events is not self._events:
                self._prepare()
                loop.renew(self._args)

    def note_fired(self) -> None:
        """Copy to the state which triggers have fired."""
        self._events.note_fired(self.state)

    def finish(self) -> Log:
        """The log up to the current time."""
        self.note_fired()
        self.log.finish(self.state, self.rows)
        return self.log

    @property
    def stop(self) -> Stop | None:
        """Why the vehicle stopped early, or None."""
        return self.state.stop_of(0)
