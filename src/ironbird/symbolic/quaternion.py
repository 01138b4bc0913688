"""Unit quaternions, order w x y z, as in `ironbird.frames`: q_NB rotates vectors from B to N."""

from __future__ import annotations

import casadi as ca

Expr = ca.SX


def product(a: Expr, b: Expr) -> Expr:
    """Hamilton product: q_AC = product(q_AB, q_BC)."""
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def inverse(q: Expr) -> Expr:
    """Inverse rotation of a unit quaternion: its conjugate."""
    return ca.vertcat(q[0], -q[1], -q[2], -q[3])


def rotation_matrix(q: Expr) -> Expr:
    """Rotation matrix R_NB (maps B to N) of the unit quaternion q_NB, [RflyModel] 6.5."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def derivative(q: Expr, w_B: Expr) -> Expr:
    """Time derivative of q_NB for the angular velocity w_NB_B, [RflyModel] 6.5."""
    p, q_, r = 0.5 * w_B[0], 0.5 * w_B[1], 0.5 * w_B[2]
    return ca.vertcat(
        -q[1] * p - q[2] * q_ - q[3] * r,
        q[0] * p + q[2] * r - q[3] * q_,
        q[0] * q_ - q[1] * r + q[3] * p,
        q[0] * r + q[1] * q_ - q[2] * p,
    )


def normalized(q: Expr) -> Expr:
    """The quaternion scaled to unit length."""
    return q * (1 / ca.sqrt(ca.dot(q, q)))


def from_yaw(yaw: Expr) -> Expr:
    """Quaternion of a rotation by `yaw` (rad) about the down axis."""
    return ca.vertcat(ca.cos(yaw / 2), 0, 0, ca.sin(yaw / 2))


def from_euler(roll: Expr, pitch: Expr, yaw: Expr) -> Expr:
    """Quaternion q_NB of z-y-x Euler angles in rad: yaw first, then pitch, then roll."""
    cr, sr = ca.cos(roll / 2), ca.sin(roll / 2)
    cp, sp = ca.cos(pitch / 2), ca.sin(pitch / 2)
    cy, sy = ca.cos(yaw / 2), ca.sin(yaw / 2)
    return ca.vertcat(
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def to_euler(q: Expr) -> Expr:
    """Euler angles (roll, pitch, yaw) in rad, z-y-x order, of the unit quaternion q_NB."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    sine = ca.fmin(ca.fmax(2 * (w * y - z * x), -1), 1)
    return ca.vertcat(
        ca.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        ca.asin(sine),
        ca.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )
