"""The whole MAVLink front end on a vehicle: frames of any message with any payload, and bytes that are no frames.

The input is a row of pieces. A piece begins with a byte that says what it is: a message of the front end with the next
bytes as its payload, a frame that the next bytes say in full, or plain bytes of the stream. After each, the vehicle may
fly on for an exchange. All must be taken or refused, and the vehicle must stay a vehicle.
"""

from __future__ import annotations

import functools
import math

from fuzz.mavlink_seeds import frames
from ironbird.links.commanded.kind import CommandedSystem
from ironbird.links.mavlink import dialect
from ironbird.links.mavlink.codec import Packer, Parser
from ironbird.links.mavlink.dialect import BOARD_EXTRAS, CRC_EXTRA
from ironbird.links.mavlink_server.connections import Channel
from ironbird.links.mavlink_server.front import MavlinkFront
from ironbird.links.rig import make_rig
from ironbird.vehicles.load import load_vehicle

WORDS = (
    b"\x01",
    b"\x00\x00\x80\x7f",
    b"\x00\x00\xc0\x7f",
    b"\xff\xff",
    b"MIS_TAKEOFF_ALT\0",
    b"_HASH_CHECK\0",
    *frames(),
)
MOST = 1500
RAW, FLY = 250, 251  # what a piece is, beyond the places of messages
NEW_AFTER = 20_000  # inputs that one vehicle stands
STEP_TICKS = 4


class Rigged:
    """A vehicle with a front end that has no ports but one partner."""

    def __init__(self) -> None:
        self.rig = make_rig(load_vehicle("quad_f450", control="commanded"), until_s=3600.0, log=[])
        self.front = MavlinkFront({"links": "udpin:127.0.0.1:0"})
        self.system = CommandedSystem(self.front)
        self.system.start(self.rig)
        self.sent = bytearray()
        self.partner = Channel("fuzz", self.take, sysid=1)
        self.front.endpoints[0].channels.append(self.partner)
        self.known = sorted(self.front._takers)
        self.inputs = 0

    def take(self, data: memoryview) -> None:
        """What the front end says."""
        self.sent += data

    def piece(self, kind: int, payload: bytes) -> None:
        """Hand one piece over."""
        if kind == FLY:
            self.rig.step(STEP_TICKS)
        elif kind == RAW:
            self._feed(payload)
        else:
            number = self.known[kind % len(self.known)]
            size = dialect.MESSAGES[number].payload.size
            packer = Packer(255, 190)
            packer.add(_any_message(number), (payload + bytes(size))[:size])
            self._feed(bytes(packer.take()))
        self.front._work(self.system.commander)  # type: ignore[arg-type]

    def _feed(self, data: bytes) -> None:
        for number, payload, sender in self.partner.read(data):
            if number in self.front._takers:
                self.front._inbox.append((self.partner, number, payload, sender))


@functools.cache
def _any_message(number: int) -> dialect.Message:
    known = dialect.MESSAGES[number]
    return dialect.Message(known.name, number, f"{known.payload.size}s")


@functools.cache
def _vehicle() -> list[Rigged]:
    return [Rigged()]


def check(data: bytes) -> None:
    """Nothing is raised, all that is said is MAVLink, and the commanded inputs are numbers."""
    held = _vehicle()
    rigged = held[0]
    if rigged.inputs >= NEW_AFTER or rigged.rig.state.stop_of() is not None:
        rigged.system.stop()
        held[0] = rigged = Rigged()
    rigged.inputs += 1
    place = 0
    while place + 2 <= len(data):
        kind, length = data[place], data[place + 1]
        rigged.piece(kind, data[place + 2 : place + 2 + length])
        place += 2 + length
    commander = rigged.system.commander
    assert commander is not None
    rigged.front._tell(commander)
    parser = Parser(extras=BOARD_EXTRAS)
    said = parser.feed(bytes(rigged.sent))
    assert parser.skipped == parser.broken == 0, "what it said is no MAVLink"
    assert all(number in CRC_EXTRA or number in BOARD_EXTRAS for number, *_ in said)
    rigged.sent.clear()
    assert len(rigged.front._inbox) == 0
    assert all(math.isfinite(value) for value in rigged.rig.stepper.inputs), "an input of the model is no number"
