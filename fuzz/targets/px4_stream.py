"""What PX4 says over its simulator link: native code that takes frames from a socket until the answer is there."""

from __future__ import annotations

import socket
import struct

from fuzz.mavlink_seeds import answer, frames
from ironbird.autopilots.px4.messages import Wire
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Parser

WORDS = (b"\xfd", b"\xfe", b"\x5d\x00\x00", answer(4000, 0.5), answer(8000), *frames()[:12])
MOST = 2048
ASKED_US = 8000
ANSWER = dialect.MESSAGES[93]


def check(data: bytes) -> None:
    """Native and Python code see the same frames, and the last answer is taken field by field."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        wire = Wire(ours)
        answered = wire.turn((0, 0), ASKED_US, 0.0) if data else False
    parser = Parser()
    seen = parser.feed(data)
    said = [ANSWER.unpack(payload) for id_, payload, _, _ in seen if id_ == ANSWER.id]
    state = wire.state
    assert state.received == len(seen) and state.answers == len(said)
    assert tuple(state.tally) == (parser.skipped, parser.broken)
    assert answered == bool(said and said[-1][0] >= ASKED_US)
    if said:
        time_us, flags, *controls, mode = said[-1]
        assert (state.answer_us, state.flags, state.mode) == (time_us, flags, mode)
        assert struct.pack("<16d", *state.controls) == struct.pack("<16d", *controls) or any(c != c for c in controls)
