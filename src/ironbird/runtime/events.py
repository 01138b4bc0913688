"""Parameter events: which parameter changes, when, by how much and in which lanes. Applied inside the kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import RunError
from ironbird.runtime.border import real, ticks_of
from ironbird.runtime.interface import EFFECTS, SHAPES, EventRecord
from ironbird.runtime.predicate import Predicate

Effect = Literal["replace", "scale", "offset"]
Shape = Literal["step", "ramp", "intermittent"]
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class ParamEvent:
    """One parameter that changes within a time window: what faults are made of.

    Parameters
    ----------
    param : str
        Path of a parameter.
    value : float
        Value of the change, in the unit of the parameter or as a factor.
    start_s : float, default 0.0
        Begin in s.
    end_s : float, default infinite
        End in s.
    effect : str, default "replace"
        replace (the value instead of the base value), scale (base times value) or offset (base plus value).
    shape : str, default "step"
        step, ramp (grows linearly during `rise_s`, then stays) or intermittent (on for `duty` of each `period_s`).
    rise_s : float, default 0.0
        Time of a ramp in s.
    period_s : float, default 0.0
        Period in s, if it is intermittent.
    duty : float, default 0.5
        Share of the period in which it acts.
    when : Predicate or None, default None
        Condition compiled by `ironbird.conditions.trigger.compile_trigger`: times count from the first moment at which
        it holds; it is looked at every 10 ms.

    Notes
    -----
    Several events on one parameter act in order.
    """

    param: str
    value: float
    start_s: float = 0.0
    end_s: float = math.inf
    effect: Effect = "replace"
    shape: Shape = "step"
    rise_s: float = 0.0
    period_s: float = 0.0
    duty: float = 0.5
    when: Predicate | None = None

    def record(self, model: CompiledModel, lane: int, trigger: int = -1) -> list[EventRecord]:
        """Records for the kernel, one per scalar of the parameter."""
        signal = model.flat.p.signals.get(self.param.partition("[")[0])
        rows = model.param_rows(self.param)
        assert signal is not None
        if not getattr(signal, "tunable", False):
            raise RunError(f"parameter {self.param} is not tunable: it cannot change during a run")
        if self.effect not in EFFECTS or self.shape not in SHAPES:
            raise RunError(f"event on {self.param}: unknown effect '{self.effect}' or shape '{self.shape}'")
        value, start = real(self.value, f"event on {self.param}: value"), self._ticks(model, "start_s")
        if math.isinf(self.end_s) and self.end_s > 0:
            end = NEVER
        elif self.end_s > self.start_s:
            end = self._ticks(model, "end_s")
        else:
            raise RunError(
                f"event on {self.param}: value {self.value}, window {self.start_s} .. {self.end_s} s; "
                "the value must be finite and the window must not be empty"
            )
        if self.shape == "intermittent" and not (self.period_s >= 2 * model.step_s and 0 < self.duty < 1):
            raise RunError(
                f"event on {self.param}: an intermittent shape needs period_s of two steps or more and 0 < duty < 1"
            )
        if self.shape == "ramp" and not self.rise_s > 0:
            raise RunError(f"event on {self.param}: a ramp needs rise_s > 0")
        if self.when is not None:
            self.when.check_rows(model.flat.log.size)
        rise = self._ticks(model, "rise_s") if self.shape == "ramp" else 1
        period = self._ticks(model, "period_s") if self.shape == "intermittent" else 2
        duty = self.duty if self.shape == "intermittent" else 0.5
        return [
            EventRecord(
                lane=lane,
                param=row,
                effect=EFFECTS[self.effect],
                shape=SHAPES[self.shape],
                start=start,
                end=end,
                trigger=trigger,
                rise=max(1, rise),
                period=max(2, period),
                on=min(max(1, round(duty * period)), max(1, period - 1)),
                value=value,
            )
            for row in range(rows.start, rows.stop)
        ]

    def _ticks(self, model: CompiledModel, name: str) -> int:
        return ticks_of(getattr(self, name), model.step_s, f"event on {self.param}: {name}")
