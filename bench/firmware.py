"""Speed of the tilt-rotor's firmware on an emulated board, beside the same mission in the kernel alone.

python bench/firmware.py [MISSION]: times real time in processor time of one core, both in the same run, and whether two
flights of the board are equal.
"""

from __future__ import annotations

import sys
import time

from ironbird.flight.flight import Flight, fly

VEHICLE = "tiltrotor_provant"


def timed(control: str, mission: str) -> tuple[float, Flight]:
    """How many times real time a flight takes, in processor time."""
    begin = time.process_time()
    flight = fly(VEHICLE, control=control, mission=mission)
    return flight.ended_s / (time.process_time() - begin), flight


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


if __name__ == "__main__":
    main()
