"""Messages of sensors of the world, read back by pymavlink."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import common

from ironbird.errors import LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.ground.dialects import DIALECTS
from ironbird.ground.sight import message_of
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rotations import from_euler
from ironbird.world.model import Box, Material, Plane, World
from ironbird.world.runner import WorldSensors, sensor_of
from ironbird.world.track import Track

WHITE = Material("white", reflectance=0.9, colour=(0.8, 0.2, 0.2), colour_2=(0.2, 0.8, 0.2), checker_m=0.6)
WORLD = World(
    "w",
    terrain=Plane(material=WHITE),
    obstacles=(Box("east", (0.0, 8.0, -5.0), material=WHITE, size_m=(1.0, 2.0, 8.0)),),
)


def told(track: Track, until_s: float = 0.0, /, *, autopilot: str = "ardupilot", **table: object) -> Any:
    """What pymavlink reads of the last sample's message."""
    sensor = sensor_of({"name": "s", **table})
    sample = WorldSensors(WORLD, [sensor]).run(track, until_s)[-1]
    message, fields = message_of(sensor, sample, 3, flow=DIALECTS.load(autopilot).optical_flow)
    packer = Packer()
    packer.add(message, *fields)
    (read,) = common.MAVLink(None).parse_buffer(bytes(packer.take()))
    return read


def test_a_rangefinder_tells_its_distance_and_where_it_looks() -> None:
    track = Track.still((0.0, 0.0, -5.0))
    down = told(track, kind="rangefinder", euler_deg=[0, -90, 0], max_m=40.0)
    assert (down.current_distance, down.min_distance, down.max_distance) == (500, 10, 4000)
    assert (down.orientation, down.id, down.signal_quality) == (common.MAV_SENSOR_ROTATION_PITCH_270, 3, 100)
    right = told(track, kind="rangefinder", euler_deg=[0, 0, 90])
    assert (right.current_distance, right.orientation) == (700, common.MAV_SENSOR_ROTATION_YAW_90)
    slant = told(track, kind="rangefinder", euler_deg=[0, -30, 10])
    assert slant.orientation == common.MAV_SENSOR_ROTATION_CUSTOM
    assert slant.quaternion == pytest.approx(from_euler(np.radians([0, -30, 10])), abs=1e-6)
    up = told(track, kind="rangefinder", euler_deg=[0, 90, 0], max_m=40.0)
    assert (up.current_distance, up.signal_quality) == (4001, 1)


@pytest.mark.parametrize("beams", [16, 72, 360])
def test_a_ring_tells_the_obstacle_on_its_right(beams: int) -> None:
    read = told(Track.still((0.0, 0.0, -5.0)), kind="ring", beams=beams, max_m=30.0)
    count = min(beams, 72)
    assert len(read.distances) == 72 and read.increment_f == pytest.approx(360 / count)
    assert read.distances[count // 4] == 700 and read.distances[0] == 3001
    assert read.distances[count:] == [65535] * (72 - count)
    assert read.frame == common.MAV_FRAME_BODY_FRD


def test_flow_has_the_signs_of_mavlink() -> None:
    """Motion along x gives positive flow about y, motion along y negative flow about x."""
    ahead = Track([0.0, 1.0], [[20.2, 0.3, -5], [21.7, 0.3, -5]], [[1.0, 0, 0, 0]] * 2)
    read = told(ahead, 0.2, kind="optical_flow", rate_hz=10.0)
    assert read.flow_rate_y == pytest.approx(1.5 / 5, abs=0.02) and read.flow_rate_x == pytest.approx(0.0, abs=0.02)
    assert read.ground_distance == pytest.approx(5.0) and read.quality > 100
    right = Track([0.0, 1.0], [[20.2, -30.3, -5], [20.2, -28.8, -5]], [[1.0, 0, 0, 0]] * 2)
    read = told(right, 0.2, kind="optical_flow", rate_hz=10.0)
    assert read.flow_rate_x == pytest.approx(-1.5 / 5, abs=0.02)
    read = told(right, 0.2, kind="optical_flow", rate_hz=10.0, autopilot="px4")  # which knows angles alone
    assert read.get_type() == "OPTICAL_FLOW_RAD" and read.integration_time_us == 100_000
    assert read.integrated_x == pytest.approx(-0.1 * 1.5 / 5, abs=0.002) and read.distance == pytest.approx(5.0)


def test_odometry_tells_place_attitude_and_velocity_in_body_axes() -> None:
    """A vehicle that heads east and goes north at 2 m/s goes to its left."""
    east = [math.cos(math.pi / 4), 0.0, 0.0, math.sin(math.pi / 4)]
    track = Track([0.0, 2.0], [[0.0, 0.0, -5.0], [4.0, 0.0, -5.0]], [east, east])
    read = told(track, 1.0, kind="odometry", rate_hz=10.0, noise_deg=2.0)
    assert [read.x, read.y, read.z] == pytest.approx([2.0, 0.0, -5.0], abs=1e-6)
    assert [read.vx, read.vy, read.vz] == pytest.approx([0.0, -2.0, 0.0], abs=1e-6)
    assert abs(np.dot(read.q, east)) == pytest.approx(1.0, abs=0.01)
    assert (read.frame_id, read.child_frame_id) == (common.MAV_FRAME_LOCAL_FRD, common.MAV_FRAME_BODY_FRD)
    assert read.pose_covariance[20] == pytest.approx(math.radians(2.0) ** 2) and read.quality == 100
    strayed = told(track, 2.0, kind="odometry", rate_hz=10.0, drift_mps=0.5, scale_error=0.1)
    assert 0.8 < math.dist([strayed.x, strayed.y, strayed.z], [4.4, 0.0, -5.5]) < 1.5  # 1 m level, and some of height
    sensor = sensor_of({"kind": "odometry", "name": "s"})
    lost = WorldSensors(WORLD, [sensor], faults=[parse_fault("sight.black@1:instance=s")]).run(track, 0.0)[0]
    assert message_of(sensor, lost)[1][-1] == -1


def test_a_camera_has_no_message() -> None:
    with pytest.raises(LinkError, match="MAVLink has no message for this kind"):
        told(Track.still((0.0, 0.0, -5.0)), kind="camera", width=8, height=8)
