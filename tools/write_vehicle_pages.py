"""Writes docs/vehicles/ID.md for every vehicle, its pictures, and docs/vehicles/index.md and gallery.md.

A page has two parts. The first follows from the vehicle's file and its blocks alone, and a test keeps it up to date.
The second, below MEASURED, is trimmed, linearised and flown by this program.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from ironbird.analysis.level import level_trim, modes_at
from ironbird.campaign.fleet import CURRENT, WIND, order_of
from ironbird.errors import IronbirdError
from ironbird.flight.flight import Flight, fly
from ironbird.model.block import Block
from ironbird.report.diagram_svg import write_diagram_svg
from ironbird.report.flight.parameters import parameter_groups
from ironbird.report.svg_plot import ticks
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import Vehicle, load_spec, load_vehicle
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.tables import unit_of

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "vehicles"
INTEGRATION = ROOT / "docs" / "measured" / "integration.json"
NOTES = "notes"
MEASURED = "## Trim"
LARGEST_PICTURE = 150_000  # bytes
MOTION = ("bodies", "forces", "actuators")  # kinds of blocks whose equations are printed
MOST_MODES = 12


# ---------------------------------------------------------------------- what the file and the blocks say


@functools.cache
def loaded(name: str) -> Vehicle:
    """A vehicle whose controller sees the true state: the vehicle itself, without sensors."""
    return load_vehicle(name, control="truth")


def kind_of(block: type[Block]) -> str:
    """The folder of a block: bodies, forces, ..."""
    return block.__module__.removeprefix("ironbird.blocks.").partition(".")[0]


def classes(vehicle: Vehicle) -> dict[type[Block], list[str]]:
    """The classes of blocks in a vehicle, and where they are."""
    found: dict[type[Block], list[str]] = {}
    for path, block in vehicle.diagram.blocks.items():
        found.setdefault(type(block), []).append(path)
    return found


def document(block: type[Block]) -> tuple[str, list[str], str]:
    """A block's description, its sentences on validity, and what it says is not modelled."""
    text = " ".join((inspect.getdoc(block) or "").split())
    text, _, missing = text.partition("Not modelled:")
    parts = re.split(r"(?<=[.;]) (?=[A-Z`])", text.strip())
    valid = [part for part in parts if part.startswith("Valid")]
    return " ".join(part for part in parts if part not in valid), valid, missing.strip()


def blocks_link(block: type[Block], *, folder: str = "..") -> str:
    return f"[{block.__name__}]({folder}/reference/blocks/{block.__name__}.md)"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ") or "-"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A table and an empty line."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows), ""]


def places(paths: list[str]) -> str:
    """Where equal blocks are, in short."""
    short = list(dict.fromkeys(re.sub(r"(?<=/)\d+(?=/)", "*", path) for path in paths))
    count = f"{len(paths)} times, " if len(paths) > 1 else ""
    return count + ", ".join(f"`{path}`" for path in short)


def integration(name: str) -> str:
    """Method and step, and how far they are from small steps: measured by tools/write_integration.py."""
    own = loaded(name).integration.text()
    measured = json.loads(INTEGRATION.read_text())
    found = measured["vehicles"].get(name)
    if found is None or found["integration"] != own:
        return f"`{own}`"
    return (
        f"`{own}`; over {measured['until_s']:g} s of its mission in steady wind the position is within "
        f"{1e3 * found['distance_m']:.2g} mm of that with `{measured['reference']}`"
    )


def head(name: str) -> list[str]:
    """Title, summary, pictures, what the page is made from."""
    spec = load_spec(name)
    template = vehicle_kind(spec)
    lines = [
        f"# {spec.title}",
        "",
        spec.summary,
        "",
        "Written by `make docs` from the vehicle's file and its blocks.",
        "",
    ]
    rows = [
        ("name", f"`{name}`"),
        ("kind", spec.template.replace("_", " ")),
        ("made from", f"`{spec.base}`, with the differences of its own file" if spec.base else "its own file"),
        ("control", " or ".join(template.controls) + ", the first by default"),
        ("mission", f"`{spec.mission}`"),
        ("integration", integration(name)),
        ("try it", f"`ironbird fly {name} --wind 5`, `ironbird vehicle trim {name}`, `ironbird vehicle modes {name}`"),
    ]
    lines += table(("", ""), rows)
    if (FOLDER / NOTES / f"{name}.md").is_file():
        lines += [f"More about this vehicle: [notes]({NOTES}/{name}.md).", ""]
    lines += [f"![{load_spec(name).title}](../pictures/vehicles/{name}.png)", ""]
    if top_view(loaded(name)):
        lines += [f"![From above]({name}.top.svg)", ""]
    return lines


def equations(name: str) -> list[str]:
    """What moves it, in words and formulas, and all its other blocks."""
    found = classes(loaded(name))
    lines = ["## Equations", ""]
    for kind in MOTION:
        lines += [f"### {kind.capitalize()}", ""]
        for block, paths in found.items():
            if kind_of(block) == kind:
                text = document(block)[0]
                lines += [f"**{blocks_link(block)}** ({places(paths)}): {text} Source: {block.source}.", ""]
    rows = [
        (kind_of(block), blocks_link(block), places(paths), block.source or "-")
        for block, paths in sorted(found.items(), key=lambda item: (kind_of(item[0]), item[0].__name__))
        if kind_of(block) not in MOTION
    ]
    lines += ["### All else", "", "With control on the true state; `reference` adds sensors, voting and a filter.", ""]
    return lines + table(("kind", "block", "where", "source"), rows)


def limits(name: str) -> list[str]:
    """Where the equations hold, and what they leave out."""
    valid, missing = [], []
    for block in classes(loaded(name)):
        _, sentences, absent = document(block)
        valid += [f"- {block.__name__}: {sentence}" for sentence in sentences]
        if absent and kind_of(block) in (*MOTION, "environment", "power"):
            missing.append(f"- {block.__name__}: {absent}")
    lines = ["## Where it holds", "", *valid, ""] if valid else []
    return [*lines, "## What is not modelled", "", *missing, ""]


def unit_cell(spec: VehicleSpec, key: str) -> str:
    unit = unit_of(spec, key)
    return "-" if unit == "1" else unit.replace("*", " ")


def parameters(name: str) -> list[str]:
    """All numbers of the file, with where they come from."""
    spec = load_spec(name)
    groups = [(group, rows) for group, rows in parameter_groups(spec) if group not in ("base", "mission")]
    kinds: dict[str, int] = {}
    lines: list[str] = []
    for group, rows in groups:
        lines += [f"### {group}", ""]
        for row in rows:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
        cells = [
            (f"`{row['key']}`", row["value"], unit_cell(spec, row["key"]), row["kind"], row["detail"] or "-")
            for row in rows
        ]
        lines += table(("parameter", "value", "unit", "provenance", "source"), cells)
    said = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
    return ["## Parameters", "", f"{sum(kinds.values())} values: {said}.", "", *lines]


def static_part(name: str) -> str:
    """The part of a page that needs neither a trim nor a flight."""
    return "\n".join([*head(name), *equations(name), *limits(name), *parameters(name)])


# ---------------------------------------------------------------------- pictures


def top_view(vehicle: Vehicle) -> str:
    """Rotors, wheels, surfaces and contact points from above, nose up; empty if the vehicle has no places for them."""
    diagram = vehicle.diagram
    marks: list[tuple[str, str, np.ndarray, float]] = []
    for path, block in diagram.blocks.items():
        place = path.split("/")[0]
        if "position" in block.params and place in ("rotor", "wheel", "surface", "panel"):
            lifts = "axis" not in block.params or diagram.value(f"{path}.axis").ravel()[2] < -0.5
            spin = float(diagram.value(f"{path}.spin")[0]) if "spin" in block.params and lifts else 0.0
            marks.append((place, path.split("/")[1], diagram.value(f"{path}.position").ravel(), spin))
        if "wheel_separation" in block.params and path == "body":
            half_track = float(diagram.value("body.wheel_separation")[0]) / 2
            marks += [
                ("wheel", label, np.array([0, y, 0]), 0.0) for label, y in (("L", -half_track), ("R", half_track))
            ]
    planform = (
        [float(diagram.value(f"wing.{size}")[0]) for size in ("span", "chord")]
        if "wing" in diagram.blocks and {"span", "chord"} <= set(diagram.blocks["wing"].params)
        else []
    )
    points = (
        diagram.value("contact.points").reshape(3, -1, order="F") if "contact" in diagram.blocks else np.zeros((3, 0))
    )
    if len(marks) < 2 and not planform:
        return ""
    xy = np.hstack([np.array([position[:2] for _, _, position, _ in marks]).T, points[:2]])
    size = max(float(np.abs(xy).max()), 1e-3, *(length / 2 for length in planform))
    half, scale = 150.0, 110.0 / size

    def at(position: np.ndarray) -> tuple[float, float]:
        return half + scale * position[1], half - scale * position[0]

    ink = {"rotor": "#1f6feb", "wheel": "#444444", "surface": "#1d7f4b", "panel": "#1d7f4b"}
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="330" viewBox="0 0 300 330" '
        'font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(vehicle.id)} from above</title>",
        '<rect width="300" height="330" fill="#ffffff"/>',
        f'<path d="M{half},14 l-6,12 h12 z" fill="#999999"/>',
        f'<path d="M{half - 6},{half} h12 M{half},{half - 6} v12" stroke="#999999"/>',
    ]
    if planform:  # a rectangle of span and mean chord
        wide, deep = (scale * length for length in planform)
        parts.append(
            f'<rect x="{half - wide / 2:.1f}" y="{half - deep / 2:.1f}" width="{wide:.1f}" height="{deep:.1f}" '
            f'fill="{ink["surface"]}22" stroke="{ink["surface"]}"/>'
        )
    for x, y in (at(point) for point in points.T):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#bbbbbb"/>')
    written: list[tuple[float, float]] = []
    for place, label, position, spin in marks:
        x, y = at(position)
        if place == "rotor":
            parts.append(f'<path d="M{x:.1f},{y:.1f} L{half},{half}" stroke="#cccccc"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="20" fill="#1f6feb22" stroke="{ink[place]}"/>')
        else:
            width, height = (8, 20) if place == "wheel" else (34, 10)
            parts.append(
                f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width}" height="{height}" '
                f'fill="{ink[place]}33" stroke="{ink[place]}"/>'
            )
        turn = " ↺" if spin > 0 else " ↻" if spin < 0 else ""
        y += 4 if place == "rotor" else 20
        while any(abs(x - a) < 30 and abs(y - b) < 11 for a, b in written):  # parts above each other
            y += 12
        written.append((x, y))
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(label + turn)}</text>')
    parts.append(f'<path d="M20,310 h{scale * size / 2:.1f}" stroke="#444444" stroke-width="2"/>')
    parts.append(f'<text x="20" y="324">{size / 2:.2g} m; grey dots touch the ground</text>')
    return "\n".join([*parts, "</svg>", ""])


def mission_picture(flight: Flight) -> str:
    """The path from above with what the navigator wanted, and height over time."""
    time_s, position = flight.log.time(), flight.log[at.BODY.position]
    wanted = flight.log[at.NAVIGATOR.position_set]
    every = max(1, len(time_s) // 600)
    time_s, position, wanted = time_s[::every], position[::every], wanted[::every]
    curves = [
        ("#999999", wanted[:, 1], wanted[:, 0], time_s, -wanted[:, 2]),
        ("#1f6feb", position[:, 1], position[:, 0], time_s, -position[:, 2]),
    ]
    low = np.minimum(position[:, :2].min(0), wanted[:, :2].min(0))
    high = np.maximum(position[:, :2].max(0), wanted[:, :2].max(0))
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2 * 1.08, 0.5)
    east = (middle[1] - half, middle[1] + half)
    north = (middle[0] - half, middle[0] + half)
    heights = np.concatenate([-position[:, 2], -wanted[:, 2]])
    up = (float(heights.min()) - 0.3, float(heights.max()) + 0.3)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="350" viewBox="0 0 760 350" '
        'font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(flight.vehicle.id)}: {escape(flight.mission_title)}</title>",
        '<rect width="760" height="350" fill="#ffffff"/>',
    ]
    parts += _frame(60, 20, 290, 290, east, north, "east, m", "north, m")
    parts += _frame(430, 20, 310, 290, (0.0, float(time_s[-1])), up, "time, s", "height, m")
    for ink, a, b, c, d in curves:
        parts.append(_curve(60, 20, 290, 290, east, north, a, b, ink))
        parts.append(_curve(430, 20, 310, 290, (0.0, float(time_s[-1])), up, c, d, ink))
    return "\n".join([*parts, "</svg>", ""])


Range = tuple[float, float]


def _frame(x: int, y: int, width: int, height: int, across: Range, up: Range, below: str, beside: str) -> list[str]:
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="#cccccc"/>']
    for tick in ticks(*across):
        place = x + width * (tick - across[0]) / (across[1] - across[0])
        parts.append(f'<text x="{place:.1f}" y="{y + height + 14}" text-anchor="middle">{tick:g}</text>')
    for tick in ticks(*up):
        place = y + height * (up[1] - tick) / (up[1] - up[0])
        parts.append(f'<text x="{x - 5}" y="{place + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts.append(f'<text x="{x + width / 2:.0f}" y="{y + height + 30}" text-anchor="middle">{below}</text>')
    parts.append(
        f'<text transform="translate({x - 44} {y + height // 2}) rotate(-90)" text-anchor="middle">{beside}</text>'
    )
    return parts


def _curve(
    x: int, y: int, width: int, height: int, across: Range, up: Range, a: np.ndarray, b: np.ndarray, ink: str
) -> str:
    px = x + width * (a - across[0]) / (across[1] - across[0])
    py = y + height * (up[1] - b) / (up[1] - up[0])
    points = " ".join(f"{i:.1f},{j:.1f}" for i, j in zip(px, py, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.4"/>'


# ---------------------------------------------------------------------- what is trimmed and flown


def measured_part(name: str, folder: Path) -> str:
    """Trim, modes, the block diagram and the mission; writes the pictures."""
    vehicle = loaded(name)
    lines = [MEASURED, "", "Steady level motion with the controller cut off; `ironbird vehicle trim`.", ""]
    try:
        trimmed = level_trim(vehicle)
    except IronbirdError as error:
        lines += [f"None found: {error}", ""]
    else:
        lines += table(("", ""), list(trimmed.rows().items()))
        found = modes_at(trimmed)
        lines += ["## Modes", "", "Of the bare vehicle at this trim, slowest first; `ironbird vehicle modes`.", ""]
        rows = [
            (str(number), mode.sentence(), ", ".join(f"`{state}`" for state in mode.states))
            for number, mode in enumerate(found[:MOST_MODES], start=1)
        ]
        lines += table(("", "mode", "states that take part"), rows)
        if len(found) > MOST_MODES:
            lines += [f"{len(found) - MOST_MODES} faster ones are left out.", ""]
    lines += [*mission(name, folder), "## Block diagram", ""]
    picture = folder / f"{name}.svg"
    write_diagram_svg(vehicle.diagram, picture)
    if picture.stat().st_size < LARGEST_PICTURE:
        return "\n".join([*lines, f"![Blocks and connections]({picture.name})", ""])
    picture.unlink()
    return "\n".join([*lines, f"Too large for this page: `ironbird vehicle show {name}`.", ""])


def mission(name: str, folder: Path) -> list[str]:
    """The vehicle's own mission in weather, seed 0."""
    settings = order_of(name).settings
    flight = fly(name, weather=WIND, settings=settings, seed=0)
    (folder / f"{name}.mission.svg").write_text(mission_picture(flight), encoding="utf-8")
    water = f", current {CURRENT['current.speed']} m/s to the east" if settings else ""
    rows = [
        (key, value) for key, value in flight.summary().items() if key not in ("vehicle", "wind", "speed", "sha256")
    ]
    return [
        "## Mission",
        "",
        f"Wind {WIND.describe()}{water}. Blue: the vehicle; grey: where its navigator wants it.",
        "",
        f"![Path and height]({name}.mission.svg)",
        "",
        *table(("", ""), rows),
    ]


# ---------------------------------------------------------------------- index


def index() -> str:
    """All vehicles, and what each is made of."""
    kinds: dict[type[Block], set[str]] = {}
    for name in vehicle_ids():
        for block in classes(loaded(name)):
            kinds.setdefault(block, set()).add(load_spec(name).template)
    lines = ["# Vehicles", "", "Written by `make docs`. How well they fly: [fleet](../fleet.md).", ""]
    for template in sorted({load_spec(name).template for name in vehicle_ids()}):
        names = [name for name in vehicle_ids() if load_spec(name).template == template]
        lines += [f"## {template.replace('_', ' ').capitalize()}", ""]
        lines += table(
            ("vehicle", "", "summary"), [(f"[{n}]({n}.md)", load_spec(n).title, load_spec(n).summary) for n in names]
        )
    lines += [
        "## What a vehicle touches",
        "",
        "One TOML file makes a vehicle of a kind that exists. A new kind needs a template, and blocks only for what no",
        "other kind has. Blocks are counted with control on the true state.",
        "",
    ]
    rows = []
    for name in vehicle_ids():
        spec = load_spec(name)
        own = sorted(b.__name__ for b in classes(loaded(name)) if kinds[b] == {spec.template})
        module = vehicle_kind(spec).build.__module__.rpartition(".")[2]
        based = f" on `{spec.base}.toml`" if spec.base else ""
        rows.append((name, f"`{name}.toml`{based}", f"`templates/{module}.py`", ", ".join(own) or "none"))
    lines += table(("vehicle", "file", "template", "blocks that no other kind uses"), rows)
    lines += ["Why those blocks exist:", ""]
    alone = {block: next(iter(used)) for block, used in kinds.items() if len(used) == 1}
    reasons = [
        (template, blocks_link(block), (inspect.getdoc(block) or "").partition("\n")[0])
        for block, template in sorted(alone.items(), key=lambda item: (item[1], item[0].__name__))
    ]
    lines += table(("kind", "block", "what it says"), reasons)
    return "\n".join(lines).rstrip("\n") + "\n"


def gallery() -> str:
    """A picture of every vehicle."""
    lines = [
        "# Gallery",
        "",
        "Written by `make docs`. Each vehicle as the 3D scene of the pages draws it, from its file.",
        "",
    ]
    for template in sorted({load_spec(name).template for name in vehicle_ids()}):
        lines += [f"## {template.replace('_', ' ').capitalize()}", "", '<div class="gallery" markdown>', ""]
        for name in vehicle_ids():
            if load_spec(name).template == template:
                lines += [
                    f"[![{name}](../pictures/vehicles/{name}.png)]({name}.md) [{load_spec(name).title}]({name}.md)",
                    "",
                ]
        lines += ["</div>", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def write(name: str, folder: Path) -> None:
    """One vehicle's page and pictures."""
    picture = top_view(loaded(name))
    if picture:
        (folder / f"{name}.top.svg").write_text(picture, encoding="utf-8")
    text = static_part(name) + "\n" + measured_part(name, folder)
    (folder / f"{name}.md").write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    print(f"wrote {name}.md", flush=True)


def main() -> None:
    """Write the pages: each in a process of its own, so that memory stays small."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--vehicle", action="append", default=[], help="only this one; may be repeated")
    choice = parser.parse_args()
    choice.out.mkdir(parents=True, exist_ok=True)
    if choice.vehicle:
        for name in choice.vehicle:
            write(name, choice.out)
        return
    for name in vehicle_ids():
        command = [sys.executable, __file__, "--out", str(choice.out), "--vehicle", name]
        subprocess.run(command, check=True)
    for page, text in (("index.md", index()), ("gallery.md", gallery())):
        (choice.out / page).write_text(text, encoding="utf-8")
        print(f"wrote {page}")


if __name__ == "__main__":
    main()
