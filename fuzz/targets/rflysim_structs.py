"""RflySim's structs: any bytes at any port; what is read comes out of the writer as it went in."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

from fuzz.payload import Payloads
from fuzz.rflysim_seeds import headed, packets
from ironbird.links.rflysim.structs import LAYOUTS, decode, encode

FAMILIES = tuple(dict.fromkeys(family for layout in LAYOUTS for family in layout.families))
WORDS = tuple(packets())
MOST = 600
PACKETS: Counter[str] = Counter()  # that were read as a struct, by its name
_TURNS = itertools.cycle([(layout, Payloads(layout.length)) for layout in LAYOUTS])


def make(draw: random.Random) -> bytes:
    """A packet of the next struct."""
    layout, payloads = next(_TURNS)
    return headed(layout, bytes(payloads.make(draw)), draw.randrange(256))


def check(data: bytes) -> None:
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
