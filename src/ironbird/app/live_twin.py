"""A twin that flies in parallel to a running flight, so that the effect of a fault is shown while it acts.

It gets the same inputs and parameters as the flight, step by step, and lacks one fault. After the flight
`ironbird.flight.twins` computes the judge's evidence in the same manner; both give the same figures.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ironbird.faults.spec import Injection
from ironbird.flight.prepare import inject
from ironbird.flight.twins import WITNESS_S
from ironbird.flight.witness import Witness, observe, witness_programs
from ironbird.rig.rig import Rig
from ironbird.runtime.state import RunState
from ironbird.runtime.stepper import Stepper
from ironbird.runtime.tuning import apply_tuning
from ironbird.vehicles import places as at


@dataclass
class LiveTwin:
    """A fault in force, and a copy of the flight without it from where it began."""

    injection: Injection  # with absolute times
    rig: Rig
    twin: RunState  # copied before the fault was injected
    first_row: int = field(init=False)
    until_s: float = field(init=False)
    left_out: bool = False  # another fault ended in flight: only the judge's twin is valid then

    def __post_init__(self) -> None:
        plan = self.rig.stepper.plan
        log_s = plan.every * plan.step_s
        self.until_s = self.injection.start_s + self.injection.rise_s + WITNESS_S
        paths = [path for path in dict.fromkeys((self.injection.witness, at.NAVIGATOR.mode)) if path in plan.start]
        watch = witness_programs(self.injection, self.twin.model, log_s)
        self._stepper = Stepper(self.twin, until_s=self.until_s + log_s, log=paths, log_s=log_s, watch=[watch])
        self.first_row = plan.rows_between(0, self._stepper.first_tick)
        self._tuned = len(self.rig.tunings)

    @property
    def over(self) -> bool:
        """Whether it has been compared for long enough."""
        return self.left_out or self.twin.tick >= self._stepper.until_tick

    def step(self) -> None:
        """Advance to the flight's tick, with the inputs that were taken over last."""
        if not self.over:
            self._stepper.step(self.rig.state.tick - self.twin.tick)

    def follow(self, inputs: np.ndarray, step_ticks: int) -> None:
        """Follow a flight that steps by itself, with its recorded inputs after each step."""
        while not self.over and self.twin.tick < len(inputs) * step_ticks:
            self._stepper.step(step_ticks)
            self._stepper.inputs[:] = inputs[self.twin.tick // step_ticks - 1]

    def take_over(self) -> None:
        """Take over the inputs and parameters with which the flight goes on."""
        self._stepper.inputs[:] = self.rig.stepper.inputs
        for tuning in self.rig.tunings[self._tuned :]:
            apply_tuning(self.twin, tuning)
        self._tuned = len(self.rig.tunings)

    def inject(self, other: Injection) -> None:
        """Inject another fault, which this twin has too."""
        inject(self.twin, other)

    def witness(self) -> Witness:
        """Effect of the fault so far: the difference between flight and twin."""
        flown, twin = self.rig.stepper.so_far(), self._stepper.so_far()
        return observe(self.injection, flown, 0, twin, 0, until_s=self.until_s, first_row=self.first_row)
