"""Reactions of an external control system to faults: failsafes, modes, messages."""

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
WITHIN_S = 30.0  # s after a fault has risen to its full size: later events are not taken for its reactions
ROUTINE = (  # beginnings of texts of PX4 and ArduPilot that every mission has
    "[logger]", "Reached command", "Mission: ", "Mission finished", "Takeoff detected", "Landing detected",
    "Disarmed by landing",
)  # fmt: skip


@dataclass(frozen=True)
class Reaction:
    """First reaction of a kind of the control system after a fault began."""

    injection: Injection
    begin_s: float
    event: AutopilotEvent

    @property
    def after_s(self) -> float:
        """Time from the fault to the reaction, s of simulation time."""
        return self.event.time_s - self.begin_s

    def sentence(self) -> str:
        """The reaction, and its delay after the fault, as text."""
        event = self.event
        return f"{event.kind}: {event.text}, {self.after_s:.2f} s after {self.injection.fault.id}"


def reactions_of(
    faults: Sequence[Injection],
    witnesses: Sequence[Witness],
    autopilot_events: Sequence[AutopilotEvent],
) -> list[Reaction]:
    """The first event of each kind of `REACTIONS` after each fault began to act, within `WITHIN_S`.

    A fault that never acted has no reaction, and texts of `ROUTINE` are none. The event came after the fault; whether
    the fault caused it is decided by a flight without the fault (`flight/cause.py`).
    """
    reactions = []
    for injection, witness in zip(faults, witnesses, strict=True):
        if not witness.effective:
            continue
        begin = witness.first_s
        end = begin + injection.rise_s + WITHIN_S
        kinds: set[str] = set()
        for event in autopilot_events:
            if event.kind not in REACTIONS or event.kind in kinds or event.text.startswith(ROUTINE):
                continue
            if begin <= event.time_s <= end:
                kinds.add(event.kind)
                reactions.append(Reaction(injection, begin, event))
    return reactions
