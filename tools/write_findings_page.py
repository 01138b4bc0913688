"""Flies the suite `findings` and writes docs/findings.md.

    python tools/write_findings_page.py [fly] [shrink] [map] [pack] [CASE …]

Without a word the page is written from docs/measured/findings.json. `fly` flies each finding beside its healthy twin;
`shrink` looks for its smallest fault (some 8 flights each) and writes it as docs/findings/CASE.toml; `map` flies the
case of the same name of suite `finding_maps` over two of its parameters and draws docs/findings/CASE.svg; `pack` flies
the suite as a campaign, packs out/findings/evidence.zip and flies that again. What is stored of the same order beside
the same healthy flight is not flown again. Needs IRONBIRD_PX4, IRONBIRD_ARDUPILOT.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from ironbird.campaign.case import FlightCase
from ironbird.campaign.pack import repeat
from ironbird.campaign.planned import Planned
from ironbird.campaign.search import Map, boundary_map, shrink
from ironbird.campaign.suite import load_suite
from ironbird.flight.systems import title_of
from ironbird.report.svg_plot import write_map
from write_comparison_page import FIGURES as COMMON
from write_comparison_page import Healthy, Row, is_earlier, newest, row_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "findings.md"
FOLDER = ROOT / "docs" / "findings"
FIGURES = ROOT / "docs" / "measured" / "findings.json"
PACK = ROOT / "out" / "findings" / "evidence.zip"  # some MB: not kept with the code
TOLERANCE = 0.1  # of the smallest severity
WORDS = {"pass": "survived", "fail": "**lost**"}
HEAD = """
# What real autopilots do about faults: findings

Written by `tools/write_findings_page.py` from `docs/measured/findings.json`. Unmodified PX4 1.17.0 and ArduPilot
(ArduCopter 4.8.0-dev) fly the F450 in virtual time, so each finding is a case file and a hash: whoever has the same
program gets the same bytes. These are findings on a simulated vehicle with the parameters that Ironbird makes from its
file; a finding is where to look, not yet a defect of the autopilot on a real one.

Findings 4, 7 and 8 (ArduPilot) were flown before ArduPilot had the vehicle's receivers and inertial units
([record 80](adr/0080-ardupilot-flies-on-the-vehicles-sensors.md)): the cases fly another way now and were not flown
again. Finding 4 is a touch-down that was soft (0.5 m/s down) and too fast sideways (5.4 m/s, with the wind): its text
names the downward speed only.

```sh
ironbird campaign run findings                     # all of them; each fails as its case says
ironbird fly quad_f450 --control px4 --time virtual --twin --fault …  # one of them, with what the fault caused
ironbird evidence pack findings                # all files, versions and hashes in one zip
ironbird evidence repeat evidence.zip              # the same programs give the same bytes
```
"""

EARLIER = "| model | flown with an earlier model of the vehicle and its air: figures and hashes are of then |"


def planned(suite: str = "findings") -> dict[str, Planned]:
    """The suite's cases, or those of the maps."""
    return {case.id: case for case in load_suite(suite).cases}


def chosen() -> dict[str, Planned]:
    """The cases that are named, or all."""
    known = planned()
    return {name: case for name, case in known.items() if name in sys.argv[1:]} or known


def only(case: Planned) -> FlightCase:
    """A finding is one flight."""
    (flight,) = case.flights()
    return flight


def fly_all(figures: dict[str, Row]) -> None:
    """Each finding beside the same flight without its fault; one that the comparison has flown is taken from there."""
    common = {
        row["digest"]: row
        for rows in json.loads(COMMON.read_text()).values()
        for row in rows.values()
        if not is_earlier(row, newest(rows))
    }
    with tempfile.TemporaryDirectory() as folder:
        healthy: dict[str, Healthy] = {}
        for name, case in chosen().items():
            order = only(case)
            if order.digest() in common:
                figures[name] = figures.get(name, {}) | common[order.digest()]
                keep(figures, name)
                continue
            twin = replace(order, faults=())
            key = replace(twin, id="", case_id="", expect=None).digest()
            if key not in healthy:
                healthy[key] = Healthy.of(twin, Path(folder) / f"healthy{len(healthy)}")
            flown = {"digest": order.digest(), "beside": healthy[key].flight.sha256}
            if flown.items() <= figures.get(name, {}).items():
                continue
            row = row_of(order, healthy[key], Path(folder) / name)
            figures[name] = figures.get(name, {}) | row | flown
            print(name, row, flush=True)
            keep(figures, name)


def shrink_all(figures: dict[str, Row]) -> None:
    """The smallest fault of each that is not known yet."""
    FOLDER.mkdir(exist_ok=True)
    for name, case in chosen().items():
        order = only(case)
        row = figures.setdefault(name, {})
        if row.get("shrunk_of") == stamp_of(order, row):
            continue
        small = shrink(order, tolerance=TOLERANCE)
        (FOLDER / f"{name}.toml").write_text(small.case.to_toml())
        row |= {
            "shrunk_of": stamp_of(order, row),
            "smallest": small.sentence(),
            "smallest_fault": [injection.text() for injection in small.case.faults],
            "smallest_sha256": small.result.sha256,
            "flown": small.flown,
        }
        print(name, row["smallest"], flush=True)
        keep(figures, name)


def map_all(figures: dict[str, Row]) -> None:
    """Verdicts of each over the two parameters that its map varies."""
    FOLDER.mkdir(exist_ok=True)
    maps = planned("finding_maps")
    for name, case in chosen().items():
        row = figures.setdefault(name, {})
        stamp = stamp_of(only(case), row)
        if name not in maps or row.get("map", {}).get("of") == stamp:
            continue
        levels = {key: spread.levels() or [] for key, spread in maps[name].variables.items()}
        along, across = levels  # the wind comes first in a case with the defaults before its own keys
        found = boundary_map(
            maps[name], across, along, points=(len(levels[across]), len(levels[along])), tolerance=None
        )
        if not set(found.verdicts.flat) <= set(WORDS):
            raise SystemExit(f"map of {name}: flights without a verdict: {found.verdicts.tolist()}")
        row["map"] = {
            "of": stamp, "across": across, "along": along, "x": found.x, "y": found.y,
            "verdicts": found.verdicts.tolist(),
            "margins": np.where(np.isfinite(found.margins), np.round(found.margins, 3), 0.0).tolist(),
        }  # fmt: skip
        print(name, row["map"], flush=True)
        keep(figures, name)


def stamp_of(order: FlightCase, row: Row) -> list[str]:
    """What a search belongs to: the order, and the healthy flight beside which the finding was flown."""
    return [order.digest(), row.get("beside", "")]


def draw(name: str, row: Row, title: str) -> None:
    """The picture of a map."""
    table = row["map"]
    found = Map(
        table["across"], table["along"], table["x"], table["y"], np.array(table["verdicts"]), np.array(table["margins"])
    )
    write_map(found, FOLDER / f"{name}.svg", title)


def pack(figures: dict[str, Row]) -> None:
    """A campaign, its evidence, and the same flown again from that."""
    PACK.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/store.db"
        _ironbird("run", "findings", "--name", "findings", "--store", store, "--workers", "1")
        _ironbird("evidence", "findings", "--store", store, "--out", str(PACK))
        found = repeat(PACK, Path(folder) / "again", workers=1)
    names = ", ".join(planned())
    figures["pack"] = {"cases": names, "flown": found.flown, "same": found.same, "differing": found.differing}
    print(figures["pack"], flush=True)
    keep(figures, "pack")


def _ironbird(*words: str) -> None:
    """A verb about campaigns."""
    subprocess.run([sys.executable, "-m", "ironbird.cli", "campaign", *words], check=True)


def keep(figures: dict[str, Row], name: str) -> None:
    """Write the figures of a case down; others may be flown beside it."""
    all_of = stored() | {name: figures[name]}
    order = [*planned(), "pack"]
    whole = {known: all_of[known] for known in order if known in all_of}
    FIGURES.write_text(json.dumps(whole, indent=1, ensure_ascii=False, default=float) + "\n")


def stored() -> dict[str, Row]:
    """What is known of the findings."""
    return json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}


def page(figures: dict[str, Row]) -> str:
    """The page as text."""
    lines = [HEAD.strip(), ""]
    done = figures.get("pack")
    if done:
        lines += [
            f"An evidence pack of {done['cases']} was flown again from its own files: "
            f"{done['same']} of {done['flown']} flights equal, bit for bit.",
            "",
        ]
    for number, (name, case) in enumerate(planned().items(), start=1):
        row = figures.get(name)
        if row is None or "outcome" not in row:
            continue
        order = only(case)
        believed = ", ".join(f"{what} {most:g} {unit}" for what, (most, unit) in row["believed"].items())
        lines += [
            f"## {number}. {title_of(order.control)}: {case.data['title']}",
            "",
            str(case.data.get("note", "")).strip(),
            "",
            "| | |",
            "| --- | --- |",
            f"| case | `findings` / `{name}`; `{order.faults[0].text()}` |",
            f"| ended | {row['outcome']}: {row['ended']}; greatest height {row['height_m']:g} m, "
            f"greatest distance {row['distance_m']:g} m |",
            f"| broken | {', '.join(row['broken'])} |",
            f"| seen in its own log | {row['sight']} |",
            f"| errors of its estimate | off at most: {believed} |",
            f"| what the fault caused | {'; '.join(f'{text} ({after:g} s)' for after, _, text in row['caused'])} |",
            f"| position carried by | {row['carried'] or 'as before'} |",
            f"| smallest fault | {row.get('smallest', 'not looked for')}"
            + (f" ([case](findings/{name}.toml), {row['flown']} flights) |" if "smallest" in row else " |"),
            *([] if "beside" in row else [EARLIER]),
            f"| sha256 | flight `{row['sha256']}`, with words and log `{row['sha256_of_all']}` |",
            "",
            *(_map_lines(name, row["map"]) if "map" in row else []),
        ]
    return "\n".join(lines)


def _map_lines(name: str, table: Row) -> list[str]:
    """The picture, and the same as words."""
    lines = [
        f"![{name}: survived or lost over {table['across']} and {table['along']}](findings/{name}.svg)",
        "",
        f"| {table['along']} \\ {table['across']} | {' | '.join(f'{x:g}' for x in table['x'])} |",
        f"| --- |{' --- |' * len(table['x'])}",
    ]
    for y, verdicts in zip(table["y"], table["verdicts"], strict=True):
        lines.append(f"| {y:g} | {' | '.join(WORDS.get(verdict, verdict) for verdict in verdicts)} |")
    return [*lines, ""]


PARTS = {"fly": fly_all, "shrink": shrink_all, "map": map_all, "pack": pack}


def main() -> None:
    """Do what is asked for, and write the page."""
    figures = stored()
    known = planned()
    wrong = [word for word in sys.argv[1:] if word not in PARTS and word not in known]
    if wrong:
        raise SystemExit(f"{wrong[0]}: give {', '.join(PARTS)}, and cases of the suite 'findings'")
    for word in (word for word in sys.argv[1:] if word in PARTS):
        PARTS[word](figures)
    figures = stored()
    for name, case in known.items():
        if "map" in figures.get(name, {}):
            draw(name, figures[name], f"{title_of(only(case).control)}: {case.data['title']}")
    PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
