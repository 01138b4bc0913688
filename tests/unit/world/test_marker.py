"""Markers drawn by the renderer are found again, with their number, turn and place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.rotations import from_euler
from ironbird.world.marker import FRAME_SHARE, find_markers
from ironbird.world.model import Material, Pad, Plane, World
from ironbird.world.rays import Scene
from ironbird.world.runner import sensor_of
from ironbird.world.sensors.camera import Camera
from ironbird.world.sensors.sensor import Sight
from ironbird.world.track import Track

GRASS = Material("grass", colour=(0.3, 0.5, 0.2), colour_2=(0.25, 0.45, 0.15), checker_m=0.5)


def picture(
    pad: Pad, place: tuple[float, float, float], euler: tuple[float, float, float]
) -> tuple[Camera, np.ndarray]:
    camera = sensor_of({"kind": "camera", "name": "c", "width": 320, "height": 240, "euler_deg": [0, -90, 0],
                        "antialias": 2, "noise": 0.01})  # fmt: skip
    assert isinstance(camera, Camera)
    scene = Scene(World("w", terrain=Plane(material=GRASS), pads=(pad,)))
    return camera, camera.measure(Sight(scene, Track.still(place, from_euler(euler)), 0.0, 0, 1))["rgb"]


@pytest.mark.parametrize("number", [0, 7, 1234, 4095])
@pytest.mark.parametrize("turn", [0.0, 1.0, 2.5, -1.2])
def test_a_marker_is_found_with_its_number_and_turn(number: int, turn: float) -> None:
    pad = Pad("p", 0.4, -0.3, radius_m=1.0, yaw_rad=turn, marker=number)
    camera, rgb = picture(pad, (0.0, 0.0, -4.0), (0.05, -0.04, 0.0))
    (marker,) = find_markers(rgb)
    assert marker.number == number
    ahead = marker.corners_px[0] - marker.corners_px[3]  # along the marker, to its upper edge
    assert math.remainder(math.atan2(ahead[0], -ahead[1]) - turn, 2 * math.pi) == pytest.approx(0.0, abs=0.1)
    side = FRAME_SHARE * 1.2
    assert marker.distance_m(camera.focal_px, side) == pytest.approx(4.0, rel=0.05)


def test_the_middle_of_a_marker_is_where_the_pad_is() -> None:
    for north, east in ((0.0, 0.0), (1.0, -1.5), (-0.8, 1.2)):
        pad = Pad("p", north, east, radius_m=0.8, marker=42)
        camera, rgb = picture(pad, (0.0, 0.0, -4.0), (0.0, 0.0, 0.0))
        (marker,) = find_markers(rgb)
        expected = camera.project(np.array([[4.0, east, -north]]))[0]  # down, right, back
        assert marker.centre_px == pytest.approx(expected, abs=0.6)


def test_pictures_without_a_marker_give_none() -> None:
    pad = Pad("p", 0.0, 0.0, radius_m=1.0)  # an H
    _, rgb = picture(pad, (0.0, 0.0, -4.0), (0.0, 0.0, 0.0))
    noise = (255 * np.random.default_rng(1).random((120, 160))).astype(np.uint8)
    for empty in (rgb, noise, np.zeros((60, 80), np.uint8)):
        assert find_markers(empty) == []
