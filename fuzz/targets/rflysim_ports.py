"""RflySim's ports: a stream of packets to a vehicle that flies; each has a byte for its port and one for its length.

The flight goes on whatever comes: nothing is raised, and what the commander and the kernel are given is finite.
"""

from __future__ import annotations

import functools

from fuzz.rflysim_seeds import packets
from ironbird.links.rflysim.front import RflySimFront
from ironbird.links.rflysim.structs import COMMAND, LAYOUTS, MODEL_IN, SETUP

PORTS = (COMMAND, MODEL_IN, SETUP)
WORDS = tuple(packets())
MOST = 2048
_BY_FAMILY = {family: [layout for layout in LAYOUTS if family in layout.families] for family in PORTS}


@functools.cache
def _vehicle() -> tuple[RflySimFront, object]:
    from tests.unit.links.rflysim.vehicle import standing

    return standing()


def check(data: bytes) -> None:
    """Feed the packets to the front end as if they had come in at its ports."""
    front, commander = _vehicle()
    place = 0
    while place + 2 < len(data):
        port, layouts = PORTS[data[place] % 3], _BY_FAMILY[PORTS[data[place] % 3]]
        layout = layouts[data[place + 1] % len(layouts)]
        body = data[place + 2 : place + 2 + layout.length]
        place += 2 + layout.length
        if data[place - 1 - layout.length] < 200:  # mostly with the right head, so that the rest is looked at
            good = layout.encode(
                **{name: w if isinstance(w, int) else w[len(body) % len(w)] for name, w in layout.fixed.items()}
            )
            head = 2 if layout.name == "SensorReqCopterSim" else 8 if "tg" in layout.fixed else 4
            body = (good[:head] + body[head:]).ljust(layout.length, b"\0")
        if port == COMMAND:
            front.command(commander, body)  # type: ignore[arg-type]
        elif port == MODEL_IN:
            front.model_input(commander, body)  # type: ignore[arg-type]
        else:
            front.setup(commander, body, True)  # type: ignore[arg-type]
    front.poll(commander)  # type: ignore[arg-type]
    front.forget()
