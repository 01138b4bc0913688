"""Flights with a flight controller on a cable: in real time, with the figures of the link in the result."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ironbird.campaign.sitl import KINDS, plan_of
from ironbird.campaign.verdict import ERROR, FAIL, PASS, VOID
from ironbird.errors import LinkError
from ironbird.flight.flight import Flight, Wind
from ironbird.flight.mission import ON_BOARD, Mission
from ironbird.flight.outside import fly_external
from ironbird.links.ground import Pilot
from ironbird.links.hardware.bridge import Bridge
from ironbird.links.hardware.cable import Cable
from ironbird.links.hardware.link import CONTROL_HZ, SENSOR_HZ, Figures, HardwareLink, with_sensor_rate
from ironbird.links.realtime import WallClock
from ironbird.links.rig import Rig
from ironbird.links.system import Happening
from ironbird.model.signal import Number
from ironbird.vehicles.load import load_vehicle

GROUND_STATION_PORT = 14550  # QGroundControl's
SHOW_S = 1.0  # between two lines on the screen


@dataclass(frozen=True)
class HilOrder:
    """One flight with a board. Without a mission the board is told nothing: it flies what it has, or by its pilot."""

    cable: Cable
    vehicle: str
    mission: str | None = None
    wind: Wind = field(default_factory=Wind)
    faults: tuple[str, ...] = ()
    settings: Mapping[str, Number] = field(default_factory=dict)
    seed: int = 0
    until_s: float = 60.0
    sensor_hz: float = SENSOR_HZ
    control_hz: float = CONTROL_HZ
    connect_s: float = 30.0
    priority: bool = True  # ask the system for real-time priority
    ground_station: bool = True  # feed one on UDP 14550
    options: str = ""  # of the command line, to repeat it


@dataclass
class HilFlight:
    """A flight, the figures of its link, and what can be concluded."""

    flight: Flight
    figures: Figures
    verdict: str
    sentence: str

    def data(self) -> dict[str, Any]:
        """For machines."""
        return {"verdict": self.verdict, "sentence": self.sentence, **vars(self.figures)}


class Bench:
    """A board on the bench: what goes over its cable can be looked at before it is flown."""

    def __init__(self, order: HilOrder, *, clock: WallClock | None = None) -> None:
        self.order = order
        self.vehicle = with_sensor_rate(load_vehicle(order.vehicle, control="external"), order.sensor_hz)
        kind = KINDS.get(self.vehicle.spec.template)
        if kind is None:
            raise LinkError(f"no flight controller flies a vehicle of kind '{self.vehicle.spec.template}' yet")
        self.mission: Mission = ON_BOARD
        self.pilot: Pilot | None = None
        ports = [GROUND_STATION_PORT] if order.ground_station else []
        if order.mission is not None:
            self.mission, plan = plan_of(self.vehicle, order.mission, kind)
            ports.append(_free_port())
            self.pilot = Pilot("px4", kind=kind, port=ports[-1], plan=plan)
        self.bridge = Bridge(ports) if ports else None
        self.link = _Link(
            order.cable, sensor_hz=order.sensor_hz, control_hz=order.control_hz, connect_s=order.connect_s,
            priority=order.priority, bridge=self.bridge, clock=clock,
        )  # fmt: skip

    def fly(self, show: Callable[[str], None] | None = None) -> HilFlight:
        """Fly it in real time; Ctrl-C ends the flight, and what was flown is kept. `show` gets a line each second."""
        order, link = self.order, self.link
        watch = _Watch(link, self.pilot, show)
        try:
            self.link.check(self.vehicle)
            with watch:
                flight = fly_external(
                    self.vehicle, link, pilot=watch, mission=self.mission, wind=order.wind, faults=order.faults,
                    seed=order.seed, settings=order.settings, until_s=order.until_s,
                )  # fmt: skip
        finally:
            self.close()
        flight.log.interrupted = watch.interrupted
        flight.log.meta["ironbird.cable"] = order.options
        verdict, sentence = judge(flight, link.broken, link.failure)
        flight.void = sentence if verdict in (VOID, ERROR) else ""
        figures = link.figures()
        baud = f"{order.cable.baud} baud" if order.cable.baud else "network"
        flight.link = {
            "verdict": f"{verdict}: {sentence}" if sentence else verdict,
            "link": f"{order.cable.name}, {baud}, {link.standing}",
            **(figures.rows() if figures.steps else {}),
        }
        return HilFlight(flight, figures, verdict, sentence)

    def close(self) -> None:
        """Let go of all ports. May be called twice."""
        if self.pilot is not None:
            self.pilot.close()
        if self.bridge is not None:
            self.bridge.close()


def judge(flight: Flight, broken: str, failure: str) -> tuple[str, str]:
    """What can be concluded from a flight over a cable, and why."""
    if failure:
        return ERROR, failure
    if broken:
        return VOID, broken
    if not flight.survived:
        return FAIL, flight.outcome
    return PASS, ""


class _Link(HardwareLink):
    """Once the board has answered, a failure of the link ends the flight and not the program: its log is kept."""

    failure = ""

    def exchange(self, rig: Rig) -> None:
        if self.failure:
            return
        try:
            super().exchange(rig)
        except LinkError as error:
            if not self.answered:
                raise
            self.failure = str(error)
            self.note(rig, "link", self.failure)


class _Watch:
    """Looks at a flight between steps: shows its figures, and ends it on Ctrl-C, a failed link or the pilot's word."""

    def __init__(self, link: _Link, pilot: Pilot | None, show: Callable[[str], None] | None) -> None:
        self.link, self.pilot, self.show = link, pilot, show
        self.interrupted = False
        self.happenings: list[Happening] = pilot.happenings if pilot is not None else []
        self._next_s = 0.0

    @property
    def finished(self) -> bool:
        """Whether the flight is over."""
        return self.interrupted or bool(self.link.failure) or (self.pilot is not None and self.pilot.finished)

    def poll(self, rig: Rig) -> None:
        """Have the pilot go on; show a line when it is time."""
        if self.pilot is not None and not self.link.failure:
            self.pilot.poll(rig)
        if self.show is not None and rig.time_s >= self._next_s:
            self._next_s = rig.time_s + SHOW_S
            self.show(self.link.live(rig.time_s))

    def __enter__(self) -> _Watch:
        self._usual: Any = None
        if threading.current_thread() is threading.main_thread():
            self._usual = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:  # the second time it is meant
            raise KeyboardInterrupt
        self.interrupted = True


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
