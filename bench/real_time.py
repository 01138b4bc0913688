"""How well the loop in native code keeps time here: 1 kHz for ten minutes, then 5 and 8 kHz for half a minute.

    python bench/real_time.py [--seconds 600] [--core N] [--no-priority] [--vehicle quad_f450]

Prints JSON. The vehicle hovers under its reference autopilot; each step of the kernel has its moment of the wall clock,
and how late it was done is counted, with what the system took meanwhile: the host of a virtual machine (steal of
/proc/stat), other programs (time ready to run without a processor, involuntary switches), pages of memory. Bar: at
1 kHz on an idle machine less than 0.1 % of the steps are more than 1 ms late. At last the log is compared with that of
a run that does not keep time: it has the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from typing import Any

import numpy as np

from ironbird.compiler.compiled import compile_model
from ironbird.flight.mission import load_mission
from ironbird.host.realtime import Toll, on_time, stolen_s
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.load import load_vehicle

BAR_S = 1e-3
MOST = 1e-3  # share of late steps
EDGES_MS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
LOG_S = 0.1


def stepper_of(name: str, hz: float, seconds: float) -> Stepper:
    """A vehicle on its way to hover, with a model of so many steps a second."""
    vehicle = load_vehicle(name, control="reference")
    model = compile_model(vehicle.diagram, step_s=1.0 / hz)
    params = load_mission("hover").params(vehicle.diagram.param("navigator.table").columns)
    return Stepper(start(model, params=params), until_s=seconds, log=["body.*"], log_s=LOG_S)


def measure(name: str, hz: float, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    """One run."""
    stepper = stepper_of(name, hz, seconds)
    loop = stepper.on_time(1)
    toll, stolen, load = Toll(loop), stolen_s(), os.getloadavg()[0]
    loop.start(lambda: on_time(priority=not options.no_priority, core=options.core))
    while loop.look():
        toll.look()
        time.sleep(0.05)
    late_s = loop.late_s
    late = late_s > BAR_S
    counts, _ = np.histogram(1e3 * late_s, [-np.inf, *EDGES_MS, np.inf])
    same = stepper_of(name, hz, seconds)
    while same.step(1000):
        pass
    digests = [hashlib.sha256(one.finish().data.tobytes()).hexdigest() for one in (stepper, same)]
    return {
        "hz": hz,
        "seconds": seconds,
        "steps": loop.steps,
        "late": int(late.sum()),
        "share": float(late.mean()),
        "held": bool(late.mean() < MOST),
        "median_ms": round(1e3 * float(np.median(late_s)), 4),
        "p99_ms": round(1e3 * float(np.percentile(late_s, 99)), 4),
        "p999_ms": round(1e3 * float(np.percentile(late_s, 99.9)), 4),
        "worst_ms": round(1e3 * float(late_s.max()), 3),
        "histogram": dict(zip([*(f"below {edge:g} ms" for edge in EDGES_MS), "above"], map(int, counts), strict=True)),
        "late_by": toll.causes(late),
        "stolen_s": round(stolen_s() - stolen, 2),
        "waited_s": round(loop.taken.waited_s, 3),
        "preempted": loop.taken.preempted,
        "page_faults": loop.taken.faults,
        "standing": loop.standing,
        "same_bytes": digests[0] == digests[1],
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="at 1 kHz; a twentieth of it at the others")
    parser.add_argument("--vehicle", default="quad_f450")
    parser.add_argument("--core", type=int, default=None, help="keep the loop on this core")
    parser.add_argument("--no-priority", action="store_true", help="do not ask for real-time priority")
    options = parser.parse_args()
    for hz, seconds in ((1000.0, options.seconds), (5000.0, options.seconds / 20), (8000.0, options.seconds / 20)):
        print(json.dumps(measure(options.vehicle, hz, round(seconds / LOG_S) * LOG_S, options), indent=1), flush=True)


if __name__ == "__main__":
    main()
