"""Speed of ArduPilot on the rig, as a share of what the same link gives with a vehicle that costs nothing.

    python bench/links_ardupilot.py [--vehicle quad_f450] [--windows 50]

Prints JSON. Needs ArduPilot's programs (IRONBIRD_ARDUPILOT). Both are measured in turn in one run, in short windows:
with the vehicle, and with its last state sent again and again with a new time. Of each the best tenth of the windows
counts, as other programs may run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ironbird.autopilots.ardupilot.process import ArduPilotProcess
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.ardupilot.link import RATE_HZ, ArduPilot

WARM_UP_S = 10.0  # of simulation time: ArduPilot is up and its estimator runs


class Still:
    """The same state at later times."""

    def __init__(self, text: bytes, time_s: float) -> None:
        self.rest = text.partition(b",")[2]
        self.time_s = time_s

    def text(self, ahead: int = 0) -> bytes:
        """The next line."""
        self.time_s += 1.0 / RATE_HZ
        return b'\n{"timestamp":%.6f,' % self.time_s + self.rest


def measure(vehicle: str = "quad_f450", windows: int = 50, window_s: float = 0.1) -> dict[str, Any]:
    """Frames per second with and without the vehicle."""
    rig = make_rig(vehicle, until_s=3600.0, log=[])
    system = ArduPilot(ArduPilotProcess())
    try:
        system.start(rig)
        while rig.time_s < WARM_UP_S and rig.step(system.step_ticks):
            system.exchange(rig)
        pairs = [_pair(rig, system, window_s) for _ in range(windows)]
    finally:
        system.stop()
    ours, best = (float(np.quantile([pair[i] for pair in pairs], 0.9)) for i in range(2))
    ratios = [with_it / without for with_it, without in pairs]
    return {
        "vehicle": vehicle,
        "real_time_factor": round(ours / RATE_HZ, 2),
        "real_time_factor_without_vehicle": round(best / RATE_HZ, 2),
        "share": round(ours / best, 3),
        "median_share_of_neighbours": round(statistics.median(ratios), 3),
        "windows": windows,
    }


def _pair(rig: Rig, system: ArduPilot, window_s: float) -> tuple[float, float]:
    """Frames per second with the vehicle, and without it."""

    def fly() -> None:
        rig.step(system.step_ticks)
        system.exchange(rig)

    with_it = system.step_ticks * _rate(fly, window_s)
    real, still = system.state, Still(system.reply, system.state.time_s)
    system.state = still  # type: ignore[assignment]
    without = system.step_ticks * _rate(lambda: system.exchange(rig), window_s)
    system.state = real
    rig.step(round(still.time_s * RATE_HZ) - rig.state.tick)  # time never goes back
    return with_it, without


def _rate(work: Callable[[], None], window_s: float) -> float:
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < window_s:
        work()
        count += 1
    return count / (time.perf_counter() - begin)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vehicle", default="quad_f450")
    parser.add_argument("--windows", type=int, default=50)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.vehicle, arguments.windows), indent=2))


if __name__ == "__main__":
    main()
