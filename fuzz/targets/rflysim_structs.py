"""RflySim's structs: any bytes at any port; what is read comes out of the writer as it went in."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

from fuzz.payload import Payloads
from fuzz.rflysim_seeds import headed, packets
from ironbird.rflysim.structs import LAYOUTS, decode, encode

FAMILIES = tuple(dict.fromkeys(family for layout in LAYOUTS for family in layout.families))
WORDS = tuple(packets())
MOST = 6000
MARK, ROW = b"ROW:", 24  # of inputs that are made here: packets of a row
PACKETS: Counter[str] = Counter()  # that were read as a struct, by its name
_TURNS = itertools.cycle([(layout, Payloads(layout.length)) for layout in LAYOUTS])


def make(draw: random.Random) -> bytes:
    """A row of packets, each of the next struct."""
    row = [
        bytes((LAYOUTS.index(layout),)) + headed(layout, bytes(payloads.make(draw)), draw.randrange(256))
        for layout, payloads in itertools.islice(_TURNS, ROW)
    ]
    return MARK + b"".join(row)


def check(data: bytes) -> None:
    """One packet, or after a mark a row of them; one of the row is looked at thoroughly, all others are read."""
    if not data.startswith(MARK):
        check_packet(data)
        return
    place, thorough = len(MARK), len(data) % ROW
    for number in itertools.count():
        if place >= len(data):
            return
        layout = LAYOUTS[data[place] % len(LAYOUTS)]
        packet = data[place + 1 : place + 1 + layout.length]
        place += 1 + layout.length
        if number == thorough:
            check_packet(packet)
            continue
        for family in layout.families:
            found = decode(family, packet)
            if found is not None:
                PACKETS[found.layout.name] += family == layout.families[0]


def check_packet(data: bytes) -> None:
    """A packet is none of ours, or its fields make the same bytes again but for gaps and numbers that are none."""
    for family in FAMILIES:
        packet = decode(family, data)
        if packet is None:
            continue
        assert len(data) == packet.layout.length and family in packet.layout.families
        PACKETS[packet.layout.name] += family == packet.layout.families[0]
        values = packet.values
        again = decode(family, encode(packet.layout.name, **values))
        assert again is not None and again.layout is packet.layout
        for name, value in values.items():
            row, back = (value, again[name]) if isinstance(value, tuple) else ((value,), (again[name],))
            for one, other in zip(row, back, strict=True):
                same = one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))
                assert same, f"{packet.layout.name}.{name}"
