"""Names that a condition may use on a model: signals with units, aliases, words and derived signals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ironbird.model.signal import Signal, entry_names

# Names in addition to the vehicle's signals, with their units. A trigger knows only `time`.
RUN_UNITS = {
    "crashed": "1",  # 1 in the last row of a flight that ended in a crash
    "completed": "1",  # 1 in the last row of a flight that completed its mission, in truth
    "landed": "1",  # 1 in the last row of a flight that ended on the ground, disarmed, after it was in the air
    "fault_active": "1",  # 1 from the start of the first fault
    "time": "s",  # s since the start of the run
}
_PATH = re.compile(r"\w+(?:/\w+)*\.\w+(?:\[\d+\])?")


class HasSignals(Protocol):
    """A compiled model, or another object that lists its signals in the kernel's order."""

    def signals(self) -> Mapping[str, Signal]:
        """All signals that can be logged, by path, in the kernel's order."""


@dataclass(frozen=True)
class Derived:
    """A signal computed from others: its unit, and its definition as a number in the language of conditions.

    `quick` is the same number from signals that the kernel has at every tick, which are not logged; empty if there is
    none. Both agree to the rounding of their functions.
    """

    unit: str
    text: str
    quick: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Signal entries that the definition reads."""
        return tuple(dict.fromkeys(_PATH.findall(self.text)))

    @property
    def quick_sources(self) -> tuple[str, ...]:
        """Signal entries that the quick definition reads."""
        return tuple(_PATH.findall(self.quick))


@dataclass(frozen=True)
class Names:
    """All names that a condition may use.

    `units` has each signal's unit: a vector entry by entry (`body.p_NB_N[2]`) or, if no kernel is used, as a whole (any
    index is then accepted). `rows` is empty unless the names are those of a model: the kernel's row of each entry.
    """

    units: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)
    derived: Mapping[str, Derived] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(
        model: HasSignals,
        *,
        aliases: Mapping[str, str] | None = None,
        words: Mapping[str, float] | None = None,
        derived: Mapping[str, Derived] | None = None,
    ) -> Names:
        """Names of a model; aliases and derived signals whose sources the model lacks are left out.

        An alias may refer to a derived signal.
        """
        units: dict[str, str] = {}
        for path, signal in model.signals().items():
            units |= dict.fromkeys(entry_names(path, signal.size), signal.unit)
        rows = {entry: row for row, entry in enumerate(units)}
        known = {name: d for name, d in (derived or {}).items() if all(source in units for source in d.sources)}
        units |= {name: d.unit for name, d in known.items()}
        vectors = {entry.partition("[")[0] for entry in units}
        short = {alias: path for alias, path in (aliases or {}).items() if path in vectors or path in units}
        return Names(units, short, words or {}, known, rows)
