"""What a fault is: data that name tunable parameters, an effect on each, a time shape and a severity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ironbird.errors import FaultError

Effect = Literal["replace", "scale", "offset"]
Shape = Literal["step", "ramp", "intermittent"]
SHAPES = ("step", "ramp", "intermittent")


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


def switch(value: float = 1.0) -> Replace:
    """A value that does not depend on the severity: a fault that is there or not."""
    return Replace(value, value)


@dataclass(frozen=True)
class Change:
    """What happens to one parameter; {instance} in its path stands for the part's number or name, * for all."""

    target: str
    effect: Scale | Offset | Replace

    def value(self, severity: float) -> float:
        """The effect's number at a severity."""
        return self.effect.at_0 + severity * (self.effect.at_1 - self.effect.at_0)


@dataclass(frozen=True)
class Fault:
    """One kind of fault. A change of meaning makes a new version: old reports stay comparable."""

    id: str
    summary: str
    changes: tuple[Change, ...]
    severity: str  # what severity 0 to 1 means
    reference: str
    witness: str  # signal that shows that the fault acted; {instance} as in the targets

    @property
    def counts_instances(self) -> bool:
        """Whether the target is one of several equal parts."""
        return any("{instance}" in change.target for change in self.changes)


@dataclass(frozen=True)
class Injection:
    """A fault as ordered for one run: which part, how much, when, in what shape."""

    fault: Fault
    instance: int | str = 1  # number of the part, or its name
    axis: int | None = None  # one entry of a vector, or all
    severity: float = 1.0
    start_s: float = 0.0
    end_s: float = math.inf
    shape: Shape = "step"
    rise_s: float = 0.0
    period_s: float = 0.0
    duty: float = 0.5
    when: str = ""  # predicate on signals; times count from the moment at which it first holds

    def __post_init__(self) -> None:
        if not 0.0 <= self.severity <= 1.0:
            raise FaultError(f"{self.fault.id}: severity {self.severity:g} is outside 0 .. 1 ({self.fault.severity})")
        if self.end_s <= self.start_s:
            raise FaultError(f"{self.fault.id}: it ends at {self.end_s:g} s, not after its start {self.start_s:g} s")

    @property
    def targets(self) -> list[str]:
        """Paths of the parameters that change; * still stands for all parts."""
        return [change.target.replace("{instance}", str(self.instance)) for change in self.fault.changes]

    @property
    def witness(self) -> str:
        """Path of the signal that shows it."""
        return self.fault.witness.replace("{instance}", str(self.instance))

    def describe(self) -> str:
        """As it would be written on the command line."""
        parts = [f"instance={self.instance}"] if self.fault.counts_instances else []
        if self.axis is not None:
            parts.append(f"axis={self.axis}")
        parts += [f"severity={self.severity:g}", f"start={self.start_s:g}"]
        if math.isfinite(self.end_s):
            parts.append(f"end={self.end_s:g}")
        if self.shape == "ramp":
            parts += ["shape=ramp", f"rise={self.rise_s:g}"]
        elif self.shape == "intermittent":
            parts += ["shape=intermittent", f"period={self.period_s:g}", f"duty={self.duty:g}"]
        if self.when:
            parts.append(f"when={self.when}")
        return f"{self.fault.id}:" + ",".join(parts)
