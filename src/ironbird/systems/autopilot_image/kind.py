"""An autopilot's own image on an emulated flight controller: it reads chips, and its timers drive the motors.

The image is the file that a user would load onto the board; it is not modified, and Ironbird contains none of its code.
Its chips are those of the catalogue, its serial port carries MAVLink to the ground station in virtual time: a flight is
a function of the image, the vehicle and the seed, and repeats to the last bit. The vehicle moves in ticks of 1 ms; a
command acts from the next tick on. Not modelled: USB, CAN, memory cards, a flash chip for logs, radio receivers, noise
of the converter.
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
from ironbird.files import option_texts as texts
from ironbird.files.trust import NO_TRUST, Trust
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Source, Wire
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec

VARIABLE = "IRONBIRD_ARDUPILOT_F405"  # an image of ArduPilot for the board revo-mini: ELF, or HEX with its boot loader
FOUND = ("INS_ACC_ID", "INS_GYR_ID", "COMPASS_DEV_ID")  # ids that the board stores for detected sensors


class AutopilotImageOptions(Options):
    """Options of control system `autopilot_image`: image, board, and timing of the emulation."""

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
    """A serial port of an emulated board as the wire of a ground station, in virtual time."""

    virtual = True

    def __init__(self, name: str, port: int, baud: int) -> None:
        self.name, self.port, self.baud = name, port, baud
        self.machine: Machine | None = None
        self.lost = 0  # bytes for which the line had no room

    def read(self) -> Iterator[tuple[Source, bytes]]:
        """Yield the bytes that the board has sent, with their source."""
        while self.machine is not None:
            data, _ = self.machine.take(self.port)
            if not data:
                return
            yield (self.name, 0), data

    def send(self, packet: memoryview) -> None:
        """Queue bytes to the board; they arrive at the baud rate, beginning now."""
        if self.machine is not None:
            data = bytes(packet)
            self.lost += len(data) - self.machine.send(self.port, data, self.baud, self.machine.time_s)

    def answer(self, source: Source) -> None:
        """Do nothing: a serial line has only one partner."""

    def close(self) -> None:
        """Do nothing: the control system that runs the machine closes it."""
        self.machine = None

    @property
    def handle(self) -> int:
        """-1: there is no file descriptor to wait on."""
        return -1

    @property
    def answered(self) -> bool:
        """True: the partner on a serial line is always known."""
        return True


class AutopilotImage(ControlSystem):
    """Control system: an emulated board that runs an autopilot's image."""

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
        """Power on the board, with values for its chips."""
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
        """Run the board up to the present time, then apply its pulses to the motors and new values to its chips."""
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
        """Take the statistics of the emulated machine and release it."""
        if self.machine is not None:
            self._figures = self._measure(self.machine)
            self.machine.close()
            self.machine = None

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Effect of a fault of the board, as measured by the board; None for other faults."""
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
        """Statistics of the emulated core over the whole flight, as data for JSON."""
        return self._figures

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: image, instructions, resets, last fault of the core."""
        figures = self._figures
        if not figures:
            return {}
        return {
            "image": f"{figures['image']} on {figures['board']}",
            "core": f"{figures['instructions'] / 1e6:.1f} million instructions, {figures['resets']} resets",
            **({"last fault of the core": figures["last_fault"]} if figures["last_fault"] else {}),
        }


def autopilot_of(board: Board) -> Autopilot:
    """The section on the autopilot in a board's description; `LinkError` if it has none."""
    if board.autopilot is None:
        raise LinkError(f"board {board.id} has no table [autopilot]: it names no outputs and no telemetry port")
    return board.autopilot


def mortal(board: Board) -> list[str]:
    """Peripherals that a flight needs: buses of the chips, telemetry, outputs, converter, DMA, clocks, watchdog."""
    autopilot = autopilot_of(board)
    buses = {wire.bus for wire in board.chip} | {f"usart{autopilot.telemetry}"}
    return sorted(buses | {f"tim{timer}" for timer, _ in autopilot.outputs} | {"adc1", "dma1", "dma2", "iwdg", "rcc"})


def find_image(where: str = "", trust: Trust = NO_TRUST) -> Path:
    """Path of the image: that of the environment variable, or of the option if the variable names it too."""
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
    """Kind of control system `autopilot_image`; repeats to the last bit: its only clock is the simulation's."""

    name = "autopilot_image"
    title = "autopilot image on an emulated board"
    summary = "Fly with an autopilot's unmodified image on an emulated flight controller with emulated chips."
    options = AutopilotImageOptions
    adds_parts = True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle with parameters for microcontroller faults; `LinkError` if the board has too few outputs."""
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
        """Links on which link faults can act: telemetry, in both directions."""
        return ("ground", "vehicle")

    def programs(self, options: Options) -> Sequence[Path]:
        """The image file, whose hash belongs to the record; empty if none is found."""
        try:
            return (find_image(_chosen(options).image),)
        except LinkError:
            return ()

    def repeats(self, options: Options, script: str) -> bool:
        """True: the same order always gives the same flight."""
        return True

    def seat(self, task: Task) -> Seat:
        """A board that is not powered on yet, and the ground station on its telemetry port."""
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
            **dict.fromkeys(FOUND),  # set last: they are 0 until the autopilot has detected its sensors
        }
        line = SerialWire(f"serial port {autopilot.telemetry} of {board.id}", autopilot.telemetry, autopilot.baud)
        plan = plan_of(task)
        pilot = Pilot(
            "ardupilot", kind=class_of(task.vehicle), wire=line, plan=plan.items, fence=plan.fence, rally=plan.rally,
            params=params, restart=True,
        )  # fmt: skip
        return Seat(AutopilotImage(options, board, image, wire(spec).channels, line), pilot)


AUTOPILOT_IMAGE = AutopilotImageKind()
