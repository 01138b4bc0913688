"""Flies the real PX4 and ArduPilot and writes docs/autopilots.md.

    python tools/write_autopilots_page.py [square] [vehicles [VEHICLE …]] [never] [px4] [ardupilot] [speed] [hil] [page]

Without a word all parts are measured, in about half an hour of an idle machine; with `page` none, else those named; if
vehicles or autopilots are named, these are flown and the rows of the others are kept. Figures are kept in
docs/measured/autopilots.json, from which the page is written; reactions are those of docs/measured/common_faults.json
(tools/write_comparison_page.py). Needs IRONBIRD_PX4 and IRONBIRD_ARDUPILOT.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Weather, make_order
from write_comparison_page import FIGURES as COMMON
from write_comparison_page import HEALTHY, Healthy, cases_for, cell_of, first_of_each, row_of, word_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "autopilots.md"
FIGURES = ROOT / "docs" / "measured" / "autopilots.json"
AUTOPILOTS = ("px4", "ardupilot")
FAULTS = (
    "imu.gyro_stuck", "imu.accel_bias", "environment.magnetic_anomaly", "baro.bias", "environment.gnss_denied",
    "gnss.spoofing", "rotor.speed_loss", "battery.low_voltage",
)  # fmt: skip
NEVER = "imu.gyro_stuck@1:instance=1,start=4,when=altitude > 500 m"  # no flight of the suite gets there
SEEDS = range(10)
WINDY = Weather(5.0, 270.0, 5.0)
FLYERS = (
    "quad_f450", "quad_h250", "quad_plus", "hexa_x", "hexa_coax", "octo_x", "octo_coax", "tri_y", "heli_xcell60",
    "tiltrotor_provant", "aerosonde", "px4_plane", "zagi", "vtol_standard", "vtol_tailsitter",
)  # fmt: skip
DRIVERS = ("rover_differential", "car_escort", "boat_otter", "rov_bluerov2_heavy")
UNTIL_S = 600.0
Figures = dict[str, Any]


def square() -> list[Figures]:
    """The F450 flies a square in wind with turbulence, ten seeds on each autopilot."""
    return [
        {"autopilot": autopilot, "seed": seed}
        | flown(autopilot, "quad_f450", mission="square", weather=WINDY, seed=seed)
        for autopilot in AUTOPILOTS
        for seed in SEEDS
    ]


def vehicles() -> list[Figures]:
    """Every vehicle flies its own mission once on each autopilot: in wind what flies, in calm what does not."""
    rows = {(row["vehicle"], row["autopilot"]): row for row in stored().get("vehicles", [])}
    for vehicle in named((*FLYERS, *DRIVERS)):
        for autopilot in named(AUTOPILOTS):
            found = flown(autopilot, vehicle, weather=WINDY if vehicle in FLYERS else Weather())
            rows[vehicle, autopilot] = {"autopilot": autopilot, "vehicle": vehicle} | found
    return [rows[vehicle, autopilot] for vehicle in (*FLYERS, *DRIVERS) for autopilot in AUTOPILOTS]


def named(words: tuple[str, ...]) -> tuple[str, ...]:
    """Those of them that the command line names, or all."""
    return tuple(word for word in words if word in sys.argv[1:]) or words


def stored() -> Figures:
    """What was measured before."""
    return json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}


def flown(autopilot: str, vehicle: str, **ordered: Any) -> Figures:
    """How a flight ended."""
    with tempfile.TemporaryDirectory() as keep:
        try:
            flight = fly(make_order(vehicle, control=autopilot, until_s=UNTIL_S, **ordered), folder=Path(keep))
        except IronbirdError as error:
            found: Figures = {"outcome": str(error).partition(";")[0], "complete": False}
        else:
            found = ending(flight)
    print(autopilot, vehicle, ordered.get("seed", 0), found, flush=True)
    return found


def ending(flight: Flight) -> Figures:
    """Whether it came down whole and disarmed, and when."""
    finished = [h for h in flight.autopilot_events if h.kind == "finished"]
    path = flight.log["body.p_NB_N"]
    return {
        "outcome": finished[-1].text if finished and flight.stop is None else flight.outcome,
        "complete": bool(finished) and flight.stop is None,
        "simulated_s": round(flight.ended_s, 1),
        "times_real_time": round(flight.ended_s / flight.wall_s, 1),
        "from_home_m": round(float(np.hypot(*path[-1, :2])), 1),
    }


def never() -> Figures:
    """A fault whose trigger does not fire, on each autopilot, beside the same flight without it."""
    found: Figures = stored().get("never", {})
    for autopilot in named(AUTOPILOTS):
        orders = cases_for(autopilot)
        with tempfile.TemporaryDirectory() as keep:
            healthy = Healthy.of(orders[HEALTHY], Path(keep) / HEALTHY)
            order = replace(orders[HEALTHY], faults=(parse_fault(NEVER),))
            found[autopilot] = row_of(order, healthy, Path(keep) / "never")
        print(autopilot, found[autopilot], flush=True)
    return found


def speed() -> Figures:
    """What bench/links.py and bench/links_ardupilot.py measure."""
    px4 = runpy.run_path(str(ROOT / "bench" / "links.py"))
    ardupilot = runpy.run_path(str(ROOT / "bench" / "links_ardupilot.py"))
    found = px4["codec"]() | px4["exchange"]() | px4["flight"]()
    return {
        "px4": {name: round(value, 3) for name, value in found.items()},
        "ardupilot": ardupilot["measure"](),
    }


def hil() -> Figures:
    """What bench/hil.py measures."""
    done = subprocess.run([sys.executable, str(ROOT / "bench" / "hil.py")], capture_output=True, text=True, check=True)
    data, _, table = done.stdout.rpartition("\n}\n")
    return {"figures": json.loads(data + "\n}"), "table": table.strip().splitlines()}


PARTS: dict[str, Callable[[], Any]] = {
    "square": square, "vehicles": vehicles, "never": never, "speed": speed, "hil": hil,
}  # fmt: skip


def page(figures: Figures) -> str:
    """The page as text."""
    lines = [
        "# PX4 and ArduPilot on the rig, measured",
        "",
        "Written by `tools/write_autopilots_page.py` from flights of the real programs (PX4 1.17.0, ArduPilot 4.7.0)",
        "on two cores without a GPU. How to fly them yourself: [guide](guide/autopilots.md).",
        "",
        *_square_lines(figures["square"]),
        *_vehicle_lines(figures["vehicles"]),
        *_fault_lines(json.loads(COMMON.read_text()), figures.get("never", {})),
        *_speed_lines(figures["speed"]),
        "## Hardware in the loop",
        "",
        "`bench/hil.py`: the reference autopilot on the other side of a serial line of 921,600 baud (two",
        "pseudo-terminals and a relay that keeps to the baud rate). No real board was met. The document is [NguyenHa].",
        "",
        *figures["hil"]["table"],
        "",
    ]
    return "\n".join(lines)


def _square_lines(rows: list[Figures]) -> list[str]:
    lines = [
        "## A square in wind",
        "",
        "F450, take-off, square of 20 m at 10 m height, return, landing, in 5 m/s wind from the west with turbulence,",
        "seeds 0 to 9, in lockstep at full speed.",
        "",
        "| autopilot | landed and disarmed | seconds flown | times real time | metres from home at the end |",
        "| --- | --- | --- | --- | --- |",
    ]
    for autopilot in AUTOPILOTS:
        own = [row for row in rows if row["autopilot"] == autopilot]
        whole = [row for row in own if row["complete"]]
        spans = [_span([row[key] for row in whole]) for key in ("simulated_s", "times_real_time", "from_home_m")]
        lines.append(f"| {autopilot} | {len(whole)} of {len(own)} | {' | '.join(spans)} |")
    return [*lines, ""]


def _span(values: list[float]) -> str:
    return f"{min(values):g} to {max(values):g}" if values else "-"


def _vehicle_lines(rows: list[Figures]) -> list[str]:
    lines = [
        "## Every kind of vehicle",
        "",
        "Each vehicle's own mission once; in the same wind what flies, in calm what drives or swims.",
        "",
        "| vehicle | PX4 | ArduPilot |",
        "| --- | --- | --- |",
    ]
    for vehicle in dict.fromkeys(row["vehicle"] for row in rows):
        cells = [next(r for r in rows if r["vehicle"] == vehicle and r["autopilot"] == a) for a in AUTOPILOTS]
        lines.append(f"| {vehicle} | {' | '.join(_cell(cell) for cell in cells)} |")
    return [*lines, ""]


def _cell(row: Figures) -> str:
    if "simulated_s" not in row:
        return row["outcome"].replace("|", "/")
    return f"{row['outcome']}, {row['simulated_s']:g} s at {row['times_real_time']:g} times real time"


def _fault_lines(figures: dict[str, dict[str, Figures]], never: Figures) -> list[str]:
    lines = [
        "## What both do about the same faults",
        "",
        "Some of the [sixty common faults](autopilot_comparison.md) (suite `common`), flown in virtual time by PX4",
        "1.17.0 and ArduCopter 4.8.0-dev. Caused is what the same flight without the fault does not do, with the time",
        "after the fault began to act; the first of each kind. † is a flight with an earlier model of the vehicle and",
        f"its air.{f' The last fault waits for a trigger that does not fire: `{NEVER}`.' if never else ''}",
        "",
        "| fault | autopilot | outcome | acted from | caused |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in FAULTS:
        for autopilot in AUTOPILOTS:
            rows = figures.get(autopilot, {})
            row, ending = rows.get(name), cell_of(rows, name)
            if row is None or "caused" not in row:
                lines.append(f"| {name} | {autopilot} | {ending} | - | - |")
                continue
            caused = [f"{text} ({after:g} s)" for after, _, text in first_of_each(row["caused"])]
            lines.append(
                f"| {name} | {autopilot} | {ending} | {row['acted_s']:g} s | "
                f"{'; '.join(caused).replace('|', '/') or 'nothing'} |"
            )
    for autopilot, row in never.items():
        caused = [f"{text} ({after:g} s)" for after, _, text in row["caused"]]
        lines.append(
            f"| imu.gyro_stuck, no trigger | {autopilot} | {word_of(row)} | never | "
            f"{'; '.join(caused) or 'nothing'} ({row['sight']}) |"
        )
    return [*lines, ""]


def _speed_lines(figures: Figures) -> list[str]:
    px4, ardupilot = figures["px4"], figures["ardupilot"]
    rows = [
        ("PX4 under an F450 with one sensor of each kind, times real time", f"{px4['real_time_factor']:.1f}", ""),
        ("PX4 under its own physics (SIH), times real time", f"{px4['real_time_factor_sih']:.1f}", ""),
        ("share of SIH", f"{px4['share_of_sih']:.2f}", "0.9"),
        ("PX4 under the usual F450: three IMUs, three estimators", f"{px4['real_time_factor_three_imus']:.1f}", ""),
        (
            "Ironbird's share of an exchange with PX4: codec and four steps of the vehicle, µs",
            f"{px4['exchange_us']:.0f}",
            "50",
        ),
        ("codec of an exchange, µs", f"{px4['codec_us']:.1f}", ""),
        ("the same with pymavlink, µs", f"{px4['codec_pymavlink_us']:.1f}", ""),
        ("ArduPilot under Ironbird's F450, times real time", f"{ardupilot['real_time_factor']:.1f}", ""),
        ("its link with a vehicle that costs nothing", f"{ardupilot['real_time_factor_without_vehicle']:.1f}", ""),
        ("share of that", f"{ardupilot['share']:.2f}", "0.8"),
    ]
    return [
        "## Speed",
        "",
        "Ratios within one run (`bench/links.py --flight`, `bench/links_ardupilot.py`).",
        "",
        "| what | measured | bar |",
        "| --- | --- | --- |",
        *(f"| {what} | {value} | {bar} |" for what, value, bar in rows),
        "",
    ]


def main() -> None:
    """Measure the parts that are asked for, and write the page."""
    known = (*PARTS, "page", *AUTOPILOTS, *FLYERS, *DRIVERS)
    wrong = [word for word in sys.argv[1:] if word not in known]
    if wrong:
        raise SystemExit(f"{wrong[0]}: give {', '.join(known)}")
    wanted = sys.argv[1:] or list(PARTS)
    figures = stored()
    for name in (part for part in wanted if part in PARTS):
        figures[name] = PARTS[name]()
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False, default=float) + "\n")
    if set(PARTS) - {"never"} <= set(figures):
        PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
