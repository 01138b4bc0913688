"""Autopilots built for a Linux board on our chips: ten flights, repeated ones, and what faults on wires do to them.

    python bench/chip_flights.py px4 --out docs/measured/chip_flights.json          (IRONBIRD_PX4_PILOTPI)
    python bench/chip_flights.py ardupilot --out docs/measured/chip_flights.json    (IRONBIRD_ARDUPILOT_PILOTPI)
    python bench/chip_flights.py px4 --time real --flights 10 --only nothing        on a quiet machine

The F450 flies the square with ten seeds, the first one twice; then once with each fault at 40 s. `hash` is over every
request on every bus, its time and its answer. Reactions are what the autopilot said or changed after the fault, with
the seconds since it began; distances are true ones, against the same flight without the fault.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.flight.flight import Flight, fly

START_S, SETTLE_S = 40.0, 200.0
TRUTH, TILT = "body.p_NB_N", "body.q_NB"
FAULTS = {  # as in the table of the trial that came before, then more
    "flips of MISO, 1e-4 of the bits, 4 s": "wire.miso_flips@1:instance=imu,severity=0.001,start=40,end=44",
    "MS5611 does not acknowledge, 4 s": "wire.nack@1:instance=baro,start=40,end=44",
    "IST8310 does not acknowledge, 4 s": "wire.nack@1:instance=mag,start=40,end=44",
    "SDA of the bus held high, 3 s": "wire.sda_short_high@1:instance=i2c1,start=40,end=43",
    "PCA9685 does not acknowledge, 2 s": "wire.nack@1:instance=motors,start=40,end=42",
    "line from the receiver open, 4 s": "wire.rx_open_high@1:instance=gps,start=40,end=44",
    "MISO open, 0.3 s": "wire.miso_open_high@1:instance=imu,start=40,end=40.3",
    "MISO open, 4 s": "wire.miso_open_high@1:instance=imu,start=40,end=44",
    "SDA of the bus held low, 3 s": "wire.sda_short_low@1:instance=i2c1,start=40,end=43",
    "noise on the line from the receiver, 6 s": "wire.rx_noise@1:instance=gps,severity=0.5,start=40,end=46",
    "reset of the ICM-42688-P": "chip.reset@1:instance=imu,start=40,end=41",
    "reset of the IST8310": "chip.reset@1:instance=mag,start=40,end=41",
    "reset of the MS5611": "chip.reset@1:instance=baro,start=40,end=41",
    "reset of the NEO-M8N": "chip.reset@1:instance=gps,start=40,end=41",
    "reset of the PCA9685": "chip.reset@1:instance=motors,start=40,end=41",
    "overflow of the FIFO": "chip.overflow@1:instance=imu,start=40,end=40.1",
    "bytes of the receiver lost, 5 %, 10 s": "wire.lost@1:instance=gps,severity=0.05,start=40,end=50",
}


def flown(control: str, timed: str, seed: int, *faults: str) -> tuple[Flight, dict[str, Any]]:
    """One flight, and its figures."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    begin = time.perf_counter()
    flight = fly(
        "quad_f450", control=control, mission="square", faults=faults, seed=seed, until_s=SETTLE_S,
        options={"chips": "pilotpi", "time": timed},
    )  # fmt: skip
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    used = sum(a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime for a, b in zip(after, before, strict=True))
    said = [event.text for event in flight.autopilot_events]
    return flight, {
        "seed": seed,
        "whole": flight.survived,
        "finished": "landed and disarmed" in said,
        "flown_s": round(flight.ended_s, 3),
        "requests": flight.measured["requests"],
        "hash": flight.measured["bus_hash"],
        "sha256": flight.sha256,
        "wall_s": round(time.perf_counter() - begin, 1),
        "processor_s": round(used, 1),
    }


def reaction(flight: Flight, healthy: Flight) -> dict[str, Any]:
    """What came of a fault."""
    path, whole = flight.log[TRUTH], healthy.log[TRUTH]
    times = flight.log.time()
    shared = min(len(path), len(whole))
    after = times[:shared] >= START_S
    apart = np.linalg.norm(path[:shared] - whole[:shared], axis=1)[after]
    x, y = flight.log[TILT][:, 1], flight.log[TILT][:, 2]
    tilt = np.degrees(np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1)))[times >= START_S]
    witness = flight.witnesses[0]
    events = [
        f"+{event.time_s - START_S:.2f} s {event.text}"
        for event in flight.autopilot_events
        if event.time_s >= START_S and event.kind not in ("item", "landed", "armed", "finished")
    ]
    return {
        "witness": f"{witness.signal}, +{1000 * (witness.first_s - START_S):.1f} ms" if witness.effective else "none",
        "reactions": events[:14],
        "apart_m": round(float(apart.max()), 2),
        "tilt_deg": round(float(tilt.max()), 1),
        "outcome": flight.outcome,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("control", choices=("px4", "ardupilot"))
    parser.add_argument("--time", default="virtual", choices=("virtual", "real"))
    parser.add_argument("--flights", type=int, default=10)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {"flights": [], "faults": {}}
    healthy, first = flown(given.control, given.time, 1)
    _, again = flown(given.control, given.time, 1)
    found["repeats"] = first["hash"] == again["hash"] and first["sha256"] == again["sha256"]
    print(json.dumps({"first": first, "repeats": found["repeats"]}), flush=True)
    for seed in range(1, given.flights + 1):
        figures = first if seed == 1 else flown(given.control, given.time, seed)[1]
        found["flights"].append(figures)
        print(json.dumps(figures), flush=True)
    for name, order in FAULTS.items():
        if given.only in name:
            flight, figures = flown(given.control, given.time, 1, order)
            found["faults"][name] = {"order": order, **figures, **reaction(flight, healthy)}
            print(json.dumps({name: found["faults"][name]}), flush=True)
    good = sum(figures["whole"] and figures["finished"] for figures in found["flights"])
    found["good"] = f"{good} of {len(found['flights'])}"
    if given.out is not None:
        kept = json.loads(given.out.read_text()) if given.out.is_file() else {}
        kept[given.control if given.time == "virtual" else f"{given.control} in real time"] = found
        given.out.write_text(json.dumps(kept, indent=1) + "\n")
    print(found["good"], "repeats" if found["repeats"] else "does not repeat")


if __name__ == "__main__":
    main()
