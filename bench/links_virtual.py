"""Speed of autopilots in virtual time, against what they reach without Ironbird, measured in turn in one run.

    python bench/links_virtual.py [--rounds 3] [--seconds 20]

Prints JSON. PX4 (IRONBIRD_PX4) hovers under Ironbird's F450 with the sensors of PX4's own simulator, in virtual time,
and under its own physics (SIH, asked for 100 times real time, in real time). ArduPilot (IRONBIRD_ARDUPILOT) stands
under Ironbird's F450 in virtual time, under a vehicle that costs nothing in virtual time (no vehicle can be faster),
and over its plain JSON link with such a vehicle. Medians of the rounds, and the median of the ratios within a round.
The bars are 1.0 of SIH and 3 times the plain JSON link. Beside the speeds stands the processor time for a second of
flight, both sides together, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

from ironbird.autopilots.ardupilot.process import ArduPilotProcess
from ironbird.autopilots.px4.process import COMMAND_PORT, PILOT_PORT, Px4Process
from ironbird.ground.pilot import Pilot
from ironbird.rig.rig import make_rig
from ironbird.rig.system import ControlSystem
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.systems.px4.link import Px4
from links import ONE_OF_EACH, sih_measured, used_s
from links_ardupilot import WARM_UP_S, Still

LONGEST_S = 300.0
POLL_TICKS = 20


Speed = tuple[float, float]  # times real time; processor time for a second of flight, in ms


class Watch:
    """Wall time and processor time, of this process and another."""

    def __init__(self, pid: int | None) -> None:
        assert pid is not None
        self.pid = pid
        self.wall, self.used = time.perf_counter(), self._used()

    def _used(self) -> float:
        return time.process_time() + used_s(self.pid)

    def speed(self, flown_s: float) -> Speed:
        """Since its start."""
        return flown_s / (time.perf_counter() - self.wall), 1e3 * (self._used() - self.used) / flown_s


def px4(seconds: float) -> Speed:
    """PX4 in hover, in virtual time."""
    rig = make_rig(ONE_OF_EACH, until_s=LONGEST_S, log=[], log_s=1.0)
    rig.rangefinders, rig.flows, rig.airspeeds = [], [], []
    process = Px4Process(virtual=True)
    system = Px4(process)
    pilot = Pilot("px4", port=PILOT_PORT, peer_port=COMMAND_PORT, process=process)
    watch, begin_s = None, 0.0
    try:
        system.start(rig)
        while (watch is None or rig.time_s - begin_s < seconds) and rig.step(system.step_ticks):
            system.exchange(rig)
            if rig.state.tick % POLL_TICKS == 0:
                pilot.poll(rig)
            if pilot.station.flying and watch is None:
                watch, begin_s = Watch(process.pid), rig.time_s
        assert watch is not None, "PX4 did not take off"
        return watch.speed(rig.time_s - begin_s)
    finally:
        pilot.close()
        system.stop()


def ardupilot(seconds: float, *, virtual: bool, still: bool) -> Speed:
    """ArduPilot in virtual or in real time, with the F450 or with a vehicle that costs nothing (`still`)."""
    rig = make_rig("quad_f450", until_s=LONGEST_S, log=[], log_s=1.0)
    system = ArduPilot(ArduPilotProcess(virtual=virtual))
    try:
        system.start(rig)
        _advance(rig.step, system, lambda: system.exchange(rig), lambda: rig.time_s < WARM_UP_S)
        assert system.process is not None
        begin_s, watch = rig.time_s, Watch(system.process.pid)
        if not still:
            _advance(rig.step, system, lambda: system.exchange(rig), lambda: rig.time_s < begin_s + seconds)
            return watch.speed(rig.time_s - begin_s)
        standing = Still(system.reply, system.state.time_s)
        begin_s = standing.time_s
        system.state = standing  # type: ignore[assignment]
        while standing.time_s < begin_s + seconds:
            system.exchange(rig)
        return watch.speed(standing.time_s - begin_s)
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
    found: dict[str, list[Speed]] = {}

    def add(name: str, speed: Speed) -> None:
        found.setdefault(name, []).append(speed)

    for _ in range(given.rounds):
        if os.environ.get("IRONBIRD_PX4"):
            add("px4_virtual", px4(given.seconds))
            add("px4_sih", sih_measured())
        if os.environ.get("IRONBIRD_ARDUPILOT"):
            add("ardupilot_virtual", ardupilot(given.seconds, virtual=True, still=False))
            add("ardupilot_virtual_without_vehicle", ardupilot(given.seconds, virtual=True, still=True))
            add("ardupilot_plain_json_without_vehicle", ardupilot(given.seconds, virtual=False, still=True))
    result: dict[str, float] = {"load": round(os.getloadavg()[0], 1), "rounds": given.rounds}
    for name, speeds in found.items():
        result[name] = round(statistics.median(factor for factor, _ in speeds), 2)
        result[f"{name}_processor_ms"] = round(statistics.median(used for _, used in speeds), 1)
    for ratio, ours, theirs in (
        ("px4_ratio", "px4_virtual", "px4_sih"),
        ("ardupilot_ratio", "ardupilot_virtual", "ardupilot_plain_json_without_vehicle"),
        ("ardupilot_bound", "ardupilot_virtual_without_vehicle", "ardupilot_plain_json_without_vehicle"),
    ):
        if ours in found:
            pairs = zip(found[ours], found[theirs], strict=True)
            result[ratio] = round(statistics.median(a / b for (a, _), (b, _) in pairs), 2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
