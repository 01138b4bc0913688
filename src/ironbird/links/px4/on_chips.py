"""PX4's build for a Linux board on Ironbird's chips: its drivers read sensors and write motors over SPI, I2C, UART.

There is no simulator link. The board's device files are Ironbird's (`ironbird.links.chips.served`); each step PX4 runs
up to the step's time, then the chips measure what the vehicle's sensors say, and the pulses of the PCA9685 go to the
motors. In virtual time the flight repeats, with the same hash over every request on every bus.

PX4's own start-up for the board is copied here with what calibration and a ground station would have set; its network
links go to loopback. Left out of it: `-s` of `gps start`, which its driver refuses.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.chips.board import Board
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.links.chips.feed import Feeder
from ironbird.links.chips.served import ServedBoard
from ironbird.links.chips.wires import BrokenWires
from ironbird.links.process import is_program, places
from ironbird.links.px4.airframe import Airframe, number
from ironbird.links.px4.airframes import airframe_of
from ironbird.links.px4.process import COMMAND_PORT, PILOT_PORT, Px4Process
from ironbird.links.rig import Rig
from ironbird.links.system import ControlSystem, OwnWitness
from ironbird.links.virtual_time.run import owner_of_programs

MONOTONIC_START_NS = 1_000_000_000  # the clock of a run in virtual time begins there (vt_time.c)
GOODBYE_S = 3.0
STEP_S = 0.001  # of virtual time, while it ends
PULSE_LOW_S, PULSE_SPAN_S = 1e-3, 1e-3
BOARDS = {  # what each needs beside the airframe: parameters that calibration and a ground station would have set
    "pilotpi": {
        "CAL_ACC0_ID": 2490370, "CAL_ACC0_PRIO": 75, "CAL_GYRO0_ID": 2490370, "CAL_GYRO0_PRIO": 75,
        "CAL_MAG0_ID": 397065, "CAL_MAG0_PRIO": 75, "BAT1_V_DIV": 5.7, "BAT1_N_CELLS": 3, "BAT1_CAPACITY": 4000.0,
        "CBRK_SUPPLY_CHK": 894281, "COM_RC_IN_MODE": 4, "COM_CPU_MAX": -1.0, "COM_RAM_MAX": -1.0,
        "COM_ARM_SDCARD": 0, "SDLOG_MODE": 0,
        "NAV_RCL_ACT": 0, "PCA9685_SCHD_HZ": 400.0, "PCA9685_PWM_FREQ": 400.0, "SYS_AUTOSTART": 4001,
        "SYS_HAS_NUM_ASPD": 0,
    },
}  # fmt: skip
ELSEWHERE = ("PWM_MAIN", "SIM_")  # parameters of PX4's build for simulators
MODULES = """\
dataman start
load_mon start
battery_status start
icm42688p start -q -s -R 4
ist8310 start -q -I -a 15 -R 4
ms5611 start -I
ads1115 start -I
pca9685_pwm_out start
control_allocator start
gps start -d /dev/ttySC0 -i uart -p ubx
rc_update start
sensors start
commander start
navigator start
ekf2 start
land_detector start multicopter
mc_hover_thrust_estimator start
flight_mode_manager start
mc_pos_control start
mc_att_control start
mc_rate_control start
"""


def variable_of(board: str) -> str:
    """The variable that names PX4's build for a board."""
    return f"IRONBIRD_PX4_{Path(board).stem.upper()}"


def find_board_px4(board: str, where: str | Path | None = None) -> Path:
    """PX4's program for a board."""
    tried = []
    for source, place in places(where, variable_of(board), f"px4-{Path(board).stem}"):
        found = place if is_program(place) else place / "bin" / "px4"
        if is_program(found):
            return found.resolve()
        tried.append(f"{source}: {place}")
    raise LinkError(
        f"PX4 for board {board} was not found ({'; '.join(tried) or 'nothing names it'}): build PX4's target for it "
        f"natively and set {variable_of(board)} to the build folder"
    )


class Px4OnChipsProcess(Px4Process):
    """One PX4 of a board, with the board behind its device files."""

    prefix = "ironbird-px4c-"

    def __init__(
        self, where: str | Path | None = None, *, board: Board, keep: Path | None = None, virtual: bool = False
    ) -> None:
        super().__init__(where, keep=keep, virtual=virtual)
        self.board = board
        self.served: ServedBoard | None = None

    def open_board(self, seed: int) -> ServedBoard:
        """The device files, before the program."""
        folder = self._make_folder() / "chips"
        folder.mkdir()
        (folder / "fs" / "microsd").mkdir(parents=True)
        self.served = ServedBoard(self.board, folder, seed=seed, virtual=self.run is not None)
        return self.served

    def _owner(self) -> tuple[int, int] | None:
        return owner_of_programs("PX4 on chips")

    def _variables(self, settings: Mapping[str, str]) -> dict[str, str]:
        assert self.served is not None
        return self.served.variables(super()._variables(settings))

    def start(self, airframe: Airframe, title: str, instance: int) -> None:
        """Start it with the board's start-up file."""
        binary = find_board_px4(self.board.id, self.where)
        self._instance = instance
        folder = self._make_folder()
        work = folder / "work"
        work.mkdir()
        (work / "start.config").write_text(self._script(airframe, instance))
        command = [str(binary), "-d", "-s", str(work / "start.config"), "-w", str(work), "-i", str(instance), str(work)]
        self._launch(command, cwd=work)

    def _script(self, airframe: Airframe, instance: int) -> str:
        if self.board.id not in BOARDS:
            raise LinkError(f"PX4 on chips knows the start-up of {', '.join(BOARDS)}, not of board {self.board.id}")
        params = {name: value for name, value in airframe.params.items() if not name.startswith(ELSEWHERE)}
        params |= BOARDS[self.board.id] | airframe.late
        for n in range(1, len(airframe.channels) + 1):
            params |= {f"PCA9685_FUNC{n}": 100 + n, f"PCA9685_MIN{n}": 1000, f"PCA9685_MAX{n}": 2000}
            params |= {f"PCA9685_DIS{n}": 1000, f"PCA9685_FAIL{n}": 1000}
        lines = ["#!/bin/sh", ". px4-alias.sh", "param select parameters.bson"]
        lines += [f"param set {name} {number(value)}" for name, value in sorted(params.items())]
        lines.append(MODULES.rstrip())
        local, remote = COMMAND_PORT + instance, PILOT_PORT + instance
        lines.append(f"mavlink start -x -u {local} -r 4000000 -f -m onboard -o {remote}")
        lines += ["logger start -t -b 200", "mavlink boot_complete", ""]
        return "\n".join(lines)

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        logs = sorted({*folder.glob("work/**/*.ulg"), *folder.glob("chips/fs/**/*.ulg")})
        return *logs, folder / self.console_name, folder / "work" / "start.config"

    def stop(self) -> None:
        """End it, then its board."""
        super().stop()
        if self.served is not None:
            self.served.close()


class Px4OnChips(ControlSystem):
    """PX4 whose sensors and outputs are chips."""

    name = "PX4"
    process: Px4OnChipsProcess
    step_ticks = 2
    pilot_s = 0.004  # in virtual time its messages are local datagrams, of which Linux keeps ten

    def __init__(
        self, process: Px4OnChipsProcess, injections: Sequence[Injection], *, instance: int = 0, seed: int = 0
    ) -> None:
        super().__init__()
        self.process = process
        self.instance, self._seed, self._injections = instance, seed, tuple(injections)
        self._begin_ns = 0
        self._motors: list[str] = []

    def start(self, rig: Rig) -> None:
        """Power for the board, then PX4; its time and the vehicle's begin together."""
        airframe = airframe_of(rig.vehicle)
        served = self._served = self.process.open_board(self._seed)
        self._feeder = Feeder(self.process.board, rig, served.chips.inputs)
        self._wires = BrokenWires(served.chips, rig, self._injections)
        outputs = next((i for i, d in enumerate(self.process.board.device) if d.chip == "pca9685"), None)
        if outputs is None:
            raise LinkError(f"board {self.process.board.id} has no PCA9685: nothing would drive the motors")
        self._motors = list(airframe.channels)
        self._drive = np.frombuffer(served.chips.fields(outputs).drive)[: len(self._motors)]
        run = self.process.run
        if run is not None:
            run.zero_is_now()
        self._begin_ns = MONOTONIC_START_NS if run is not None else time.monotonic_ns()
        served.zero_is(self._begin_ns)
        self._feeder.take()
        self._wires.take(0)
        served.tick(0)
        self.process.start(airframe, rig.vehicle.spec.title, self.instance)
        self.note(rig, "link", f"PX4 on the chips of {self.process.board.id}")

    def exchange(self, rig: Rig) -> None:
        """PX4 runs up to this time; then chips measure again, and motors get their pulses."""
        run = self.process.run
        if run is not None:
            if not run.at_simulator:
                self.process.settle(self.where(rig))
            run.allow(rig.time_us)
            self.process.settle(self.where(rig))
        else:
            wait = self._begin_ns + rig.time_us * 1000 - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait * 1e-9)
            elif wait < -1_000_000:
                self.traffic.late += 1
            self.process.check(self.where(rig))
        t = rig.time_us * 1000
        self._feeder.take()
        self._wires.take(t)
        self._served.tick(t)
        for place, pulse_s in zip(self._motors, self._drive.tolist(), strict=True):
            rig.command(place, min(1.0, max(0.0, (pulse_s - PULSE_LOW_S) / PULSE_SPAN_S)))

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The first level on a wire that a fault changed."""
        return self._wires.acted(injection)

    def figures(self) -> dict[str, str]:
        """Rows for the summary."""
        return {"buses": f"{self._counted[0]} requests, hash {self._counted[1]}"} | self.process.figures

    def measured(self) -> dict[str, Any]:
        """The same as data."""
        return {"requests": self._counted[0], "bus_hash": self._counted[1], "late": self.traffic.late}

    _counted: tuple[int, str] = (0, "")

    def stop(self) -> None:
        """End it and close its device files."""
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
