"""Operating points: values of everything in a model at one instant.

Trim and linear models work on the continuous part of a model. Outputs of sampled blocks (commands, and slow values such
as gravity) are inputs there: chosen ones are inputs of the linear model or unknowns of the trim, the others are held at
their values at the operating point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironbird.compiler.compiled import CompiledModel
from ironbird.compiler.flatten import Flat
from ironbird.compiler.point import OperatingPoint as OperatingPoint
from ironbird.compiler.point import point_at_start
from ironbird.compiler.point import rows_in as rows_in
from ironbird.errors import UnknownNameError
from ironbird.model.signal import Number


def operating_point(model: CompiledModel, params: Mapping[str, Number] | None = None) -> OperatingPoint:
    """The point at time zero: initial states, parameters as set, sampled outputs updated."""
    point = point_at_start(model.flat)
    for path, value in (params or {}).items():
        point.set(path, value)
    if params:
        point.refresh()
    return point


def input_rows(flat: Flat, paths: Sequence[str]) -> list[tuple[str, int, str]]:
    """Where the inputs of a linear model are in the arrays of a run: array, row and label of each scalar.

    An input is one of the model, or an output of a sampled block, which the continuous part takes as given.
    """
    entries: list[tuple[str, int, str]] = []
    for path in paths:
        for array, column in (("u", flat.u), ("held", flat.held)):
            if path in column.start:
                rows = column.rows(path)
                labels = column.labels()
                entries += [(array, row, labels[row]) for row in rows_in(rows)]
                break
        else:
            raise UnknownNameError("input", path, [*flat.u.start, *flat.held.start])
    return entries
