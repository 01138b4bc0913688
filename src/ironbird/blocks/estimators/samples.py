"""Functions shared by estimators: attitude from samples at rest, small rotations, ages of samples."""

from __future__ import annotations

import casadi as ca

from ironbird.symbolic import quaternion

OLDEST_S = 1000.0  # s, largest age that is counted, and the age before the first sample
IMU_LOST_S = 0.1  # s without a fresh inertial sample after which an estimator is not healthy


def flag(condition: ca.SX) -> ca.SX:
    """1 where a condition holds, else 0."""
    return ca.if_else(condition, ca.SX(1), ca.SX(0))


def next_age(fresh: ca.SX, age: ca.SX, sample_s: float) -> ca.SX:
    """Age (s) of the newest sample: 0 at a fresh one, else one sample time more."""
    return ca.if_else(fresh, 0, ca.fmin(age + sample_s, OLDEST_S))


def from_rotation_vector(turn: ca.SX) -> ca.SX:
    """Quaternion of a rotation by up to half a radian: the series of [Sola2017] Eq. 101, to 1e-9 of the angle."""
    h2 = 0.25 * ca.dot(turn, turn)
    cosine = 1 - h2 * (1 / 2 - h2 * (1 / 24 - h2 / 720))
    half_sinc = 0.5 - h2 * (1 / 12 - h2 * (1 / 240 - h2 / 10080))
    return ca.vertcat(cosine, turn * half_sinc)


def level_and_heading(accel: ca.SX, mag: ca.SX, field: ca.SX) -> ca.SX:
    """Attitude of a vehicle at rest: level from the accelerometer, heading from the horizontal field."""
    roll = ca.atan2(-accel[1], -accel[2])
    pitch = ca.atan2(accel[0], ca.sqrt(accel[1] ** 2 + accel[2] ** 2))
    level = quaternion.rotation_matrix(quaternion.from_euler(roll, pitch, ca.SX(0)))
    flat = level @ mag
    yaw = ca.atan2(field[1], field[0]) - ca.atan2(flat[1], flat[0])
    return quaternion.from_euler(roll, pitch, yaw)
