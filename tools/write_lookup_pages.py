"""Writes pages of docs/reference to look things up: requirements, missions, keys of vehicle files, exit codes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ironbird.cli.exit_codes import EXIT_CODES, INTERRUPTED, NOBODY_READS
from ironbird.cli.tree import NO_FIGURES
from ironbird.conditions import formula
from ironbird.conditions.names import RUN_UNITS
from ironbird.conditions.quantity import SYMBOLS
from ironbird.flight.derived import DERIVED
from ironbird.flight.mission import KINDS, Item, Mission, load_mission, mission_names
from ironbird.flight.words import ALIASES, WORDS
from ironbird.requirements.library import TEMPLATES, Parameter
from ironbird.vehicles.kinds import KINDS as VEHICLE_KINDS
from ironbird.vehicles.schema import meanings, tables_of
from ironbird.vehicles.spec import SOURCES
from ironbird.vehicles.tables import keys_of, unit_of_key
from write_block_reference import meaning as readable

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
HEAD = "Written by `make docs` with `tools/write_lookup_pages.py`; "


REQUIREMENT_CASE = """schema = 1
[[case]]
id = "recovers"
vehicle = "quad_f450"
mission = "hover"

[[case.fault]]
id = "rotor.speed_loss@1"
severity = 0.2
start_s = 10.0

[[case.require]]                                  # a ready requirement, all parameters at their defaults
use = "no_crash"

[[case.require]]                                  # parameters: a number is in the unit of the table above
use = "geofence"
params = { radius = 50.0, height = "100 ft" }     # a text may have another unit of the same kind

[[case.require]]                                  # parameters that are text: an expression, an amount with its unit
use = "time_to_recover"
params = { signal = "tilt", limit = "10 deg", within = 3.0 }
severity = "critical"                             # instead of the ready one's

[[case.require]]                                  # a parameter that varies: one flight per value
use = "attitude_limit"
params = { limit = { grid = [20.0, 45.0] } }

[[case.require]]                                  # a formula; it needs a name
name = "stays low"
formula = "always (altitude < 15 m)"
"""


def requirements_page() -> str:
    """Ready requirements and how their parameters are given, names, grammar."""
    lines = [
        "# Requirements",
        "",
        "A requirement says what must hold in a flight, for example that the vehicle stays below a height. It is a",
        "ready one by its name, or a formula of your own. Its margin is by how much it holds, in the unit of what is",
        "compared; it is negative if the requirement is broken. `ironbird requirement list`, `requirement show NAME`",
        "and `requirement grammar` print what is below. " + HEAD.rstrip("; ") + ".",
        "",
        "## Ready requirements",
        "",
        "Names in braces are parameters; one without a default must be given.",
        "",
        "| name | severity | what it asks | formula | parameters: meaning (default) |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, template in TEMPLATES.items():
        known = "<br>".join(f"`{key}`: {p.doc} {_parameter(p)}" for key, p in template.parameters.items())
        lines.append(f"| `{name}` | {template.severity} | {template.doc} | `{template.text}` | {known or '-'} |")
    lines += [
        "",
        "## How parameters are given",
        "",
        "In a case or suite file by the table `params`. A number has the unit of the table above, a text such as",
        '`"400 ft"` or `"45 deg"` its own. Units, and products and quotients of them such as `m/s^2`:',
        f"{', '.join(f'`{unit}`' for unit in SYMBOLS if unit != '1')}. A wrong name, a wrong unit and a parameter",
        "that is missing are found by `ironbird case check FILE`.",
        "",
        "```toml",
        REQUIREMENT_CASE.strip(),
        "```",
        "",
        "On the command line a ready requirement has its defaults; with other values write its formula:",
        "",
        "```sh",
        "ironbird fly quad_f450 --mission hover --require no_crash --require attitude_limit",
        "ironbird fly quad_f450 --mission hover --require 'always (distance <= 50 m and height <= 100 ft)'",
        "```",
        "",
        "From Python:",
        "",
        "```python",
        "import ironbird as ib",
        "",
        'fence = ib.Requirement.of("geofence", radius=50.0, height="100 ft")',
        'flight = ib.fly("quad_f450", mission="hover", requirements=[fence, "always (tilt <= 20 deg)"])',
        "for judgement in flight.judged.judgements:",
        "    print(judgement.name, judgement.margin)  # in SI: m, rad; infinite if it is only true or false",
        "```",
        "",
    ]
    lines += [
        "## Names in formulas",
        "",
        "Every signal of the vehicle by its path (`ironbird vehicle signals`), and:",
        "",
    ]
    lines += ["| name | unit | is |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {d.unit} | `{d.text}` |" for name, d in DERIVED.items()]
    lines += [f"| `{name}` | of the signal | `{path}` |" for name, path in ALIASES.items()]
    lines += [
        f"| `{name}` | {unit} | {RUN_NAMES[name]}{'' if name == 'time' else '; not for triggers of faults'} |"
        for name, unit in RUN_UNITS.items()
    ]
    lines += ["", f"Words (modes): {', '.join(f'`{word}`' for word in WORDS)}.", "", "## Grammar", "", "```text"]
    lines += [inspect.cleandoc(formula.__doc__ or ""), "```", ""]
    return "\n".join(lines)


RUN_NAMES = {
    "crashed": "1 at the end of a flight that ended in a crash, else 0",
    "completed": "1 at the end of a flight that completed its mission, in truth, else 0",
    "landed": "1 at the end of a flight that ended on the ground, disarmed, after it was in the air, else 0",
    "fault_active": "1 from the start of the first fault on, else 0",
    "time": "time since the start of the flight",
}


def _parameter(parameter: Parameter) -> str:
    if parameter.default is None:
        return f"(must be given{', in ' + parameter.unit if parameter.unit else ''})"
    default = f"{parameter.default:g}" if isinstance(parameter.default, float) else f"`{parameter.default}`"
    return f"({default} {parameter.unit})".replace(" )", ")")


def missions_page() -> str:
    """Format and built-in missions."""
    lines = ["# Missions", "", HEAD + "`ironbird mission list` lists the built-in ones.", ""]
    lines += [
        "A mission is a TOML file: `schema = 1`, the keys of the first table, and `[[item]]` tables in order.",
        "",
    ]
    for title, model in (("Mission", Mission), ("Item", Item)):
        lines += [f"## {title}", "", _line(model.__doc__), "", "| key | default |", "| --- | --- |"]
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


def vehicle_files_page() -> str:
    """Every key of every template."""
    lines = ["# Vehicle files", "", HEAD + "`ironbird vehicle check FILE` checks a file, `ironbird vehicle schema`"]
    lines += [
        "prints the JSON Schema for editors (VS Code with Even Better TOML:",
        "put `#:schema vehicle.schema.json` into the first line). A file is TOML: `schema = 1`, `id`, `title`,",
        '`template` and the tables of that template. With `base = "quad_f450"` it gives only what differs.',
        "Units stand at the end of a key: `mass_kg`, `slope_radps`; `_B` is a vector in body axes",
        "(forward, right, down).",
        "`[provenance]` says where numbers come from: " + ", ".join(f"`{word}`" for word in SOURCES) + ".",
        "",
        f"Templates: {', '.join(f'[{name}](#{name})' for name in VEHICLE_KINDS)}.",
        "",
    ]
    for name, template in ((name, VEHICLE_KINDS.load(name)) for name in VEHICLE_KINDS):
        lines += [f"## {name}", "", _line(template.spec.__doc__), ""]
        paths: dict[type[BaseModel], str] = {template.spec: ""}
        for owner in [template.spec, *tables_of(template.spec)]:
            for key, field in owner.model_fields.items():
                for kind in _tables_in(field.annotation):
                    many = "list[" in str(field.annotation) or "dict[" in str(field.annotation)
                    above = paths.get(owner, "")
                    paths.setdefault(kind, f"{above}.{key}".strip(".") + ("[]" if many else ""))
        for kind, path in paths.items():
            if path:
                lines += [f"### {name}: {path}", "", _line(kind.__doc__), ""]
            lines += ["| key | unit | default | meaning |", "| --- | --- | --- | --- |"]
            known, comments = keys_of(kind), meanings(kind)
            for key, field in kind.model_fields.items():
                written = field.alias or key
                unit = known[key].unit if key in known else unit_of_key(key)
                meaning = field.description or comments.get(written, "")
                meaning = readable(_without_unit(written), meaning)
                if inner := [paths[table] for table in _tables_in(field.annotation)]:
                    meaning = " or ".join(f"table [{path}](#{_slug(f'{name}: {path}')})" for path in inner)
                usual = "-" if _tables_in(field.annotation) and not field.is_required() else _usual(field)
                unit = "-" if unit == "1" else unit.replace("*", "\\*")  # no emphasis
                row = (f"`{written}`", unit, usual, meaning.replace("|", "\\|") or "-")
                lines.append(f"| {' | '.join(row)} |")
            lines.append("")
    return "\n".join(lines)


def _without_unit(key: str) -> str:
    """A key without the unit at its end: `grip_stiffness_Npm` is `grip_stiffness`."""
    return key.rpartition("_")[0] if unit_of_key(key) not in ("", "1") else key


def _tables_in(annotation: Any) -> list[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [kind for part in getattr(annotation, "__args__", ()) for kind in _tables_in(part)]


def _line(doc: str | None) -> str:
    return inspect.cleandoc(doc or "").partition("\n\nParameters\n")[0]  # the tables have these


def _slug(heading: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def exit_codes_page() -> str:
    """One table for all verbs."""
    without = [f"`{path.replace('.', ' ')}`" for path in sorted(NO_FIGURES)]
    meaning = {
        "pass": "the requirements hold, and the flight ended as ordered ([verdicts](../guide/verdicts.md))",
        "fail": "a requirement is broken, the vehicle crashed, or its mission was not completed",
        "error": "the flight could not be judged: wrong input, a missing program, a rig that failed",
        "void": "nothing was flown, the flight was cut off, or a fault did not act: it demonstrates nothing",
    }
    lines = [
        "# Exit codes",
        "",
        HEAD + "codes 0 to 3 and above 100 are the same for all verbs.",
        "",
        "| code | meaning |",
        "| --- | --- |",
    ]
    lines += [f"| {code} | `{verdict}`: {meaning[verdict]} |" for verdict, code in EXIT_CODES.items()]
    lines += [
        f"| {INTERRUPTED} | interrupted by Ctrl-C, SIGTERM or SIGHUP; results so far are written |",
        f"| {NOBODY_READS} | the reader of standard output is gone (`ironbird fault list \\| head -1`) |",
        "",
        "Verbs that fly several times end with 0 if each flight came out as it should, else with 1: for a campaign",
        "that is what `expect` of a case says. `campaign diff` ends with 1 if a verdict changed or a flight is gone,",
        "`campaign search` if it found a failing flight, `compare` if the logs differ, checks of files with 2 if there",
        "is a problem.",
        "",
        "A verb that needs a package of an extra that is not installed ends with 2 and names the extra.",
        "",
        "## JSON",
        "",
        "`--json` makes standard output one [JSON document](json.md), whose key `schema` names its form; all other",
        "words go to standard error and the exit code stays. Most verbs print `tables`, each with `title`, `rows`",
        "(names and texts, as printed) and, where there are numbers, `figures` (plain data in SI):",
        "",
        "```sh",
        "ironbird fly quad_f450 --mission hover --json > flight.json",
        "```",
        "",
        "Commands that list things have a key for them: `vehicles` of `vehicle list`, `faults` of `fault list`,",
        "`campaigns` of `campaign list`. `app do` prints its answer as such a document without being asked.",
        f"Without figures, and without the option: {', '.join(without)}.",
        "",
    ]
    return "\n".join(lines)


PAGES = {
    "requirements.md": requirements_page,
    "missions.md": missions_page,
    "vehicle-files.md": vehicle_files_page,
    "exit-codes.md": exit_codes_page,
}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), encoding="utf-8")
        print(f"wrote {name}")
