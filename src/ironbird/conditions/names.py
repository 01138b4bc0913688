"""What the language of conditions must know of a model: signals with units, short names, words, derived signals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ironbird.model.signal import Signal, entry_names

# Names beside the signals of a vehicle, with their units. A trigger knows `time` alone.
RUN_UNITS = {
    "crashed": "1",  # becomes 1 in the last row of a flight that ended by a crash
    "completed": "1",  # 1 from when the mission is completed
    "fault_active": "1",  # 1 from the start of the first fault on
    "time": "s",  # since the start of the run
}
_PATH = re.compile(r"\w+(?:/\w+)*\.\w+(?:\[\d+\])?")


class HasSignals(Protocol):
    """A compiled model, or anything else that can list its signals in the kernel's order."""

    def signals(self) -> Mapping[str, Signal]:
        """All signals that can be logged, by path."""


@dataclass(frozen=True)
class Derived:
    """A signal computed from others: its unit, and its definition in the language of conditions."""

    unit: str
    text: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The entries of signals that the definition names."""
        return tuple(dict.fromkeys(_PATH.findall(self.text)))


@dataclass(frozen=True)
class Names:
    """All that a condition may name.

    `units` has each signal's unit: a vector entry by entry (`body.p_NB_N[2]`) or, where no kernel is concerned, as a
    whole (any index is then taken). `rows` is empty unless the names are those of a model: the kernel's row of each
    entry.
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
        """The names of a model; aliases and derived signals whose sources it lacks are left out.

        An alias may lead to a derived signal.
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
