"""Frames of MAVLink 1 and 2 in a byte stream, unchanged, so that a router also forwards unknown messages.

A frame of a known message must have the right checksum. The checksum of an unknown message cannot be checked: it counts
as a frame if another frame, or the end of the received bytes, follows. Signatures are passed on, not checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ironbird.protocols.mavlink.codec import LONGEST, checksum
from ironbird.protocols.mavlink.dialect import MESSAGES, Field, crc_extras, is_message, message_of

FIRST, SECOND = 0xFE, 0xFD  # first byte of frames of MAVLink 1 and 2
SIGNED = 0x01
MOST_SHOWN = 64  # most bytes shown of data that is no frame


class Frame(NamedTuple):
    """One packet of a connection; `id` is negative if it is not MAVLink."""

    id: int
    sysid: int
    compid: int
    sequence: int
    data: bytes  # whole frame with header and checksum

    @property
    def payload(self) -> bytes:
        """Bytes of the payload, without header and checksum."""
        begin = 10 if self.data[0] == SECOND else 6
        return self.data[begin : begin + self.data[1]]


def name_of(number: int) -> str:
    """Name of a message; its number as text if it is unknown."""
    return MESSAGES[number].name if number in MESSAGES else "raw" if number < 0 else str(number)


def values_of(data: bytes) -> dict[str, float | str]:
    """Fields of a packet by name; for an unknown message the payload in hexadecimal."""
    frames = FrameReader().feed(data)
    if not frames:
        return {"bytes": data[:MOST_SHOWN].hex()}
    if frames[0].id not in MESSAGES:
        return {"payload": frames[0].payload.hex()}
    message = MESSAGES[frames[0].id]
    values = iter(message.unpack(frames[0].payload))
    return {field.name: _shown(field, list(itertools.islice(values, len(field.names)))) for field in message.fields}


def _shown(field: Field, values: list[Any]) -> float | str:
    """A field's value for display: text as such, an array of bytes in hexadecimal, another array as its values."""
    if isinstance(values[0], bytes):
        return values[0].rstrip(b"\0").decode("utf-8", "replace")
    if len(values) == 1:
        return float(values[0]) if isinstance(values[0], float) else int(values[0])
    return bytes(values).rstrip(b"\0").hex() if field.layout[-1] == "B" else " ".join(f"{value:g}" for value in values)


def with_units(message: str, values: Mapping[str, float | str]) -> dict[str, float | str]:
    """Fields of a message for display, each with its unit if it has one."""
    units = message_of(message).units if is_message(message) else {}
    return {**values, **{name: f"{values[name]} {unit}" for name, unit in units.items() if name in values}}


class FrameReader:
    """Splits a byte stream into frames; bytes outside of frames are counted."""

    def __init__(self) -> None:
        self.skipped = 0  # bytes outside of frames
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes of the stream; returns the frames that are now complete."""
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
                break  # the rest of the frame is not there yet
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
    """Length of the frame that may begin here; 0 if none does, negative if more bytes are needed to decide."""
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
    extra = crc_extras().get(number)
    if extra is not None:
        crc = checksum(data[place + 1 : end] + bytes([extra]))
        if data[end : end + 2] != crc.to_bytes(2, "little"):
            return None
    elif place + length < len(data) and data[place + length] not in (FIRST, SECOND):
        return None
    return Frame(number, sysid, compid, sequence, data[place : place + length])
