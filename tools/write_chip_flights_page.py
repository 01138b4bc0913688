"""Writes docs/chip_flights.md from docs/measured/chip_flights.json, which `bench/chip_flights.py` flies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "chip_flights.md"
FIGURES = ROOT / "docs" / "measured" / "chip_flights.json"
PROGRAMS = {"px4": "PX4 v1.17.0", "ardupilot": "ArduPilot 4.8.0-dev"}
LATER = " in real time"
SHOWN = 6  # reactions in a cell
ORDINARY = (
    "Mission finished",
    "Landing detected",
    "Disarmed by landing",
    "constant position",
    "Mission: ",
    "GPS glitch",
    "Reached command",
)
TRIAL = {  # what PX4 did in a trial with earlier models of these chips, in flight at 12 m
    "flips of MISO, 1e-4 of the bits, 4 s": "35 to 60 bad transfers, 10 to 20 FIFO resets, no message; 0.6 m off",
    "MS5611 does not acknowledge, 4 s": "1194 errors; BARO #0 failed: TIMEOUT; height held",
    "IST8310 does not acknowledge, 4 s": "3 driver resets; MAG #0 failed: TIMEOUT; yaw off by 1.3 degrees",
    "SDA of the bus held high, 3 s": "of the compass alone: 5 resets, the same messages, no effect",
    "PCA9685 does not acknowledge, 2 s": "111 errors, no message; outputs kept, the vehicle stayed",
    "line from the receiver open, 4 s": "fix lost: failsafe, descent",
    "MISO open, 0.3 s": "bad register, full reset, Accel #0 fail: TIMEOUT; fell 10 m to the ground",
    "MISO open, 4 s": "No valid data from Accel 0 and Gyro 0, failsafe, termination",
}
HEAD = """\
# Autopilots on simulated chips: flights and faults on wires

Written by `tools/write_chip_flights_page.py` from `docs/measured/chip_flights.json` (`bench/chip_flights.py`). The
quadrotor F450 flies a square over PX4's and ArduPilot's own drivers on the chips of a PilotPi;
[how](guide/chips.md#px4-and-ardupilot-with-their-own-drivers). In virtual time a flight repeats: the hash is over every
request on every bus, its time and its answer. In real time both programs had the real-time priorities that they set
themselves (`chrt -f 99`), on a busy machine with two cores.

| program | time | landed and disarmed | requests of a flight | steps more than 1 ms late | the first flight again |
| --- | --- | --- | --- | --- | --- |
"""
COLUMNS = (
    "| fault | first difference on the wires | drivers | autopilot | course: farthest from the flight without it, "
    "largest tilt | outcome |\n| --- | --- | --- | --- | --- | --- |\n"
)
NOTES = """\
A step has 2 ms. Failed requests are those that the bus refused (not acknowledged, busy, clock held) within ten
seconds; a driver's first reaction is the first request that the same flight without the fault has none of. Seconds
count from the beginning of the fault; messages of the landing are left out.
"""


def _span(values: list[int]) -> str:
    return f"{min(values):,} to {max(values):,}" if min(values) != max(values) else f"{values[0]:,}"


def _summary(name: str, found: dict[str, Any]) -> str:
    flights = found["flights"]
    real = name.endswith(LATER)
    again = "-" if real else f"the same hash ({flights[0]['hash']})" if found["repeats"] else "differs"
    late = _span([flight["late"] for flight in flights]) if real else "-"
    return (
        f"| {PROGRAMS[name.removesuffix(LATER)]} | {'real' if real else 'virtual'} | {found['good']} | "
        f"{_span([flight['requests'] for flight in flights])} | {late} | {again} |\n"
    )


def _drivers(driver: dict[str, Any]) -> str:
    failed = ", ".join(f"{name} {count:,} times" for name, count in sorted(driver["failed_requests"].items()))
    first = ", ".join(f"{device} {words}" for device, words in sorted(driver["first"].items()))
    return "; ".join(filter(None, (first, failed))) or "nothing unusual"


def _row(name: str, fault: dict[str, Any]) -> str:
    said = [text for text in fault["reactions"] if not any(word in text for word in ORDINARY)]
    more = f", and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    reactions = "; ".join(text.split(" (severity")[0] for text in said[:SHOWN]) + more
    drivers = _drivers(fault["driver"]) if "driver" in fault else "-"
    course = f"{fault['apart_m']:.1f} m, {fault['tilt_deg']:.0f} degrees"
    return (
        f"| {name} | {fault['witness']} | {drivers} | {reactions or 'no message'} | {course} | {fault['outcome']} |\n"
    )


def page(figures: dict[str, Any]) -> str:
    """The page."""
    names = [name for control in PROGRAMS for name in (control, control + LATER) if name in figures]
    text = HEAD + "".join(_summary(name, figures[name]) for name in names) + "\n" + NOTES
    for name in names:
        when = "in real time" if name.endswith(LATER) else "in virtual time"
        if figures[name]["faults"]:
            rows = "".join(_row(fault, found) for fault, found in figures[name]["faults"].items())
            text += f"\n## Faults with {PROGRAMS[name.removesuffix(LATER)]}, {when}\n\n{COLUMNS}{rows}"
    text += "\n## Against an earlier trial\n\nPX4 with earlier models of these chips, one flight for each fault:\n\n"
    text += "| fault | trial | here |\n| --- | --- | --- |\n"
    for name, then in TRIAL.items():
        now = figures["px4"]["faults"][name]
        said = [text for text in now["reactions"] if not any(word in text for word in ORDINARY)]
        words = "; ".join(text.split(" (severity")[0] for text in said[:3]) or "no message"
        text += f"| {name} | {then} | {words}; {now['apart_m']:.1f} m off; {now['outcome']} |\n"
    return text


def main() -> None:
    """Write it."""
    PAGE.write_text(page(json.loads(FIGURES.read_text())))


if __name__ == "__main__":
    main()
