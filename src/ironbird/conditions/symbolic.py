"""Numbers of the language of conditions as CasADi expressions, for equations of blocks."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from ironbird.conditions.formula import Number, Signal, Term

_UNARY: dict[str, Callable[[ca.SX], ca.SX]] = {
    "minus": lambda x: -x,
    "abs": ca.fabs,
    "sqrt": ca.sqrt,
    "cos": ca.cos,
    "sin": ca.sin,
    "acos": ca.acos,
}
_BINARY: dict[str, Callable[[ca.SX, ca.SX], ca.SX]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "min": ca.fmin,
    "max": ca.fmax,
    "hypot": lambda x, y: ca.sqrt(x * x + y * y),
}


def expression(term: Term, signal: Callable[[str], ca.SX]) -> ca.SX:
    """The CasADi expression of a number; `signal` returns the expression of a signal by its path."""
    if isinstance(term, Number):
        return ca.SX(term.value)
    if isinstance(term, Signal):
        return signal(term.column)
    arguments = [expression(argument, signal) for argument in term.arguments]
    if term.function in _UNARY:
        return _UNARY[term.function](arguments[0])
    if term.function == "norm":
        return ca.sqrt(sum((x * x for x in arguments[1:]), arguments[0] * arguments[0]))
    result = arguments[0]
    for other in arguments[1:]:
        result = _BINARY[term.function](result, other)
    return result
