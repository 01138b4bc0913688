"""Result of either executor of flights, for one flight; the input of the judge and of `fly`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironbird.flight.order import Order
from ironbird.flight.witness import Witness
from ironbird.runtime.log import Log
from ironbird.runtime.state import Stop

if TYPE_CHECKING:
    from ironbird.rig.system import AutopilotEvent
    from ironbird.world.runner import Sample


@dataclass(kw_only=True)
class Flown:
    """One flight as it was flown, not judged yet: its lane of a log, and data that the log does not hold."""

    order: Order  # with everything that was added in flight: parameters, faults, recorded commands
    log: Log  # of all flights that were flown side by side
    lane: int = 0
    run_ended_s: float = 0.0  # when the run ended; the vehicle may have stopped before
    witnesses: list[Witness] = field(default_factory=list)
    triggered_s: list[float] = field(default_factory=list)  # when each trigger fired: 0 without one, infinite if never
    twin: Log | None = None  # the same flight without any fault, if one was flown
    kernel_s: float = 0.0  # its share of processor time in native code
    rig_failure: str = ""  # why nothing can be concluded
    autopilot_events: list[AutopilotEvent] = field(default_factory=list)  # of an external control system
    link: dict[str, str] = field(default_factory=dict)  # figures of the link to it
    measured: dict[str, Any] = field(default_factory=dict)  # the same as plain data
    logs: list[Path] = field(default_factory=list)  # files that a control system outside left
    records: bool = False  # the external control system has recorded all commands to it
    reads: frozenset[str] | None = None  # signals that the external control system read; None if that is not known
    samples: list[Sample] = field(default_factory=list)  # that sensors of the world took, as they arrived

    @property
    def stop(self) -> Stop | None:
        """Why the vehicle stopped early; None if it did not."""
        return self.log.stops[self.lane]

    @property
    def ended_s(self) -> float:
        """Simulation time at which the flight ended, s."""
        return self.stop.time_s if self.stop is not None else self.run_ended_s
