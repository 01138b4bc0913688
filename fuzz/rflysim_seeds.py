"""Packets of RflySim's interface that are right, to begin with."""

from __future__ import annotations

import functools
import struct

from ironbird.rflysim.structs import BY_NAME, LAYOUTS, Layout

CHOICES = 16  # values of a fixed field that are told apart


def packets() -> list[bytes]:
    """One of each struct."""
    return [headed(layout, b"", number) for number, layout in enumerate(LAYOUTS)]


def headed(layout: Layout, body: bytes, number: int) -> bytes:
    """A body of any length as a packet of a struct: what tells the struct from others is right in it."""
    data = bytearray(body[: layout.length].ljust(layout.length, b"\0"))
    for place, right in _marks(layout.name, number % CHOICES):
        data[place : place + len(right)] = right
    return bytes(data)


@functools.cache
def _marks(name: str, number: int) -> list[tuple[int, bytes]]:
    """Place and bytes of the fixed fields."""
    found, place = [], 0
    fixed = BY_NAME[name].fixed
    for word in BY_NAME[name].text.split():
        field, _, code = word.partition(":")
        if field in fixed:
            wanted = fixed[field]
            value = wanted if isinstance(wanted, int) else wanted[number % len(wanted)]
            found.append((place, struct.pack("<" + code, value)))
        place += struct.calcsize("<" + code)
    return found
