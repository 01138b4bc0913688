"""Autopilots built for a Linux board: their own drivers read sensors and write motors over SPI, I2C, UART.

There is no simulator link. The board's device files are Ironbird's (`ironbird.boards.served`); in each step the
autopilot runs up to the step's time, then the chips take the values of the vehicle's sensors, and the pulses of the
PCA9685 go to the actuators. In virtual time the flight repeats, with the same hash over every request on every bus.
"""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from ironbird.boards.board import Board
from ironbird.boards.feed import Feeder
from ironbird.boards.served import TRACE, ServedBoard
from ironbird.boards.wire_faults import BrokenWires
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.host.process import AutopilotProcess
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem

MONOTONIC_START_NS = 1_000_000_000  # ns, start of the clock of a run in virtual time (vt_time.c)
GOODBYE_S = 3.0
STEP_S = 0.001  # s of virtual time while the program ends
DRIVER = "pca9685"
BusTrace = Annotated[  # an option of autopilots on chips
    str,
    Field(
        pattern=r"^(\d{1,6}(\.\d{1,3})?:\d{1,6}(\.\d{1,3})?)?$",
        description="FROM:TO in seconds: all traffic on the board's buses in this time goes to trace.txt in the "
        "flight's folder (`ironbird board trace` decodes it). Empty: none.",
    ),
]


class Pulse(NamedTuple):
    """Conversion of the pulse of an output (from 0 on) to a command: (pulse - zero) / span, limited; span 0: none."""

    place: str
    output: int
    zero_s: float = 1e-3
    span_s: float = 1e-3
    low: float = 0.0
    high: float = 1.0
    silent: bool = False  # no pulse means command 0, not the lowest one


class OnBoard(AutopilotProcess):
    """An autopilot process with a board behind its device files; never root."""

    board: Board
    served: ServedBoard | None = None
    recorded = False  # its chips are in shared memory

    def open_board(self, seed: int, *, traced: bool = False) -> ServedBoard:
        """Create the device files, before the program starts."""
        folder = self._make_folder() / "chips"
        folder.mkdir()
        (folder / "fs" / "microsd").mkdir(parents=True)
        self.served = ServedBoard(self.board, folder, seed=seed, virtual=self.run is not None, traced=traced)
        return self.served

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        return *super()._to_keep(folder), folder / "chips" / TRACE  # type: ignore[safe-super]

    def _variables(self, settings: Mapping[str, str]) -> dict[str, str]:
        assert self.served is not None
        return self.served.variables(super()._variables(settings))

    def stop(self) -> None:
        """End the program, then its board."""
        super().stop()
        if self.served is not None:
            self.served.close()


class OnChips(ControlSystem):
    """An autopilot whose sensors and outputs are chips."""

    process: OnBoard
    step_ticks = 2
    pilot_s = 0.004  # in virtual time its messages are local datagrams, of which Linux queues ten
    _counted: tuple[int, str] = (0, "")

    def __init__(
        self, process: OnBoard, injections: Sequence[Injection], *, seed: int = 0, bus_trace: str = ""
    ) -> None:
        super().__init__()
        self.process = process
        self._traced_us = [round(float(end) * 1e6) for end in bus_trace.split(":")] if bus_trace else []
        self._seed, self._injections = seed, tuple(injections)
        self._begin_ns = 0
        self._pulses: list[Pulse] = []

    @abstractmethod
    def wire(self, rig: Rig) -> Sequence[Pulse]:
        """Conversion from pulse to command for each output of the board."""

    @abstractmethod
    def launch(self, rig: Rig) -> None:
        """Start the program; the board already exists."""

    def start(self, rig: Rig) -> None:
        """Power the board, then start the autopilot; its time and the vehicle's begin together."""
        board, run = self.process.board, self.process.run
        served = self._served = self.process.open_board(self._seed, traced=bool(self._traced_us))
        self._record(0)
        self._feeder = Feeder(board, rig, served.chips.inputs)
        self._wires = BrokenWires(served.chips, rig, self._injections)
        outputs = next((i for i, d in enumerate(board.device) if d.chip == DRIVER), None)
        if outputs is None:
            raise LinkError(f"board {board.id} has no PCA9685: nothing would drive the motors")
        self._pulses = list(self.wire(rig))
        self._drive = np.frombuffer(served.chips.fields(outputs).drive)
        if run is not None:
            run.zero_is_now()
        self._begin_ns = MONOTONIC_START_NS if run is not None else time.monotonic_ns()
        served.zero_is(self._begin_ns)
        self._feeder.take()
        self._wires.take(0)
        served.tick(0)
        self.launch(rig)
        self.note(rig, "link", f"{self.name} on the chips of {board.id}")

    def _record(self, time_us: int) -> None:
        if self._traced_us:
            self._served.record(self._traced_us[0] <= time_us < self._traced_us[1])

    def exchange(self, rig: Rig) -> None:
        """Run the autopilot up to this time; then update the chips, and pass its pulses to the actuators."""
        run = self.process.run
        if run is not None:
            if not run.at_simulator:
                self.process.settle(lambda: self.where(rig))
            run.allow(rig.time_us)
            self.process.settle(lambda: self.where(rig))
        else:
            wait = self._begin_ns + rig.time_us * 1000 - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait * 1e-9)
            elif wait < -1_000_000:
                self.traffic.late += 1
            self.process.check(self.where(rig))
        t = rig.time_us * 1000
        self._record(rig.time_us)
        self._feeder.take()
        self._wires.take(t)
        self._served.tick(t)
        drive = self._drive.tolist()
        for place, output, zero_s, span_s, low, high, silent in self._pulses:
            pulse_s = drive[output]
            none = silent and pulse_s <= 0.0
            rig.command(place, 0.0 if none else min(high, max(low, (pulse_s - zero_s) / span_s)))

    def injected(self, injection: Injection) -> None:
        """Watch the wires for a fault that was added in flight."""
        self._wires.add(injection)

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The witness of a wire fault: the first level on a wire that it changed."""
        return self._wires.acted(injection)

    def figures(self) -> dict[str, str]:
        """Rows for the summary, as texts."""
        return {"buses": f"{self._counted[0]} requests, hash {self._counted[1]}"} | self.process.figures

    def measured(self) -> dict[str, Any]:
        """Figures of the summary as data."""
        return {"requests": self._counted[0], "bus_hash": self._counted[1], "late": self.traffic.late}

    def stop(self) -> None:
        """End the program and close its device files."""
        served = self.process.served
        if served is not None and served.chips.memory is not None:
            self._wires.look() if hasattr(self, "_wires") else None
            self._counted = served.chips.requests, served.chips.digest
            self._drive = np.zeros(0)
        run = self.process.run
        if run is not None and self.process.running():
            with contextlib.suppress(LinkError):
                self.process.ask_to_end()
                for _ in range(round(GOODBYE_S / STEP_S)):
                    run.allow_more(STEP_S)
                    self.process.settle()
        self.process.stop()
