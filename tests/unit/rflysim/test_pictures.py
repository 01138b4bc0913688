"""Pictures in RflySim's packets, put together as its public client does and decoded by OpenCV."""

from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest

from ironbird.errors import LinkError
from ironbird.rflysim.pictures import picture_packets
from ironbird.world.model import Box, World
from ironbird.world.runner import Sample, WorldSensors, sensor_of
from ironbird.world.track import Track

WORLD = World("w", obstacles=(Box("wall", (10.5, 0.0, -5.0), size_m=(1.0, 60.0, 60.0)),))


def sample(**table: object) -> Sample:
    return WorldSensors(WORLD, [sensor_of({"name": "s", **table})]).due(Track.still((0.0, 0.0, -5.0)))[0]


def together(packets: list[bytes]) -> bytes:
    """As the client does: length and checksum of every packet, all numbers once, in any order."""
    pieces = {}
    for packet in reversed(packets):
        checksum, length, number, count, time_s = struct.unpack("4i1d", packet[:24])
        assert (checksum, length, count, time_s) == (1234567890, len(packet), len(packets), 0.0)
        pieces[number] = packet[24:]
    return b"".join(pieces[number] for number in range(len(packets)))


def test_a_colour_picture_arrives_whole() -> None:
    noisy = sample(kind="camera", width=240, height=180, noise=0.2)  # noise does not pack: several packets
    packets = picture_packets(noisy)
    assert len(packets) > 1 and max(map(len, packets)) <= 60024
    picture = cv2.imdecode(np.frombuffer(together(packets), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None and np.array_equal(picture[:, :, ::-1], noisy.data["rgb"])


def test_depth_is_millimetres() -> None:
    packets = picture_packets(sample(kind="depth_camera", width=16, height=12))
    picture = cv2.imdecode(np.frombuffer(together(packets), np.uint8), cv2.IMREAD_ANYDEPTH)
    assert picture is not None and picture.dtype == np.uint16 and picture[2, 8] == 10000


def test_a_rangefinder_has_no_picture() -> None:
    with pytest.raises(LinkError, match="has no picture, but range_m"):
        picture_packets(sample(kind="rangefinder"))
