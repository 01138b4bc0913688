"""Verbs about vehicles: the catalogue, diagrams, trim, modes, mixers, the whole fleet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.options import ControlOption, SetOption, VehicleArgument, settings_of
from ironbird.cli.output import JsonOption, errors, print_json, print_table

vehicle_app = typer.Typer(no_args_is_help=True, help="Check vehicle files; print their schema for editors.")

if TYPE_CHECKING:
    from ironbird.analysis.level import Mode

SpeedOption = Annotated[
    float | None, typer.Option(help="In m/s to the north; hovering if the vehicle can, else its cruise speed.", min=0)
]


def vehicles(as_json: JsonOption = False) -> None:
    """List the vehicles of the catalogue."""
    from ironbird.vehicles.load import load_spec, vehicle_ids

    specs = [load_spec(name) for name in vehicle_ids()]
    if as_json:
        data = [
            {"id": s.id, "title": s.title, "template": s.template, "summary": s.summary, "assumed": s.assumed()}
            for s in specs
        ]
        typer.echo(json.dumps(data, indent=2))
        return
    for template in dict.fromkeys(s.template for s in sorted(specs, key=lambda s: s.template)):
        rows = {s.id: f"{s.title}\n{s.summary}" for s in specs if s.template == template}
        print_table(rows, template.replace("_", " ").capitalize())


@vehicle_app.command("check")
def check_vehicle(
    files: Annotated[list[str], typer.Argument(help="Vehicle files (TOML), or vehicles of the catalogue.")],
    as_json: JsonOption = False,
) -> None:
    """Check vehicle files: each problem with its line, key, and how to cure it. Exit code 2 if there is any.

    Reads the file and its base, checks keys, ranges, provenance and plausibility, and builds the diagram; nothing is
    compiled or flown. Numbers that are possible but unlikely are warnings.
    """
    import warnings

    from ironbird.errors import PlausibilityWarning, VehicleError
    from ironbird.files.problems import Problem
    from ironbird.vehicles.load import load_vehicle

    report: dict[str, dict[str, Any]] = {}
    with errors():
        for name in files:
            entry = report[name] = {"problems": [], "warnings": []}
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always", PlausibilityWarning)
                try:
                    loaded = load_vehicle(name)
                    entry |= {"id": loaded.id, "template": loaded.spec.template, "assumed": loaded.spec.assumed()}
                except VehicleError as error:
                    entry["problems"] = error.problems
            entry["warnings"] = list(dict.fromkeys(str(warning.message) for warning in noted))
    if as_json:
        for entry in report.values():
            entry["problems"] = [vars(p) if isinstance(p, Problem) else {"message": str(p)} for p in entry["problems"]]
        print_json(report)
    else:
        for name, entry in report.items():
            for problem in entry["problems"]:
                typer.secho(str(problem), fg="red", err=True)
            for text in entry["warnings"]:
                typer.secho(f"warning: {text}", fg="yellow", err=True)
            if not entry["problems"]:
                count = len(entry["assumed"])
                typer.echo(f"{name}: {entry['template']} '{entry['id']}', no problems; {count} values are assumed")
    if any(entry["problems"] for entry in report.values()):
        raise typer.Exit(2)


@vehicle_app.command("schema")
def vehicle_schema() -> None:
    """Print the JSON Schema of vehicle files, for editors."""
    from ironbird.vehicles.schema import schema_text

    typer.echo(schema_text(), nl=False)


@vehicle_app.command("kinds")
def vehicle_kinds() -> None:
    """List the kinds of vehicles: `template` in a vehicle file, what each can be asked for, and who flies it.

    A package adds kinds by entry points of the group ironbird.vehicle_kinds.
    """
    from ironbird.vehicles.kinds import KINDS

    rows = {}
    with errors():
        for name in KINDS:
            kind = KINDS.load(name)
            home = "" if KINDS.is_own(name) else f" From {KINDS[name]}."
            pilots = [title for title, there in (("PX4", kind.px4), ("ArduPilot", kind.ardupilot)) if there]
            outside = f" Flown by {' and '.join(pilots)} too." if pilots else ""
            rows[name] = f"Modes: {', '.join(sorted(kind.abilities.modes))}.{outside}{home}"
    print_table(rows, "Kinds of vehicles")


def show(
    vehicle: VehicleArgument,
    control: ControlOption = None,
    svg: Annotated[Path | None, typer.Option(help="Where to draw the diagram; out/VEHICLE.svg by default.")] = None,
    source: Annotated[Path | None, typer.Option(help="Also write the generated C source here.")] = None,
) -> None:
    """Print a vehicle's diagram as a tree and draw it as an SVG picture; 'ironbird params' has the values."""
    from ironbird.report.diagram_svg import diagram_tree, write_diagram_svg
    from ironbird.vehicles.load import load_vehicle

    with errors():
        loaded = load_vehicle(vehicle, control=control)
        path = svg or Path("out") / f"{loaded.id}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        typer.echo(diagram_tree(loaded.diagram))
        write_diagram_svg(loaded.diagram, path)
        if source:
            from ironbird.compiler.compiled import compile_model

            source.write_text(compile_model(loaded.diagram).source.text)
            typer.echo(f"source:  {source}")
    typer.echo(f"picture: {path}")


def trim_vehicle(vehicle: VehicleArgument, speed: SpeedOption = None, set_: SetOption = None) -> None:
    """Find steady level motion: attitude, actuator commands, thrusts."""
    from ironbird.analysis.level import level_trim

    with errors():
        found = level_trim(vehicle, speed, settings=settings_of(set_))
    print_table(found.rows(), f"{found.vehicle.spec.title}: trim", found.figures())


def modes_of_vehicle(
    vehicle: VehicleArgument, speed: SpeedOption = None, set_: SetOption = None, as_json: JsonOption = False
) -> None:
    """Linear modes of the bare vehicle at its trim: name, eigenvalue, frequency, damping, states that take part.

    On wings: short period, phugoid, Dutch roll, roll subsidence, spiral. Equal lags of parts (four motors) share a row.
    """
    from ironbird.analysis.level import level_trim, modes_at

    with errors():
        found = modes_at(level_trim(vehicle, speed, settings=settings_of(set_)))
    if as_json:
        rows = [{"name": m.name, "real": m.value.real, "imaginary": m.value.imag, "states": m.states} for m in found]
        typer.echo(json.dumps(rows, indent=2))
        return
    print_table(mode_rows(found), f"{vehicle}: modes")


def mode_rows(modes: Sequence[Mode]) -> dict[str, str]:
    """Modes for people, slowest first; equal ones of one name (the motors') together."""
    from ironbird.analysis.mode_names import STATES

    groups: dict[tuple[str, str], list[Mode]] = {}
    for mode in modes:
        groups.setdefault((mode.name, mode.sentence()), []).append(mode)
    rows: dict[str, str] = {}
    for (name, sentence), same in groups.items():
        title = f"{name} ({len(same)} times)" if len(same) > 1 else name
        while title in rows:
            title += " "
        states = dict.fromkeys(STATES.get(state, state) for mode in same for state in mode.states)
        rows[title] = f"{sentence}\n{', '.join(states)}"
    return rows


def fleet_table(
    seeds: Annotated[int, typer.Option(help="Flights of each vehicle, side by side.", min=1, max=4096)] = 20,
    vehicle: Annotated[list[str] | None, typer.Option(help="A vehicle; may be repeated. All by default.")] = None,
    as_json: JsonOption = False,
    markdown: Annotated[Path | None, typer.Option(help="Also write the table as a page.")] = None,
) -> None:
    """Fly every vehicle's own mission in wind, or current, with many seeds: outcome, tracking error, speed.

    Ends with exit code 1 if any flight did not complete its mission.
    """
    from ironbird.campaign import fleet

    with errors():
        rows = fleet.fly_fleet(vehicle or [], seeds, lambda text: typer.echo(text, err=True))
        if markdown:
            markdown.write_text(fleet.page(rows), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps([fleet.as_data(row) for row in rows], indent=2))
    else:
        print_table({row.vehicle: row.sentence() for row in rows}, f"Fleet, {seeds} seeds each")
    if not all(row.good for row in rows):
        raise typer.Exit(1)
