"""Autopilots built for a Linux board on simulated chips: flights, repeated flights, and effects of wire faults.

    python bench/chip_flights.py px4 --out docs/measured/chip_flights.json          (IRONBIRD_PX4_PILOTPI)
    python bench/chip_flights.py ardupilot --out docs/measured/chip_flights.json    (IRONBIRD_ARDUPILOT_PILOTPI)
    chrt -f 99 python bench/chip_flights.py px4 --time real                         with real-time priorities

The F450 flies the square with ten seeds, in virtual time the first one twice; then once with each fault between two
corners. `late` is how many steps of 2 ms came more than 1 ms late. `hash` is
over every request on every bus, its time and its answer. Reactions are what the autopilot reported or changed after the
fault, with the seconds since it began; distances are true ones, against the same flight without the fault. `driver` is
what its drivers did on the buses within ten seconds: requests that failed, and requests that the flight without the
fault has none of (a reset, a configuration), with the first ones in the names of the chip's registers.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.boards.board import load_board
from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.chips.page import explain
from ironbird.boards.chips.trace import Transaction, read_trace
from ironbird.flight.flight import Flight, fly

BOARD = load_board("pilotpi")
WATCHED_S = (-2.0, 10.0)  # traffic around the beginning of a fault
STARTS_S, SETTLE_S = {"px4": 40.0, "ardupilot": 90.0}, 200.0  # ArduPilot waits for a minute before it arms
TRUTH, TILT = "body.p_NB_N", "body.q_NB"
FAULTS = {  # as in the table of the trial that came before, then more
    "flips of MISO, 1e-4 of the bits, 4 s": "wire.miso_flips@1:instance=imu,severity=0.001,start={begin},end=+4",
    "MS5611 does not acknowledge, 4 s": "wire.nack@1:instance=baro,start={begin},end=+4",
    "IST8310 does not acknowledge, 4 s": "wire.nack@1:instance=mag,start={begin},end=+4",
    "SDA of the bus held high, 3 s": "wire.sda_short_high@1:instance=i2c1,start={begin},end=+3",
    "PCA9685 does not acknowledge, 2 s": "wire.nack@1:instance=motors,start={begin},end=+2",
    "line from the receiver open, 4 s": "wire.rx_open_high@1:instance=gps,start={begin},end=+4",
    "MISO open, 0.3 s": "wire.miso_open_high@1:instance=imu,start={begin},end=+0.3",
    "MISO open, 4 s": "wire.miso_open_high@1:instance=imu,start={begin},end=+4",
    "SDA of the bus held low, 3 s": "wire.sda_short_low@1:instance=i2c1,start={begin},end=+3",
    "noise on the line from the receiver, 6 s": "wire.rx_noise@1:instance=gps,severity=0.5,start={begin},end=+6",
    "reset of the ICM-42688-P": "chip.reset@1:instance=imu,start={begin},end=+1",
    "reset of the IST8310": "chip.reset@1:instance=mag,start={begin},end=+1",
    "reset of the MS5611": "chip.reset@1:instance=baro,start={begin},end=+1",
    "reset of the NEO-M8N": "chip.reset@1:instance=gps,start={begin},end=+1",
    "reset of the PCA9685": "chip.reset@1:instance=motors,start={begin},end=+1",
    "overflow of the FIFO": "chip.overflow@1:instance=imu,start={begin},end=+0.1",
    "IST8310 holds the clock low, 3 s": "wire.stretch@1:instance=mag,start={begin},end=+3",
    "bytes of the receiver lost, 5 %, 10 s": "wire.lost@1:instance=gps,severity=0.05,start={begin},end=+10",
}


def ordered(text: str, start_s: float) -> str:
    """An order of the table at a time of its own; its end counts from its beginning."""
    head, _, length = text.partition("end=+")
    return f"{head.format(begin=f'{start_s:g}')}end={start_s + float(length):g}"


def flown(
    control: str, timed: str, seed: int, *faults: str, traffic: list[Transaction] | None = None
) -> tuple[Flight, dict[str, Any]]:
    """One flight, and its figures; `traffic` gets what went over the buses around the time of faults."""
    window = ":".join(f"{STARTS_S[control] + edge:g}" for edge in WATCHED_S) if traffic is not None else ""
    with tempfile.TemporaryDirectory() as folder:
        flight, figures = _flown(control, timed, seed, faults, window, Path(folder))
        if traffic is not None:
            traffic += read_trace((Path(folder) / "trace.txt").read_text())
    return flight, figures


def _flown(
    control: str, timed: str, seed: int, faults: tuple[str, ...], window: str, folder: Path
) -> tuple[Flight, dict[str, Any]]:
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    begin = time.perf_counter()
    flight = fly(
        "quad_f450", control=control, mission="square", faults=faults, seed=seed, until_s=SETTLE_S,
        options={"chips": "pilotpi", "time": timed, "bus_trace": window}, folder=folder,
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
        "late": flight.measured["late"],
        "sha256": flight.sha256,
        "wall_s": round(time.perf_counter() - begin, 1),
        "processor_s": round(used, 1),
    }


def reaction(flight: Flight, healthy: Flight, start_s: float) -> dict[str, Any]:
    """Results of a fault."""
    path, whole = flight.log[TRUTH], healthy.log[TRUTH]
    times = flight.log.time()
    shared = min(len(path), len(whole))
    after = times[:shared] >= start_s
    apart = np.linalg.norm(path[:shared] - whole[:shared], axis=1)[after]
    x, y = flight.log[TILT][:, 1], flight.log[TILT][:, 2]
    tilt = np.degrees(np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1)))[times >= start_s]
    witness = flight.witnesses[0]
    events = [
        f"+{event.time_s - start_s:.2f} s {event.text}"
        for event in flight.autopilot_events
        if event.time_s >= start_s and event.kind not in ("item", "landed", "armed", "finished")
    ]
    return {
        "witness": f"{witness.signal}, +{1000 * (witness.first_s - start_s):.1f} ms" if witness.effective else "none",
        "reactions": events[:14],
        "apart_m": round(float(apart.max()), 2),
        "tilt_deg": round(float(tilt.max()), 1),
        "outcome": flight.outcome,
    }


def device_of(transaction: Transaction) -> str:
    """The device of the board that a request is for; others by their address."""
    if transaction.bus == "I2C":
        at = [d for d in BOARD.device if d.kind == "i2c" and d.address == transaction.address]
        return at[0].name if at else f"0x{transaction.address:02x}"
    return transaction.device


def kinds(traffic: list[Transaction], begin_s: float) -> Iterator[tuple[tuple[str, bytes], Transaction]]:
    """Requests from a time on, each with what is alike in requests of one kind: contents of outputs are not."""
    for transaction in traffic:
        device, sent = device_of(transaction), transaction.sent
        if transaction.time_ns >= begin_s * 1e9 and sent:
            reading = transaction.bus == "SPI" and sent[0] & 0x80
            yield (device, sent[:1] if reading or device == "motors" else sent), transaction


def drivers(traffic: list[Transaction], healthy: list[Transaction], start_s: float) -> dict[str, Any]:
    """What drivers did after a fault that they did not do without it."""
    usual = {kind for kind, _ in kinds(healthy, 0.0)}
    unusual = [(kind, one) for kind, one in kinds(traffic, start_s) if kind not in usual]
    firsts: dict[str, str] = {}
    for (device, sent), one in unusual:
        chip = next((d.chip for d in BOARD.device if d.name == device), None)
        words = explain(one, chip_class(chip)) if chip else ""
        said = f"+{one.time_ns / 1e6 - start_s * 1e3:.1f} ms {words or sent[:8].hex(' ')}"
        firsts.setdefault(device, said)
    failed: dict[str, int] = {}
    for _, one in kinds(traffic, start_s):
        if one.error:
            name = f"{device_of(one)} {one.error}"
            failed[name] = failed.get(name, 0) + 1
    return {"failed_requests": failed, "unusual_requests": len(unusual), "first": firsts}


def write(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """What was flown so far, beside what the file has of others."""
    good = sum(figures["whole"] and figures["finished"] for figures in found["flights"])
    found["good"] = f"{good} of {len(found['flights'])}"
    if given.out is not None:
        kept = json.loads(given.out.read_text()) if given.out.is_file() else {}
        kept[given.control if given.time == "virtual" else f"{given.control} in real time"] = found
        given.out.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("control", choices=("px4", "ardupilot"))
    parser.add_argument("--time", default="virtual", choices=("virtual", "real"))
    parser.add_argument("--flights", type=int, default=10)
    parser.add_argument("--only", default="", help="faults whose name matches this")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {"flights": [], "faults": {}}
    usual: list[Transaction] = []
    healthy, first = flown(given.control, given.time, 1, traffic=usual)
    if given.time == "virtual":
        _, again = flown(given.control, given.time, 1)
        found["repeats"] = first["hash"] == again["hash"] and first["sha256"] == again["sha256"]
    for seed in range(1, given.flights + 1):
        figures = first if seed == 1 else flown(given.control, given.time, seed)[1]
        found["flights"].append(figures)
        print(json.dumps(figures), flush=True)
        write(given, found)
    for name, order in FAULTS.items():
        if re.search(given.only, name):
            start_s = STARTS_S[given.control]
            traffic: list[Transaction] = []
            flight, figures = flown(given.control, given.time, 1, ordered(order, start_s), traffic=traffic)
            found["faults"][name] = {"order": ordered(order, start_s), **figures, **reaction(flight, healthy, start_s)}
            found["faults"][name]["driver"] = drivers(traffic, usual, start_s)
            print(json.dumps({name: found["faults"][name]}), flush=True)
            write(given, found)
    write(given, found)
    print(found["good"], "in real time" if given.time == "real" else f"repeats: {found['repeats']}")


if __name__ == "__main__":
    main()
