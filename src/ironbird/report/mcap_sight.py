"""Samples of world sensors as MCAP with ROS 2 messages, for Foxglove and rosbag2.

Topics are `/NAME`: pictures as sensor_msgs/Image (rgb8, 32FC1 for depth in m, mono8 for classes), lidars as
sensor_msgs/PointCloud2 (x, y, z, intensity, float32), rings and sonars as sensor_msgs/LaserScan, single beams as
sensor_msgs/Range. Axes are those of REP 103: forward-left-up, so angles of a scan grow to the left. A ray without an
echo is infinite, as REP 117 says. Times are those of the simulation: the header has that of the measurement, the
record that of the arrival. Optical flow has no standard message and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.report.mcap import Message, header, write_messages
from ironbird.world.runner import Sample
from ironbird.world.sensors.echo import EchoSensor
from ironbird.world.sensors.multibeam_sonar import MultibeamSonar
from ironbird.world.sensors.ring import Ring
from ironbird.world.sensors.sensor import Sensor

FLOAT32 = 7  # sensor_msgs/PointField
ENCODINGS = {"rgb": "rgb8", "depth_m": "32FC1", "label": "mono8"}
INFRARED = 1


def write_sight_mcap(path: Path, sensors: Sequence[Sensor], samples: Iterable[Sample]) -> None:
    """Write samples in the order of their arrival."""
    by_name = {sensor.name: sensor for sensor in sensors}

    def rows() -> Iterator[tuple[int, int, Message]]:
        for sample in sorted(samples, key=lambda sample: sample.arrives_s):
            for kind, content in _messages(by_name[sample.sensor], sample):
                yield sample.number, round(1e9 * sample.arrives_s), (f"/{sample.sensor}", kind, content)

    write_messages(path, rows(), {})


def _messages(sensor: Sensor, sample: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    head = header(round(1e9 * sample.time_s), sensor.name)
    data = sample.data
    for key, encoding in ENCODINGS.items():
        if key in data:
            pixels = data[key].astype("<f4") if key == "depth_m" else data[key]
            yield "sensor_msgs/Image", {
                "header": head, "height": pixels.shape[0], "width": pixels.shape[1], "encoding": encoding,
                "is_bigendian": 0, "step": pixels[0].nbytes, "data": pixels.tobytes(),
            }  # fmt: skip
    if "points_m" in data:
        yield "sensor_msgs/PointCloud2", _cloud(head, data["points_m"].reshape(-1, 3), data["intensity"].reshape(-1))
    elif isinstance(sensor, Ring | MultibeamSonar):
        yield "sensor_msgs/LaserScan", _scan(head, sensor, data)
    elif isinstance(sensor, EchoSensor):
        yield "sensor_msgs/Range", {
            "header": head, "radiation_type": INFRARED, "field_of_view": math.radians(getattr(sensor, "beam_deg", 0.0)),
            "min_range": sensor.min_m, "max_range": sensor.max_m, "range": float(_with_infinity(data["range_m"])[0]),
        }  # fmt: skip


def _with_infinity(ranges: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(ranges), np.inf, ranges)


def _cloud(head: dict[str, Any], points: np.ndarray, intensity: np.ndarray) -> dict[str, Any]:
    there = ~np.isnan(points[:, 0])
    rows = np.column_stack([points[there] * [1.0, -1.0, -1.0], intensity[there]]).astype("<f4")
    fields = [
        {"name": name, "offset": 4 * place, "datatype": FLOAT32, "count": 1}
        for place, name in enumerate(("x", "y", "z", "intensity"))
    ]
    return {
        "header": head, "height": 1, "width": len(rows), "fields": fields, "is_bigendian": False, "point_step": 16,
        "row_step": 16 * len(rows), "data": rows.tobytes(), "is_dense": True,
    }  # fmt: skip


def _scan(head: dict[str, Any], sensor: Ring | MultibeamSonar, data: dict[str, np.ndarray]) -> dict[str, Any]:
    """LaserScan message; the beams are reversed, as angles of ROS grow to the left, Ironbird's to the right."""
    angles = -sensor.angles_rad()[::-1]
    step = float(angles[1] - angles[0]) if len(angles) > 1 else 0.0
    return {
        "header": head, "angle_min": float(angles[0]), "angle_max": float(angles[-1]), "angle_increment": step,
        "time_increment": 0.0, "scan_time": 1.0 / sensor.rate_hz, "range_min": sensor.min_m, "range_max": sensor.max_m,
        "ranges": _with_infinity(data["range_m"])[::-1].tolist(), "intensities": data["intensity"][::-1].tolist(),
    }  # fmt: skip
