"""Writes docs/reference/requirements.md and missions.md: what requirements may say, and what a mission file holds."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from ironbird.conditions import formula
from ironbird.conditions.names import RUN_UNITS
from ironbird.flight.derived import DERIVED
from ironbird.flight.mission import KINDS, Item, Mission, load_mission, mission_names
from ironbird.flight.words import ALIASES, WORDS
from ironbird.requirements.library import TEMPLATES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
HEAD = "Written by `make docs` with `tools/write_lookup_pages.py`; "


def requirements_page() -> str:
    """Grammar, ready requirements, names."""
    lines = ["# Requirements", "", HEAD + "`ironbird requirements [--grammar]` says the same.", ""]
    lines += ["## Ready requirements", "", "For `use = …` of a case and for `--require NAME`.", ""]
    lines += ["| name | severity | what it asks | formula | parameters |", "| --- | --- | --- | --- | --- |"]
    for name, template in TEMPLATES.items():
        known = "; ".join(
            f"`{key}` {p.doc}" + ("" if p.default is None else f" ({p.default} {p.unit})".replace(" )", ")"))
            for key, p in template.parameters.items()
        )
        lines.append(f"| `{name}` | {template.severity} | {template.doc} | `{template.text}` | {known or '-'} |")
    lines += ["", "## Names", "", "Every signal of the vehicle by its path (`ironbird signals VEHICLE`), and:", ""]
    lines += ["| name | unit | is |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {d.unit} | `{d.text}` |" for name, d in DERIVED.items()]
    lines += [f"| `{name}` | of the signal | `{path}` |" for name, path in ALIASES.items()]
    lines += [
        f"| `{name}` | {unit} | of the run; not in triggers{' but time' if name == 'time' else ''} |"
        for name, unit in RUN_UNITS.items()
    ]
    lines += ["", f"Words (modes): {', '.join(f'`{word}`' for word in WORDS)}.", "", "## Grammar", "", "```text"]
    lines += [inspect.cleandoc(formula.__doc__ or ""), "```", ""]
    return "\n".join(lines)


def missions_page() -> str:
    """Format and built-in missions."""
    lines = ["# Missions", "", HEAD + "`ironbird missions` lists the built-in ones.", ""]
    lines += [
        "A mission is a TOML file: `schema = 1`, the keys of the first table, and `[[item]]` tables in order.",
        "",
    ]
    for title, model in (("Mission", Mission), ("Item", Item)):
        lines += [f"## {title}", "", inspect.cleandoc(model.__doc__ or ""), "", "| key | default |", "| --- | --- |"]
        lines += [f"| `{field.alias or key}` | {_usual(field)} |" for key, field in model.model_fields.items()]
        lines.append("")
    lines += [
        f"Kinds of items: {', '.join(f'`{kind}`' for kind in KINDS)}. Lengths in m, angles in degrees, times in s.",
        "",
    ]
    lines += [
        "## Example",
        "",
        "```toml",
        (Path(inspect.getfile(Mission)).parent / "missions/square.toml").read_text().strip(),
        "```",
        "",
    ]
    lines += ["## Built-in missions", "", "| name | title | items |", "| --- | --- | --- |"]
    for name in mission_names():
        mission = load_mission(name)
        lines.append(f"| `{name}` | {mission.title} | {len(mission.item)} |")
    lines += [
        "",
        "QGroundControl's .plan and waypoint files (WPL 110) are flown by control systems outside: `--plan FILE`.",
        "",
    ]
    return "\n".join(lines)


def _usual(field: FieldInfo) -> Any:
    return "must be given" if field.is_required() else "-" if field.default in (None, "") else f"`{field.default}`"


PAGES = {"requirements.md": requirements_page, "missions.md": missions_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), encoding="utf-8")
        print(f"wrote {name}")
