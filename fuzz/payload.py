"""Payloads of packets: random bytes, numbers that readers stumble over, and earlier payloads that were changed."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

NUMBERS = tuple(
    struct.pack("<f", value)
    for value in (0.0, -0.0, 1.0, -1.0, 0.5, 3.14, -10.0, 40.0, 1e6, 3.4e38, -3.4e38, 1e-40)
) + tuple(struct.pack("<i", value) for value in (1, 2, 12, 1000, 2**31 - 1, -(2**31), -1)) + (
    b"\x00\x00\x80\x7f", b"\x00\x00\x80\xff", b"\x00\x00\xc0\x7f",  # infinities, not a number
    struct.pack("<d", 1e300)[4:], struct.pack("<d", -47.0)[4:], b"\x00\x00\xf0\x7f", b"\x00\x00\xf8\x7f",
)  # fmt: skip
KEPT = 200  # payloads of a kind that are changed on


class Payloads:
    """Endless payloads of one kind of packet."""

    def __init__(self, size: int, seeds: Sequence[bytes] = ()) -> None:
        self.size = size
        self._kept = [bytes(seed[:size]).ljust(size, b"\0") for seed in seeds] or [bytes(size)]

    def make(self, draw: random.Random) -> bytearray:
        """The next one."""
        way = draw.randrange(4)
        if way == 0:
            return bytearray(draw.randbytes(self.size))
        if way == 1:
            count = self.size // 4 + 1
            return bytearray(b"".join(draw.choices(NUMBERS, k=count))[: self.size])
        data = bytearray(draw.choice(self._kept))
        for _ in range(draw.choice((1, 1, 2, 4))):
            if not data:
                break
            place = draw.randrange(len(data))
            if draw.randrange(2):
                data[place] = draw.randrange(256)
            else:
                place -= place % 4
                data[place : place + 4] = draw.choice(NUMBERS)
        data = data[: self.size].ljust(self.size, b"\0")
        if len(self._kept) < KEPT:
            self._kept.append(bytes(data))
        elif draw.randrange(64) == 0:
            self._kept[draw.randrange(KEPT)] = bytes(data)
        return data
