"""Speed of autopilots in virtual time, against what they reach without Ironbird, measured in turn in one run.

    python bench/links_virtual.py [--rounds 3] [--seconds 20]

Prints JSON. PX4 (IRONBIRD_PX4) hovers under Ironbird's F450 with the sensors of PX4's own simulator, in virtual time,
and under its own physics (SIH, asked for 100 times real time, in real time). ArduPilot (IRONBIRD_ARDUPILOT) stands
under Ironbird's F450 in virtual time, and over its plain JSON link with a vehicle that costs nothing. Medians of the
rounds, and the median of the ratios within a round. The bars are 1.0 of SIH and 3 times the plain JSON link.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

from ironbird.links.ardupilot.link import ArduPilot
from ironbird.links.ardupilot.process import ArduPilotProcess
from ironbird.links.ground.pilot import Pilot
from ironbird.links.px4.link import Px4
from ironbird.links.px4.process import COMMAND_PORT, PILOT_PORT, Px4Process
from ironbird.links.rig import make_rig
from ironbird.links.system import ControlSystem
from links import ONE_OF_EACH, sih
from links_ardupilot import WARM_UP_S, Still

LONGEST_S = 300.0
POLL_TICKS = 20


def px4(seconds: float) -> float:
    """Times real time of PX4 in hover, in virtual time."""
    rig = make_rig(ONE_OF_EACH, until_s=LONGEST_S, log=[], log_s=1.0)
    rig.rangefinders, rig.flows, rig.airspeeds = [], [], []
    process = Px4Process(virtual=True)
    system = Px4(process)
    pilot = Pilot("px4", port=PILOT_PORT, peer_port=COMMAND_PORT, process=process)
    begin = end = (0.0, 0.0)
    try:
        system.start(rig)
        while end[0] - begin[0] < seconds and rig.step(system.step_ticks):
            system.exchange(rig)
            if rig.state.tick % POLL_TICKS == 0:
                pilot.poll(rig)
            if pilot.flying:
                end = rig.time_s, time.perf_counter()
                begin = end if begin[1] == 0.0 else begin
    finally:
        pilot.close()
        system.stop()
    return (end[0] - begin[0]) / (end[1] - begin[1])


def ardupilot(seconds: float, *, virtual: bool) -> float:
    """Times real time of ArduPilot: in virtual time with a vehicle, or in real time with one that costs nothing."""
    rig = make_rig("quad_f450", until_s=LONGEST_S, log=[], log_s=1.0)
    system = ArduPilot(ArduPilotProcess(virtual=virtual))
    try:
        system.start(rig)
        _advance(rig.step, system, lambda: system.exchange(rig), lambda: rig.time_s < WARM_UP_S)
        begin_s, begin = rig.time_s, time.perf_counter()
        if virtual:
            _advance(rig.step, system, lambda: system.exchange(rig), lambda: rig.time_s < begin_s + seconds)
            return (rig.time_s - begin_s) / (time.perf_counter() - begin)
        still = Still(system.reply, system.state.time_s)
        begin_s = still.time_s
        system.state = still  # type: ignore[assignment]
        while still.time_s < begin_s + seconds:
            system.exchange(rig)
        return (still.time_s - begin_s) / (time.perf_counter() - begin)
    finally:
        system.stop()


def _advance(
    step: Callable[[int], bool], system: ControlSystem, exchange: Callable[[], None], more: Callable[[], bool]
) -> None:
    while more() and step(system.step_ticks):
        exchange()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {"px4": [], "ardupilot": []}
    for _ in range(given.rounds):
        if os.environ.get("IRONBIRD_PX4"):
            found["px4"].append((px4(given.seconds), sih()))
        if os.environ.get("IRONBIRD_ARDUPILOT"):
            found["ardupilot"].append((ardupilot(given.seconds, virtual=True), ardupilot(given.seconds, virtual=False)))
    result = {"load": round(os.getloadavg()[0], 1), "rounds": given.rounds}
    for name, other in (("px4", "sih"), ("ardupilot", "plain_json_without_vehicle")):
        if found[name]:
            result[f"{name}_virtual"] = round(statistics.median(a for a, _ in found[name]), 2)
            result[f"{name}_{other}"] = round(statistics.median(b for _, b in found[name]), 2)
            result[f"{name}_ratio"] = round(statistics.median(a / b for a, b in found[name]), 2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
