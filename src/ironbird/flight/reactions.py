"""Events of an external control system that may answer a fault: failsafes, modes, estimators, messages.

The progress of the mission, a landing, what happens on the ground after it, and texts about log files come in every
flight: they are no reactions. A disarming in the air is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ironbird.faults.spec import Injection
from ironbird.flight.reached import AIRBORNE_M
from ironbird.flight.witness import Witness
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at

if TYPE_CHECKING:
    from ironbird.rig.system import AutopilotEvent

# Kinds of autopilot_events that answer a fault; the last ones are in the control system's own log
REACTIONS = ("failsafe", "mode", "estimator", "text", "armed", "fusion", "rejection", "sensor", "saturation")
SATURATION = "saturation"
TOUCH_DOWN_M = 2.0  # above its start: below this height of a landing outputs reach their limits at every gust
WITHIN_S = 30.0  # s after a fault has risen to its full size: later events are not taken for its reactions
ROUTINE = (  # beginnings of texts of PX4 and ArduPilot that every mission has
    "[logger]", "Reached command", "Mission: ", "Mission finished", "Mission Complete", "Takeoff detected",
    "Landing detected", "Disarmed by landing", "Arming motors", "Disarming motors", "Armed by", "Disarmed by auto",
)  # fmt: skip


@dataclass(frozen=True)
class Reaction:
    """First event of a kind of the control system after a fault began."""

    injection: Injection
    begin_s: float
    event: AutopilotEvent

    @property
    def after_s(self) -> float:
        """Time from the fault to the event, s of simulation time."""
        return self.event.time_s - self.begin_s

    def sentence(self) -> str:
        """The event, and its delay after the fault, as text."""
        event = self.event
        return f"{event.kind}: {event.text}, {self.after_s:.2f} s after {self.injection.fault.id}"


def possible_reactions(events: Sequence[AutopilotEvent], log: Log, lane: int = 0) -> list[AutopilotEvent]:
    """The events that may answer a fault, until the last landing; of arming and disarming only what is in the air.

    Outputs at their limits count until the last metres of that landing.
    """
    found = [event for event in events if event.kind in REACTIONS and not event.text.startswith(ROUTINE)]
    if not found or at.BODY.position not in log or not log.rows(lane):
        return found
    down = log.lane(at.BODY.position, lane)[:, 2]
    airborne = down[0] - down > AIRBORNE_M

    def last_s(above_m: float) -> float:
        """Time at which it was that high for the last time, if it has landed."""
        high = np.flatnonzero(down[0] - down > above_m)
        return float(log.time_s[high[-1]]) if high.size and not airborne[-1] else math.inf

    def in_the_air(time_s: float) -> bool:
        return bool(airborne[min(int(np.searchsorted(log.time_s, time_s)), len(airborne) - 1)])

    landed_s, descended_s = last_s(AIRBORNE_M), last_s(TOUCH_DOWN_M)
    return [
        event
        for event in found
        if event.time_s <= (descended_s if event.kind == SATURATION else landed_s)
        and (event.kind != "armed" or in_the_air(event.time_s))
    ]


def reactions_of(
    faults: Sequence[Injection],
    witnesses: Sequence[Witness],
    possible: Sequence[AutopilotEvent],
) -> list[Reaction]:
    """The first of the possible reactions of each kind after each fault began to act, within `WITHIN_S`.

    A fault that never acted has no reaction. The event came after the fault; whether the fault caused it is decided by
    flights without the fault (`flight/cause.py`).
    """
    reactions = []
    for injection, witness in zip(faults, witnesses, strict=True):
        if not witness.effective:
            continue
        begin = witness.first_s
        end = begin + injection.rise_s + WITHIN_S
        kinds: set[str] = set()
        for event in possible:
            if event.kind not in kinds and begin <= event.time_s <= end:
                kinds.add(event.kind)
                reactions.append(Reaction(injection, begin, event))
    return reactions
