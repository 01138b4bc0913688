"""ArduPilot's build for a Linux board on simulated chips (`ironbird.boards.on_chips`), for multicopters.

The program is ArduPilot's for that board (`./waf configure --board pilotpi --define HAL_WITH_ESC_TELEM=1`: without the
define a copter of 4.7 and later stays at ground idle on this board), built for this computer. Sensors, battery, radio
and motors go through its own drivers; values that a calibration would have stored are passed as default parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironbird.autopilots.ardupilot.channels import SCALES, Wiring, wire
from ironbird.autopilots.ardupilot.params import board_params
from ironbird.autopilots.ardupilot.process import ArduPilotProcess
from ironbird.autopilots.ardupilot.version import release_of
from ironbird.boards.board import Board
from ironbird.boards.on_chips import OnBoard, OnChips, Pulse
from ironbird.errors import LinkError
from ironbird.host.process import is_program, places
from ironbird.protocols.parm_file import Param, Params, merge, write_parm
from ironbird.rig.rig import Rig
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

MICROSECONDS = 1e-6
# Device ids combine bus type, bus, address and device type, as ArduPilot numbers them [ArduPilotCode]
BOARDS: dict[str, Params] = {  # parameters that calibration and set-up would have stored on each board
    "pilotpi": {
        "INS_ACC_ID": Param(0x340002, "ICM-42688-P on SPI 0: it counts as calibrated"),
        "INS_GYR_ID": Param(0x340002, "the same"),
        "COMPASS_DEV_ID": Param(0x0A0F09, "IST8310 at 0x0f of I2C 1: it counts as calibrated"),
        "COMPASS_ORIENT": Param(8, "found as an outside compass (pitch 180) on a board that has it at yaw 180"),
        "BATT_MONITOR": Param(3, "voltage alone: the board measures no current"),
        "BATT_LOW_MAH": Param(0, "the same"),
        "BATT_CRT_MAH": Param(0, "the same"),
        "INS_GYR_CAL": Param(0, "no calibration at the start"),
        "LOG_DISARMED": Param(0, "log from arming on"),
        "GPS1_TYPE": Param(2, "u-blox"),
    },
}
SERIAL = {"pilotpi": {"--serial3": "gps"}}  # ArduPilot's serial port -> device of the board


def variable_of(board: str) -> str:
    """Name of the environment variable that gives the path of ArduPilot's programs for a board."""
    return f"IRONBIRD_ARDUPILOT_{Path(board).stem.upper()}"


def find_board_ardupilot(board: str, where: str | Path | None = None, name: str = "arducopter") -> Path:
    """Path of ArduPilot's program for a board: `where`, or the environment variable; LinkError if there is none."""
    tried = []
    for source, place in places(where, variable_of(board), f"{name}-{Path(board).stem}"):
        path = place / name if place.is_dir() else place
        if is_program(path):
            return path.resolve()
        tried.append(f"{source}: {place}")
    raise LinkError(
        f"{name} for board {board} was not found ({'; '.join(tried) or 'nothing names it'}): build ArduPilot for it "
        f"with this computer's compiler (waf configure --board {Path(board).stem} --toolchain native --define "
        f"HAL_WITH_ESC_TELEM=1) and set "
        f"{variable_of(board)} to build/{Path(board).stem}/bin"
    )


def chip_params(spec: VehicleSpec, board: str) -> Params:
    """ArduPilot parameters for a vehicle on a board with chips."""
    if board not in BOARDS:
        raise LinkError(f"ArduPilot on chips knows the set-up of {', '.join(BOARDS)}, not of board {board}")
    if not isinstance(spec, MulticopterSpec):
        raise LinkError(f"ArduPilot on chips flies multicopters; '{spec.id}' is none: leave --chips out")
    return merge(board_params(spec), BOARDS[board])


class ArduPilotOnChipsProcess(OnBoard, ArduPilotProcess):
    """The process of an ArduPilot built for a board, with simulated chips behind its device files."""

    prefix = "ironbird-apc-"
    slack_s = 0.0  # its threads sleep exactly until their time

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        board: Board,
        keep: Path | None = None,
        params: str = "",
        virtual: bool = False,
        thread_seed: int = 0,
    ) -> None:
        super().__init__(where, keep=keep, params=params, virtual=virtual, thread_seed=thread_seed)
        self.board = board

    def start_on_board(self, spec: VehicleSpec) -> None:
        """Start ArduPilot with the vehicle's parameters; its log and storage are in its folder."""
        self.program = find_board_ardupilot(self.board.id, self.where, wire(spec).firmware)
        folder = self._make_folder()
        params = release_of(self.program).named(chip_params(spec, self.board.id))
        text = write_parm(params, f"{spec.title}: made from its vehicle file")
        (folder / "vehicle.parm").write_text(text + self.params)
        for name in ("logs", "terrain", "storage"):
            (folder / name).mkdir()
        lines = [
            word
            for option, device in SERIAL[self.board.id].items()
            for word in (option, next(d.file for d in self.board.device if d.name == device))
        ]
        command = [
            str(self.program), "--serial0", f"udp:127.0.0.1:{self.ground_port}", *lines,
            "--log-directory", str(folder / "logs"), "--terrain-directory", str(folder / "terrain"),
            "--storage-directory", str(folder / "storage"), "--defaults", str(folder / "vehicle.parm"),
        ]  # fmt: skip
        self._launch(command, cwd=folder)


def pulses_of(wiring: Wiring) -> list[Pulse]:
    """The outputs of a wiring as descriptions of PWM pulses."""
    made = []
    for channel in wiring.channels:
        zero_us, scale, low, high = SCALES[channel.kind]
        sign = -1.0 if channel.reverse else 1.0
        low, high = (low, high) if sign > 0 else (-high, -low)
        span_s = sign * MICROSECONDS / scale
        made.append(Pulse(channel.place, channel.number - 1, zero_us * MICROSECONDS, span_s, low, high, silent=True))
    return made


class ArduPilotOnChips(OnChips):
    """Control system: ArduPilot whose sensors and outputs are simulated chips."""

    name = "ArduPilot"
    process: ArduPilotOnChipsProcess

    def wire(self, rig: Rig) -> Sequence[Pulse]:
        """PWM outputs for the vehicle, in the order of ArduPilot's frame for it."""
        return pulses_of(wire(rig.vehicle.spec))

    def launch(self, rig: Rig) -> None:
        """Start ArduPilot with the parameters of the vehicle."""
        self.process.start_on_board(rig.vehicle.spec)
