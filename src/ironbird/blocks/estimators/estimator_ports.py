"""Ports that every estimator of position and attitude has, so that one can replace another."""

from __future__ import annotations

from ironbird.model.block import Block
from ironbird.model.signal import In, Out


class EstimatorPorts(Block):
    """Inertial unit, magnetometer, barometer and GNSS in; position, velocity, attitude and rates out."""

    role = "estimator"

    accel_B = In(unit="m/s^2", shape=3, frame="B", doc="specific force")
    gyro_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    imu_stamp = In(unit="s", doc="time of the inertial sample")
    mag_B = In(unit="T", shape=3, frame="B", doc="magnetic field")
    mag_stamp = In(unit="s", doc="time of the magnetometer sample")
    baro_height = In(unit="m", doc="height above take-off, up positive")
    baro_stamp = In(unit="s", doc="time of the barometer sample")
    gnss_position_N = In(unit="m", shape=3, frame="N", doc="position from the take-off point")
    gnss_velocity_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    gnss_stamp = In(unit="s", doc="time at which the GNSS sample came")
    gnss_fix = In(unit="1", doc="3 and above is a three-dimensional fix")

    p_NB_N = Out(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = Out(unit="m/s", shape=3, frame="N", doc="velocity")
    q_NB = Out(unit="1", shape=4, doc="attitude, w x y z")
    R_NB = Out(unit="1", shape=(3, 3), doc="attitude as a matrix, B to N")
    euler = Out(unit="rad", shape=3, doc="roll, pitch, yaw")
    w_NB_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity: gyro less its bias")
    gyro_bias_B = Out(unit="rad/s", shape=3, frame="B", doc="offset of the gyro")
