"""Flies the suite `common` under several control systems and writes docs/autopilot_comparison.md.

    python tools/write_comparison_page.py [px4] [ardupilot] [reference] [CASE …]

The control systems that are named fly all cases, or those named, as far as they are not stored yet in
docs/measured/common_faults.json; the page is then written from all that is stored. An order that was changed is flown
again, and so is a row that was flown beside another healthy flight than that of now: then the vehicle, its air or the
program has changed. One flight after the other beside one healthy flight of each, in virtual time: on a free machine
some 12 minutes for PX4 and 15 for ArduPilot. Needs IRONBIRD_PX4, IRONBIRD_ARDUPILOT.
"""

from __future__ import annotations

import functools
import json
import math
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ironbird.autopilots.ardupilot.params import MOST_UNITS
from ironbird.campaign.case import FlightCase
from ironbird.campaign.planned import Planned
from ironbird.campaign.suite import load_suite
from ironbird.errors import IronbirdError
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.cause import compare
from ironbird.flight.derived import derived
from ironbird.flight.ending import ending_of
from ironbird.flight.flight import Flight, fly
from ironbird.flight.healthy import HealthyFlights, fly_healthy, records_of
from ironbird.flight.systems import is_outside, title_of
from ironbird.protocols.own_records import sight_of
from ironbird.systems.ardupilot import faults as on_ardupilot

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "autopilot_comparison.md"
FIGURES = ROOT / "docs" / "measured" / "common_faults.json"
SUITE, HEALTHY = "common", "healthy"
CONTROLS = ("px4", "ardupilot", "reference")
ON_ARDUPILOT = on_ardupilot.Routes(units=MOST_UNITS)  # in virtual time
MOST_CAUSED = 12  # of what a fault caused, in the file
SHOWN = 3  # of it, on the page
Row = dict[str, Any]
HEAD = """
Written by `tools/write_comparison_page.py` from `docs/measured/common_faults.json`. Suite `common`: an F450 flies a
square of 20 m at 10 m height in 5 m/s wind with turbulence and lands; 4 s after it has passed 8 m one fault sets in, at
the first of several sensors. A flight is counted from arming to landing, for 180 s at most. Lost is what crashes or
leaves 60 m around home or 30 m of height. Both autopilots fly unmodified in virtual time: every row repeats to the last
byte (`ironbird campaign run common`). One seed: a row is one flight, not a rate. PX4 1.17.0 gets three inertial units,
two receivers, compasses and barometers, a rangefinder and optical flow.
"""
OLD_HEAD = """
A row marked † is of an earlier comparison: 90 s from the start instead of arming to landing, an earlier model of the
vehicle and its air, one healthy flight. It is shown, not counted. All rows of ArduPilot (ArduCopter 4.8.0-dev) are of
that kind if they are marked: it armed after 41 to 45 s, so its fault was watched for 37 s and no flight landed, and it
got one inertial unit and one barometer where PX4 got three and two.
"""
EARLIER = " †"
RULES = 2  # of the comparison: 1 was 90 s from the start and one healthy flight, 2 is to the landing and five of them
READING = """
Seen: the record of its own log in which the fault shows first, against the log of the same flight without the fault;
for sensors the sensor's own record, for all others what the inertial unit felt. Flight: whether the true path left
what healthy flights do that differ by one least bit of a sensor (0.5 m at least), or the autopilot did anything else.
Caused: what none of the healthy flights does, with the time after the fault began to act, the first of each kind; the
file has more. Rows marked † name what one healthy flight does not do: much of it is chance.
"""


@functools.cache
def planned() -> dict[str, Planned]:
    """The suite's cases, the healthy one first."""
    return {case.id: case for case in load_suite(SUITE).cases}


def cases_for(control: str) -> dict[str, FlightCase]:
    """The first flight of each under one control system."""
    options = {"time": "virtual"} if is_outside(control) else {}
    return {
        name: replace(next(iter(case.flights())), control=control, options=options, values={"control": control})
        for name, case in planned().items()
    }


def fly_control(control: str, stored: dict[str, Row], wanted: list[str]) -> None:
    """Fly what is not stored; each row is written down at once."""
    orders = cases_for(control)
    with tempfile.TemporaryDirectory() as folder:
        healthy = Healthy.of(orders[HEALTHY], Path(folder) / HEALTHY)
        beside = healthy.flight.sha256
        missing = [
            name
            for name in dict.fromkeys([HEALTHY, *(wanted or orders)])
            if stored.get(name, {}).get("digest") != orders[name].digest()
            or stored[name]["outcome"] == "no counterpart"  # costs nothing, and there may be one by now
            or is_earlier(stored[name], beside)
        ]
        for number, name in enumerate(missing, start=1):
            begin = time.perf_counter()
            case = orders[name]
            with tempfile.TemporaryDirectory(dir=folder) as own:
                try:
                    row = row_of(case, healthy, Path(own))
                except IronbirdError as error:
                    row = {"outcome": "error", "error": str(error)}
            stored[name] = {"digest": case.digest(), "beside": beside, "rules": RULES, **row}
            write(control, stored)
            print(f"{control} {number}/{len(missing)} {name}: {row} {time.perf_counter() - begin:.0f} s", flush=True)


class Healthy(NamedTuple):
    """The flight without faults, and, under an autopilot, all healthy flights of its order."""

    flight: Flight
    all: HealthyFlights | None

    @classmethod
    def of(cls, order: FlightCase, folder: Path) -> Healthy:
        """Flown."""
        return cls(*fly_healthy(order, folder)) if is_outside(order.control) else cls(fly(order), None)


def row_of(case: FlightCase, healthy: Healthy, folder: Path) -> Row:
    """One flight: how it ended, what its own log shows of the fault, what the fault caused."""
    fault = case.faults[0] if case.faults else None
    limited = ""
    if fault is not None and case.control == "ardupilot":
        plan = on_ardupilot.plan_of(fault, ON_ARDUPILOT)
        if plan.route == "none":
            return {"outcome": "no counterpart", "why": plan.reason}
        limited = plan.reason
    flight = healthy.flight if fault is None else fly(case, folder=folder)
    row: Row = {
        "outcome": ending_of(flight),
        "verdict": flight.verdict,
        "ended": flight.outcome,
        "broken": [judgement.name for judgement in flight.judged.judgements if not judgement.holds],
        "height_m": round(float(derived(flight.log, "height").max()), 1),
        "distance_m": round(float(derived(flight.log, "distance").max()), 1),
        "sha256": flight.sha256,
        "times_real_time": round(flight.ended_s / flight.wall_s, 1),
        "set_off_s": round(set_off_s(flight), 1),
        "impact_mps": [round(flight.judged.impact_mps, 2), round(flight.judged.impact_sideways_mps, 2)],
    }
    if fault is not None:
        witness = flight.witnesses[0]
        row["acted_s"] = round(witness.first_s, 3) if witness.effective else None
        row["witness"] = witness.effect()
    if not is_outside(case.control):
        row["seen"] = bool(fault is not None and flight.witnesses[0].effective)
        return row
    row["sha256_of_all"] = flight.sha256_of_all
    if limited:
        row["limited"] = limited
    if fault is None:
        return row
    autopilot = beside(flight)
    if not isinstance(autopilot, AutopilotEstimate) or healthy.all is None:
        return row | {"seen": False, "sight": str(autopilot), "caused": [], "carried": "", "believed": {}}
    cause = compare(autopilot, healthy.all)
    records = records_of(autopilot)
    assert records is not None and healthy.all.records is not None
    sight = sight_of(fault.fault.id.partition("@")[0], fault.instance, records, healthy.all.records)
    row["healthy"] = cause.healthy
    row["changed"] = any(step.changed for step in cause.steps)
    row["steps"] = [step.sentence() for step in cause.steps]
    row |= {"seen": sight.seen, "sight": sight.sentence(), "direct": sight.direct}
    if math.isfinite(sight.first_s):
        row["seen_after_s"] = round(max(sight.first_s - cause.begin_s, 0.0), 2)
    row["caused"] = [
        [round(event.time_s - cause.begin_s, 2), event.kind, event.text] for event in cause.caused[:MOST_CAUSED]
    ]
    row["carried"] = cause.carried
    row["believed"] = {error.name: [round(error.most, 2), error.unit] for error in autopilot.errors()}
    row["uncovered"] = autopilot.uncovered()
    return row


def set_off_s(flight: Flight) -> float:
    """Time at which it left the ground."""
    height = derived(flight.log, "height")
    gone = np.flatnonzero(height - height[0] > 1.0)
    return float(flight.log.time()[gone[0]]) if gone.size else math.nan


# ---------------------------------------------------------------------- the page


def word_of(row: Row | None) -> str:
    """What became of the vehicle, in a cell."""
    if row is None:
        return "not flown"
    if row["outcome"] == "no counterpart":
        return "no counterpart"
    if row["outcome"] == "error":
        return "error"
    if row["outcome"] == "crashed":
        return f"**lost**: {row['ended']}"
    if "geofence" in row["broken"]:
        return f"**lost**: flew away ({row['distance_m']:g} m off, {row['height_m']:g} m high)"
    if row.get("acted_s", 0.0) is None:
        return "the fault did not act"
    return f"survived, {row['outcome']}"


def is_earlier(row: Row, beside: str) -> bool:
    """Whether a row was flown by other rules, or beside another healthy flight; what cannot be flown is of no time."""
    return row["outcome"] != "no counterpart" and (row.get("beside") != beside or row.get("rules") != RULES)


def newest(rows: dict[str, Row]) -> str:
    """The hash of the healthy flight that was flown last."""
    return str(rows.get(HEALTHY, {}).get("beside", ""))


def is_any_earlier(rows: dict[str, Row]) -> bool:
    """Whether some rows are of an earlier comparison."""
    return any(is_earlier(row, newest(rows)) for row in rows.values())


def cell_of(rows: dict[str, Row], name: str) -> str:
    """What became of the vehicle, marked if it was flown with an earlier model."""
    row = rows.get(name)
    return word_of(row) + (EARLIER if row is not None and is_earlier(row, newest(rows)) else "")


def is_lost(row: Row) -> bool:
    """Crashed, or out of the fence."""
    return word_of(row).startswith("**lost**")


def page(figures: dict[str, dict[str, Row]]) -> str:
    """The page as text."""
    levels = {name: _level(case) for name, case in planned().items()}
    flown = [control for control in CONTROLS if control in figures]
    lines = [
        "# Sixty common faults on autopilots",
        "",
        HEAD.strip(),
        *(["", OLD_HEAD.strip()] if any(is_any_earlier(rows) for rows in figures.values()) else []),
        "",
        "| control system | flown | survived | lost | no counterpart | seen in its own log |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    names = [name for name in levels if name != HEALTHY]
    for control in flown:
        beside = newest(figures[control])
        rows = [row for name, row in figures[control].items() if name != HEALTHY and not is_earlier(row, beside)]
        none = sum(row["outcome"] == "no counterpart" for row in rows)
        lost = sum(map(is_lost, rows))
        count = len(rows) - none
        seen = sum(bool(row.get("seen")) for row in rows)
        figures_of = [f"{count} of {len(names) - none}", count - lost, lost, none, f"{seen} of {count}"]
        lines.append(f"| {title_of(control)} | {' | '.join(map(str, figures_of))} |")
    lines += [
        "",
        "## What became of the vehicle",
        "",
        f"| fault | severity | {' | '.join(title_of(control) for control in flown)} |",
        f"| --- | --- | {' | '.join('---' for _ in flown)} |",
    ]
    for name, level in levels.items():
        lines.append(f"| {name} | {level} | {' | '.join(cell_of(figures[c], name) for c in flown)} |")
    if {"px4", "reference"} <= set(flown):
        lines += _beside_lines(figures["reference"], figures["px4"], names)
    for control in flown:
        if is_outside(control):
            lines += _reaction_lines(control, figures[control], names)
    return "\n".join([*lines, ""])


def rank_of(row: Row) -> int:
    """The smaller, the better: landed, still flying, out of the fence, crashed."""
    if row["outcome"] == "crashed":
        return 3
    if is_lost(row):
        return 2
    return 0 if row["outcome"] in ("landed", "disarmed") else 1


def _beside_lines(own: dict[str, Row], other: dict[str, Row], names: list[str]) -> list[str]:
    """Where the reference autopilot ends better and worse than PX4."""
    both = [
        name
        for name in names
        if name in own and name in other and own[name]["outcome"] != "error" != other[name]["outcome"]
    ]
    better = [name for name in both if rank_of(own[name]) < rank_of(other[name])]
    worse = [name for name in both if rank_of(own[name]) > rank_of(other[name])]
    return [
        "",
        "## The reference autopilot beside PX4",
        "",
        f"Of {len(both)} faults {len(both) - len(better) - len(worse)} end in the same way (landed, still flying after "
        "180 s, out of the fence, or crashed). "
        f"The reference autopilot ends better in {len(better)}: {', '.join(better) or '-'}. "
        f"It ends worse in {len(worse)}: {', '.join(worse) or '-'}.",
    ]


def _level(case: Planned) -> str:
    """Of a case's fault, as its file has it."""
    faults = case.data.get("fault", [])
    return f"{faults[0]['severity']:g}" if faults and "severity" in faults[0] else "-"


def _reaction_lines(control: str, rows: dict[str, Row], names: list[str]) -> list[str]:
    lines = [
        "",
        f"## What {title_of(control)} received and did",
        "",
        READING.strip(),
        "",
        "| fault | seen in its log | flight | caused | position by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in names:
        row = rows.get(name)
        if row is None:
            continue
        if row["outcome"] in ("no counterpart", "error"):
            lines.append(f"| {name} | {row.get('why') or row.get('error')} | - | - | - |".replace("\n", " "))
            continue
        caused = [f"{text} ({after:g} s)" for after, _, text in first_of_each(row["caused"])]
        seen = row["sight"] + (f", after {max(row['seen_after_s'], 0):g} s" if row["seen"] else "")
        seen += f" ({row['limited']})" if row.get("limited") else ""
        mark = EARLIER if is_earlier(row, newest(rows)) else ""
        flight = {True: "changed", False: "as healthy ones", None: "-"}[row.get("changed")]
        what = "; ".join(caused).replace("|", "/") or "nothing"
        lines.append(f"| {name}{mark} | {seen} | {flight} | {what} | {row['carried'] or '-'} |")
    return lines


def first_of_each(caused: list[list[Any]]) -> list[list[Any]]:
    """The first things of different kinds."""
    seen: Counter[str] = Counter()
    found = []
    for entry in caused:
        seen[entry[1]] += 1
        if seen[entry[1]] == 1:
            found.append(entry)
    return found[:SHOWN]


def write(control: str, rows: dict[str, Row]) -> None:
    """Keep the figures of one control system; another may be flown beside it."""
    figures = json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}
    figures[control] = {name: rows[name] for name in planned() if name in rows}
    FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False, default=float) + "\n")


def main() -> None:
    """Fly what is asked for, and write the page."""
    known = planned()
    wrong = [word for word in sys.argv[1:] if word not in CONTROLS and word not in known]
    if wrong:
        raise SystemExit(f"{wrong[0]}: give {', '.join(CONTROLS)}, and cases of the suite '{SUITE}'")
    for control in (word for word in sys.argv[1:] if word in CONTROLS):
        stored = json.loads(FIGURES.read_text()).get(control, {}) if FIGURES.is_file() else {}
        fly_control(control, stored, [word for word in sys.argv[1:] if word in known])
    PAGE.write_text(page(json.loads(FIGURES.read_text())))


if __name__ == "__main__":
    main()
