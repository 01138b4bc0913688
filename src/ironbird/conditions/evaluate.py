"""Numbers of the language of conditions, computed from columns of values.

Functions that IEEE 754 does not round uniquely are computed as in the kernel (`elementary.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ironbird.conditions.elementary import acos, cos, hypot, sin
from ironbird.conditions.formula import Call, Number, Signal, Term

_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "minus": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "cos": cos,
    "sin": sin,
    "acos": acos,
}
_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "hypot": hypot,
}


def values(term: Term, column: Callable[[str], np.ndarray]) -> np.ndarray:
    """Values of a number, in the shape of the columns or a scalar. `column` gives those of a signal.

    A result that does not exist (the root of a negative number) is NaN.
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
    if term.function == "norm":
        total = x * x
        for y in arguments[1:]:
            total = np.add(total, y * y, out=total) if total.ndim and total.shape == y.shape else total + y * y
        return np.sqrt(total)
    for y in arguments[1:]:
        x = _BINARY[term.function](x, y)
    return x
