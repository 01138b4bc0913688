"""How fast scenarios fly: a start grid of quadcopters with the whole reference autopilot in one world, on one core.

Prints simulated over CPU time (the figure that counts on a shared machine) and over wall time, and the share of the CPU
time that the kernel takes. `python bench/scenario.py [--vehicles 50] [--seconds 20] [--workers 1]`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from ironbird.scenario.fleet import Fleet
from ironbird.scenario.grammar import load_scenario

TEXT = """
schema = 1
world = "{world}"
until_s = {seconds}
log_s = 0.1
[[vehicle]]
name = "swarm"
vehicle = "quad_f450"
mission = "hover"
count = {vehicles}
spacing_m = 5.0
"""


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vehicles", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--world", default="field")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "swarm.toml"
        path.write_text(TEXT.format(**vars(chosen)), encoding="utf-8")
        scenario = load_scenario(path)
    fleet = Fleet(scenario, chosen.workers)  # compiles
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        while fleet.tick < fleet.until_tick:
            fleet.advance(1000)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    finally:
        fleet.close()
    alone = Fleet(scenario, 1)
    try:
        kernel = time.process_time()
        for group in alone.groups:
            assert group.stepper is not None
            for job in group.stepper.jobs(alone.until_tick):
                job()
        kernel = time.process_time() - kernel
    finally:
        alone.close()
    print(f"{chosen.vehicles} vehicles for {chosen.seconds:g} s, {chosen.workers} worker(s), world {chosen.world}")
    print(f"  {chosen.seconds / cpu:.1f} times real time by CPU time, {chosen.seconds / wall:.1f} by wall time")
    print(f"  kernel alone {chosen.seconds / kernel:.1f} times real time; {kernel / cpu:.0%} of the CPU time")


if __name__ == "__main__":
    main()
