"""Stepper: one vehicle advanced a few ticks at a time, with the least that Python can add.

For control systems outside the kernel: set inputs, step, read what the sensors put out. All views are made once; a step
is one call of native code. Faults ordered in the run state act as in any other run.
"""

from __future__ import annotations

import ctypes

from ironbird.errors import RunError, UnknownNameError
from ironbird.runtime.record import Log, LogPlan
from ironbird.runtime.state import RUNNING, RunState, Stop
from ironbird.runtime.step import _address, _Args, kernel_events


class Stepper:
    """Steps a run state of one lane; with `log`, rows of the planned signals are kept."""

    def __init__(self, state: RunState, *, until_s: float, log: list[str] | None = None, log_s: float = 0.02) -> None:
        if state.width != 1:
            raise RunError(f"a stepper takes one vehicle, not {state.lanes}")
        self.state = state
        self.plan = LogPlan.make(state.model, log, log_s)
        self.until_tick = round(until_s / state.model.step_s)
        self.log = Log.empty(self.plan, state, state.tick, self.until_tick)
        self.first_tick = state.tick
        self.inputs = state.inputs[0, :, 0]  # a view: write commands here
        self.held = state.held[0, :, 0]  # a view: outputs of sampled blocks, after each step
        self._run = state.model.library(1).ib_run
        state.kernel_events = events = kernel_events(state)
        self._args = _Args(
            first_block=0, last_block=1, tick=state.tick, ticks=0,
            x=_address(state.x), xd=_address(state.xd), held=_address(state.held), param=_address(state.params),
            input=_address(state.inputs), seed=_address(state.seeds), stop_tick=_address(state.stop_tick),
            stop_reason=_address(state.stop_reason), stop_row=_address(state.stop_row),
            events=ctypes.addressof(events.records), event_first=_address(events.first),
            event_fired=_address(events.fired), code=_address(events.code), constants=_address(events.constants),
            code_first=_address(events.code_first), log_every=self.plan.every, log_rows=self.log.data.shape[1],
            log_first=0, log_count=len(self.plan.index), log_index=_address(self.plan.index),
            log=_address(self.log.data),
        )  # fmt: skip
        self._pointer = ctypes.byref(self._args)

    def input_row(self, name: str) -> int:
        """Where an input stands in `inputs`."""
        flat = self.state.model.flat
        if name not in flat.u.start:
            raise UnknownNameError("input", name, flat.u.start, f"model '{flat.diagram.name}'")
        return int(flat.u.rows(name).start)

    def held_rows(self, path: str) -> slice:
        """Where an output of a sampled block stands in `held`."""
        flat = self.state.model.flat
        if path not in flat.held.start:
            raise UnknownNameError("output of a sampled block", path, flat.held.start)
        return flat.held.rows(path)

    def step(self, ticks: int) -> bool:
        """Advance; False when the vehicle has stopped or the time is over."""
        state = self.state
        ticks = min(ticks, self.until_tick - state.tick)
        if ticks <= 0:
            return False
        args = self._args
        args.tick, args.ticks = state.tick, ticks
        args.log_first = -(-state.tick // self.plan.every) - (-(-self.first_tick // self.plan.every))
        self._run(self._pointer)
        state.tick += ticks
        return bool(state.stop_tick[0, 0] == RUNNING)

    def finish(self) -> Log:
        """The log up to here."""
        self.state.kernel_events.note_fired(self.state)
        self.log.finish(self.state, self.plan.rows_between(self.first_tick, self.state.tick))
        return self.log

    @property
    def stop(self) -> Stop | None:
        """Why the vehicle ended early."""
        return self.state.stop_of(0)
