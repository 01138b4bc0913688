"""Definition of faults as data: tunable parameters, an effect on each, a time shape and a severity."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ironbird.errors import FaultError
from ironbird.units import exact

Effect = Literal["replace", "scale", "offset"]
Shape = Literal["step", "ramp", "intermittent"]
SHAPES = ("step", "ramp", "intermittent")
Needs = Literal["part", "firmware", "chips", "link", "world"]
NEEDS: dict[Needs, str] = {
    "part": "a vehicle with this part",
    "firmware": "firmware on an emulated microcontroller: control 'firmware'",
    "chips": "sensors that are chips on buses: control 'chips', or px4 with a board",
    "link": "packets: a control system with links such as px4 or commanded under MAVLink, or 'ironbird connect route'",
    "world": "a world and a sensor that sees it: --world and --sight",
}


@dataclass(frozen=True)
class Scale:
    """Effect: the parameter times a factor, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "scale"


@dataclass(frozen=True)
class Offset:
    """Effect: the parameter plus an amount, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "offset"


@dataclass(frozen=True)
class Replace:
    """Effect: a value in place of the parameter, linear in the severity."""

    at_0: float
    at_1: float
    effect: Effect = "replace"


def switch(value: float = 1.0) -> Replace:
    """Effect with a value independent of the severity, for a fault that is either present or not."""
    return Replace(value, value)


@dataclass(frozen=True)
class Change:
    """Effect on one parameter; {instance} in its path stands for the part's number or name, * for all."""

    target: str
    effect: Scale | Offset | Replace
    unit: str = ""  # required unit of the parameter; not checked if empty

    def value(self, severity: float) -> float:
        """Factor, amount or value of the effect at a severity."""
        return self.effect.at_0 + severity * (self.effect.at_1 - self.effect.at_0)


@dataclass(frozen=True)
class Tap:
    """A block inserted after a signal, only in models of flights that need it for a fault; {instance} as in changes.

    While its `severity` is above zero, the readers of the signal get the value of an expression, or, without one, that
    of its disturbed copy, `PATH_copy`.
    """

    path: str
    signal: str
    expression: str = ""
    unit: str = ""  # required unit of the signal; not checked if empty


@dataclass(frozen=True)
class Fault:
    """One kind of fault. A change of meaning makes a new version: old reports stay comparable.

    `ib.FAULTS` has all by id; faults of your own are best written as a TOML file (docs/guide/own-faults.md).

    Parameters
    ----------
    id : str
        Family, name and version: `rotor.speed_loss@1`.
    summary : str
        One sentence.
    changes : tuple of Change
        Which parameters change, and how.
    severity : str
        What severity 0 to 1 means.
    reference : str
        Where it is described.
    witness : str
        Signal that shows that the fault acted.
    axis : int or None, default None
        Entry of a vector that changes if an order names none; None is all.
    needs : str, default "part"
        What a vehicle must have for it.
    keywords : tuple of str, default ()
        What people call it, where neither id nor summary says so.
    taps : tuple of Tap, default ()
        Blocks that it puts into signals.
    usual : mapping, default {}
        Shape and times if an order says none.
    definition : str, default ""
        Text of the file that defines a user's fault.
    """

    id: str
    summary: str
    changes: tuple[Change, ...]
    severity: str  # meaning of severity 0 to 1; {:g} stands for the effect of severity 1 on each target, in order
    reference: str
    witness: str  # signal that shows the effect of the fault; {instance} as in the targets
    axis: int | None = None  # entry of a vector that changes if an injection names none; None: all entries
    needs: Needs = "part"
    keywords: tuple[str, ...] = ()  # search words that neither id nor summary contain
    taps: tuple[Tap, ...] = ()
    # shape and times of an injection that gives no shape
    usual: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # text of the file that defines a user's fault, so that an injection is complete without the file
    definition: str = ""

    def __post_init__(self) -> None:
        sizes = [abs(change.effect.at_1) for change in self.changes]
        object.__setattr__(self, "severity", self.severity.format(*sizes))

    @property
    def has_severity(self) -> bool:
        """Whether the fault has a severity; others are either present or not."""
        return any(change.effect.at_0 != change.effect.at_1 for change in self.changes)

    @property
    def counts_instances(self) -> bool:
        """Whether the target is one of several equal parts."""
        return any("{instance}" in change.target for change in self.changes)

    def parts_in(self, paths: Iterable[str]) -> list[str]:
        """Parts on which the fault can act in a vehicle with these parameters and signals, by number or name.

        A list with an empty text if the fault has no instances, an empty list if the vehicle lacks what it acts on.
        """
        there = "\n".join(paths)
        found: set[str] | None = None
        for path in [tap.signal for tap in self.taps] or [change.target for change in self.changes]:
            pattern = re.escape(path).replace(r"\{instance\}", r"(?P<part>\w+)", 1)
            pattern = pattern.replace(r"\{instance\}", "(?P=part)").replace(r"\*", r"\w+")
            matches = list(re.finditer(f"^{pattern}$", there, re.MULTILINE))
            if not matches:
                return []
            if "{instance}" in path:
                parts = {match["part"] for match in matches}
                found = parts if found is None else found & parts
        return sorted(found, key=lambda part: (not part.isdigit(), len(part), part)) if found is not None else [""]


@dataclass(frozen=True)
class Injection:
    """A fault as ordered for one flight: which part, how much, when, in what shape.

    `ib.parse_fault` reads one from a text.

    Parameters
    ----------
    fault : Fault
        The kind.
    instance : int or str, default 1
        Number of the part from 1 on, or its name.
    axis : int or None, default None
        One entry of a vector from 0 on; by default the fault's own, or all.
    severity : float, default 1.0
        From 0 to 1; what it means is the fault's `severity`.
    start_s : float, default 0.0
        Begin in s.
    end_s : float, default infinite
        End in s.
    shape : str, default "step"
        step, ramp (grows during `rise_s`) or intermittent (on for `duty` of each `period_s`).
    rise_s : float, default 0.0
        Time of a ramp in s.
    period_s : float, default 0.0
        Period in s, if it is intermittent.
    duty : float, default 0.5
        Share of the period in which it acts.
    when : str, default ""
        Condition on signals, for example `altitude > 8 m`; times count from the moment at which it first holds.

    Raises
    ------
    FaultError
        If a value is not possible.
    """

    fault: Fault
    instance: int | str = 1  # number or name of the part
    axis: int | None = None  # one entry of a vector; by default the fault's own, or all
    severity: float = 1.0
    start_s: float = 0.0
    end_s: float = math.inf
    shape: Shape = "step"
    rise_s: float = 0.0
    period_s: float = 0.0
    duty: float = 0.5
    when: str = ""  # condition on signals; times count from the moment at which it first holds

    def __post_init__(self) -> None:
        name = self.fault.id
        object.__setattr__(self, "when", self.when.strip())
        object.__setattr__(self, "axis", self.fault.axis if self.axis is None else self.axis)
        for key in ("severity", "start_s", "rise_s", "period_s", "duty"):
            if not math.isfinite(getattr(self, key)):
                raise FaultError(f"{name}: {key} must be finite, got {getattr(self, key)}")
        if self.start_s < 0.0:
            raise FaultError(f"{name}: start {self.start_s:g} s is negative; a flight begins at 0 s")
        if not 0.0 <= self.severity <= 1.0:
            raise FaultError(f"{name}: severity {self.severity:g} is outside 0 .. 1 ({self.fault.severity})")
        if not self.fault.has_severity and self.severity != 1.0:
            raise FaultError(f"{name} has no severity ({self.fault.severity}); leave the key out")
        if not self.end_s > self.start_s:
            raise FaultError(f"{name}: it ends at {self.end_s:g} s, not after its start {self.start_s:g} s")
        if self.shape not in SHAPES:
            raise FaultError(f"{name}: shape '{self.shape}' is not step, ramp or intermittent")
        for key, shape, usual in (
            ("rise_s", "ramp", 0.0),
            ("period_s", "intermittent", 0.0),
            ("duty", "intermittent", 0.5),
        ):
            if self.shape != shape and getattr(self, key) != usual:
                raise FaultError(
                    f"{name}: {key} has no meaning with shape '{self.shape}'; order shape={shape}, or leave it out"
                )
        if self.shape == "ramp" and not self.rise_s > 0.0:
            raise FaultError(f"{name}: a ramp needs rise > 0 s, not {self.rise_s:g}; write for example rise=2")
        if self.shape == "intermittent" and not (self.period_s > 0.0 and 0.0 < self.duty < 1.0):
            got = f"not {self.period_s:g} s and {self.duty:g}; write for example period=2,duty=0.5"
            raise FaultError(f"{name}: shape intermittent needs period > 0 s and a duty between 0 and 1, {got}")
        if not _is_part(self.instance):
            raise FaultError(f"{name}: instance is a number or a name, not '{self.instance}'")
        if self.instance != 1 and not self.fault.counts_instances:
            raise FaultError(f"{name} has no instances; leave the key out")

    @property
    def targets(self) -> list[str]:
        """Paths of the parameters that change; * still stands for all parts."""
        return [change.target.replace("{instance}", str(self.instance)) for change in self.fault.changes]

    @property
    def taps(self) -> tuple[Tap, ...]:
        """Taps that the model must contain for the fault."""
        part = str(self.instance)
        return tuple(
            Tap(*(text.replace("{instance}", part) for text in (tap.path, tap.signal, tap.expression, tap.unit)))
            for tap in self.fault.taps
        )

    @property
    def witness(self) -> str:
        """Path of the signal that shows the effect of the fault."""
        return self.fault.witness.replace("{instance}", str(self.instance))

    def strength(self, time_s: float, triggered_s: float = 0.0) -> float:
        """Share of the fault's effect at a time in s, from 0 to 1: its window and shape."""
        since = time_s - triggered_s - self.start_s
        if since < 0.0 or time_s - triggered_s >= self.end_s:
            return 0.0
        if self.shape == "ramp":
            return min(1.0, since / self.rise_s) if self.rise_s > 0.0 else 1.0
        if self.shape == "intermittent":
            return 1.0 if since % self.period_s < self.duty * self.period_s else 0.0
        return 1.0

    def parts_among(self, known: Iterable[str]) -> str:
        """Matching parts of a vehicle with these parameters, such as `rotor 1 to 4`; empty if it has none."""
        for change in self.fault.changes:
            before, marker, after = change.target.partition("{instance}")
            if marker:
                ends = [path for path in known if path.startswith(before) and path.endswith(after)]
                names = sorted(
                    {path[len(before) : len(path) - len(after)] for path in ends if len(path) > len(before + after)}
                )
                names = [name for name in names if "/" not in name]
                part = before.rstrip("/").rpartition("/")[2]
                if names == [str(number) for number in range(1, len(names) + 1)]:
                    return f"{part} 1" + (f" to {len(names)}" if len(names) > 1 else "") if names else ""
                return f"{part} {', '.join(names)}" if names else ""
        return ""

    def table(self) -> dict[str, Any]:
        """The injection as a table of a case file, without default values; `read_fault` is the inverse."""
        table: dict[str, Any] = {"id": self.fault.id}
        if self.fault.counts_instances:
            table["instance"] = self.instance
        if self.axis is not None:
            table["axis"] = self.axis
        table |= {"severity": float(self.severity), "start_s": float(self.start_s)}
        if math.isfinite(self.end_s):
            table["end_s"] = float(self.end_s)
        if self.shape != "step" or self.fault.usual:
            table["shape"] = self.shape
        if self.shape == "ramp" or self.rise_s != 0.0:
            table["rise_s"] = float(self.rise_s)
        if self.shape == "intermittent" or self.period_s != 0.0:
            table["period_s"] = float(self.period_s)
        if self.shape == "intermittent" or self.duty != 0.5:
            table["duty"] = float(self.duty)
        if self.when:  # last, because in the text form a condition may contain commas and equal signs
            table["when"] = self.when
        if self.fault.definition:
            table["definition"] = self.fault.definition
        return table

    def text(self) -> str:
        """The injection as text for the command line, exact to the last bit; `parse_fault` is the inverse."""
        words = self.table()
        name = words.pop("id")
        words.pop("definition", None)
        return f"{name}:" + ",".join(
            f"{key.removesuffix('_s')}={exact(value) if isinstance(value, float) else value}"
            for key, value in words.items()
        )


def _is_part(instance: int | str) -> bool:
    """Whether this is the number or the name of a part; a name is not read as a number."""
    if isinstance(instance, int):
        return instance >= 0
    return re.fullmatch(r"\w+", instance, re.ASCII) is not None and not instance.isdecimal()


def is_link(injection: Injection) -> bool:
    """Whether a fault is one of links."""
    return all(target.startswith("route/") for target in injection.targets)


def is_sight(injection: Injection) -> bool:
    """Whether a fault is one of sensors that see the world."""
    return injection.fault.id.startswith("sight.")
