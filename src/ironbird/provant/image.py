"""Firmware of the bench for a vehicle: C sources of this package and the law of the vehicle's own control block."""

from __future__ import annotations

import functools
from pathlib import Path

from ironbird.blocks.controllers.tilt_rotor_lqr import TiltRotorLqr
from ironbird.boards.firmware.elf import Image, parse_elf
from ironbird.errors import LinkError
from ironbird.export.c_code.code import files_of
from ironbird.export.job import Job
from ironbird.provant.build import build_image
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle
from ironbird.vehicles.templates.tilt_rotor import CONTROL_SAMPLE_S

SOURCE = Path(__file__).parent / "source"
NUMBERS = ("paper", "code")  # sets of service numbers
TURNS = ("sensor_turn", "control_turn", "actuator_turn", "reference_turn")  # of the four tasks


def check_vehicle(vehicle: Vehicle) -> None:
    """Raise an error for vehicles whose signals do not fit the frames of the links."""
    control = vehicle.diagram.blocks.get(at.CONTROL.path)
    if not isinstance(control, TiltRotorLqr):
        raise LinkError(
            f"vehicle '{vehicle.id}' is controlled by {type(control).__name__}: the bench's links carry the sixteen "
            "sensors and four actuators of a tilt-rotor with two rotors, such as tiltrotor_provant"
        )


@functools.lru_cache(maxsize=16)
def firmware_files(vehicle: str) -> tuple[dict[str, str], str]:
    """All C files of the firmware for a vehicle, and the prefix of the generated law."""
    check_vehicle(load_vehicle(vehicle, control="truth"))
    job = Job(vehicle, at.CONTROL.path, "truth", "single", rate_hz=1.0 / CONTROL_SAMPLE_S)
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.[ch]"))}
    law = {f"law/{Path(name).name}": text for name, text in files_of(job).items()}
    return {**files, **law}, job.cut.name


def firmware_bytes(vehicle: str, numbers: str = "paper", watchdog: bool = True) -> bytes:
    """The firmware of a vehicle as ELF file; `numbers` selects the set of service numbers."""
    files, law = firmware_files(vehicle)
    options = (
        f'-DLAW_HEADER="{law}.h"', f"-DLAW_NAME={law}", f"-DSERVICE_NUMBERS={NUMBERS.index(numbers)}",
        f"-DWATCHDOG={int(watchdog)}",
    )  # fmt: skip
    return build_image("provant.elf", files, options)


@functools.lru_cache(maxsize=16)
def firmware_image(vehicle: str, numbers: str = "paper", watchdog: bool = True) -> Image:
    """The firmware of a vehicle as image for `Machine`; `numbers` selects the set of service numbers."""
    return parse_elf(firmware_bytes(vehicle, numbers, watchdog), f"provant.elf for {Path(vehicle).stem}")
