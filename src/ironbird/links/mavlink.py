"""MAVLink 2 in the hot path: messages of the simulator link packed in one call, and frames found in a byte stream.

Layouts, checksum seeds and framing are those of [MAVLink2]; fields stand in the order of the wire (by size, extensions
last). Trailing zeros of a payload are cut when packed and filled in when unpacked. Checksums and framing are native.
Not modelled: signatures are skipped, not checked.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ironbird.compiler import native

SOURCE = Path(__file__).parent / "c" / "ib_mavlink.c"
STAGE = "IBBH"  # before a staged payload: id, length, CRC_EXTRA, spare
LONGEST = 10 + 255 + 2 + 13  # bytes of a frame
ROW = 5  # numbers that describe a frame that was found
# CRC_EXTRA of the messages of the dialect `common` by their id
CRC_EXTRA = {
    0: 50, 1: 124, 2: 137, 4: 237, 5: 217, 6: 104, 7: 119, 11: 89, 20: 214, 21: 159, 22: 220, 23: 168, 24: 24,
    25: 23, 26: 170, 27: 144, 28: 67, 29: 115, 30: 39, 31: 246, 32: 185, 33: 104, 34: 237, 35: 244, 36: 222, 37: 212,
    38: 9, 39: 254, 40: 230, 41: 28, 42: 28, 43: 132, 44: 221, 45: 232, 46: 11, 47: 153, 48: 41, 49: 39, 50: 78,
    51: 196, 54: 15, 55: 3, 61: 167, 62: 183, 63: 119, 64: 191, 65: 118, 66: 148, 67: 21, 69: 243, 70: 124, 73: 38,
    74: 20, 75: 158, 76: 152, 77: 143, 81: 106, 82: 49, 83: 22, 84: 143, 85: 140, 86: 5, 87: 150, 89: 231, 90: 183,
    91: 63, 92: 54, 93: 47, 100: 175, 101: 102, 102: 158, 103: 208, 104: 56, 105: 93, 106: 138, 107: 108, 108: 32,
    109: 185, 110: 84, 111: 34, 112: 174, 113: 124, 114: 237, 115: 4, 116: 76, 117: 128, 118: 56, 119: 116, 120: 134,
    121: 237, 122: 203, 123: 250, 124: 87, 125: 203, 126: 220, 127: 25, 128: 226, 129: 46, 130: 29, 131: 223,
    132: 85, 133: 6, 134: 229, 135: 203, 136: 1, 137: 195, 138: 109, 139: 168, 140: 181, 141: 47, 142: 72, 143: 131,
    144: 127, 146: 103, 147: 154, 148: 178, 149: 200, 162: 189, 192: 36, 225: 208, 230: 163, 231: 105, 232: 151,
    233: 35, 234: 150, 235: 179, 241: 90, 242: 104, 243: 85, 244: 95, 245: 130, 246: 184, 247: 81, 248: 8, 249: 204,
    250: 49, 251: 170, 252: 44, 253: 83, 254: 46, 256: 71, 257: 131, 258: 187, 259: 92, 260: 146, 261: 179, 262: 12,
    263: 133, 264: 49, 265: 26, 266: 193, 267: 35, 268: 14, 269: 109, 270: 59, 271: 22, 275: 126, 276: 18, 277: 62,
    280: 70, 281: 48, 282: 123, 283: 74, 284: 99, 285: 137, 286: 210, 287: 1, 288: 20, 295: 234, 296: 158, 299: 19,
    301: 243, 310: 28, 311: 95, 320: 243, 321: 88, 322: 243, 323: 78, 324: 132, 330: 23, 331: 91, 332: 236, 333: 231,
    335: 225, 339: 199, 340: 99, 345: 209, 350: 232, 360: 11, 370: 75, 373: 117, 375: 251, 376: 199, 385: 147,
    386: 132, 387: 4, 388: 8, 390: 156, 9000: 113, 9005: 117, 12900: 114, 12901: 254, 12902: 140, 12903: 249,
    12904: 77, 12905: 49, 12915: 94, 12918: 139, 12919: 7, 12920: 20,
}  # fmt: skip


@dataclass(frozen=True)
class Message:
    """A message's place in the dialect and the layout of its payload."""

    name: str
    id: int
    layout: str
    payload: struct.Struct = field(init=False)
    staged: struct.Struct = field(init=False)
    head: tuple[int, int, int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "payload", struct.Struct("<" + self.layout))
        object.__setattr__(self, "staged", struct.Struct("<" + STAGE + self.layout))
        object.__setattr__(self, "head", (self.id, self.payload.size, CRC_EXTRA[self.id], 0))

    def unpack(self, payload: bytes) -> tuple[Any, ...]:
        """Fields in the order of the wire; what was cut is zero, what a newer dialect adds is left out."""
        size = self.payload.size
        if len(payload) < size:
            payload = payload + bytes(size - len(payload))
        return self.payload.unpack_from(payload)


HEARTBEAT = Message("HEARTBEAT", 0, "I5B")
RC_CHANNELS = Message("RC_CHANNELS", 65, "I18H2B")
COMMAND_LONG = Message("COMMAND_LONG", 76, "7fH3B")
HIL_ACTUATOR_CONTROLS = Message("HIL_ACTUATOR_CONTROLS", 93, "2Q16fB")
HIL_SENSOR = Message("HIL_SENSOR", 107, "Q13fIB")
HIL_GPS = Message("HIL_GPS", 113, "Q3i3H3hH3BH")
HIL_OPTICAL_FLOW = Message("HIL_OPTICAL_FLOW", 114, "QI5fIfh2B")
HIL_STATE_QUATERNION = Message("HIL_STATE_QUATERNION", 115, "Q7f3i3h2H3h")
BATTERY_STATUS = Message("BATTERY_STATUS", 147, "2ih10Hh3BbiB4HBI")
DISTANCE_SENSOR = Message("DISTANCE_SENSOR", 132, "I3H4B6fB")
ODOMETRY = Message("ODOMETRY", 331, "Q55f4Bb")
MESSAGES = {
    message.id: message
    for message in (
        HEARTBEAT, RC_CHANNELS, COMMAND_LONG, HIL_ACTUATOR_CONTROLS, HIL_SENSOR, HIL_GPS, HIL_OPTICAL_FLOW,
        HIL_STATE_QUATERNION, DISTANCE_SENSOR, BATTERY_STATUS, ODOMETRY,
    )
}  # fmt: skip


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.build(SOURCE.read_text(), 1)))
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
    """CRC-16/MCRF4XX."""
    return int(_library().ib_crc(data, len(data), seed))


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

    def add(self, message: Message, *fields: float) -> None:
        """Stage a message; fields in the order of the wire."""
        staged = message.staged
        staged.pack_into(self._stage, self._end, *message.head, *fields)
        self._end += staged.size

    @property
    def place(self) -> int:
        """Address at which native code may stage a message; `grow` by its length then."""
        return self._pointers[0] + self._end

    def grow(self, length: int) -> None:
        """Native code has staged this many bytes."""
        self._end += length

    def seal(self) -> tuple[int, int]:
        """Make frames of all staged messages; returns their address and length, valid until the next call."""
        stage, out, sequence = self._pointers
        length = self._seal(stage, self._end, out, sequence, *self._sender)
        self._end = 0
        return out, length

    def take(self) -> memoryview:
        """The frames of all staged messages: valid until the next call."""
        return self._view[: self.seal()[1]]


class Parser:
    """Frames of MAVLink 1 and 2 in a stream of bytes that may be cut anywhere and hold anything in between."""

    MOST = 64  # frames found in one go

    def __init__(self, *, count_lost: bool = False, extras: Mapping[int, int] = MappingProxyType({})) -> None:
        known = CRC_EXTRA | dict(extras)  # `extras`: CRC_EXTRA of messages beyond the dialect
        self.lost = 0  # frames that are missing by their numbers, if they are counted
        self._last: dict[tuple[int, int], int] | None = {} if count_lost else None  # number by sender
        self.skipped = 0  # bytes that belong to no frame
        self.broken = 0  # what began like a frame, with a wrong checksum or an unknown id
        self._rest = b""
        ids = sorted(known)
        self._ids = (ctypes.c_uint32 * len(ids))(*ids)
        self._extras = (ctypes.c_uint8 * len(ids))(*(known[i] for i in ids))
        self._found = (ctypes.c_int32 * (ROW * self.MOST))()
        self._tally = (ctypes.c_int64 * 2)()
        self._used = ctypes.c_int64(0)
        self._scan = _library().ib_scan
        self._pointers = tuple(
            ctypes.addressof(part) for part in (self._ids, self._extras, self._found, self._tally, self._used)
        )

    def feed(self, data: bytes) -> list[tuple[int, bytes, int, int]]:
        """Add bytes of the stream; returns id, payload, system and component of each frame that is complete now."""
        frames: list[tuple[int, bytes, int, int]] = []
        if self._rest:
            data = self._rest + data
        ids, extras, found, tally, used = self._pointers
        while True:
            count = self._scan(data, len(data), ids, extras, len(self._ids), found, self.MOST, tally, used)
            for number in range(count):
                start, length, id_, sysid, compid = self._found[ROW * number : ROW * (number + 1)]
                frames.append((id_, data[start : start + length], sysid, compid))
                if self._last is not None:
                    self._count(data, start, length, (sysid, compid))
            data = data[self._used.value :]
            if count < self.MOST:
                break
        self._rest = data
        self.skipped, self.broken = self._tally
        return frames

    def _count(self, data: bytes, start: int, length: int, sender: tuple[int, int]) -> None:
        second = start >= 10 and data[start - 10] == 0xFD and data[start - 9] == length  # else MAVLink 1
        number = data[start - 6] if second else data[start - 4]
        assert self._last is not None
        if sender in self._last:
            self.lost += (number - self._last[sender] - 1) % 256
        self._last[sender] = number
