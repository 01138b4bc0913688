"""PX4's build for a Linux board on Ironbird's chips (`ironbird.boards.on_chips`).

PX4's own start-up file for the board is copied, with the values that calibration and a ground station would have set;
its network links go to loopback. Left out: `-s` of `gps start`, which its driver refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ironbird.autopilots.px4.airframe import Airframe, number
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.process import COMMAND_PORT, PILOT_PORT, Px4Process
from ironbird.boards.board import Board
from ironbird.boards.on_chips import OnBoard, OnChips, Pulse
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.host.process import is_program, places
from ironbird.rig.rig import Rig

BOARDS = {  # parameters in addition to the airframe, as calibration and a ground station would have set them
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
    """Name of the environment variable that gives the path of PX4's build for a board."""
    return f"IRONBIRD_PX4_{Path(board).stem.upper()}"


def find_board_px4(board: str, where: str | Path | None = None) -> Path:
    """Path of PX4's program for a board: `where`, or the environment variable; LinkError if there is none."""
    tried = []
    for source, place in places(where, variable_of(board), f"px4-{Path(board).stem}"):
        path = place if is_program(place) else place / "bin" / "px4"
        if is_program(path):
            return path.resolve()
        tried.append(f"{source}: {place}")
    raise LinkError(
        f"PX4 for board {board} was not found ({'; '.join(tried) or 'nothing names it'}): build PX4's target for it "
        f"natively and set {variable_of(board)} to the build folder"
    )


class Px4OnChipsProcess(OnBoard, Px4Process):
    """The process of a PX4 built for a board, with simulated chips behind its device files."""

    prefix = "ironbird-px4c-"

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        board: Board,
        keep: Path | None = None,
        virtual: bool = False,
        thread_seed: int = 0,
    ) -> None:
        super().__init__(where, keep=keep, virtual=virtual, thread_seed=thread_seed)
        self.board = board
        self.params: Mapping[str, float] = {}  # the user's own, after all others

    def start(self, airframe: Airframe, title: str, instance: int) -> None:
        """Start PX4 with the board's start-up file."""
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
        for name in self.params:
            if name.startswith(ELSEWHERE):
                raise LinkError(f"{name} is a parameter of PX4's build for simulators: leave --chips or it out")
        for n in range(1, len(airframe.channels) + 1):
            params |= {f"PCA9685_FUNC{n}": 100 + n, f"PCA9685_MIN{n}": 1000, f"PCA9685_MAX{n}": 2000}
            params |= {f"PCA9685_DIS{n}": 1000, f"PCA9685_FAIL{n}": 1000}
        params |= self.params
        lines = ["#!/bin/sh", ". px4-alias.sh", "param select parameters.bson"]
        lines += [f"param set {name} {number(value)}" for name, value in sorted(params.items())]
        lines.append(MODULES.rstrip())
        local, remote = COMMAND_PORT + instance, PILOT_PORT + instance
        lines.append(f"mavlink start -x -u {local} -r 4000000 -f -m onboard -o {remote}")
        lines += ["logger start -t -b 200", "mavlink boot_complete", ""]
        return "\n".join(lines)

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        logs = sorted({*folder.glob("chips/fs/**/*.ulg"), *folder.glob("work/**/*.ulg")})
        files = dict.fromkeys((*logs, *super()._to_keep(folder), folder / "work" / "start.config"))
        return tuple(files)


class Px4OnChips(OnChips):
    """Control system: PX4 whose sensors and outputs are simulated chips."""

    name = "PX4"
    process: Px4OnChipsProcess

    def __init__(
        self,
        process: Px4OnChipsProcess,
        injections: Sequence[Injection],
        *,
        instance: int = 0,
        seed: int = 0,
        bus_trace: str = "",
    ) -> None:
        super().__init__(process, injections, seed=seed, bus_trace=bus_trace)
        self.instance = instance

    def wire(self, rig: Rig) -> Sequence[Pulse]:
        """PWM outputs of the motors, in the order of the airframe."""
        return [Pulse(place, output) for output, place in enumerate(airframe_of(rig.vehicle).channels)]

    def launch(self, rig: Rig) -> None:
        """Start PX4 with the airframe of the vehicle."""
        self.process.start(airframe_of(rig.vehicle), rig.vehicle.spec.title, self.instance)
