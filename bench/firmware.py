"""Speed of the tilt-rotor's firmware on an emulated board, beside the same mission in the kernel alone.

python bench/firmware.py [MISSION]: times real time in processor time of one core, both in the same run, and whether two
flights of the board are equal. If IRONBIRD_ARDUPILOT_F405 names an image, also how an autopilot starts on its board,
instruction by instruction and by blocks.
"""

from __future__ import annotations

import os
import sys
import time

from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.elf import read_image
from ironbird.boards.firmware.machine import Machine
from ironbird.flight.flight import Flight, fly
from ironbird.systems.autopilot_image.kind import VARIABLE

VEHICLE = "tiltrotor_provant"


def timed(control: str, mission: str) -> tuple[float, Flight]:
    """How many times real time a flight takes, in processor time."""
    begin = time.process_time()
    flight = fly(VEHICLE, control=control, mission=mission)
    return flight.ended_s / (time.process_time() - begin), flight


def start_of_an_autopilot(image: str, until_s: float = 8.0, from_s: float = 2.0) -> None:
    """Processor time of an image's tasks alone, without a vehicle, after its parameters' sectors were made."""
    for by_blocks in (False, True):
        machine = Machine(
            load_mcu_board("revo_mini"), read_image(image), clocks_per_instruction=1.25, by_blocks=by_blocks
        )
        machine.run(from_s)
        begin, before = time.process_time(), machine.figures().instructions
        machine.run(until_s)
        taken, count = time.process_time() - begin, machine.figures().instructions - before
        print(
            f"image {'by blocks      ' if by_blocks else 'by instructions'} "
            f"{(until_s - from_s) / taken:5.1f} times real time, "
            f"{taken / count * 1e9:.1f} ns an instruction, {count / (until_s - from_s) / 1e6:.1f} million a second"
        )
        machine.close()


def main() -> None:
    """Measure and print."""
    mission = sys.argv[1] if len(sys.argv) > 1 else "spiral"
    for control in ("firmware", "truth"):  # compile, and fill the caches
        fly(VEHICLE, control=control, mission=mission, until_s=1.0)
    board, first = timed("firmware", mission)
    kernel, _ = timed("truth", mission)
    again, second = timed("firmware", mission)
    print(f"board    {min(board, again):7.1f} to {max(board, again):.1f} times real time, {first.ended_s:.2f} s flown")
    print(f"kernel   {kernel:7.1f} times real time")
    print(f"board's flights are {'equal' if first.sha256 == second.sha256 else 'DIFFERENT'}: {first.sha256}")
    if os.environ.get(VARIABLE):
        start_of_an_autopilot(os.environ[VARIABLE])


if __name__ == "__main__":
    main()
