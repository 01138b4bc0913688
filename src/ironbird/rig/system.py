"""Control systems under test: one interface to start, exchange with, watch and stop one, and one to each kind of them.

A `Kind` (PX4, ArduPilot, a flight controller on a cable) makes of a `Task` a `Seat`: a control system that is ready to
be started, and the pilot who commands it. Whoever flies it needs to know no kind by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.files.trust import NO_TRUST, Trust
from ironbird.host.process import AutopilotProcess
from ironbird.protocols.autopilot_log import AutopilotLog
from ironbird.protocols.geodesy import Place
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.obeyed import Obeyed
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.runtime.paced import PacedLoop
from ironbird.vehicles.load import Vehicle


@dataclass(frozen=True)
class AutopilotEvent:
    """A message or action of the control system, in simulation time."""

    time_s: float
    kind: str  # mode, armed, text, failsafe, estimator, client, command, refused, mission, ...
    text: str
    by: str = ""  # who asked for it, as far as it is known: "MAVLink client 245", "keyboard"

    def sentence(self) -> str:
        """What happened, for people: "armed by MAVLink client 245"."""
        said = self.text
        if self.kind in ("mode", "estimator", "refused", "landed") or (
            self.kind == "failsafe" and not said.startswith("failsafe")
        ):
            said = f"{SPOKEN.get(self.kind, self.kind)} {said}"
        elif self.kind == "text":
            said = f"it says: {said}"
        if self.by and self.kind == "refused":
            return f"{said} (asked by {self.by})"
        return f"{said} by {self.by}" if self.by and self.kind in ("armed", "command", "mission") else said


SPOKEN = {"failsafe": "failsafe:", "estimator": "estimator:", "refused": "refused:", "landed": "landed state:"}


class EventList(list[AutopilotEvent]):
    """Events in the order in which they come; whoever listens gets each at once, in the thread of who appends it."""

    listener: Callable[[AutopilotEvent], None] | None = None

    def append(self, event: AutopilotEvent, /) -> None:
        """Keep an event, and notify the listener."""
        super().append(event)
        if self.listener is not None:
            self.listener(event)


@dataclass
class Traffic:
    """What went over the link."""

    sent: int = 0
    received: int = 0
    late: int = 0  # exchanges in which no answer came in its time
    bad: int = 0  # what could not be read
    last_sent: str = ""
    last_received: str = ""


class Tap(Protocol):
    """Gets packets: connection, direction, bytes, and the moment on the monotonic clock if it is not now."""

    def __call__(self, who: str, came: bool, data: bytes, at_s: float | None = None, /) -> None:
        """Take note."""


class ControlSystem(ABC):
    """A control system under test. All waits end: `LinkError` says who waited for whom, and how long."""

    name: str
    step_ticks: int = 4  # of 1 ms between two exchanges
    pilot_s: float = 0.02  # of simulation time between two looks of the pilot
    process: AutopilotProcess | None = None  # its own, if it was started here; its `logs` are there after `stop`
    fills: str = ""  # kind whose place it takes; empty: its flights are ordered under its own name
    open_ended: bool = False  # an external program flies it for any time: Ctrl-C ends it as its time does
    failure: str = ""  # why the rig failed after it had taken part: the flight ends there, its log is kept
    recorder: Callable[[], str] | None = None  # has recorded all commands of others
    tap: Tap | None = None  # gets every packet
    abandoned: Callable[[], bool] | None = None  # asked while `start` waits: whether the flight was cancelled
    obeyed: Obeyed | None = None  # takes orders at once, from the start on, if an internal commander does

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.autopilot_events: list[AutopilotEvent] = EventList()

    @abstractmethod
    def start(self, rig: Rig) -> None:
        """Start or find it and connect; returns when it takes part in the exchange."""

    @abstractmethod
    def exchange(self, rig: Rig) -> None:
        """Hand over what the sensors have that is new, and take its commands to the actuators."""

    def take_over(self, rig: Rig, begin_ns: int) -> PacedLoop | None:
        """After the start: a loop in native code that steps and exchanges by itself; None if it is exchanged with.

        Its time begins at a moment of the monotonic clock, or at once if that is negative.
        """
        return None

    def watch(self, rig: Rig) -> None:
        """Look at such a loop between steps of its own; called about every 10 ms, and once when it has ended."""
        raise LinkError(f"{self.name} has no loop of its own")

    @abstractmethod
    def stop(self) -> None:
        """End it and leave nothing behind: no process, port or temporary file. May be called twice."""

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The witness of a fault that this control system makes itself; None if it acts in the vehicle, as most do."""
        return None

    @property
    def taking_part(self) -> bool:
        """Whether it has answered yet: a link that fails before is no flight, one that fails later ends it."""
        return True

    @property
    def finished(self) -> bool:
        """Whether the flight is over as far as it is concerned."""
        return False

    def script(self) -> str:
        """A text with which its kind repeats this flight bit for bit; empty if it cannot."""
        return self.recorder() if self.recorder is not None else ""

    def mistrust(self) -> str:
        """Why the rig's own figures forbid any conclusion, such as rates that were not held; empty if they do not."""
        return ""

    def figures(self) -> dict[str, str]:
        """Rows for the summary of a flight: how the exchange went."""
        return {}

    def measured(self) -> dict[str, Any]:
        """The same for machines, as plain data."""
        return {}

    def note(self, rig: Rig, kind: str, text: str, by: str = "") -> None:
        """Record a message or an action of it, and who asked for it."""
        self.autopilot_events.append(AutopilotEvent(rig.time_s, kind, text, by))

    def obey(self, rig: Rig, told: Rig, script: str, *, sees_truth: bool = False) -> None:
        """Take orders from now on, by a commander of the navigator in the model that `told` runs.

        Parameters that orders change are in the record of orders; they must not be in that of the vehicle too.
        """
        commander = Commander(
            told.vehicle, told, sees_truth=sees_truth, note=lambda kind, words: self.note(rig, kind, words)
        )
        self.obeyed, self.open_ended = Obeyed(commander, script), True
        self.recorder = self.obeyed.record

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
    autopilot_events: list[AutopilotEvent] = field(default_factory=EventList)

    def start(self, rig: Rig) -> None:
        """Nothing to start."""

    def exchange(self, rig: Rig) -> None:
        """Call it."""
        self.function(rig)

    def stop(self) -> None:
        """Nothing to stop."""


class Pilot(Protocol):
    """The source of commands to the control system: looked at between steps."""

    autopilot_events: list[AutopilotEvent]  # an `EventList`, if others are to get them at once

    @property
    def finished(self) -> bool:
        """Whether the flight is over."""

    def poll(self, rig: Rig) -> None:
        """Take and send what is there; never waits."""

    def close(self) -> None:
        """Let go of its ports. May be called twice."""


@dataclass
class Seat:
    """A control system, ready to be started, and its pilot; without a pilot it gets no commands."""

    system: ControlSystem
    pilot: Pilot | None = None

    def listen(self, listener: Callable[[AutopilotEvent], None]) -> None:
        """Pass on all events of the control system and of its pilot, when they come."""
        for who in (self.system, self.pilot):
            if who is not None and isinstance(who.autopilot_events, EventList):
                who.autopilot_events.listener = listener

    def close(self) -> None:
        """Let go of all ports and end what was started. May be called twice."""
        try:
            if self.pilot is not None:
                self.pilot.close()
        finally:
            self.system.stop()


class Options(BaseModel):
    """What can be chosen for one kind of control system: a subclass for each, all fields with defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def described(options: type[BaseModel]) -> dict[str, str]:
    """What can be chosen, each in words."""
    return {key: info.description or "" for key, info in options.model_fields.items()}


@dataclass(frozen=True)
class Task:
    """What a control system is to do, in its vehicle."""

    vehicle: Vehicle  # loaded with the `vehicle_control` of the kind, as `Kind.fitted` gave it back
    items: Sequence[LocalItem]  # the mission in metres from home; empty: it gets no mission
    options: Options
    until_s: float
    script: str = ""  # text of a QGroundControl .plan or waypoint file, flown in place of the mission
    injections: Sequence[Injection] = ()
    folder: Path | None = None  # where it may leave its own logs
    announce: Callable[[str], None] | None = None  # gets the ports for ground stations and clients
    show: Callable[[str], None] | None = None  # gets a line of figures about once a second
    cruise_speed_mps: float | None = None  # of the mission; None: as the vehicle likes
    wind_from_deg: float | None = None  # as who plans the mission knows it; None: it is calm
    seed: int = 0
    trust: Trust = NO_TRUST  # programs and front ends that the user named by hand
    navigator: Callable[[int], dict[str, Any]] | None = None  # parameters of Ironbird's navigator with so many places


Budget = tuple[str, dict[str, str], dict[str, Any]]  # title, rows, and the same as plain data


class Kind(ABC):
    """A kind of control system: how it is named, what can be chosen, and how one of it comes into a vehicle."""

    name: str  # "px4": in orders, in case files, on the command line
    title: str  # "PX4": on pages
    summary: str  # one line for the help of the command line
    options: type[Options]
    deciding: tuple[str, ...] = ()  # options that decide which others there are: see `options_for`
    vehicle_control: str = "external"  # how a vehicle is loaded for it: with open actuators, or `commanded`
    tunes: bool = False  # whether parameters of the vehicle can be changed in flight
    adds_parts: bool = False  # whether `fitted` gives the vehicle parts that faults and conditions may name
    obeys: bool = False  # whether its orders are taken at once by a commander inside it, not over MAVLink
    longest_s: float = 600.0  # its flights end then at the latest if nothing else is ordered
    shows: bool = False  # whether it shows a line of figures about once a second while it flies
    lands: bool = False  # whether its missions end with a landing: `fly` says how they ended

    def options_for(self, given: Mapping[str, Any]) -> type[Options]:
        """What can be chosen if these values are given; more than `options` where one choice brings others."""
        return self.options

    def choices(self) -> dict[str, str]:
        """All that can be chosen, each in words."""
        return described(self.options)

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle as this kind needs it; `LinkError` if it cannot fly it."""
        return vehicle

    def step_s(self, options: Options) -> float:
        """The step of the vehicle's model under it."""
        return 1e-3

    def links(self, options: Options) -> Sequence[str]:
        """Links between it and others that faults may disturb, by their names in `link_faults.LINKS`."""
        return ()

    def takes_orders(self, template: str) -> bool:
        """Whether a vehicle of this kind can be commanded in flight, as by a ground station (`pilot = "attended"`)."""
        return False

    def takes_none(self) -> str:
        """Why it takes no orders in flight, in words; for those that do not."""
        return "it flies its mission and takes no commands in flight"

    def programs(self, options: Options) -> Sequence[Path]:
        """Files of the control system itself, as far as they are there: a campaign notes what it was flown with."""
        return ()

    def pace(self, options: Options) -> float | None:
        """How many times real time its flights keep to if nothing is ordered; None: as fast as it goes."""
        return None

    def repeats(self, options: Options, script: str) -> bool:
        """Whether an order with these options and this script gives the same bytes again."""
        return False

    def budget(self, vehicle: str, options: Options, *, has_mission: bool) -> Sequence[Budget]:
        """What its links will have to carry with a vehicle, as tables that are printed before the flight."""
        return ()

    def has_live_events(self, options: Options, *, has_mission: bool) -> bool:
        """Whether people or programs outside command its flights, or hardware takes part: events are printed live."""
        return False

    @abstractmethod
    def seat(self, task: Task) -> Seat:
        """A control system for the task, not started yet, and its pilot. `close` the seat in any case."""

    def read_log(self, paths: Sequence[Path], home: Place) -> AutopilotLog | None:
        """Its own log among the files that it left; None if this kind leaves none. `home` is the origin of N."""
        return None
