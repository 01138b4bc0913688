"""RflySim's ports: packets to a vehicle on the bench, each with a byte for its port and one for its struct.

Nothing is raised whatever comes, and what the model is given is finite.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from fuzz.rflysim_seeds import packets
from ironbird.links.rflysim.structs import COMMAND, LAYOUTS, MODEL_IN, SETUP

PORTS = (COMMAND, MODEL_IN, SETUP)
WORDS = tuple(packets())
MOST = 1600
RAW = 200  # of 256 packets so many have the right head, so that the rest is looked at
_BY_FAMILY = {family: [layout for layout in LAYOUTS if family in layout.families] for family in PORTS}


@functools.cache
def _vehicle() -> Any:
    bench = importlib.import_module("tests.unit.rflysim_vehicle")
    return bench.standing(dyn_params="1=body.mass", init_params="2=terrain.base_z")


def check(data: bytes) -> None:
    """Feed the packets to the front end as if they had come in at its ports."""
    front, commander, faults = _vehicle()
    place = 0
    while place + 2 < len(data):
        family, kind = PORTS[data[place] % len(PORTS)], data[place + 1]
        layout = _BY_FAMILY[family][kind % len(_BY_FAMILY[family])]
        body = data[place + 2 : place + 2 + layout.length]
        place += 2 + layout.length
        if kind < RAW:
            fixed = {name: w if isinstance(w, int) else w[kind % len(w)] for name, w in layout.fixed.items()}
            head = 2 if layout.name == "SensorReqCopterSim" else 8 if "tg" in fixed else 4
            body = (layout.encode(**fixed)[:head] + body[head:]).ljust(layout.length, b"\0")
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
