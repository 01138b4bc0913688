"""Verbs that say what may be named: signals, parameters with their values, requirements, missions."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.options import ControlOption, VehicleArgument
from ironbird.cli.output import JsonOption, errors, print_table
from ironbird.errors import UnknownNameError

if TYPE_CHECKING:
    from ironbird.compiler.flatten import Flat

PatternArgument = Annotated[
    str, typer.Argument(help="Only those that hold this text, for example 'imu/1' or 'gain'; * stands for anything.")
]
SHOWN_VALUES = 6  # of a parameter of many


def signals(
    vehicle: VehicleArgument, pattern: PatternArgument = "", control: ControlOption = None, as_json: JsonOption = False
) -> None:
    """List the signals of a vehicle that logs have and requirements, triggers and plots may name, with units."""
    from ironbird.conditions.names import RUN_UNITS
    from ironbird.flight.derived import DERIVED
    from ironbird.flight.words import ALIASES

    with errors():
        flat = _laid_out(vehicle, control)
        rows = [
            {"path": path, "unit": signal.unit, "size": signal.size, "frame": signal.frame or "", "doc": signal.doc}
            for path, signal in flat.log.signals.items()
        ]
        short = [
            {"path": name, "unit": d.unit, "size": 1, "frame": "", "doc": f"= {d.text}"} for name, d in DERIVED.items()
        ]
        short += [
            {"path": name, "unit": flat.log.signals[path].unit, "size": 1, "frame": "", "doc": f"= {path}"}
            for name, path in ALIASES.items()
            if path in flat.log.signals
        ]
        short += [
            {"path": name, "unit": unit, "size": 1, "frame": "", "doc": "of the run, in requirements"}
            for name, unit in RUN_UNITS.items()
        ]
        found = _matching([*short, *rows], pattern, "signal", vehicle)
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    print_table({_named(row): f"[{row['unit']}] {row['doc']}" for row in found}, f"{vehicle}: {len(found)} signals")


def params(
    vehicle: VehicleArgument, pattern: PatternArgument = "", control: ControlOption = None, as_json: JsonOption = False
) -> None:
    """List the parameters of a vehicle with their values, for --set, cases and searches.

    A * marks those that may change in flight (ironbird tune).
    """
    with errors():
        flat = _laid_out(vehicle, control)
        rows = []
        for path, signal in flat.p.signals.items():
            values = flat.values[flat.p.rows(path)].tolist()
            rows.append(
                {
                    "path": path, "value": values[0] if signal.size == 1 else values, "unit": signal.unit,
                    "tunable": bool(getattr(signal, "tunable", False)), "doc": signal.doc, "size": signal.size,
                }
            )  # fmt: skip
        found = _matching(rows, pattern, "parameter", vehicle)
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    print_table(
        {
            ("*" if row["tunable"] else " ") + _named(row): f"{_value(row['value'])} {row['unit']}  {row['doc']}"
            for row in found
        },
        f"{vehicle}: {len(found)} parameters; * may change in flight",
    )


def requirements(
    grammar: Annotated[bool, typer.Option("--grammar", help="Print how formulas are written instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the ready requirements with their parameters, for 'use' in cases and --require.

    With --grammar it explains how formulas are written.
    """
    from ironbird.conditions import formula
    from ironbird.requirements.library import TEMPLATES

    if grammar:
        typer.echo(inspect.cleandoc(formula.__doc__ or ""))
        return
    data = [
        {
            "name": name, "formula": template.text, "severity": template.severity, "doc": template.doc,
            "parameters": {key: vars(parameter) for key, parameter in template.parameters.items()},
        }
        for name, template in TEMPLATES.items()
    ]  # fmt: skip
    if as_json:
        typer.echo(json.dumps(data, indent=1))
        return
    rows = {}
    for name, template in TEMPLATES.items():
        lines = [template.doc, f"  {template.text}"]
        for key, parameter in template.parameters.items():
            usual = "must be given" if parameter.default is None else f"{parameter.default} {parameter.unit}".strip()
            lines.append(f"  {key}: {parameter.doc} ({usual})")
        rows[f"{name} ({template.severity})"] = "\n".join(lines)
    print_table(rows, "Requirements")


def blocks(
    block: Annotated[str, typer.Argument(help="Show one block: its class, or the name of your own.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List the blocks that [replace] and [add] of a vehicle file may name; with a name its ports and parameters."""
    from ironbird.model.signal import In, Out, Param
    from ironbird.vehicles.blocks import blocks as registry

    with errors():
        kinds = {block: registry().load(block)} if block else dict(registry().loadable())
    found: dict[str, dict[str, Any]] = {}
    for name, kind in kinds.items():
        declared = {key: getattr(kind, key) for key in dir(kind)}
        rows = {
            key: f"{word} {signal.describe()} {signal.doc}"
            for word, sort in (("input", In), ("output", Out), ("parameter", Param))
            for key, signal in declared.items()
            if isinstance(signal, sort)
        }
        doc, options = (inspect.getdoc(kind) or "").partition("\n")[0], list(inspect.signature(kind).parameters)
        found[name] = {"doc": doc, "home": registry()[name], "options": options, "signals": rows}
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    elif block:
        entry = found[block]
        print_table({"what": entry["doc"], "options": ", ".join(entry["options"]), **entry["signals"]}, block)
    else:
        print_table({name: entry["doc"] for name, entry in found.items()}, "Blocks")


def missions(as_json: JsonOption = False) -> None:
    """List the built-in missions for --mission; docs/reference/missions.md has the format of files."""
    from ironbird.flight.mission import load_mission, mission_names

    found = {name: load_mission(name) for name in mission_names()}
    if as_json:
        typer.echo(json.dumps({name: mission.model_dump(by_alias=True) for name, mission in found.items()}, indent=1))
        return
    print_table(
        {name: f"{m.title} ({len(m.item)} item{'s' * (len(m.item) > 1)})" for name, m in found.items()}, "Missions"
    )


def _laid_out(vehicle: str, control: str | None) -> Flat:
    from ironbird.compiler.compiled import STEP_S
    from ironbird.compiler.flatten import lay_out
    from ironbird.vehicles.load import load_vehicle

    return lay_out(load_vehicle(vehicle, control=control).diagram, STEP_S)


def _matching(rows: list[dict[str, Any]], pattern: str, kind: str, vehicle: str) -> list[dict[str, Any]]:
    import fnmatch

    asked = f"*{pattern.lower()}*"
    found = [row for row in rows if fnmatch.fnmatchcase(row["path"].lower(), asked)]
    if not found:
        raise UnknownNameError(kind, pattern, [row["path"] for row in rows], vehicle)
    return found


def _named(row: dict[str, Any]) -> str:
    return str(row["path"]) if row["size"] == 1 else f"{row['path']}[{row['size']}]"


def _value(value: Any) -> str:
    if not isinstance(value, list):
        return f"{value:g}"
    shown = ", ".join(f"{one:g}" for one in value[:SHOWN_VALUES])
    return f"[{shown}{', …' if len(value) > SHOWN_VALUES else ''}]"
