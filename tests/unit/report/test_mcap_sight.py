"""What sensors saw, written as MCAP and read back by mcap's own reader."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from ironbird.report.mcap_sight import write_sight_mcap
from ironbird.world.model import Box, Material, Plane, World
from ironbird.world.runner import WorldSensors, sensor_of
from ironbird.world.track import Track

WHITE = Material("white", reflectance=0.9)
WORLD = World(
    "w",
    terrain=Plane(material=WHITE),
    obstacles=(Box("east", (0.0, 8.0, -5.0), material=WHITE, size_m=(4.0, 2.0, 8.0)),),
)


def test_pictures_points_scans_and_ranges_are_read_back(tmp_path: Path) -> None:
    sensors = [
        sensor_of({"kind": "camera", "name": "eye", "width": 8, "height": 6, "latency_s": 0.03}),
        sensor_of({"kind": "depth_camera", "name": "deep", "width": 8, "height": 6, "euler_deg": [0, 0, 90]}),
        sensor_of({"kind": "scanning_lidar", "name": "lidar", "rings": 2, "columns": 36}),
        sensor_of({"kind": "ring", "name": "around", "beams": 8}),
        sensor_of({"kind": "rangefinder", "name": "down", "euler_deg": [0, -90, 0]}),
    ]
    samples = WorldSensors(WORLD, sensors).run(Track.still((0.0, 0.0, -5.0)), 0.1)
    write_sight_mcap(tmp_path / "s.mcap", sensors, samples)
    read: dict[str, Any] = {}
    arrived: dict[str, int] = {}
    with (tmp_path / "s.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, record, message in reader.iter_decoded_messages():
            read.setdefault(channel.topic, message)
            arrived.setdefault(channel.topic, record.log_time)
    eye = read["/eye"]
    first = next(s for s in samples if s.sensor == "eye").data["rgb"]
    assert (eye.encoding, eye.width, eye.height, bytes(eye.data)) == ("rgb8", 8, 6, first.tobytes())
    assert arrived["/eye"] == 30_000_000 and eye.header.stamp.nanosec == 0
    depth = np.frombuffer(bytes(read["/deep"].data), "<f4").reshape(6, 8)
    assert depth[2, 4] == pytest.approx(7.0)
    cloud = read["/lidar"]
    points = np.frombuffer(bytes(cloud.data), "<f4").reshape(-1, 4)
    wall = points[np.abs(points[:, 1] + 7.0) < 1e-4]  # to the right is negative y
    assert cloud.width == len(points) and len(wall) >= 2
    scan = read["/around"]
    angles = scan.angle_min + scan.angle_increment * np.arange(8)
    right = int(np.argmin(np.abs(angles + math.pi / 2)))
    assert scan.ranges[right] == pytest.approx(7.0) and scan.ranges[-1] == math.inf
    assert read["/down"].range == pytest.approx(5.0)
