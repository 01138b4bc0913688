"""Complementary filter: gyro attitude pulled to the accelerometer's level and the magnetometer's heading."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.estimators.estimator_ports import EstimatorPorts
from ironbird.blocks.estimators.samples import (
    IMU_LOST_S,
    OLDEST_S,
    flag,
    from_rotation_vector,
    level_and_heading,
    next_age,
)
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Values, View
from ironbird.model.signal import Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import limit_length, wrap_angle


class ComplementaryFilter(EstimatorPorts):
    """Estimates attitude, gyro bias, position and velocity by a complementary filter and observers of fixed gain.
    Explicit complementary filter with bias integral, [Mahony2008] Eq. 32.

    The level error is the cross product of measured and expected up direction, the heading error the angle of the
    horizontal field; both enter as angular velocity. In sustained turns the accelerometer shows a false level, and so
    does this filter: a property of the method. Position and velocity follow the measured acceleration and are pulled to
    GNSS, the height also to the barometer. Ports are those of `ErrorStateEkf` as far as it has them: it estimates no
    accelerometer bias, field or wind and has no covariance, so these outputs, the innovations, and the inputs for
    accuracies and airspeed are missing.

    Not modelled: GNSS delay, gates, outliers, lever arms.
    """

    source = "[Mahony2008] Eq. 32"

    gnss_age = Out(unit="s", doc="since the last GNSS sample with a fix; 1000 before the first")
    aligned = Out(unit="1", doc="1 after the alignment")
    healthy = Out(unit="1", doc="0 if not aligned, or without inertial data or GNSS")

    q = State(unit="1", shape=4, init=(1.0, 0.0, 0.0, 0.0), doc="attitude")
    v = State(unit="m/s", shape=3, frame="N", init=0.0, doc="velocity")
    p = State(unit="m", shape=3, frame="N", init="position_0", doc="position")
    gyro_bias = State(unit="rad/s", shape=3, frame="B", init=0.0, doc="offset of the gyro")
    accel_last = State(unit="m/s^2", shape=3, frame="B", init=0.0, doc="the sample before")
    gyro_last = State(unit="rad/s", shape=3, frame="B", init=0.0, doc="the sample before")
    stamps = State(unit="s", shape=4, init=0.0, doc="of the last use: inertial, field, barometer, GNSS")
    imu_age = State(unit="s", init=0.0, doc="since the last fresh inertial sample")
    fix_age = State(unit="s", init=OLDEST_S, doc="since the last GNSS sample with a fix")
    heading_error = State(unit="rad", init=0.0, doc="of the latest magnetometer sample")
    ready = State(unit="1", init=0.0, doc="1 after the alignment")

    position_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="position at the start")
    field_0 = Param(unit="T", shape=3, frame="N", doc="earth field; its direction gives the declination")
    gravity = Param(unit="m/s^2", default=STANDARD_GRAVITY_MPS2, low=1.0, doc="acceleration of gravity")
    level_gain = Param(unit="1/s", default=0.2, low=0.0, tunable=True, doc="level error to angular velocity")
    heading_gain = Param(unit="1/s", default=0.2, low=0.0, tunable=True, doc="heading error to angular velocity")
    bias_gain = Param(unit="1/s", default=0.1, low=0.0, tunable=True, doc="rate of the bias integral, of both errors")
    max_bias = Param(unit="rad/s", default=0.1, low=0.0, tunable=True, doc="the integral is held below")
    level_window = Param(unit="1", default=0.3, low=0.0, tunable=True, doc="deviation from g at which it is no level")
    position_gain = Param(unit="1", default=0.2, low=0.0, high=1.0, tunable=True, doc="share taken of a GNSS position")
    velocity_gain = Param(unit="1", default=0.4, low=0.0, high=1.0, tunable=True, doc="share taken of a GNSS velocity")
    height_gain = Param(
        unit="1", default=0.05, low=0.0, high=1.0, tunable=True, doc="share taken of a barometer height"
    )
    climb_gain = Param(unit="1/s", default=0.05, low=0.0, tunable=True, doc="barometer height error to climb")
    max_gnss_age = Param(unit="s", default=5.0, low=0.0, tunable=True, doc="without GNSS until not healthy")

    def __init__(self, *, sample_s: float = 0.004) -> None:
        super().__init__(sample_s=sample_s)

    def _predict(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """Attitude, velocity and position at this sample, before any correction of position."""
        assert self.sample_s is not None
        dt = self.sample_s * x.ready
        R_0 = quaternion.rotation_matrix(x.q)
        # Errors of level and heading as an angular velocity, [Mahony2008] Eq. 32c
        accel = 0.5 * (x.accel_last + u.accel_B)
        length = ca.sqrt(ca.dot(accel, accel) + 1e-12)
        up = -R_0[2, :].T  # up direction of the estimate, in B
        sound = flag(ca.fabs(length - p.gravity) < p.level_window * p.gravity)
        level = sound * ca.cross(accel / length, up)
        heading = R_0[2, :].T * x.heading_error
        pull = p.level_gain * level + p.heading_gain * heading
        w = 0.5 * (x.gyro_last + u.gyro_B) - x.gyro_bias + pull
        q = quaternion.normalized(quaternion.product(x.q, from_rotation_vector(w * dt)))
        R_1 = quaternion.rotation_matrix(q)
        acceleration = 0.5 * (R_0 @ x.accel_last + R_1 @ u.accel_B) + ca.vertcat(0, 0, p.gravity)
        v = x.v + dt * acceleration
        bias = limit_length(x.gyro_bias - dt * p.bias_gain * pull, p.max_bias)  # Eq. 32b
        return {"q": q, "R": R_1, "v": v, "p": x.p + 0.5 * dt * (x.v + v), "gyro_bias": bias}

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        stamps = ca.vertcat(u.imu_stamp, u.mag_stamp, u.baro_stamp, u.gnss_stamp)
        fresh = [stamps[i] != x.stamps[i] for i in range(4)]
        n = self._predict(x, u, p)
        # Alignment with the first samples of accelerometer and magnetometer
        now = ca.logic_and(x.ready < 0.5, ca.logic_and(fresh[0], fresh[1]))
        active = ca.logic_or(x.ready > 0.5, now)
        flat = n["R"] @ u.mag_B
        heading = wrap_angle(ca.atan2(p.field_0[1], p.field_0[0]) - ca.atan2(flat[1], flat[0]))
        # Position and velocity: shares of the differences to GNSS and barometer
        fix = ca.logic_and(ca.logic_and(fresh[3], u.gnss_fix > 2.5), active)
        dp = ca.if_else(fix, p.position_gain * (u.gnss_position_N - n["p"]), 0)
        dv = ca.if_else(fix, p.velocity_gain * (u.gnss_velocity_N - n["v"]), 0)
        sink = ca.if_else(ca.logic_and(fresh[2], active), -u.baro_height - n["p"][2], 0)
        down = ca.vertcat(0, 0, 1)
        return {
            "q": ca.if_else(now, level_and_heading(u.accel_B, u.mag_B, p.field_0), n["q"]),
            "v": n["v"] + dv + down * p.climb_gain * sink,
            "p": n["p"] + dp + down * p.height_gain * sink,
            "gyro_bias": n["gyro_bias"],
            "accel_last": u.accel_B,
            "gyro_last": u.gyro_B,
            "stamps": stamps,
            "imu_age": next_age(fresh[0], x.imu_age, self.sample_s),
            "fix_age": next_age(fix, x.fix_age, self.sample_s),
            "heading_error": ca.if_else(fresh[1], heading, x.heading_error),
            "ready": flag(active),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        n = self._predict(x, u, p)
        sound = ca.logic_and(x.ready > 0.5, ca.logic_and(x.imu_age < IMU_LOST_S, x.fix_age < p.max_gnss_age))
        return {
            "p_NB_N": n["p"],
            "v_NB_N": n["v"],
            "q_NB": n["q"],
            "R_NB": n["R"],
            "euler": quaternion.to_euler(n["q"]),
            "w_NB_B": u.gyro_B - x.gyro_bias,
            "gyro_bias_B": x.gyro_bias,
            "gnss_age": x.fix_age,
            "aligned": x.ready,
            "healthy": flag(sound),
        }
