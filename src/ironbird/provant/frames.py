"""Frames and services of the bench's serial links, [ProVANT] Sec. 2.1.

A frame is 0x7E, payload, checksum (Fletcher-16 modulo 255, low byte first), 0x7E; 0x7E and 0x7D inside become 0x7D and
the byte XOR 0x20. Payloads are little-endian float32. The checksum is equal for 0x00 and 0xFF: a byte that changes from
one to the other goes unnoticed, which is in the nature of the published protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
MOST_PAYLOAD = 132  # bytes, [ProVANT] Sec. 2.1
BAUD = 921_600
SENSOR_PORT, REFERENCE_PORT = 2, 3  # of the board: USART2 and USART3
SENSORS, ACTUATORS, REFERENCES = 16, 4, 9  # floats


@dataclass(frozen=True)
class Services:
    """Numbers of the services; each is sent as the first float of a payload."""

    start: int
    sensors: int
    actuators: int


SERVICES = {
    "paper": Services(1, 2, 3),  # [ProVANT] Sec. 2.1
    "code": Services(3, 1, 0),  # [ProVANTSim] HIL_server
}


def fletcher16(data: bytes) -> int:
    """Fletcher-16 checksum modulo 255: second sum in the high byte, first sum in the low byte [Fletcher]."""
    return sum(accumulate(data)) % 255 << 8 | sum(data) % 255


def encode(payload: bytes) -> bytes:
    """The frame that carries a payload: checksum, escapes and flags added."""
    content = payload + struct.pack("<H", fletcher16(payload))
    for value in (ESCAPE, FLAG):  # in this order: escaping 0x7D first never creates a flag
        content = content.replace(bytes([value]), bytes([ESCAPE, value ^ FLIP]))
    return bytes([FLAG]) + content + bytes([FLAG])


def pack(values: Sequence[float]) -> bytes:
    """The frame that carries floats as little-endian float32."""
    return encode(struct.pack(f"<{len(values)}f", *values))


@dataclass
class FrameReader:
    """Decoder of a stream of bytes; a flag ends one frame and begins the next, so it resynchronises after any loss."""

    good: int = 0
    bad: int = 0

    def __post_init__(self) -> None:
        self._bytes = bytearray()
        self._escaped = self._broken = False

    def feed(self, data: bytes) -> list[bytes]:
        """Payloads of the frames that are completed by these bytes."""
        *ended, rest = data.split(bytes([FLAG]))
        payloads = []
        for part in ended:
            self._keep(part)
            payload = self._end()
            if payload is not None:
                payloads.append(payload)
        self._keep(rest)
        return payloads

    def _keep(self, part: bytes) -> None:
        if ESCAPE in part or self._escaped:
            for value in part:
                if value == ESCAPE:
                    self._broken |= self._escaped
                    self._escaped = True
                else:
                    self._bytes.append(value ^ FLIP if self._escaped else value)
                    self._escaped = False
        else:
            self._bytes += part
        if len(self._bytes) > MOST_PAYLOAD + 2:
            self._broken = True
            del self._bytes[1:]

    def _end(self) -> bytes | None:
        content, escaped, broken = bytes(self._bytes), self._escaped, self._broken
        self._bytes.clear()
        self._escaped = self._broken = False
        if not content and not escaped and not broken:
            return None
        whole = not escaped and not broken and len(content) > 2
        if whole and fletcher16(content[:-2]) == content[-2] | content[-1] << 8:
            self.good += 1
            return content[:-2]
        self.bad += 1
        return None
