"""What a control system outside did after each fault: failsafes, modes, messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ironbird.faults.spec import Injection
from ironbird.flight.witness import Witness

if TYPE_CHECKING:
    from ironbird.rig.system import AutopilotEvent

# Kinds of autopilot_events that answer a fault; the last ones are in the control system's own log
REACTIONS = ("failsafe", "mode", "estimator", "text", "armed", "fusion", "rejection", "sensor", "saturation")


@dataclass(frozen=True)
class Reaction:
    """What the control system did first after a fault began."""

    injection: Injection
    begin_s: float
    event: AutopilotEvent

    @property
    def after_s(self) -> float:
        """Reaction time in simulation time."""
        return self.event.time_s - self.begin_s

    def sentence(self) -> str:
        """What it did, and how long after which fault."""
        said = self.event
        return f"{said.kind}: {said.text}, {self.after_s:.2f} s after {self.injection.fault.id}"


def reactions_of(
    faults: Sequence[Injection],
    witnesses: Sequence[Witness],
    autopilot_events: Sequence[AutopilotEvent],
) -> list[Reaction]:
    """The first thing of each kind of `REACTIONS` that the control system did after each fault began to act.

    Nothing answers a fault that never acted. It came after the fault; that it came because of the fault is for a
    flight without the fault to decide (`flight/cause.py`).
    """
    found = []
    for injection, witness in zip(faults, witnesses, strict=True):
        if not witness.effective:
            continue
        begin = witness.first_s
        seen: set[str] = set()
        for event in autopilot_events:
            if event.time_s >= begin and event.kind in REACTIONS and event.kind not in seen:
                seen.add(event.kind)
                found.append(Reaction(injection, begin, event))
    return found
