"""The one interface of a control system under test: start it, exchange with it, watch it, stop it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.links.process import AutopilotProcess
from ironbird.links.rig import Rig


@dataclass(frozen=True)
class Happening:
    """Something that the control system said or did, in simulation time."""

    time_s: float
    kind: str  # mode, armed, text, failsafe, estimator, ...
    text: str


@dataclass(frozen=True)
class OwnWitness:
    """That a fault acted inside the control system: what shows it, from when on (NaN: it did not), how much."""

    signal: str
    unit: str
    first_s: float
    size: float


@dataclass
class Traffic:
    """What went over the link."""

    sent: int = 0
    received: int = 0
    late: int = 0  # exchanges in which no answer came in its time
    bad: int = 0  # what could not be read
    last_sent: str = ""
    last_received: str = ""


class ControlSystem(ABC):
    """A control system under test. All waits end: `LinkError` says who waited for whom, and how long."""

    name: str
    step_ticks: int = 4  # of 1 ms between two exchanges
    process: AutopilotProcess | None = None  # its own, if it was started here; its `logs` are there after `stop`

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.happenings: list[Happening] = []

    @abstractmethod
    def start(self, rig: Rig) -> None:
        """Start or find it and connect; returns when it takes part in the exchange."""

    @abstractmethod
    def exchange(self, rig: Rig) -> None:
        """Hand over what the sensors have that is new, and take its commands to the actuators."""

    @abstractmethod
    def stop(self) -> None:
        """End it and leave nothing behind: no process, port or temporary file. May be called twice."""

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The witness of a fault that this control system makes itself; None if it acts in the vehicle, as most do."""
        return None

    def note(self, rig: Rig, kind: str, text: str) -> None:
        """Record something that it said or did."""
        self.happenings.append(Happening(rig.time_s, kind, text))

    def silent(self, rig: Rig, waited_s: float, for_what: str) -> LinkError:
        """The error of a wait that is over."""
        return LinkError(f"{self.name} gave no {for_what} for {waited_s:.1f} s (wall) {self.where(rig)}")

    def where(self, rig: Rig) -> str:
        """Simulation time and last messages, for errors."""
        traffic = self.traffic
        return (
            f"at {rig.time_s:.3f} s of simulation time; sent {traffic.sent} (last {traffic.last_sent or 'nothing'}), "
            f"received {traffic.received} (last {traffic.last_received or 'nothing'})"
        )


@dataclass
class FunctionSystem(ControlSystem):
    """A Python function as control system: it reads the rig's sensors and commands its actuators."""

    function: Callable[[Rig], None]
    name: str = "function"
    step_ticks: int = 4
    traffic: Traffic = field(default_factory=Traffic)
    happenings: list[Happening] = field(default_factory=list)

    def start(self, rig: Rig) -> None:
        """Nothing to start."""

    def exchange(self, rig: Rig) -> None:
        """Call it."""
        self.function(rig)

    def stop(self) -> None:
        """Nothing to stop."""
