"""The router's frames and rules: every byte is part of a frame or skipped, however the stream is cut."""

from __future__ import annotations

import contextlib

from fuzz.mavlink_seeds import frames as known_frames
from ironbird.errors import IronbirdError
from ironbird.transport.frames import FrameReader, values_of
from ironbird.transport.router.route_file import route_of

WORDS = (*known_frames(), b"a=udpin:14550", b"a>b:HEARTBEAT@10", b"pty", b"serial:", b"file:")
MOST = 2000


def check(data: bytes) -> None:
    """Frames come whole, in their order; rules are read or refused."""
    cut = data[0] if data else 0
    reader = FrameReader()
    frames = reader.feed(data[:cut]) + reader.feed(data[cut:])
    place = 0
    for frame in frames:
        place = data.index(frame.data, place) + len(frame.data)
        values_of(frame.data)
    used = sum(len(frame.data) for frame in frames)
    assert used + reader.skipped <= len(data)
    text = data.decode("latin-1")
    with contextlib.suppress(IronbirdError):
        route_of([text[:50], "b=pty"], [text[50:]]).rules()
