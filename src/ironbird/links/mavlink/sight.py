"""What sensors of a world say, as messages for autopilots: DISTANCE_SENSOR, OBSTACLE_DISTANCE, OPTICAL_FLOW.

Fields stand in the order of the wire, for `Packer.add(message, *fields)`. Source: [MAVLink2], dialect `common`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ironbird.errors import LinkError
from ironbird.links.mavlink import dialect
from ironbird.links.mavlink.dialect import Message
from ironbird.links.mavlink.numbers import (
    FRAME_BODY_FRD,
    MAV_DISTANCE_SENSOR_LASER,
    MAV_SENSOR_ROTATION_CUSTOM,
    MAV_SENSOR_ROTATION_PITCH_90,
    MAV_SENSOR_ROTATION_PITCH_270,
)
from ironbird.rotations import from_euler
from ironbird.world.runner import Sample
from ironbird.world.sensors.multibeam_sonar import MultibeamSonar
from ironbird.world.sensors.optical_flow import OpticalFlow
from ironbird.world.sensors.radar_altimeter import RadarAltimeter
from ironbird.world.sensors.rangefinder import Rangefinder
from ironbird.world.sensors.ring import Ring
from ironbird.world.sensors.sensor import Sensor

SECTORS = 72  # of OBSTACLE_DISTANCE
UNKNOWN = 65535  # a sector without a beam
NOBODY = 255  # covariance that is not known
Fields = tuple[Message, tuple[float, ...]]


def message_of(sensor: Sensor, sample: Sample, number: int = 0) -> Fields:
    """The message of a sample; `number` tells equal sensors apart. Sensors without one are refused."""
    if isinstance(sensor, Rangefinder | RadarAltimeter):
        return distance_sensor(sensor, sample, number)
    if isinstance(sensor, Ring):
        return obstacle_distance(sensor, sample)
    if isinstance(sensor, OpticalFlow):
        return optical_flow(sensor, sample, number)
    kind = "a fan of beams" if isinstance(sensor, MultibeamSonar) else "this kind"
    raise LinkError(
        f"sensor '{sensor.name}': MAVLink has no message for {kind} ({type(sensor).__name__}); rangefinders, rings "
        "and optical flow sensors have one"
    )


def distance_sensor(sensor: Rangefinder | RadarAltimeter, sample: Sample, number: int = 0) -> Fields:
    """One range; without an echo one step beyond the largest, and signal quality 1 (0 would be unknown)."""
    found = float(sample.data["range_m"][0])
    lost = math.isnan(found)
    current = _cm(sensor.max_m) + 1 if lost else _cm(found)
    rotation, turn = _orientation(sensor.euler_deg)
    beam = math.radians(sensor.beam_deg)
    return dialect.DISTANCE_SENSOR, (
        round(1e3 * sample.time_s) % 2**32, _cm(sensor.min_m), _cm(sensor.max_m), min(current, UNKNOWN),
        MAV_DISTANCE_SENSOR_LASER, number, rotation, NOBODY, beam, beam, *turn, 1 if lost else 100,
    )  # fmt: skip


def obstacle_distance(sensor: Ring, sample: Sample) -> Fields:
    """Ranges around the vehicle, clockwise from ahead; of more than 72 beams each sector tells the nearest."""
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
    """Rates of the picture about the body's axes, for a sensor that looks down with its upper edge ahead.

    Flow about x is positive if the ground goes right in the picture (the vehicle goes left, or rolls to the right),
    flow about y if it goes down (the vehicle goes ahead, or pitches up), as MAVLink has it. Not freed from the body's
    own rates; metres per second are left at 0, for the autopilot has its own gyroscope and height.
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


def _orientation(euler_deg: Sequence[float]) -> tuple[int, tuple[float, float, float, float]]:
    """The number of a mount, or a quaternion for one that has none."""
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
