"""Values of everything in a model at one instant, read and changed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ironbird.compiler.flatten import Column, Flat
from ironbird.errors import UnknownNameError
from ironbird.model.diagram import as_column
from ironbird.model.signal import Number


@dataclass
class OperatingPoint:
    """Values of all states, inputs, parameters and outputs at one instant; read and changed by name."""

    flat: Flat
    t: float
    x: np.ndarray
    xd: np.ndarray
    held: np.ndarray
    u: np.ndarray
    p: np.ndarray

    def columns(self) -> list[np.ndarray | float]:
        """Arguments of the flat functions, in their order."""
        return [self.t, self.x, self.xd, self.held, self.u, self.p, np.zeros(self.flat.noise.size)]

    def _place(self, path: str) -> tuple[np.ndarray, Column]:
        flat = self.flat
        pairs = ((self.x, flat.x), (self.xd, flat.xd), (self.held, flat.held), (self.u, flat.u), (self.p, flat.p))
        for array, column in pairs:
            if path in column.start:
                return array, column
        known = [name for _, column in pairs for name in column.start]
        raise UnknownNameError("state, input, output or parameter", path, [*known, *flat.log.start])

    def __getitem__(self, path: str) -> np.ndarray:
        """Value of a state, input, parameter or any logged signal, as a column."""
        if path in self.flat.log.start and path not in self.flat.held.start:
            values = np.array(self.flat.outputs(*self.columns())).ravel()
            return values[self.flat.log.rows(path)]
        array, column = self._place(path)
        return array[column.rows(path)].copy()

    def set(self, path: str, value: Number | np.ndarray) -> None:
        """Set a state, input, held output or parameter."""
        array, column = self._place(path)
        array[column.rows(path)] = as_column(value, column.signals[path], path)

    def holds(self, path: str) -> bool:
        """Whether a path is a state, an input, a held output or a parameter, which can be set."""
        flat = self.flat
        return any(path in column.start for column in (flat.x, flat.xd, flat.held, flat.u, flat.p))

    def changed(self, values: Mapping[str, np.ndarray]) -> OperatingPoint:
        """A copy with other values."""
        arrays = {name: getattr(self, name).copy() for name in ("x", "xd", "held", "u", "p")}
        other = replace(self, **arrays)
        for path, value in values.items():
            other.set(path, value)
        return other

    def rates(self) -> np.ndarray:
        """Time derivatives of the continuous states."""
        return np.array(self.flat.rates(*self.columns())).ravel()

    def refresh(self, keep: Sequence[str] = ()) -> None:
        """Update the held outputs of sampled blocks, except the outputs in `keep`."""
        kept = {row for path in keep if path in self.flat.held.start for row in rows_in(self.flat.held.rows(path))}
        for group in self.flat.groups:
            values = np.array(group.function(*self.columns())).ravel()
            for (array, row, _), value in zip(group.targets, values, strict=True):
                if array == "held" and row not in kept:
                    self.held[row] = value


def point_at_start(flat: Flat, values: np.ndarray | None = None) -> OperatingPoint:
    """Time zero: initial states, sampled outputs updated, all parameters with these values or as set in the diagram."""
    x, xd, held = flat.initial_x.copy(), flat.initial_xd.copy(), np.zeros(flat.held.size)
    p = (flat.values if values is None else values).copy()
    point = OperatingPoint(flat, 0.0, x, xd, held, flat.inputs.copy(), p)
    point.refresh()
    return point


def rows_in(rows: slice) -> range:
    """All row numbers of a slice of a column."""
    return range(rows.start, rows.stop)
