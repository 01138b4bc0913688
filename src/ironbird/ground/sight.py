"""Measurements of world sensors as messages for autopilots: DISTANCE_SENSOR, OBSTACLE_DISTANCE, optical flow, ODOMETRY.

Optical flow is OPTICAL_FLOW_RAD for PX4 and OPTICAL_FLOW for others: PX4 reads only the first, ArduPilot the second.
Fields are in the order of the wire, for `Packer.add(message, *fields)`. Source: [MAVLink2], dialect `common`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ironbird.errors import LinkError
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.dialect import Message
from ironbird.protocols.mavlink.numbers import (
    FRAME_BODY_FRD,
    FRAME_LOCAL_FRD,
    MAV_DISTANCE_SENSOR_LASER,
    MAV_ESTIMATOR_TYPE_VISION,
    MAV_SENSOR_ROTATION_CUSTOM,
    MAV_SENSOR_ROTATION_PITCH_90,
    MAV_SENSOR_ROTATION_PITCH_270,
)
from ironbird.rotations import from_euler
from ironbird.world.runner import Sample
from ironbird.world.sensors.multibeam_sonar import MultibeamSonar
from ironbird.world.sensors.odometry import Odometry
from ironbird.world.sensors.optical_flow import OpticalFlow
from ironbird.world.sensors.radar_altimeter import RadarAltimeter
from ironbird.world.sensors.rangefinder import Rangefinder
from ironbird.world.sensors.ring import Ring
from ironbird.world.sensors.sensor import Sensor

SECTORS = 72  # of OBSTACLE_DISTANCE
UNKNOWN = 65535  # a sector without a beam
NOBODY = 255  # covariance that is not known
LOST, BEST = -1, 100  # quality of odometry
LEAST_RAD = math.radians(0.5)  # least deviation of an attitude that is reported
NO_TEMPERATURE = 0
TOLD = (Rangefinder, RadarAltimeter, Ring, OpticalFlow, Odometry)  # kinds that MAVLink has a message for
Fields = tuple[Message, tuple[float, ...]]


def message_of(sensor: Sensor, sample: Sample, number: int = 0, *, flow: Message = dialect.OPTICAL_FLOW) -> Fields:
    """The message of a sample; `number` distinguishes equal sensors, `flow` is the message to use for optical flow.

    Sensors without a message (see `TOLD`) are refused.
    """
    if isinstance(sensor, Rangefinder | RadarAltimeter):
        return distance_sensor(sensor, sample, number)
    if isinstance(sensor, Ring):
        return obstacle_distance(sensor, sample)
    if isinstance(sensor, OpticalFlow):
        return (optical_flow_rad if flow is dialect.OPTICAL_FLOW_RAD else optical_flow)(sensor, sample, number)
    if isinstance(sensor, Odometry):
        return odometry(sensor, sample)
    kind = "a fan of beams" if isinstance(sensor, MultibeamSonar) else "this kind"
    raise LinkError(
        f"sensor '{sensor.name}': MAVLink has no message for {kind} ({type(sensor).__name__}); rangefinders, rings, "
        "optical flow sensors and odometry have one"
    )


def distance_sensor(sensor: Rangefinder | RadarAltimeter, sample: Sample, number: int = 0) -> Fields:
    """DISTANCE_SENSOR of a range; without an echo one step beyond the largest and signal quality 1 (0 is unknown)."""
    range_m = float(sample.data["range_m"][0])
    lost = math.isnan(range_m)
    current = _cm(sensor.max_m) + 1 if lost else _cm(range_m)
    rotation, turn = _orientation(sensor.euler_deg)
    beam = math.radians(sensor.beam_deg)
    return dialect.DISTANCE_SENSOR, (
        round(1e3 * sample.time_s) % 2**32, _cm(sensor.min_m), _cm(sensor.max_m), min(current, UNKNOWN),
        MAV_DISTANCE_SENSOR_LASER, number, rotation, NOBODY, beam, beam, *turn, 1 if lost else 100,
    )  # fmt: skip


def obstacle_distance(sensor: Ring, sample: Sample) -> Fields:
    """OBSTACLE_DISTANCE around the vehicle, clockwise from ahead; above 72 beams each sector has the nearest."""
    ranges = sample.data["range_m"]
    most = _cm(sensor.max_m)
    centimetres = np.where(np.isnan(ranges), most + 1, np.round(100 * np.nan_to_num(ranges)))
    count = min(sensor.beams, SECTORS)
    sectors = np.full(SECTORS, UNKNOWN)
    for sector in range(count):
        first, last = sector * sensor.beams // count, (sector + 1) * sensor.beams // count
        sectors[sector] = min(int(centimetres[first:last].min()), UNKNOWN - 1)
    step = 360.0 / count
    return dialect.OBSTACLE_DISTANCE, (
        round(1e6 * sample.time_s), *(int(value) for value in sectors), _cm(sensor.min_m), most,
        MAV_DISTANCE_SENSOR_LASER, min(round(step), 255), step, float(sensor.euler_deg[2]), FRAME_BODY_FRD,
    )  # fmt: skip


def optical_flow(sensor: OpticalFlow, sample: Sample, number: int = 0) -> Fields:
    """OPTICAL_FLOW: rates of the picture about the body's axes, for a sensor that looks down, upper edge ahead.

    Flow about x is positive if the ground moves right in the picture (the vehicle moves left, or rolls to the right),
    flow about y if it moves down (the vehicle moves ahead, or pitches up), as MAVLink defines it. Not compensated for
    the body's own rates; metres per second are left at 0, as the autopilot has its own gyroscope and height.
    """
    right, down = (float(part) for part in sample.data["flow_rad"])
    interval = float(sample.data["interval_s"][0])
    distance = float(sample.data["range_m"][0])
    quality = int(sample.data["quality"][0])
    pixels = [_short(10 * part * sensor.focal_px) for part in (right, down)]  # tenths of a pixel
    return dialect.OPTICAL_FLOW, (
        round(1e6 * sample.time_s), 0.0, 0.0, -1.0 if math.isnan(distance) else distance, *pixels, number, quality,
        right / interval, down / interval,
    )  # fmt: skip


def optical_flow_rad(sensor: OpticalFlow, sample: Sample, number: int = 0) -> Fields:
    """OPTICAL_FLOW_RAD: angles over the time between two pictures; the sensor has no gyroscope (NaN)."""
    right, down = (float(part) for part in sample.data["flow_rad"])
    interval_us = round(1e6 * float(sample.data["interval_s"][0]))
    distance, nan = float(sample.data["range_m"][0]), math.nan
    distance = -1.0 if math.isnan(distance) else distance
    return dialect.OPTICAL_FLOW_RAD, (
        round(1e6 * sample.time_s), interval_us, right, down, nan, nan, nan, 0, distance,
        NO_TEMPERATURE, number, int(sample.data["quality"][0]),
    )  # fmt: skip


def odometry(sensor: Odometry, sample: Sample) -> Fields:
    """ODOMETRY: position and attitude in axes that were forward, right, down at the start; velocity in body axes."""
    data = sample.data
    place, speed = float(data["deviation_m"][0]) ** 2, float(data["deviation_mps"][0]) ** 2
    turn = max(math.radians(sensor.noise_deg), LEAST_RAD) ** 2
    nan = math.nan
    pose, motion = [nan] * 21, [nan] * 21  # upper triangles
    pose[0], pose[6], pose[11] = place, place, place
    pose[15], pose[18], pose[20] = turn, turn, turn
    motion[0], motion[6], motion[11] = speed, speed, speed
    return dialect.ODOMETRY, (
        round(1e6 * sample.time_s), *data["position_m"].tolist(), *data["q"].tolist(), *data["velocity_mps"].tolist(),
        nan, nan, nan, *pose, *motion, FRAME_LOCAL_FRD, FRAME_BODY_FRD, 0, MAV_ESTIMATOR_TYPE_VISION,
        LOST if data["lost"][0] else BEST,
    )  # fmt: skip


def _orientation(euler_deg: Sequence[float]) -> tuple[int, tuple[float, float, float, float]]:
    """The MAV_SENSOR_ORIENTATION of a mount, or a quaternion for one that has no number."""
    roll, pitch, yaw = (round(angle % 360, 6) for angle in euler_deg)
    none = (0.0, 0.0, 0.0, 0.0)
    if roll == 0 and pitch == 0 and yaw % 45 == 0:
        return int(yaw // 45), none  # YAW_0 to YAW_315
    if roll == 0 and yaw == 0 and pitch in (90, 270):
        return MAV_SENSOR_ROTATION_PITCH_90 if pitch == 90 else MAV_SENSOR_ROTATION_PITCH_270, none
    w, x, y, z = (float(part) for part in from_euler(np.radians(euler_deg)))
    return MAV_SENSOR_ROTATION_CUSTOM, (w, x, y, z)


def _cm(metres: float) -> int:
    return max(0, min(round(100 * metres), UNKNOWN - 1))


def _short(value: float) -> int:
    return max(-32768, min(round(value), 32767))
