"""Numbers of the language of conditions, computed from columns of values with NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ironbird.conditions.formula import Call, Number, Signal, Term

_UNARY: dict[str, np.ufunc] = {"minus": np.negative, "abs": np.abs, "sqrt": np.sqrt, "cos": np.cos, "sin": np.sin}
_BINARY: dict[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "hypot": np.hypot,
}


def values(term: Term, column: Callable[[str], np.ndarray]) -> np.ndarray:
    """Values of a number, in the shape of the columns or a scalar. `column` gives those of a signal.

    What cannot be computed (the root of a negative number) is NaN.
    """
    if isinstance(term, Number):
        return np.asarray(term.value)
    if isinstance(term, Signal):
        return column(term.column)
    with np.errstate(all="ignore"):
        return _call(term, [values(argument, column) for argument in term.arguments])


def _call(term: Call, arguments: list[np.ndarray]) -> np.ndarray:
    x = arguments[0]
    if term.function in _UNARY:
        return np.asarray(_UNARY[term.function](x))
    if term.function == "acos":
        inside = np.minimum(np.maximum(x, -1.0), 1.0)  # entries of a rotation matrix can be 1 + 1e-16
        return np.asarray(np.arccos(inside))
    if term.function == "norm":
        total = x * x
        for y in arguments[1:]:
            total = np.add(total, y * y, out=total) if total.ndim and total.shape == y.shape else total + y * y
        return np.sqrt(total)
    for y in arguments[1:]:
        x = _BINARY[term.function](x, y)
    return x
