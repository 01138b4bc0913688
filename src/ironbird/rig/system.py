"""Control systems under test: the interface to start, exchange with, watch and stop one, and that of their kinds.

A `Kind` (PX4, ArduPilot, a flight controller on a cable) makes from a `Task` a `Seat`: a control system that is ready
to be started, and the pilot who commands it. The flight uses all kinds through this interface.
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
from ironbird.rig.observed import ObservedRig
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
    """Statistics of a link: messages sent, received, late and unreadable, and the names of the last ones."""

    sent: int = 0
    received: int = 0
    late: int = 0  # exchanges in which no answer came in its time
    bad: int = 0  # what could not be read
    last_sent: str = ""
    last_received: str = ""


class Tap(Protocol):
    """Callback for packets: connection, direction, bytes, and their time on the monotonic clock if it is not now."""

    def __call__(self, who: str, came: bool, data: bytes, at_s: float | None = None, /) -> None:
        """Process a packet: connection, whether it was received, bytes, monotonic time in s (None: now)."""


class ControlSystem(ABC):
    """A control system under test: base of those in Python and of links to autopilots.

    A subclass gives `start(rig)` and `exchange(rig)`. All waits end: `LinkError` says who waited for whom, and how
    long.
    """

    name: str
    step_ticks: int = 4  # of 1 ms between two exchanges
    pilot_s: float = 0.02  # s of simulation time between two polls of the pilot
    process: AutopilotProcess | None = None  # its own, if it was started here; its `logs` are there after `stop`
    fills: str = ""  # kind whose place it takes; empty: its flights are ordered under its own name
    open_ended: bool = False  # an external program ends the flight; Ctrl-C counts as its regular end
    failure: str = ""  # why the rig failed after it had taken part: the flight ends there, its log is kept
    recorder: Callable[[], str] | None = None  # returns the record of all external commands
    tap: Tap | None = None  # gets every packet
    abandoned: Callable[[], bool] | None = None  # polled while `start` waits: whether the flight was cancelled
    obeyed: Obeyed | None = None  # accepts orders, if there is an internal commander

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.autopilot_events: list[AutopilotEvent] = EventList()

    @abstractmethod
    def start(self, rig: Rig) -> None:
        """Start or find it and connect; returns when it takes part in the exchange."""

    @abstractmethod
    def exchange(self, rig: Rig) -> None:
        """Pass new sensor samples to it, and apply its commands to the actuators."""

    def take_over(self, rig: Rig, begin_ns: int) -> PacedLoop | None:
        """After the start: a loop in native code that steps and exchanges by itself; None if `exchange` is used.

        Its time begins at a moment of the monotonic clock, or at once if that is negative.
        """
        return None

    def watch(self, rig: Rig) -> None:
        """Service such a loop; called about every 10 ms, and once when it has ended."""
        raise LinkError(f"{self.name} has no real-time loop: `take_over` gave none, so `exchange` is to be called")

    @abstractmethod
    def stop(self) -> None:
        """End it, with its processes, ports and temporary files; further calls do nothing."""

    def injected(self, injection: Injection) -> None:
        """Learn of a fault that was added in flight, with absolute times, before it acts."""
        return

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Evidence of a fault that this control system carries out itself; None for faults in the vehicle."""
        return None

    def reads(self) -> frozenset[str] | None:
        """Paths of the signals that it has read; None if that is not known: it may have read any."""
        return None

    @property
    def taking_part(self) -> bool:
        """Whether it has answered yet: a link that fails before is no flight, one that fails later ends it."""
        return True

    @property
    def finished(self) -> bool:
        """Whether the control system considers the flight to be over."""
        return False

    def script(self) -> str:
        """A text with which its kind repeats this flight bit for bit; empty if it cannot."""
        return self.recorder() if self.recorder is not None else ""

    def mistrust(self) -> str:
        """Reason why the flight is void, such as rates that were not held; empty if it is valid."""
        return ""

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: statistics of the exchange as text."""
        return {}

    def measured(self) -> dict[str, Any]:
        """Statistics of the exchange as data for JSON."""
        return {}

    def note(self, rig: Rig, kind: str, text: str, by: str = "") -> None:
        """Record a message or an action of the control system as an event; `by` is who asked for it."""
        self.autopilot_events.append(AutopilotEvent(rig.time_s, kind, text, by))

    def obey(self, rig: Rig, inner: Rig, script: str, *, sees_truth: bool = False) -> None:
        """Accept orders from now on, by a commander of the navigator in the model that `inner` runs.

        Parameters that orders change are in the record of orders; they must not be in that of the vehicle too.
        """
        commander = Commander(
            inner.vehicle, inner, sees_truth=sees_truth, note=lambda kind, words: self.note(rig, kind, words)
        )
        self.obeyed, self.open_ended = Obeyed(commander, script), True
        self.recorder = self.obeyed.record

    def silent(self, rig: Rig, waited_s: float, for_what: str) -> LinkError:
        """The error for a wait that has exceeded its time."""
        return LinkError(f"{self.name} gave no {for_what} for {waited_s:.1f} s (wall) {self.where(rig)}")

    def where(self, rig: Rig) -> str:
        """Simulation time and last messages, as text for errors."""
        traffic = self.traffic
        return (
            f"at {rig.time_s:.3f} s of simulation time; sent {traffic.sent} (last {traffic.last_sent or 'nothing'}), "
            f"received {traffic.received} (last {traffic.last_received or 'nothing'})"
        )


@dataclass
class FunctionSystem(ControlSystem):
    """A Python function as control system: it reads the rig's sensors and commands its actuators.

    Parameters
    ----------
    function : callable
        Called with the `Rig` once per exchange.
    name : str, default "function"
        Name in reports.
    step_ticks : int, default 4
        Ticks between two calls; a tick is 1 ms with most vehicles.
    traffic : Traffic, optional
        Counts what goes over its link.
    autopilot_events : list of AutopilotEvent, default []
        What it did and reported, for the flight's page.

    Examples
    --------
    >>> def idle(rig):
    ...     for place in rig.actuators:
    ...         rig.command(place, 0.0)
    >>> ib.fly("quad_f450", control=ib.FunctionSystem(idle), mission="hover", until_s=1.0).survived
    True
    """

    function: Callable[[Rig], None]
    name: str = "function"
    step_ticks: int = 4
    traffic: Traffic = field(default_factory=Traffic)
    autopilot_events: list[AutopilotEvent] = field(default_factory=EventList)

    _seen: tuple[Rig, ObservedRig] | None = field(default=None, init=False, repr=False)  # of the last exchange

    def start(self, rig: Rig) -> None:
        """Do nothing: a function needs no start."""

    def exchange(self, rig: Rig) -> None:
        """Call the function with the rig, and note what it reads."""
        if self._seen is None or self._seen[0] is not rig:
            self._seen = rig, ObservedRig(rig)
        self.function(self._seen[1])

    def reads(self) -> frozenset[str] | None:
        """Paths of the signals that the function has read; None if it took the run itself, or was never called."""
        reads = None if self._seen is None else self._seen[1].reads
        return None if reads is None else frozenset(reads)

    def stop(self) -> None:
        """Do nothing: a function has nothing to stop."""


class Pilot(Protocol):
    """A source of commands to the control system, polled between steps."""

    autopilot_events: list[AutopilotEvent]  # an `EventList`, if others are to get them at once

    @property
    def finished(self) -> bool:
        """Whether the pilot considers the flight to be over."""

    def poll(self, rig: Rig) -> None:
        """Receive and send without waiting."""

    def close(self) -> None:
        """Close the ports; further calls do nothing."""


@dataclass
class Seat:
    """A control system and its pilot in a vehicle.

    Parameters
    ----------
    system : ControlSystem
        The control system.
    pilot : Pilot or None, default None
        Who gives it orders.
    """

    system: ControlSystem
    pilot: Pilot | None = None

    def listen(self, listener: Callable[[AutopilotEvent], None]) -> None:
        """Pass on all events of the control system and of its pilot, when they come."""
        for who in (self.system, self.pilot):
            if who is not None and isinstance(who.autopilot_events, EventList):
                who.autopilot_events.listener = listener

    def close(self) -> None:
        """Close all ports and end all processes; further calls do nothing."""
        try:
            if self.pilot is not None:
                self.pilot.close()
        finally:
            self.system.stop()


class Options(BaseModel):
    """Base class of the options of a kind of control system; all fields of subclasses have defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def described(options: type[BaseModel]) -> dict[str, str]:
    """Description of each option, by name."""
    return {key: info.description or "" for key, info in options.model_fields.items()}


@dataclass(frozen=True)
class Task:
    """What a control system gets when a flight begins.

    Attributes
    ----------
    vehicle : Vehicle
        The vehicle, as `Kind.fitted` gave it back.
    items : sequence of LocalItem
        The mission in m from home; empty: it gets no mission.
    options : Options
        What was chosen for it.
    until_s : float
        Length of the flight in s.
    script : str
        Text of a QGroundControl plan or waypoint file, flown in place of the mission.
    injections : sequence of Injection
        Faults of the flight.
    folder : Path or None
        Where it may leave its own logs.
    announce : callable or None
        Gets the ports for ground stations and clients.
    show : callable or None
        Gets a line of figures about once a second.
    cruise_speed_mps : float or None
        Speed of the mission in m/s; None: as the vehicle likes.
    wind_from_deg : float or None
        Direction of the wind in degrees, as who plans the mission knows it; None: it is calm.
    seed : int
        Seed of the flight.
    trust : Trust
        Programs and front ends that the user named by hand.
    navigator : callable or None
        Gives parameters of Ironbird's navigator with so many places.
    """

    vehicle: Vehicle  # loaded with the `vehicle_control` of the kind, as `Kind.fitted` gave it back
    items: Sequence[LocalItem]  # the mission in metres from home; empty: it gets no mission
    options: Options
    until_s: float
    script: str = ""  # text of a QGroundControl .plan or waypoint file, flown in place of the mission
    injections: Sequence[Injection] = ()
    folder: Path | None = None  # where it may leave its own logs
    announce: Callable[[str], None] | None = None  # gets the ports for ground stations and clients
    show: Callable[[str], None] | None = None  # gets a line of figures about once a second
    cruise_speed_mps: float | None = None  # of the mission; None: the vehicle's default
    wind_from_deg: float | None = None  # as known when the mission is planned; None: calm
    seed: int = 0
    trust: Trust = NO_TRUST  # programs and front ends that the user named by hand
    navigator: Callable[[int], dict[str, Any]] | None = None  # parameters of Ironbird's navigator with so many places


Budget = tuple[str, dict[str, str], dict[str, Any]]  # title, rows, and the same as plain data


class Kind(ABC):
    """A kind of control system: how it is named, what can be chosen, and how one of it comes into a vehicle.

    A subclass in a package of your own is found by the entry point `ironbird.systems` (docs/guide/own-controller.md).
    """

    name: str  # "px4": in orders, in case files, on the command line
    title: str  # "PX4": on pages
    summary: str  # one line for the help of the command line
    options: type[Options] = Options  # without any, if a subclass has none of its own
    deciding: tuple[str, ...] = ()  # options that enable others: see `options_for`
    vehicle_control: str = "external"  # how a vehicle is loaded for it: with open actuators, or `commanded`
    tunes: bool = False  # whether parameters of the vehicle can be changed in flight
    adds_parts: bool = False  # whether `fitted` gives the vehicle parts that faults and conditions may name
    obeys: bool = False  # whether its orders are taken at once by a commander inside it, not over MAVLink
    longest_s: float = 600.0  # its flights end then at the latest if nothing else is ordered
    shows: bool = False  # whether it shows a line of figures about once a second while it flies
    lands: bool = False  # whether its missions end with a landing: `fly` says how they ended

    def options_for(self, given: Mapping[str, Any]) -> type[Options]:
        """The class of options for these values; a subclass of `options` where one value enables further options."""
        return self.options

    def choices(self) -> dict[str, str]:
        """Description of each possible option, by name."""
        return described(self.options)

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle as this kind needs it; `LinkError` if it cannot fly it."""
        return vehicle

    def step_s(self, options: Options) -> float:
        """Step of the vehicle's model with this control system, s."""
        return 1e-3

    def links(self, options: Options) -> Sequence[str]:
        """Links between it and others that faults may disturb, by their names in `link_faults.LINKS`."""
        return ()

    def takes_orders(self, template: str) -> bool:
        """Whether a vehicle of this kind can be commanded in flight, as by a ground station (`pilot = "attended"`)."""
        return False

    def takes_none(self) -> str:
        """Reason why it accepts no orders in flight, for kinds that do not."""
        return "it flies its mission and takes no commands in flight"

    def programs(self, options: Options) -> Sequence[Path]:
        """Files of the control system itself, if they exist: a campaign records their hashes."""
        return ()

    def pace(self, options: Options, script: str) -> float | None:
        """Default speed of a flight with these options and this script, times real time; None: as fast as possible."""
        return None

    def repeats(self, options: Options, script: str) -> bool:
        """Whether an order with these options and this script gives the same bytes again."""
        return False

    def budget(self, vehicle: str, options: Options, *, has_mission: bool) -> Sequence[Budget]:
        """What its links will have to carry with a vehicle, as tables that are printed before the flight."""
        return ()

    def flies_mission(self, options: Options) -> bool:
        """Whether the mission of an order is flown: not if people or programs outside command what is flown."""
        return getattr(options, "pilot", "ours") == "ours"

    def has_live_events(self, options: Options, *, has_mission: bool) -> bool:
        """Whether people or programs outside command its flights, or hardware takes part: events are printed live."""
        return False

    @abstractmethod
    def seat(self, task: Task) -> Seat:
        """Make the control system and its pilot for a task, without starting them; the caller must `close` the seat."""

    def read_log(self, paths: Sequence[Path], home: Place) -> AutopilotLog | None:
        """The control system's own log among the files that it left; None if this kind leaves none.

        `home` is the origin of N.
        """
        return None
