"""ArduPilot's servo packets: a length byte before each of several packets from one or two senders."""

from __future__ import annotations

import functools
import math
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np

from fuzz.target import attempt
from ironbird.autopilots.ardupilot.channels import SCALES
from ironbird.systems.ardupilot.link import HEAD, PACKETS, ArduPilot

SHORT = HEAD.pack(18458, 400, 1) + PACKETS[18458].pack(*[1500] * 16)
LONG = HEAD.pack(29569, 1000, 2) + PACKETS[29569].pack(*[1100] * 32)
WORDS = (bytes([len(SHORT)]) + SHORT, bytes([len(LONG)]) + LONG, struct.pack("<H", 18458), struct.pack("<H", 29569))
MOST = 512


@functools.cache
def _rows() -> list[Any]:
    return [(row, row % 16, *scale, 1.0 - 2.0 * (row % 2)) for row, scale in enumerate(SCALES.values())]


def check(data: bytes) -> None:
    """Packets are counted as good, bad or repeated; actuators get finite numbers within their bounds."""
    link = ArduPilot()
    inputs = np.zeros(len(_rows()))
    rig: Any = SimpleNamespace(stepper=SimpleNamespace(inputs=inputs), time_s=1.0)
    link._rows = _rows()
    link._sent_at = math.inf  # nothing of ours is lost, so nothing is sent again
    at = 0
    while at < len(data):
        length, source = data[at] & 0x7F, ("127.0.0.1", 9000 + (data[at] >> 7))
        packet = data[at + 1 : at + 1 + length]
        at += 1 + length
        link._buffer[: len(packet)] = packet
        taken = attempt(link._take, rig, len(packet), source)
        if taken is True:
            link._apply(rig)
            assert len(link.pwm) in (16, 32)
            assert np.isfinite(inputs).all() and (np.abs(inputs) <= 1.0).all()
