"""MAVLink frames in a stream; the first four bytes say where the stream is cut."""

from __future__ import annotations

import itertools

from fuzz.mavlink_seeds import frames
from ironbird.protocols.mavlink.codec import Parser

WORDS = (b"\xfd", b"\xfe", b"\xfd\x09\x00\x00", b"\x01\x01", b"\x00\x00\x00", *frames())
MOST = 1024


def check(data: bytes) -> None:
    """Frames are the same however the stream is cut; each byte belongs to a frame, is skipped, or waits."""
    stream = data[4:]
    cuts = sorted({4 * byte % (len(stream) + 1) for byte in data[:4]} | {0, len(stream)})
    whole, cut = Parser(count_lost=True), Parser(count_lost=True)
    frames = whole.feed(stream)
    pieces = [frame for at, to in itertools.pairwise(cuts) for frame in cut.feed(stream[at:to])]
    assert pieces == frames, "cut otherwise, other frames come out"
    assert (cut.skipped, cut.broken, cut.lost) == (whole.skipped, whole.broken, whole.lost)
    assert whole.skipped + sum(len(payload) + 8 for _, payload, _, _ in frames) <= len(stream)
    for id_, payload, sysid, compid in frames:
        assert payload in stream and len(payload) <= 255
        assert 0 <= sysid <= 255 and 0 <= compid <= 255 and 0 <= id_ < 2**24
