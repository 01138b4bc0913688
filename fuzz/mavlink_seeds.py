"""Frames that a MAVLink stream may hold, made by our own packer."""

from __future__ import annotations

import functools

from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer


@functools.cache
def frames() -> tuple[bytes, ...]:
    """One frame of each message that the links know."""
    found = []
    for message in dialect.MESSAGES.values():
        packer = Packer()
        fields = message.payload.unpack(bytes(i % 127 + 1 for i in range(message.payload.size)))
        packer.add(message, *fields)
        found.append(bytes(packer.take()))
    return tuple(found)


def answer(time_us: int, *controls: float, flags: int = 1, mode: int = 0x80) -> bytes:
    """An answer of PX4: HIL_ACTUATOR_CONTROLS."""
    packer = Packer()
    packer.add(dialect.MESSAGES[93], time_us, flags, *[*controls, *[0.0] * 16][:16], mode)
    return bytes(packer.take())
