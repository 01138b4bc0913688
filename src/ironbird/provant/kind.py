"""Firmware on an emulated board as the control system of a vehicle: the bench of [ProVANT] in virtual time.

The board's sensor link is served at the very instruction at which a request has left it; bytes take their time in both
directions. The vehicle moves in ticks of 1 ms: a request gets the state at the tick before it, a command acts from the
next tick on. References come from the vehicle's own navigator (the base station) or from sticks (the joystick reader),
never from both. An attended base station (`pilot = "attended"`) is commanded in flight: the navigator accepts the
commands and sends its set-points over the reference link as before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.elf import Image, read_image
from ironbird.boards.firmware.machine import SENT, Machine
from ironbird.boards.firmware.upset_line import add_upset_lines
from ironbird.boards.firmware.upsets import Upsets
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.files import option_texts as texts
from ironbird.model.diagram import Diagram
from ironbird.protocols.orders import is_orders
from ironbird.provant.cable import CableSystem
from ironbird.provant.frames import BAUD, FLAG, REFERENCE_PORT, SENSOR_PORT, SERVICES
from ironbird.provant.image import TURNS, check_vehicle, firmware_image
from ironbird.provant.references import BaseStation, JoystickReader, References
from ironbird.provant.server import Server
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles import places as at
from ironbird.vehicles.commanded import take_commands
from ironbird.vehicles.external import LATCH
from ironbird.vehicles.load import Vehicle

COUNTERS = (
    "periods", "answers", "timeouts", "late", "bad_frames", "bad_lengths", "references", "bad_references", "busy",
)  # of client.h  # fmt: skip


class FirmwareOptions(Options):
    """Options of control system `firmware`: image, board, links, and timing of the emulation."""

    image: Annotated[
        str,
        Field(description=texts.IMAGE),
    ] = ""
    board: Annotated[str, Field(description=texts.BOARD)] = "stm32f4_discovery"
    numbers: Annotated[
        Literal["paper", "code"],
        Field(description=texts.NUMBERS),
    ] = "paper"
    watchdog: Annotated[bool, Field(description="Whether the bench's own firmware starts its watchdog.")] = True
    clocks_per_instruction: Annotated[float, Field(ge=0.25, le=16, description="Of the core, on average.")] = 1.25
    step_ticks: Annotated[int, Field(ge=1, le=12, description="Milliseconds between two exchanges.")] = 1
    sticks: Annotated[str, Field(description=texts.STICKS)] = ""
    pilot: Annotated[
        Literal["ours", "attended"],
        Field(description=texts.PILOT),
    ] = "ours"
    sensor_port: Annotated[
        str, Field(description="A real board in wall time: serial port of its sensor link, such as /dev/ttyUSB0.")
    ] = ""
    reference_port: Annotated[str, Field(description="And that of its reference link.")] = ""
    wait_s: Annotated[float, Field(gt=0, le=600, description=texts.WAIT)] = 10.0


class FirmwareSystem(ControlSystem):
    """An emulated board, its two serial links, and the source of references."""

    name = "firmware"
    fills = "firmware"

    def __init__(
        self, options: FirmwareOptions, image: Image, references: References | None = None, orders: str = ""
    ) -> None:
        super().__init__()
        self.options, self.image, self.orders = options, image, orders
        self.step_ticks = options.step_ticks
        self.references = references
        self.machine: Machine | None = None
        self.server: Server | None = None
        self._resets, self._faults, self._upsets = 1, 0, 1 << 32
        self.last_fault = ""

    def start(self, rig: Rig) -> None:
        """Power on the board: create the emulated machine, its server and the source of references."""
        options = self.options
        self.machine = Machine(
            load_mcu_board(options.board), self.image, clocks_per_instruction=options.clocks_per_instruction
        )
        self.machine.tell(SENSOR_PORT, FLAG)
        self.server = Server(rig, SERVICES[options.numbers])
        if self.references is None:
            self.references = BaseStation(rig)
        if options.pilot == "attended":
            self.obey(rig, replace(rig, tunings=[]), self.orders, sees_truth=True)
        self.upsets = Upsets(self.machine, rig, TURNS)
        self._before_s = rig.time_s

    def exchange(self, rig: Rig) -> None:
        """Run the board up to the present time and serve its links."""
        machine, server = self.machine, self.server
        assert machine is not None and server is not None and self.references is not None
        now_s = rig.time_s
        if self.obeyed is not None:
            self.obeyed.commander.watch()
        self.upsets.apply(self._before_s)
        while machine.run(now_s) == SENT:
            data, moments = machine.take(SENSOR_PORT)
            if len(data):
                at_s = float(moments[-1])
                server.bytes_came(data, at_s, lambda answer, at_s=at_s: self._answer(answer, at_s))  # type: ignore[misc]
        self.upsets.look(now_s)
        server.command()
        server.view.take()
        frame = self.references.due(now_s)
        if frame:
            machine.send(REFERENCE_PORT, frame, BAUD, now_s)
        self._before_s = now_s
        self._watch(rig)
        if self.obeyed is not None:
            self.obeyed.play(rig.time_us)

    def _answer(self, frame: bytes, at_s: float) -> None:
        assert self.machine is not None
        self.machine.send(SENSOR_PORT, frame, BAUD, at_s)
        self.traffic.sent += 1
        self.traffic.last_sent = "sensors"

    def _watch(self, rig: Rig) -> None:
        """Record faults and resets of the processor core as events."""
        assert self.machine is not None
        upsets = self.machine.upsets()
        if upsets == self._upsets:
            return
        self._upsets = upsets
        now = self.machine.figures()
        if now.faults != self._faults:
            self._faults = now.faults
            self.last_fault = self.machine.fault_text()
            self.note(rig, "failsafe", self.last_fault)
        if now.resets != self._resets:
            self._resets = now.resets
            self.note(rig, "text", f"the board starts again after a reset by {self.machine.reset_text()}")

    def stop(self) -> None:
        """Release the machine and close the source of references."""
        if self.machine is not None:
            self._figures = self._measure()
            self.machine.close()
            self.machine = None
        if self.references is not None:
            self.references.close()

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Effect of a fault of the board, as measured by the board; None for other faults."""
        return self.upsets.acted(injection, self.last_fault)

    # ------------------------------------------------------------------ figures

    def counters(self) -> dict[str, int]:
        """Counters of the board's own firmware for its links; empty if the image has none."""
        assert self.machine is not None
        if "counters" not in self.image.symbols:
            return {}
        place = self.image.address("counters")
        return {name: self.machine.word(place + 4 * i) for i, name in enumerate(COUNTERS)}

    def _measure(self) -> dict[str, Any]:
        assert self.machine is not None and self.server is not None
        now, server = self.machine.figures(), self.server
        periods = np.array(server.periods_s) * 1e3
        return {
            "image": self.image.name,
            "instructions": now.instructions,
            "load": now.instructions * self.options.clocks_per_instruction / max(now.time_s, 1e-9) / now.clock_Hz,
            "resets": now.resets - 1,
            "faults": now.faults,
            "last_fault": self.last_fault,
            "interrupts_nested": now.deepest,
            "requests": server.counters.requests,
            "commands": server.counters.commands,
            "duplicates": server.counters.duplicates,
            "bad_frames": server.reader.bad,
            "unknown": server.counters.unknown,
            "period_ms": {
                "mean": float(periods.mean()) if periods.size else math.nan,
                "least": float(periods.min()) if periods.size else math.nan,
                "most": float(periods.max()) if periods.size else math.nan,
            },
            "board": self.counters(),
        }

    def measured(self) -> dict[str, Any]:
        """Statistics of the core and the links over the whole flight, as data for JSON."""
        return self._figures

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: image, core load, sensor link, request period."""
        figures = self._figures
        period = figures["period_ms"]
        rows = {
            "image": figures["image"],
            "core": f"{figures['instructions'] / 1e6:.2f} million instructions, {100 * figures['load']:.1f} % busy",
            "sensor link": f"{figures['requests']} requests, {figures['commands']} commands, "
            f"{figures['duplicates']} doubled, {figures['bad_frames']} bad frames",
            "request period": f"{period['mean']:.4f} ms mean, {period['least']:.4f} to {period['most']:.4f} ms",
            "resets": str(figures["resets"]),
        }
        if figures["last_fault"]:
            rows["last fault of the core"] = figures["last_fault"]
        return rows


def bench_diagram(vehicle: Vehicle) -> Diagram:
    """The vehicle's diagram without its control block, for firmware in its place: the actuator commands become inputs.

    The navigator stays and takes the part of the base station.
    """
    whole = vehicle.diagram
    blocks = [path for path in whole.blocks if path != at.CONTROL.path]
    bare = whole.subset(blocks)
    for target, sources in whole.links.items():
        if target.endswith(LATCH) and any(source.startswith(f"{at.CONTROL.path}.") for source in sources):
            bare.export(bare.port(target), target.removesuffix(LATCH))
    return bare


class FirmwareKind(Kind):
    """Firmware on an emulated board, or on a board at two serial ports (`sensor_port`, `reference_port`)."""

    name = "firmware"
    title = "firmware on a board, emulated or at serial ports"
    summary = "Fly with firmware on an emulated microcontroller, bit for bit and faster than real time."
    options = FirmwareOptions
    vehicle_control = "truth"
    adds_parts = True
    longest_s = 200.0
    obeys = True

    def takes_orders(self, template: str) -> bool:
        """True: the base station accepts commands in flight for every vehicle."""
        return True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle with actuators as inputs, and with parameters for faults of the microcontroller."""
        assert isinstance(options, FirmwareOptions)
        check_vehicle(vehicle)
        if options.pilot == "attended":
            vehicle = replace(vehicle, diagram=take_commands(vehicle.diagram))
        diagram = bench_diagram(vehicle)
        add_upset_lines(diagram, len(TURNS))
        return Vehicle(vehicle.spec, diagram, vehicle.path, vehicle.control)

    def programs(self, options: Options) -> Sequence[Path]:
        """The image file if it is the user's own, else nothing."""
        assert isinstance(options, FirmwareOptions)
        return (Path(options.image),) if options.image else ()

    def repeats(self, options: Options, script: str) -> bool:
        """True unless a person holds the sticks or the board is a real one."""
        assert isinstance(options, FirmwareOptions)
        return not options.sensor_port and (not options.sticks or options.sticks.endswith(".csv"))

    def pace(self, options: Options, script: str) -> float | None:
        """1 (wall-clock speed) for a real board, else None."""
        assert isinstance(options, FirmwareOptions)
        return 1.0 if options.sensor_port else None

    def seat(self, task: Task) -> Seat:
        """The rig with a board that is not powered on yet."""
        options = task.options
        assert isinstance(options, FirmwareOptions)
        if task.script and not (options.pilot == "attended" and is_orders(task.script)):
            raise LinkError("the firmware's base station flies missions, no plan of another program")
        if options.pilot == "attended" and options.sticks:
            raise LinkError("references come from an attended base station or from sticks, not from both")
        references = JoystickReader.of(options.sticks, task.vehicle) if options.sticks else None
        if options.sensor_port or options.reference_port:
            if not (options.sensor_port and options.reference_port):
                raise LinkError("a real board has two links: give sensor_port and reference_port")
            return Seat(
                CableSystem(
                    options.sensor_port, options.reference_port, numbers=options.numbers, references=references,
                    wait_s=options.wait_s, orders=task.script if options.pilot == "attended" else None,
                )
            )  # fmt: skip
        if options.image:
            image = read_image(options.image)
        else:
            image = firmware_image(str(task.vehicle.path), options.numbers, options.watchdog)
        return Seat(FirmwareSystem(options, image, references, task.script))


FIRMWARE = FirmwareKind()
