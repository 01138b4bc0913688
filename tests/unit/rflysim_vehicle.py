"""A quadcopter on the bench with its commander and RflySim's front end, without ports: for tests and fuzzers."""

from __future__ import annotations

from typing import Any

from ironbird.faults.spec import Injection
from ironbird.rflysim.front import RflySimFront
from ironbird.rig.commander.commander import Commander
from ironbird.rig.rig import make_rig
from ironbird.vehicles.load import load_vehicle

NO_COMMANDS = 250  # ticks before anything is asked


def standing(**options: Any) -> tuple[RflySimFront, Commander, list[Injection]]:
    """The front end, the commander, and the faults that are in force as they are injected and ended."""
    rig = make_rig(load_vehicle("quad_f450", control="commanded"), until_s=1e4, log=[])
    faults: list[Injection] = []
    rig.injector, rig.ender = faults.append, faults.remove
    commander = Commander(rig.vehicle, rig)
    rig.step(NO_COMMANDS)
    front = RflySimFront(options)
    front.attend(commander)
    return front, commander, faults
