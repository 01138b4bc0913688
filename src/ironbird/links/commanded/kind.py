"""Vehicles commanded from outside as a kind of control system: under a front end, or under a recorded stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from ironbird.errors import OrderError
from ironbird.links.commanded.commander import Commander
from ironbird.links.commanded.front import FrontEnd, make_front, needs_no_client
from ironbird.links.commanded.stream import Recorder, Stream, parse_stream
from ironbird.links.rflysim.options import RflySimOptions
from ironbird.links.rig import Rig
from ironbird.links.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles import places as at
from ironbird.vehicles.commanded import see_truth
from ironbird.vehicles.load import Vehicle

EXCHANGE_TICKS = 4  # of 1 ms


class CommandedOptions(RflySimOptions, Options):
    """What the autopilot sees, and who commands it."""

    model_config = Options.model_config

    state: Annotated[
        Literal["estimate", "truth"],
        Field(description="What control sees: the estimator's state, or the true one; sensors work in both."),
    ] = "estimate"
    front: Annotated[
        str,
        Field(
            description="Who commands: a front end by name; 'mission' flies the mission of the order, 'avoid' flies it "
            "round what a lidar sees."
        ),
    ] = "mission"
    avoid_mps: Annotated[float, Field(gt=0, le=50, description="avoid: its speed where the way is free.")] = 3.0
    links: Annotated[
        str,
        Field(
            description="mavlink: where it is reached, with commas: udp:HOST:PORT[:OWN], udpin:HOST:PORT, "
            "tcp:HOST:PORT, serial:DEVICE[:BAUD]; empty: UDP to 14550 and 14540, TCP 5760, all on 127.0.0.1."
        ),
    ] = ""
    instance: Annotated[int, Field(ge=0, le=99, description="mavlink: counts its usual ports and system id up.")] = 0
    lockstep: Annotated[bool, Field(description="mavlink: the simulation waits for the times that a client says.")] = (
        False
    )
    wait_s: Annotated[float, Field(gt=0, le=3600, description="mavlink: patience in lockstep, wall time.")] = 60.0
    param_file: Annotated[str, Field(description="mavlink: file that keeps parameters which were changed.")] = ""
    sticks: Annotated[str, Field(description="sticks: auto, a gamepad's device, keyboard, or a stick file (.csv).")] = (
        "auto"
    )
    stick_layout: Annotated[str, Field(description="sticks: a TOML file that says which axis does what.")] = ""
    stick_mode: Annotated[str, Field(description="sticks: the mode in which the flight begins.")] = "position"


class CommandedSystem(ControlSystem):
    """The vehicle's own autopilot under a front end, or under a stream that was recorded. All inputs are recorded."""

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
    ) -> None:
        super().__init__()
        if (front is None) == (not script):
            raise OrderError("give a front end or a recorded stream of commands, one of the two")
        self.front, self._text = front, script
        self.open_ended = front is not None and front.open_ended
        self._sees_truth, self._announce = sees_truth, announce
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
            note=lambda kind, words: self.note(rig, kind, words),
            sees_truth=self._sees_truth,
        )
        if self.front is None:
            sizes = {name: rows.stop - rows.start for name, rows in places.items()}
            self._replayed = parse_stream(self._text, sizes)
            self._apply(rig)
        else:
            self.front.open(self.commander)
            for line in self.front.announce() if self._announce is not None else []:
                assert self._announce is not None
                self._announce(line)
        self._recorder.note(rig.state.tick)

    def exchange(self, rig: Rig) -> None:
        """Let the front end take and send what is there, or set what the stream says."""
        assert self.commander is not None
        if self.front is None:
            self._apply(rig)
            self.commander.look()
        else:
            self.commander.watch()
            self.front.poll(self.commander)
        self._recorder.note(rig.state.tick)

    def _apply(self, rig: Rig) -> None:
        assert self._replayed is not None
        entries = self._replayed.entries
        while self._next < len(entries) and entries[self._next][0] <= rig.state.tick:
            for name, row in entries[self._next][1].items():
                rig.stepper.inputs[self._places[name]] = row
            self._next += 1

    @property
    def finished(self) -> bool:
        """As the front end says; a stream goes on until the order's end."""
        return self.front is not None and self.front.finished

    def script(self) -> str:
        """The stream of commands that repeats this flight."""
        return self._text if self.front is None else self._recorder.stream.text()

    def stop(self) -> None:
        """Close the front end."""
        if self.front is not None:
            self.front.close()


class CommandedKind(Kind):
    """The vehicle's own autopilot, commanded from outside."""

    name = "commanded"
    title = "reference autopilot, commanded from outside"
    summary = "The vehicle's own autopilot under commands from outside: a front end, sticks, or a recorded stream."
    options = CommandedOptions
    vehicle_control = "commanded"
    tunes = True
    longest_s = 3600.0

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """With controllers that see the true state, if that is chosen."""
        assert isinstance(options, CommandedOptions)
        if options.state == "estimate":
            return vehicle
        return replace(vehicle, diagram=see_truth(vehicle.diagram))

    def repeats(self, options: Options, script: str) -> bool:
        """Under a recorded stream, or without external commands."""
        return bool(script) or needs_no_client(getattr(options, "front", ""))

    def links(self, options: Options) -> Sequence[str]:
        """What partners send and receive over MAVLink."""
        return ("ground", "vehicle") if getattr(options, "front", "") == "mavlink" else ()

    def seat(self, task: Task) -> Seat:
        """Under the recorded stream if there is one, else under the front end."""
        options = task.options
        assert isinstance(options, CommandedOptions)
        truth = options.state == "truth"
        if task.script:
            return Seat(CommandedSystem(script=task.script, sees_truth=truth))
        front = make_front(options.front, options.model_dump())
        system = CommandedSystem(front, sees_truth=truth, announce=task.announce)
        return Seat(system)


COMMANDED = CommandedKind()
