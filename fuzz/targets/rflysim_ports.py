"""RflySim's ports: packets to a vehicle on the bench, each with a byte for its port and one for its struct.

Nothing is raised whatever comes, and what the model is given is finite.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import random
from collections import Counter
from typing import Any

import numpy as np

from fuzz.payload import Payloads
from fuzz.rflysim_seeds import headed, packets
from ironbird.rflysim.structs import COMMAND, LAYOUTS, MODEL_IN, SETUP

PORTS = (COMMAND, MODEL_IN, SETUP)
WORDS = tuple(packets())
MOST = 8000
RAW = 200  # of 256 packets so many have the right head, so that the rest is looked at
ROW = 24  # packets of an input that is made here
PACKETS: Counter[str] = Counter()  # by port, and by port and struct if its head was made right
_BY_FAMILY = {family: [layout for layout in LAYOUTS if family in layout.families] for family in PORTS}
_KINDS = [  # of each port, its structs in turn
    itertools.cycle([(port, kind, Payloads(layout.length)) for kind, layout in enumerate(_BY_FAMILY[family])])
    for port, family in enumerate(PORTS)
]
_TURNS = (next(kinds) for kinds in itertools.cycle(_KINDS))


@functools.cache
def _vehicle() -> Any:
    bench = importlib.import_module("tests.unit.rflysim_vehicle")
    return bench.standing(dyn_params="1=body.mass", init_params="2=terrain.base_z")


def make(draw: random.Random) -> bytes:
    """A row of packets, the ports and their structs in turn; some with a head of any bytes."""
    row = []
    for port, kind, payloads in itertools.islice(_TURNS, ROW):
        count = len(_BY_FAMILY[PORTS[port]])
        turns = (255 - kind) // count if draw.randrange(16) == 0 else (RAW - 1 - kind) // count
        row.append(bytes((port, kind + count * draw.randint(0, turns))) + payloads.make(draw))
    return b"".join(row)


def check(data: bytes) -> None:
    """Feed the packets to the front end as if they had come in at its ports."""
    front, commander, faults = _vehicle()
    place = 0
    while place + 2 < len(data):
        family, kind = PORTS[data[place] % len(PORTS)], data[place + 1]
        layout = _BY_FAMILY[family][kind % len(_BY_FAMILY[family])]
        body = data[place + 2 : place + 2 + layout.length]
        place += 2 + layout.length
        PACKETS[f"port {family}"] += 1
        if kind < RAW:
            body = headed(layout, body, kind)
            PACKETS[f"{family} {layout.name}"] += 1
        if family == COMMAND:
            front.command(commander, body)
        elif family == MODEL_IN:
            front.model_input(commander, body)
        else:
            front.setup(commander, body, True)
        front.settle(commander)
    assert np.isfinite(commander.rig.stepper.inputs).all(), "the model was given something that is no number"
    assert np.isfinite(commander.rig.state.params).all()
    front.forget()
    faults.clear()
    commander.rig.tunings.clear()
