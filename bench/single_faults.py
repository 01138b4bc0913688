"""Flies every fault of one sensor among the redundant ones on the reference autopilot, and counts what survives.

    python bench/single_faults.py                      the 33 common faults at severity 0.5, one seed
    python bench/single_faults.py --all --severities 0.1,0.3,0.5,1 --seeds 2 --json FILE
    python bench/single_faults.py --sixty              the 33, an open accelerometer, and faults of all other parts

Vehicle in 5 m/s wind with turbulence on its usual mission, fence as given. `completed`: the mission's end was reached.
`landed`: on the ground and whole before it, or still in the air at the end but within the fence. `out`: farther beyond
the fence than a vehicle at cruise speed needs to brake. `crashed`: the crash detector spoke. Survived is all but the
last two. Distances are true ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ironbird.errors import FaultError
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.order import Order, Weather, make_order
from ironbird.flight.prepare import fit, targets_in
from ironbird.vehicles import places as at

SENSORS = ("imu", "mag", "baro", "gnss")
COMMON_KINDS = ("bias", "drift", "noise", "stuck", "dropout")
COMMON_ALONE = ("imu.bias", "gnss.jamming", "gnss.spoofing")
OTHER_PARTS = ("rotor", "battery", "load", "link", "wind", "environment")
WIND = Weather(speed_mps=5.0, from_deg=270.0, turbulence_mps=7.7)
UNTIL_S = 150.0
LOG_S = 0.1
FENCE_RADIUS_M, FENCE_HEIGHT_M = 60.0, 30.0
BRAKING_M = 5.0**2 / (2 * 2.0) + 5.0 * 1.0  # cruise speed and acceleration of the F450, one second to react


@dataclass(frozen=True)
class Outcome:
    """One flight."""

    fault: str
    instance: int
    severity: float
    seed: int
    result: str  # completed, landed, out, crashed
    ended: str
    highest_m: float
    farthest_m: float
    error_m: float  # largest distance between estimated and true position
    modes: str


def sensor_faults(every: bool) -> list[str]:
    """Names of the faults of one sensor: the 33 that other autopilots flew too, or all."""
    names = [id.removesuffix("@1") for id in FAULTS if id.endswith("@1") and id.partition(".")[0] in SENSORS]
    if every:
        return names
    kinds = tuple(f"{mark}{kind}" for kind in COMMON_KINDS for mark in "._")
    return [name for name in names if name in COMMON_ALONE or name.endswith(kinds)]


def sixty_faults() -> list[str]:
    """The table of the docs: sensors, actuators, power, load, link, wind and surroundings; the newest form of each."""
    others = [id for id in FAULTS if id.partition(".")[0] in OTHER_PARTS]
    newest = {id.partition("@")[0]: id for id in others}
    return [*(f"{name}@1" for name in [*sensor_faults(False), "imu.accel_open"]), *newest.values()]


def order_of(vehicle: str, fault: Injection, seed: int) -> Order:
    """The flight with one fault."""
    settings = {at.NAVIGATOR("fence_radius"): FENCE_RADIUS_M, at.NAVIGATOR("fence_height"): FENCE_HEIGHT_M}
    return make_order(
        vehicle, control="reference", faults=[fault], weather=WIND, settings=settings, seed=seed, until_s=UNTIL_S,
        log_s=LOG_S,
    )  # fmt: skip


def fly(orders: Sequence[Order], threads: int) -> list[Outcome]:
    """Fly orders of one vehicle in lanes and report the result of each."""
    model = fit(orders[0]).model
    truth, guess = "body.p_NB_N", at.ESTIMATOR("p_NB_N")
    flown = fly_lanes(orders, model, also=(truth, guess, at.NAVIGATOR("mode")), threads=threads)
    found, log = [], flown[0].log
    for lane, (order, judged) in enumerate(zip(orders, judge(flown, model), strict=True)):
        path = log.lane(truth, lane)
        error = log.lane(guess, lane) - path
        highest = float(np.max(-path[:, 2]))
        farthest = float(np.max(np.hypot(path[:, 0], path[:, 1])))
        beyond = max(highest - FENCE_HEIGHT_M, farthest - FENCE_RADIUS_M)
        result = "completed" if "completed" in judged.outcome else "landed"
        result = "out" if beyond > BRAKING_M else result
        result = "crashed" if judged.crashed else result
        fault = order.faults[0]
        found.append(
            Outcome(
                fault.fault.id.partition("@")[0], int(fault.instance or 0), float(fault.severity), order.seed, result,
                judged.outcome, highest, farthest, float(np.max(np.linalg.norm(error, axis=1))),
                " ".join(f"{mode:.0f}@{time_s:.0f}" for time_s, mode in judged.modes),
            )
        )  # fmt: skip
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vehicle", default="quad_f450")
    parser.add_argument("--all", action="store_true", help="all faults of one sensor, not only the 33 common ones")
    parser.add_argument("--sixty", action="store_true", help="the sixty faults of the docs, of all parts")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--severities", default="0.5")
    parser.add_argument("--instances", default="1")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    model = fit(make_order(given.vehicle, control="reference")).model
    orders = []
    for id in sixty_faults() if given.sixty else [f"{name}@1" for name in sensor_faults(given.all)]:
        fault = FAULTS[id]
        for severity in map(float, given.severities.split(",")) if fault.has_severity else (1.0,):
            for instance in map(int, given.instances.split(",")):
                injection = Injection(
                    fault, instance=instance, severity=severity, start_s=3.0, when='mode == "mission"'
                )
                try:
                    targets_in(model, injection)
                except FaultError:
                    continue
                orders += [order_of(given.vehicle, injection, seed) for seed in range(given.seeds)]
    orders = [order for order in orders if given.only in order.faults[0].fault.id]
    found = fly(orders, given.threads)
    counts: dict[str, int] = {}
    for flight in found:
        counts[flight.result] = counts.get(flight.result, 0) + 1
        if flight.result != "completed":
            print(
                f"{flight.fault:24s} #{flight.instance} {flight.severity:4.2f} seed {flight.seed} {flight.result:8s} "
                f"{flight.ended:46s} high {flight.highest_m:6.1f} far {flight.farthest_m:6.1f} "
                f"error {flight.error_m:7.1f} m  modes {flight.modes}"
            )
    survived = sum(flight.result in ("completed", "landed") for flight in found)
    print(f"{len(found)} flights: {counts}; survived {survived / len(found):.1%}")
    if given.json:
        given.json.write_text(json.dumps([asdict(flight) for flight in found], indent=1))


if __name__ == "__main__":
    main()
