"""MAVLink 2 in the hot path: messages packed in one call, and frames found in a byte stream [MAVLink2].

Trailing zeros of a payload are cut when packed and filled in when unpacked. Checksums and framing are native.
Not modelled: signatures are skipped, not checked.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from ironbird.compiler.native_text import load_texts
from ironbird.errors import LinkError
from ironbird.protocols.mavlink.dialect import Message, crc_extras

TEXT = Path(__file__).parent / "c" / "ib_mavlink.c"
MESSAGES = Path(__file__).parent / "c" / "ib_messages.h"  # ids, sizes and offsets of fields, from the table
LONGEST = 10 + 255 + 2 + 13  # bytes of the longest frame
NATIVE = 3 * (8 + 255)  # bytes that native code stages at once: messages of three inertial units
ROW = 5  # numbers per row of the native parser's result


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(TEXT)
    library.ib_crc.restype = ctypes.c_uint16
    library.ib_crc.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint16]
    library.ib_seal.restype = library.ib_scan.restype = ctypes.c_int64
    library.ib_seal.argtypes = [ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_int]
    library.ib_scan.argtypes = [
        ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
    ]  # fmt: skip
    return library


def checksum(data: bytes, seed: int = 0xFFFF) -> int:
    """Checksum CRC-16/MCRF4XX of MAVLink, continued from `seed`."""
    return int(_library().ib_crc(data, len(data), seed))


@functools.cache
def known_messages() -> tuple[ctypes.Array[ctypes.c_uint32], ctypes.Array[ctypes.c_uint8]]:
    """Ids of all messages in order, and their CRC_EXTRA, as arrays for native code."""
    extras = crc_extras()
    return (ctypes.c_uint32 * len(extras))(*extras), (ctypes.c_uint8 * len(extras))(*extras.values())


class Packer:
    """Messages to be sent in one write: `add` them, then `take` the frames."""

    def __init__(self, sysid: int = 1, compid: int = 1, size: int = 8192) -> None:
        self._stage, self._out = bytearray(size), bytearray(2 * size)
        self._sequence = ctypes.c_uint8(0)
        self._end = 0
        self._seal = _library().ib_seal
        self._view = memoryview(self._out)
        self._pointers = (
            ctypes.addressof(ctypes.c_char.from_buffer(self._stage)),
            ctypes.addressof(ctypes.c_char.from_buffer(self._out)),
            ctypes.addressof(self._sequence),
        )
        self._sender = (sysid, compid)

    def add(self, message: Message, *fields: float | bytes) -> None:
        """Stage a message; the values of its fields in wire order."""
        staged = message.staged
        staged.pack_into(self._stage, self._end, *message.head, *fields)
        self._end += staged.size

    @property
    def place(self) -> int:
        """Address at which native code may stage messages of up to NATIVE bytes; then call `grow` with their length."""
        if self._end + NATIVE > len(self._stage):
            raise LinkError(f"{self._end} bytes of messages wait to be sent; there is no room for more")
        return self._pointers[0] + self._end

    def grow(self, length: int) -> None:
        """Report that native code has staged this many bytes."""
        self._end += length

    def seal(self) -> tuple[int, int]:
        """Make frames of all staged messages; returns their address and length, valid until the next call."""
        stage, out, sequence = self._pointers
        length = self._seal(stage, self._end, out, sequence, *self._sender)
        self._end = 0
        return out, length

    def staged(self) -> bytes:
        """All staged messages unframed, for native code that makes the frames."""
        staged, self._end = bytes(self._stage[: self._end]), 0
        return staged

    def take(self) -> memoryview:
        """Frames of all staged messages, valid until the next call."""
        return self._view[: self.seal()[1]]


class Parser:
    """Parser of MAVLink 1 and 2 frames in a byte stream, which may be cut anywhere and contain other bytes."""

    MOST = 64  # most frames found in one native call

    def __init__(self, *, count_lost: bool = False) -> None:
        self.lost = 0  # frames missing by their sequence numbers, if these are counted
        self._last: dict[tuple[int, int], int] | None = {} if count_lost else None  # last sequence number by sender
        self.skipped = 0  # bytes outside of frames
        self.broken = 0  # frames with a wrong checksum or an unknown id
        self._rest = b""
        self.ids, self.extras = known_messages()
        self._found = (ctypes.c_int32 * (ROW * self.MOST))()
        self._tally = (ctypes.c_int64 * 2)()
        self._used = ctypes.c_int64(0)
        self._scan = _library().ib_scan
        self._pointers = tuple(
            ctypes.addressof(part) for part in (self.ids, self.extras, self._found, self._tally, self._used)
        )

    def feed(self, data: bytes) -> list[tuple[int, bytes, int, int]]:
        """Add bytes of the stream; returns id, payload, system and component of each frame that is complete now."""
        frames: list[tuple[int, bytes, int, int]] = []
        if self._rest:
            data = self._rest + data
        ids, extras, rows, tally, used = self._pointers
        place, done = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0, 0
        while True:
            left = len(data) - done
            count = self._scan(place + done, left, ids, extras, len(self.ids), rows, self.MOST, tally, used)
            for number in range(count):
                start, length, id_, sysid, compid = self._found[ROW * number : ROW * (number + 1)]
                start += done
                frames.append((id_, data[start : start + length], sysid, compid))
                if self._last is not None:
                    self._count(data, start, length, (sysid, compid))
            done += self._used.value
            if count < self.MOST:
                break
        self._rest = data[done:]
        self.skipped, self.broken = self._tally
        return frames

    def _count(self, data: bytes, start: int, length: int, sender: tuple[int, int]) -> None:
        second = start >= 10 and data[start - 10] == 0xFD and data[start - 9] == length  # otherwise MAVLink 1
        number = data[start - 6] if second else data[start - 4]
        assert self._last is not None
        if sender in self._last:
            self.lost += (number - self._last[sender] - 1) % 256
        self._last[sender] = number
