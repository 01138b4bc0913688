"""An autopilot's own image on an emulated flight controller: it reads chips, and its timers drive the motors.

The image is that which a user would load onto the board; nothing in it is changed, and nothing of it is here. Its chips
are those of the catalogue, its serial port speaks MAVLink with the ground station in virtual time: a flight is a
function of the image, the vehicle and the seed, and repeats to the last bit. The vehicle moves in ticks of 1 ms; a
command acts from the next tick on.
Not modelled: USB, CAN, memory cards, a flash chip for logs, radio receivers, noise of the converter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ironbird.autopilots.ardupilot.channels import Channel, wire
from ironbird.autopilots.ardupilot.params import board_params
from ironbird.autopilots.kind import ParamsText, read_params
from ironbird.boards.firmware.device import Autopilot, Board, load_mcu_board
from ironbird.boards.firmware.elf import Image, read_image
from ironbird.boards.firmware.machine import Machine
from ironbird.boards.firmware.sensors import BoardSensors
from ironbird.boards.firmware.upset_line import add_upset_lines
from ironbird.boards.firmware.upsets import Upsets
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.files.trust import NO_TRUST, Trust
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Source, Wire
from ironbird.rig import option_texts as texts
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec

VARIABLE = "IRONBIRD_ARDUPILOT_F405"  # an image of ArduPilot for the board revo-mini: ELF, or HEX with its boot loader
FOUND = ("INS_ACC_ID", "INS_GYR_ID", "COMPASS_DEV_ID")  # what the board found is stored: calibrated sensors are these


class AutopilotImageOptions(Options):
    """Which image on which board, and what its time is like."""

    image: Annotated[
        str,
        Field(description=texts.IMAGE),
    ] = ""
    board: Annotated[str, Field(description=texts.BOARD)] = "revo_mini"
    clocks_per_instruction: Annotated[float, Field(ge=0.25, le=16, description="Of the core, on average.")] = 1.25
    params: Annotated[
        ParamsText,
        Field(description="Parameters on top of those of the vehicle: NAME=VALUE, apart by commas or lines."),
    ] = ""


class SerialWire(Wire):
    """A serial port of an emulated board as the wire of a ground station; in virtual time."""

    virtual = True

    def __init__(self, name: str, port: int, baud: int) -> None:
        self.name, self.port, self.baud = name, port, baud
        self.machine: Machine | None = None
        self.lost = 0  # bytes for which the line had no room

    def read(self) -> Iterator[tuple[Source, bytes]]:
        """What has left the board."""
        while self.machine is not None:
            data, _ = self.machine.take(self.port)
            if not data:
                return
            yield (self.name, 0), data

    def send(self, packet: memoryview) -> None:
        """Bytes begin to leave for the board now."""
        if self.machine is not None:
            data = bytes(packet)
            self.lost += len(data) - self.machine.send(self.port, data, self.baud, self.machine.time_s)

    def answer(self, source: Source) -> None:
        """There is only one."""

    def close(self) -> None:
        """The machine is closed by whoever runs it."""
        self.machine = None

    @property
    def handle(self) -> int:
        """Nothing to wait on."""
        return -1

    @property
    def answered(self) -> bool:
        """Always."""
        return True


class AutopilotImage(ControlSystem):
    """A board under emulation that runs an autopilot."""

    name = "autopilot_image"
    step_ticks = 1

    def __init__(
        self,
        options: AutopilotImageOptions,
        board: Board,
        image: Image,
        channels: Sequence[Channel],
        line: SerialWire,
    ) -> None:
        super().__init__()
        self.options, self.board, self.image, self.line = options, board, image, line
        self.autopilot = autopilot_of(board)
        self.channels = list(channels)
        self.machine: Machine | None = None
        self._figures: dict[str, Any] = {}
        self._upset = 0
        self.last_fault = ""

    def start(self, rig: Rig) -> None:
        """Put the board under power, with its chips fed."""
        if abs(rig.state.model.step_s - 0.001) > 1e-12:
            raise LinkError(f"chips are fed every 1 ms, but {rig.vehicle.id} has steps of {rig.state.model.step_s:g} s")
        self.machine = self.line.machine = Machine(
            self.board, self.image, clocks_per_instruction=self.options.clocks_per_instruction, by_blocks=True
        )
        self.sensors = BoardSensors(self.board, self.machine, rig)
        self.upsets = Upsets(self.machine, rig, ())
        self._upset = self.machine.upsets()
        self._before_s = rig.time_s

    def exchange(self, rig: Rig) -> None:
        """Let the board run up to now; then its motors get its pulses, and its chips the new values."""
        machine = self.machine
        assert machine is not None
        self.upsets.apply(self._before_s)
        machine.run(rig.time_s)
        self.upsets.look(rig.time_s)
        for channel in self.channels:
            timer, output = self.autopilot.outputs[channel.number - 1]
            high_s = machine.pwm_s(timer, output)
            rig.command(channel.place, channel.command(high_s * 1e6) if high_s else 0.0)
        self.sensors.take()
        self._before_s = rig.time_s
        if machine.upsets() != self._upset:
            self._watch(rig, machine)

    def _watch(self, rig: Rig, machine: Machine) -> None:
        before, self._upset = self._upset, machine.upsets()
        if self._upset & 0xFFFFFFFF != before & 0xFFFFFFFF:
            self.last_fault = machine.fault_text()
            self.note(rig, "failsafe", self.last_fault)
        if self._upset >> 32 != before >> 32:
            self.note(rig, "text", f"the board starts again after a reset by {machine.reset_text()}")

    def stop(self) -> None:
        """Let go of the machine."""
        if self.machine is not None:
            self._figures = self._measure(self.machine)
            self.machine.close()
            self.machine = None

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Faults of the board are witnessed by the board."""
        return self.upsets.acted(injection, self.last_fault)

    def _measure(self, machine: Machine) -> dict[str, Any]:
        now = machine.figures()
        return {
            "image": self.image.name,
            "board": self.board.id,
            "instructions": now.instructions,
            "resets": now.resets - 1,
            "faults": now.faults,
            "last_fault": self.last_fault,
            "place": machine.where(),
            "bytes_lost": self.line.lost,
            "registers": {name: len(offsets) for name, offsets in machine.exercised().items()},
        }

    def measured(self) -> dict[str, Any]:
        """Of the whole flight."""
        return self._figures

    def figures(self) -> dict[str, str]:
        """Rows for the summary."""
        found = self._figures
        if not found:
            return {}
        return {
            "image": f"{found['image']} on {found['board']}",
            "core": f"{found['instructions'] / 1e6:.1f} million instructions, {found['resets']} resets",
            **({"last fault of the core": found["last_fault"]} if found["last_fault"] else {}),
        }


def autopilot_of(board: Board) -> Autopilot:
    """What a board says of the autopilot on it; `LinkError` if it says nothing."""
    if board.autopilot is None:
        raise LinkError(f"board {board.id} has no table [autopilot]: it names no outputs and no telemetry port")
    return board.autopilot


def mortal(board: Board) -> list[str]:
    """Peripherals that carry a flight: buses of the chips, telemetry, outputs, converter, DMA, clocks, watchdog."""
    autopilot = autopilot_of(board)
    buses = {wire.bus for wire in board.chip} | {f"usart{autopilot.telemetry}"}
    return sorted(buses | {f"tim{timer}" for timer, _ in autopilot.outputs} | {"adc1", "dma1", "dma2", "iwdg", "rcc"})


def find_image(where: str = "", trust: Trust = NO_TRUST) -> Path:
    """The image to fly: the option, if the variable names it too, or the variable."""
    if where:
        trust.check_folder(where, VARIABLE)
    path = where or os.environ.get(VARIABLE, "")
    if not path or not Path(path).expanduser().is_file():
        raise LinkError(
            f"no image of an autopilot{f' at {path}' if path else ''}: set {VARIABLE} to an ArduPilot image for the "
            "board revo-mini, such as arducopter_with_bl.hex, which its `./waf configure --board revo-mini && "
            "./waf copter` puts into build/revo-mini/bin"
        )
    return Path(path).expanduser().resolve()


def _chosen(options: Options) -> AutopilotImageOptions:
    assert isinstance(options, AutopilotImageOptions)
    return options


class AutopilotImageKind(Kind):
    """Repeats to the last bit: the board's only clock is the simulation's."""

    name = "autopilot_image"
    title = "autopilot image on an emulated board"
    summary = "Fly with an autopilot's unmodified image on an emulated flight controller with emulated chips."
    options = AutopilotImageOptions
    adds_parts = True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """With places for faults of the microcontroller; `LinkError` if the board has too few outputs for it."""
        board = load_mcu_board(_chosen(options).board)
        class_of(vehicle)
        wiring = wire(vehicle.spec)
        most = max(channel.number for channel in wiring.channels)
        if wiring.firmware != "arducopter" or most > len(autopilot_of(board).outputs):
            raise LinkError(
                f"vehicle {vehicle.id} needs {wiring.firmware} with {most} outputs; board {board.id} has "
                f"{len(autopilot_of(board).outputs)} and flies multicopters"
            )
        diagram = vehicle.diagram.subset(list(vehicle.diagram.blocks))
        add_upset_lines(diagram, 0, mortal(board))
        return Vehicle(vehicle.spec, diagram, vehicle.path, vehicle.control)

    def links(self, options: Options) -> Sequence[str]:
        """Telemetry, both ways."""
        return ("ground", "vehicle")

    def programs(self, options: Options) -> Sequence[Path]:
        """The image."""
        try:
            return (find_image(_chosen(options).image),)
        except LinkError:
            return ()

    def repeats(self, options: Options, script: str) -> bool:
        """Always."""
        return True

    def seat(self, task: Task) -> Seat:
        """A board that is not under power yet, and the ground station on its telemetry port."""
        options = _chosen(task.options)
        board = load_mcu_board(options.board)
        autopilot = autopilot_of(board)
        image = read_image(find_image(options.image, task.trust))
        spec = task.vehicle.spec
        assert isinstance(spec, MulticopterSpec)
        params: Mapping[str, float | None] = {
            **{name: param.value for name, param in board_params(spec).items()},
            **autopilot.params,
            **read_params(options.params),
            **dict.fromkeys(FOUND),  # last: they are 0 until it has looked for its sensors
        }
        line = SerialWire(f"serial port {autopilot.telemetry} of {board.id}", autopilot.telemetry, autopilot.baud)
        plan = plan_of(task)
        pilot = Pilot(
            "ardupilot", kind=class_of(task.vehicle), wire=line, plan=plan.items, fence=plan.fence, rally=plan.rally,
            params=params, restart=True,
        )  # fmt: skip
        return Seat(AutopilotImage(options, board, image, wire(spec).channels, line), pilot)


AUTOPILOT_IMAGE = AutopilotImageKind()
