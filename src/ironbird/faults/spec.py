"""What a fault is: data that name a tunable parameter, an effect, a time shape and a severity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ironbird.errors import FaultError

Effect = Literal["replace", "scale", "offset"]
Shape = Literal["step", "ramp", "intermittent"]


@dataclass(frozen=True)
class Scale:
    """The parameter times a factor, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "scale"


@dataclass(frozen=True)
class Offset:
    """The parameter plus an amount, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "offset"


@dataclass(frozen=True)
class Replace:
    """A value instead of the parameter, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "replace"


@dataclass(frozen=True)
class Fault:
    """One kind of fault. A change of meaning makes a new version: old reports stay comparable."""

    id: str
    summary: str
    target: str  # parameter path; {instance} stands for the number of the part
    effect: Scale | Offset | Replace
    severity: str  # what severity 0 to 1 means
    reference: str
    witness: str  # signal that shows that the fault acted; {instance} as in the target

    @property
    def counts_instances(self) -> bool:
        """Whether the target is one of several equal parts."""
        return "{instance}" in self.target


@dataclass(frozen=True)
class Injection:
    """A fault as ordered for one run: which part, how much, when, in what shape."""

    fault: Fault
    instance: int = 1
    severity: float = 1.0
    start_s: float = 0.0
    end_s: float = math.inf
    shape: Shape = "step"
    rise_s: float = 0.0
    period_s: float = 0.0
    duty: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.severity <= 1.0:
            raise FaultError(f"{self.fault.id}: severity {self.severity:g} is outside 0 .. 1 ({self.fault.severity})")
        if self.end_s <= self.start_s:
            raise FaultError(f"{self.fault.id}: it ends at {self.end_s:g} s, not after its start {self.start_s:g} s")

    @property
    def target(self) -> str:
        """Path of the parameter that changes."""
        return self.fault.target.replace("{instance}", str(self.instance))

    @property
    def witness(self) -> str:
        """Path of the signal that shows it."""
        return self.fault.witness.replace("{instance}", str(self.instance))

    @property
    def value(self) -> float:
        """The effect's number at this severity."""
        effect = self.fault.effect
        return effect.at_0 + self.severity * (effect.at_1 - effect.at_0)

    def describe(self) -> str:
        """As it would be written on the command line."""
        text = f"{self.fault.id}:"
        if self.fault.counts_instances:
            text += f"instance={self.instance},"
        text += f"severity={self.severity:g},start={self.start_s:g}"
        if math.isfinite(self.end_s):
            text += f",end={self.end_s:g}"
        if self.shape != "step":
            text += f",shape={self.shape}"
            text += (
                f",rise={self.rise_s:g}" if self.shape == "ramp" else f",period={self.period_s:g},duty={self.duty:g}"
            )
        return text
