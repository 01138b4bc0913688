"""Inverse of a 3x3 matrix, vector length and local axes, in forms that are cheaper than CasADi's own operators."""

from __future__ import annotations

import casadi as ca

Expr = ca.SX


def inverse_3x3(m: Expr) -> Expr:
    """Inverse of a 3x3 matrix, computed by cofactors."""
    a, b, c = m[0, 0], m[0, 1], m[0, 2]
    d, e, f = m[1, 0], m[1, 1], m[1, 2]
    g, h, i = m[2, 0], m[2, 1], m[2, 2]
    adjugate = ca.vertcat(
        ca.horzcat(e * i - f * h, c * h - b * i, b * f - c * e),
        ca.horzcat(f * g - d * i, a * i - c * g, c * d - a * f),
        ca.horzcat(d * h - e * g, b * g - a * h, a * e - b * d),
    )
    determinant = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return adjugate * (1 / determinant)


def norm(v: Expr) -> Expr:
    """Length of a vector; a picometre (per second) is added under the root to keep its derivative finite at zero."""
    return ca.sqrt(ca.dot(v, v) + 1e-24)


def north_east_down(latitude: Expr, longitude: Expr) -> Expr:
    """Rotation matrix R_EN from local north-east-down axes to frame E, at a latitude and longitude in rad."""
    sp, cp, sl, cl = ca.sin(latitude), ca.cos(latitude), ca.sin(longitude), ca.cos(longitude)
    return ca.vertcat(
        ca.horzcat(-sp * cl, -sl, -cp * cl),
        ca.horzcat(-sp * sl, cl, -cp * sl),
        ca.horzcat(cp, 0, -sp),
    )
