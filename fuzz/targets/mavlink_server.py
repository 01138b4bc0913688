"""The whole MAVLink front end on a vehicle: frames of any message with any payload, and bytes that are no frames.

The input is a row of pieces. A piece begins with a byte that says what it is: a message of the front end with the next
bytes as its payload, a frame that the next bytes say in full, or plain bytes of the stream. After each, the vehicle may
fly on for an exchange. All must be taken or refused, and the vehicle must stay a vehicle.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import struct
from collections import Counter
from collections.abc import Iterator

from fuzz.mavlink_seeds import frames
from fuzz.payload import Payloads
from fuzz.target import CORPUS
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.rflysim.mavlink import CopterSimMavlink
from ironbird.rflysim.ports import LOOPBACK, Ports
from ironbird.rig.rig import make_rig
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.mavlink.connections import Channel
from ironbird.systems.commanded.mavlink.front import MavlinkFront
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
MOST = 4096
RAW, FLY = 250, 251  # what a piece is, beyond the places of messages
NEW_AFTER = 5_000  # inputs that one vehicle stands
STEP_TICKS = 4
STAGED = 6000  # bytes of frames that are handed over at once
ROW = 32  # pieces of an input that is made here
PACKETS: Counter[str] = Counter()  # by message; RAW are bytes that may be anything
COMMANDS = (16, 20, 21, 22, 84, 85, 92, 176, 178, 179, 185, 192, 193, 195, 241, 245, 246, 252, 300, 400, 401, 410,
            420, 511, 512, 519, 520, 2500, 3000, 34)  # fmt: skip


class Rigged:
    """A vehicle with a front end that has no partners but one."""

    def __init__(self, *, coptersim: bool = False) -> None:
        self.rig = make_rig(load_vehicle("quad_f450", control="commanded"), until_s=3600.0, log=[])
        self.front = MavlinkFront({"links": "udpin:127.0.0.1:0"})
        if coptersim:
            quiet = Ports(1, shift=0)
            self.front = CopterSimMavlink(quiet, LOOPBACK, full=True, structs=lambda data: None)
            self.front.endpoints = MavlinkFront({"links": "udpin:127.0.0.1:0"}).endpoints
        self.coptersim = coptersim
        self.system = CommandedSystem(self.front)
        self.system.start(self.rig)
        self.sent = bytearray()
        self.partner = Channel("fuzz", self.take, sysid=1)
        self.front.endpoints[0].channels.append(self.partner)
        self.known = sorted(self.front._takers)
        self.inputs = 0
        self._packer = Packer(255, 190)
        self._staged = 0  # bytes

    def take(self, data: memoryview) -> None:
        """What the front end says."""
        self.sent += data

    def piece(self, kind: int, payload: bytes) -> None:
        """Hand one piece over."""
        if kind in (FLY, RAW):
            self.hand_over()
        if kind == FLY:
            self.rig.step(STEP_TICKS)
        elif kind == RAW:
            PACKETS["RAW"] += 1
            self._feed(payload)
            self.front._work(self.system.commander)  # type: ignore[arg-type]
        else:
            number = self.known[kind % len(self.known)]
            message = _any_message(number)
            size = message.payload.size
            self._packer.add(message, (payload + bytes(size))[:size])
            PACKETS[message.name] += 1
            self._staged += size + 20
            if self._staged > STAGED:
                self.hand_over()

    def hand_over(self) -> None:
        """What was staged, as one packet of the network."""
        if self._staged:
            self._staged = 0
            self._feed(bytes(self._packer.take()))
            self.front._work(self.system.commander)  # type: ignore[arg-type]

    def _feed(self, data: bytes) -> None:
        for number, payload, sender in self.partner.read(data):
            if number in self.front._takers:
                self.front._inbox.append((self.partner, number, payload, sender))


@functools.cache
def _any_message(number: int) -> dialect.Message:
    known = dialect.MESSAGES[number]
    whole = dialect.Field("payload", f"{known.payload.size}s", "")  # as it comes
    return dialect.Message(known.name, number, known.crc_extra, (whole,))


@functools.cache
def _vehicle() -> list[Rigged]:
    return [Rigged()]


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and bytes of each piece."""
    place = 0
    while place + 2 <= len(data):
        kind, length = data[place], data[place + 1]
        yield kind, data[place + 2 : place + 2 + length]
        place += 2 + length


@functools.cache
def _turns() -> Iterator[tuple[int, dialect.Message, Payloads]]:
    """Each message of the front end in turn, with payloads that begin with those of the corpus."""
    known = _vehicle()[0].known
    kept: dict[int, list[bytes]] = {}
    for path in sorted((CORPUS / "mavlink_server").iterdir()):
        for kind, payload in _pieces(path.read_bytes()):
            if kind not in (RAW, FLY):
                kept.setdefault(known[kind % len(known)], []).append(payload)
    messages = [(place, dialect.MESSAGES[number]) for place, number in enumerate(known)]
    return itertools.cycle(
        [(place, message, Payloads(message.payload.size, kept.get(message.id, ()))) for place, message in messages]
    )


@functools.cache
def _places(message: dialect.Message) -> dict[str, int]:
    """Where fields of a payload begin that decide whether the rest is looked at."""
    wanted = {"target_system", "target_component", "target", "command"}
    found, place = {}, 0
    for field in message.fields:
        if field.name in wanted:
            found[field.name] = place
        place += struct.calcsize("<" + field.layout)
    return found


def make(draw: random.Random) -> bytes:
    """A row of messages, each the next of all that the front end takes, most of them to this vehicle."""
    row = []
    for place, message, payloads in itertools.islice(_turns(), ROW):
        payload = payloads.make(draw)[:255]
        if draw.randrange(16):
            for name, at in _places(message).items():
                if name == "command":
                    payload[at : at + 2] = struct.pack("<H", draw.choice(COMMANDS))
                else:
                    payload[at] = draw.randrange(2)
        row.append(bytes((place, len(payload))) + payload)
    row.append(bytes((FLY, 0)))
    return b"".join(row)[:MOST]


def check(data: bytes) -> None:
    """Nothing is raised, all that is said is MAVLink, and the commanded inputs are numbers."""
    held = _vehicle()
    rigged = held[0]
    if rigged.inputs >= NEW_AFTER or rigged.rig.state.stop_of() is not None:
        rigged.system.stop()
        held[0] = rigged = Rigged(coptersim=not rigged.coptersim)
    rigged.inputs += 1
    for kind, payload in _pieces(data):
        rigged.piece(kind, payload)
    rigged.hand_over()
    commander = rigged.system.commander
    assert commander is not None
    rigged.front._tell(commander)
    parser = Parser()
    said = parser.feed(bytes(rigged.sent))
    assert parser.skipped == parser.broken == 0, "what it said is no MAVLink"
    assert all(number in dialect.MESSAGES for number, *_ in said)
    rigged.sent.clear()
    assert len(rigged.front._inbox) == 0
    assert all(math.isfinite(value) for value in rigged.rig.stepper.inputs), "an input of the model is no number"
