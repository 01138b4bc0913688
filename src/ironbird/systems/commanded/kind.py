"""Vehicles commanded from outside as a kind of control system: under a front end, or under a recorded stream."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ironbird.errors import OrderError
from ironbird.rig.commander.commander import Commander
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task, described
from ironbird.systems.commanded.front import FRONTS, FrontEnd, front_type, make_front, needs_no_client
from ironbird.systems.commanded.stream import Recorder, Stream, parse_stream
from ironbird.vehicles import places as at
from ironbird.vehicles.commanded import see_truth
from ironbird.vehicles.load import Vehicle

STRICT = Options.model_config
EXCHANGE_TICKS = 4  # of 1 ms
SHOW_S = 0.2  # between two lines of figures


class CommandedOptions(Options):
    """Options of control system `commanded`: what the autopilot measures, and its front end, which adds its own."""

    state: Annotated[
        Literal["estimate", "truth"],
        Field(
            description="What control sees: what the estimator or the sensors give, or the true state; sensors work in "
            "both."
        ),
    ] = "estimate"
    front: Annotated[
        str,
        Field(
            description="Who commands: a front end by name; 'mission' flies the mission of the order, 'avoid' flies it "
            "round what a lidar sees."
        ),
    ] = "mission"


@functools.cache
def _options_with(front: str) -> type[CommandedOptions]:
    """The class of the options of a vehicle with this front end."""
    return type("CommandedOptions", (front_type(front).options_type, CommandedOptions), {"model_config": STRICT})


class CommandedSystem(ControlSystem):
    """The vehicle's own autopilot with a front end, or with a recorded stream of commands. All inputs are recorded."""

    name = "commanded"
    fills = "commanded"
    step_ticks = EXCHANGE_TICKS

    def __init__(
        self,
        front: FrontEnd | None = None,
        *,
        script: str = "",
        sees_truth: bool = False,
        announce: Callable[[str], None] | None = None,
        show: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        if (front is None) == (not script):
            raise OrderError("give a front end or a recorded stream of commands, one of the two")
        self.front, self._text = front, script
        self.open_ended = front is not None and front.open_ended
        self._sees_truth, self._announce = sees_truth, announce
        self._show, self._show_s = show, 0.0
        self._replayed: Stream | None = None
        self._next = 0
        self.commander: Commander | None = None

    def start(self, rig: Rig) -> None:
        """Open the front end, or read the stream."""
        flat = rig.state.model.flat
        places = {name: flat.u.rows(name) for name in flat.u.start if not at.is_world_input(name)}
        self._recorder = Recorder(places, rig.stepper.inputs)
        self._places = places
        self.commander = Commander(
            rig.vehicle,
            rig,
            remark=lambda words: self._recorder.stream.remark(rig.state.tick, words),
            note=lambda kind, words: self.note(rig, kind, words, self.commander.by if self.commander else ""),
            sees_truth=self._sees_truth,
        )
        if self.front is None:
            sizes = {name: rows.stop - rows.start for name, rows in places.items()}
            self._replayed = parse_stream(self._text, sizes)
            self._apply(rig)
        else:
            if hasattr(self.front, "say"):  # it has lines for people, not at the start alone
                self.front.say = self._announce
            self.front.open(self.commander)
            for line in self.front.announce() if self._announce is not None else []:
                assert self._announce is not None
                self._announce(line)
        self._recorder.note(rig.state.tick)

    def exchange(self, rig: Rig) -> None:
        """Let the front end receive and send, or apply the commands of the stream that are due."""
        assert self.commander is not None
        if self.front is None:
            self._apply(rig)
            self.commander.look()
        else:
            self.commander.watch()
            self.front.poll(self.commander)
            if self._show is not None and rig.time_s >= self._show_s:
                self._show_s = rig.time_s + SHOW_S
                self._show(self.live())
        self._recorder.note(rig.state.tick)

    def _apply(self, rig: Rig) -> None:
        assert self._replayed is not None
        entries = self._replayed.entries
        while self._next < len(entries) and entries[self._next][0] <= rig.state.tick:
            for name, row in entries[self._next][1].items():
                rig.stepper.inputs[self._places[name]] = row
            self._next += 1

    def live(self) -> str:
        """A line of figures: time, armed, mode, height, speed, and what the front end adds, such as its sticks."""
        assert self.commander is not None
        here, armed = self.commander.seen(), "armed" if self.commander.armed else "disarmed"
        height_m, speed_mps = 0.0 - float(here.p_N[2]), float(np.linalg.norm(here.v_N))
        line = f"{self.commander.time_s:7.1f} s  {armed}, {self.commander.mode}  height {height_m:.1f} m"
        more = self.front.live() if self.front is not None and hasattr(self.front, "live") else ""
        return f"{line}  speed {speed_mps:.1f} m/s  {more}".rstrip()

    @property
    def finished(self) -> bool:
        """Whether the front end is finished; a stream goes on until the order's end."""
        return self.front is not None and self.front.finished

    def script(self) -> str:
        """The stream of commands that repeats this flight."""
        return self._text if self.front is None else self._recorder.stream.text()

    def stop(self) -> None:
        """Close the front end, if there is one."""
        if self.front is not None:
            self.front.close()


class CommandedKind(Kind):
    """Kind of control system `commanded`: the vehicle's own autopilot, commanded from outside."""

    name = "commanded"
    title = "reference autopilot, commanded from outside"
    summary = "The vehicle's own autopilot under commands from outside: a front end, sticks, or a recorded stream."
    options = CommandedOptions
    deciding = ("front",)
    vehicle_control = "commanded"
    tunes = True
    longest_s = 3600.0
    shows = True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle; with controllers that use the true state if this is chosen."""
        assert isinstance(options, CommandedOptions)
        if options.state == "estimate":
            return vehicle
        return replace(vehicle, diagram=see_truth(vehicle.diagram))

    def options_for(self, given: Mapping[str, Any]) -> type[Options]:
        """The class of the options, with those of the chosen front end."""
        return _options_with(given.get("front", "mission"))

    def choices(self) -> dict[str, str]:
        """Descriptions of all options by key, with those of every front end."""
        fronts = {key: text for name in FRONTS for key, text in described(front_type(name).options_type).items()}
        return described(self.options) | fronts

    def repeats(self, options: Options, script: str) -> bool:
        """Whether a flight repeats to the bit: with a recorded stream, or without external commands."""
        return bool(script) or needs_no_client(getattr(options, "front", ""))

    def pace(self, options: Options, script: str) -> float | None:
        """Factor of real time: 1 if commands come from outside or a stick file is played, else None (no limit)."""
        return None if script or needs_no_client(getattr(options, "front", "")) else 1.0

    def flies_mission(self, options: Options) -> bool:
        return needs_no_client(getattr(options, "front", ""))

    def has_live_events(self, options: Options, *, has_mission: bool) -> bool:
        """Whether people or programs outside give commands, so that events are printed live."""
        return not needs_no_client(getattr(options, "front", ""))

    def links(self, options: Options) -> Sequence[str]:
        """Links on which link faults can act: MAVLink to and from partners."""
        return ("ground", "vehicle") if getattr(options, "front", "") == "mavlink" else ()

    def seat(self, task: Task) -> Seat:
        """The vehicle with the recorded stream if there is one, else with the front end."""
        options = task.options
        assert isinstance(options, CommandedOptions)
        truth = options.state == "truth"
        if task.script:
            return Seat(CommandedSystem(script=task.script, sees_truth=truth))
        front = make_front(options.front, options.model_dump(), task.trust)
        system = CommandedSystem(front, sees_truth=truth, announce=task.announce, show=task.show)
        return Seat(system)


COMMANDED = CommandedKind()
