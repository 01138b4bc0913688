"""Whole frames of MAVLink 1 and 2 in a stream, as they are: a router passes on what it does not know, too.

A frame of a known message must have the right checksum. Of an unknown one it cannot be checked: it counts as a frame if
another one, or the end of what came, follows. Signatures are passed on, not checked.
"""

from __future__ import annotations

from typing import NamedTuple

from ironbird.protocols.mavlink.codec import LONGEST, checksum
from ironbird.protocols.mavlink.dialect import ARDUPILOT_EXTRAS, BOARD_EXTRAS, CRC_EXTRA, MESSAGES

FIRST, SECOND = 0xFE, 0xFD  # what frames of MAVLink 1 and 2 begin with
SIGNED = 0x01
MOST_SHOWN = 64  # bytes of what is no frame
EXTRAS = {**CRC_EXTRA, **BOARD_EXTRAS, **ARDUPILOT_EXTRAS}


class Frame(NamedTuple):
    """A packet of a connection; `id` is negative where it is not MAVLink."""

    id: int
    sysid: int
    compid: int
    sequence: int
    data: bytes  # with header and checksum

    @property
    def payload(self) -> bytes:
        """Without header and checksum."""
        begin = 10 if self.data[0] == SECOND else 6
        return self.data[begin : begin + self.data[1]]


def name_of(number: int) -> str:
    """A message's name, or its number."""
    return MESSAGES[number].name if number in MESSAGES else "raw" if number < 0 else str(number)


def values_of(data: bytes) -> dict[str, float | str]:
    """Fields of a packet by name; of messages whose fields have no names here, the payload in hexadecimal digits."""
    found = FrameReader().feed(data)
    if not found:
        return {"bytes": data[:MOST_SHOWN].hex()}
    message = MESSAGES.get(found[0].id)
    if message is None or message.record is None:
        return {"payload": found[0].payload.hex()}
    values = message.read(found[0].payload)._asdict()
    return {
        name: value.rstrip(b"\0").decode("utf-8", "replace") if isinstance(value, bytes) else value
        for name, value in values.items()
    }


class FrameReader:
    """Finds frames; what belongs to none is counted."""

    def __init__(self) -> None:
        self.skipped = 0  # bytes
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Frames that are complete now."""
        data = self._rest + data
        frames: list[Frame] = []
        place = 0
        while place < len(data):
            length = _length(data, place)
            if length == 0:
                place += 1
                self.skipped += 1
                continue
            if length < 0 or place + length > len(data):
                break  # the rest has not come yet
            frame = _frame(data, place, length)
            if frame is None:
                place += 1
                self.skipped += 1
                continue
            frames.append(frame)
            place += length
        self._rest = data[place:][-LONGEST:]
        return frames


def _length(data: bytes, place: int) -> int:
    """Of the frame that may begin here; 0 if none does, negative if that is not known yet."""
    if data[place] not in (FIRST, SECOND):
        return 0
    if place + 3 > len(data):
        return -1
    if data[place] == FIRST:
        return 8 + data[place + 1]
    return 12 + data[place + 1] + (13 if data[place + 2] & SIGNED else 0)


def _frame(data: bytes, place: int, length: int) -> Frame | None:
    second = data[place] == SECOND
    if second:
        number = int.from_bytes(data[place + 7 : place + 10], "little")
        sequence, sysid, compid = data[place + 4 : place + 7]
        begin, size = 10, data[place + 1]
    else:
        sequence, sysid, compid, number = data[place + 2 : place + 6]
        begin, size = 6, data[place + 1]
    end = place + begin + size
    if number in EXTRAS:
        found = checksum(data[place + 1 : end] + bytes([EXTRAS[number]]))
        if data[end : end + 2] != found.to_bytes(2, "little"):
            return None
    elif place + length < len(data) and data[place + length] not in (FIRST, SECOND):
        return None
    return Frame(number, sysid, compid, sequence, data[place : place + length])
