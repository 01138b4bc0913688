"""Limits, blends and interpolation without branches, so that CasADi can differentiate them."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

Expr = ca.SX


def clip(value: Expr, low: Expr | float, high: Expr | float) -> Expr:
    """The value limited to the range from `low` to `high`."""
    return ca.fmin(ca.fmax(value, low), high)


def blend(value: Expr, start: Expr | float, end: Expr | float) -> Expr:
    """Linear blend factor: 0 below `start`, 1 above `end`, linear between."""
    return clip((value - start) / (end - start), 0, 1)


def limit_length(vector: Expr, longest: Expr | float) -> Expr:
    """The vector scaled down to the length `longest` if it is longer; its direction is kept."""
    square = ca.dot(vector, vector)
    scale = longest / ca.sqrt(ca.fmax(square, 1e-12))
    return vector * ca.fmin(scale, 1)


def wrap_angle(angle: Expr) -> Expr:
    """The same angle (rad), wrapped to the range -pi to pi."""
    turn = 2 * ca.pi
    return angle - turn * ca.floor(angle / turn + 0.5)


def choose(index: Expr, columns: Sequence[Expr]) -> Expr:
    """The column at a whole-number index, as an expression; zeros if the index is out of range."""
    total: Expr = ca.SX.zeros(columns[0].rows(), columns[0].columns())
    for number, column in enumerate(columns):
        total = total + ca.if_else(ca.fabs(index - number) < 0.5, column, 0)
    return total
