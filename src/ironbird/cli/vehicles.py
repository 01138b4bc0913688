"""Commands about vehicle files: the catalogue, checks, imports, parameters, signals, diagrams."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.completion import vehicle_names
from ironbird.cli.options import ControlOption, IdOption, OutOption, VehicleArgument
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_table
from ironbird.errors import UnknownNameError
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.compiler.flatten import Flat
    from ironbird.vehicles.spec import VehicleSpec

PatternArgument = Annotated[
    str, typer.Argument(help="Only those that hold this text, for example 'imu/1' or 'gain'; * stands for anything.")
]
SHOWN_VALUES = 6  # of a parameter of many


def list_vehicles(as_json: JsonOption = False) -> None:
    """List the vehicles of the catalogue."""
    from ironbird.vehicles.load import load_spec
    from ironbird.vehicles.names import vehicle_ids

    specs = [load_spec(name) for name in vehicle_ids()]
    if as_json:
        data = [
            {
                "id": s.id, "title": s.title, "template": s.template, "mass_kg": _mass_kg(s), "summary": s.summary,
                "assumed": s.assumed(),
            }
            for s in specs
        ]  # fmt: skip
        print_json({"vehicles": data}, "ironbird/vehicles/1")
        return
    specs.sort(key=lambda s: (s.template, s.id))
    rows = [(s.id, s.template.replace("_", " "), f"{_mass_kg(s):.4g}", s.title) for s in specs]
    print_columns(("id", "kind", "mass kg", "title"), rows, "Vehicles")


def _mass_kg(spec: VehicleSpec) -> float:
    """Mass of a vehicle's body in kg; nan if it has none."""
    return float(getattr(getattr(spec, "body", None), "mass_kg", math.nan))


def check_vehicle(
    files: Annotated[list[str], typer.Argument(help="Vehicle files (TOML), or vehicles of the catalogue.")],
    as_json: JsonOption = False,
) -> None:
    """Check vehicle files: each problem with its line, key, and how to cure it. Exit code 2 if there is any.

    Reads the file and its base, checks keys, ranges, provenance and plausibility, builds the diagram, and compares its
    fastest modes with the step of integration; nothing is compiled or flown. Numbers that are possible but unlikely are
    warnings.

    The step is judged at the start and on the ground, feet and wheels sticking and beginning to slide. Parts that slide
    or roll fast, other speeds and faults are not.
    """
    import warnings

    from ironbird.compiler.compiled import check_integration
    from ironbird.errors import ModelError, PlausibilityWarning, VehicleError
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
                    steps = loaded.integration
                    slack = check_integration(loaded.diagram, step_s=steps.step_s, method=steps.method)
                    if math.isfinite(slack):  # a model of another program has no modes here
                        longest_s = slack * steps.step_s
                        entry["step"] = {"method": steps.method, "step_s": steps.step_s, "longest_s": longest_s}
                except VehicleError as error:
                    entry["problems"] = error.problems
                except ModelError as error:
                    entry["problems"] = [f"{name}: {error}"]
            entry["warnings"] = list(dict.fromkeys(str(warning.message) for warning in noted))
    if as_json:
        for entry in report.values():
            entry["problems"] = [vars(p) if isinstance(p, Problem) else {"message": str(p)} for p in entry["problems"]]
        print_json({"files": report}, "ironbird/problems/1")
    else:
        for name, entry in report.items():
            for problem in entry["problems"]:
                typer.secho(str(problem), fg="red", err=True)
            for text in entry["warnings"]:
                typer.secho(f"warning: {text}", fg="yellow", err=True)
            if not entry["problems"]:
                count = len(entry["assumed"])
                typer.echo(f"{name}: {entry['template']} '{entry['id']}', no problems; {count} values are assumed")
                step = entry.get("step")
                if step is not None:
                    typer.echo(
                        f"  step of {step['step_s'] * 1e3:g} ms ({step['method']}), at most "
                        f"{step['longest_s'] * 1e3:.3g} ms: judged at the start and on the ground, feet and wheels "
                        "sticking and beginning to slide; parts that slide or roll fast, other speeds, faults are not"
                    )
    if any(entry["problems"] for entry in report.values()):
        raise typer.Exit(2)


def vehicle_schema() -> None:
    """Print the JSON Schema of vehicle files, for editors."""
    from ironbird.vehicles.schema import schema_text

    typer.echo(schema_text(), nl=False)


def vehicle_kinds() -> None:
    """List the kinds of vehicles: `template` in a vehicle file, what each can be asked for, and who flies it.

    A package adds kinds by entry points of the group ironbird.vehicle_kinds.
    """
    from ironbird.vehicles.kinds import KINDS

    figures: dict[str, dict[str, Any]] = {}
    with errors():
        for name in KINDS:
            kind = KINDS.load(name)
            figures[name] = {
                "modes": sorted(kind.abilities.modes), "px4": bool(kind.px4), "ardupilot": bool(kind.ardupilot),
                "from": "" if KINDS.is_own(name) else KINDS[name],
            }  # fmt: skip
    rows = [
        (name, ", ".join(f["modes"]), "yes" if f["px4"] else "no", "yes" if f["ardupilot"] else "no", f["from"])
        for name, f in figures.items()
    ]
    print_columns(("kind", "modes", "PX4", "ArduPilot", "from"), rows, "Kinds of vehicles", figures)


def show(
    vehicle: VehicleArgument,
    control: ControlOption = None,
    svg: Annotated[Path | None, typer.Option(help="Where to draw the diagram; out/VEHICLE.svg by default.")] = None,
    source: Annotated[Path | None, typer.Option(help="Also write the generated C source here.")] = None,
) -> None:
    """Print a vehicle's diagram as a tree and draw it as an SVG picture; 'ironbird vehicle params' has the values."""
    from ironbird.report.diagram_svg import diagram_tree, write_diagram_svg
    from ironbird.vehicles.load import load_vehicle

    with errors():
        loaded = load_vehicle(vehicle, control=control)
        path = svg or Path("out") / f"{loaded.id}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        typer.echo(diagram_tree(loaded.diagram))
        with working("drawing the diagram"):
            write_diagram_svg(loaded.diagram, path)
        if source:
            from ironbird.compiler.compiled import compile_model

            source.write_text(compile_model(loaded.diagram).source.text)
            typer.echo(f"source:  {source}")
    typer.echo(f"picture: {path}")


def playground(
    vehicle: Annotated[
        list[str] | None,
        typer.Argument(
            help="Vehicles of the catalogue, or TOML files; four kinds by default.", autocompletion=vehicle_names
        ),
    ] = None,
    out: OutOption = None,
) -> None:
    """Write a page on which vehicles fly in the browser, with any fault and wind, from disk and without a network.

    Example: ironbird vehicle playground quad_f450 aerosonde --out playground.html
    """
    from ironbird.cli.output import print_report
    from ironbird.report.playground import VEHICLES, write_playground

    path = out or Path("out") / "playground.html"
    with errors(), working("writing the playground"):
        write_playground(path, vehicle or VEHICLES)
    print_report(path)


def import_vehicle(
    file: Annotated[Path, typer.Argument(help="A model of Gazebo, ArduPilot, PX4 or JSBSim.")],
    format: Annotated[
        str | None, typer.Option(help="sdf, urdf, ardupilot-json, px4 or jsbsim; by default the file's ending says it.")
    ] = None,
    out: OutOption = None,
    id_: IdOption = None,
    mass_kg: Annotated[float | None, typer.Option(help="Total mass, where the file does not say it (PX4).")] = None,
    arm_m: Annotated[float | None, typer.Option(help="From the middle to a rotor, for PX4's mixer files.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A vehicle by name or file: every value that differs from it is listed.")
    ] = None,
) -> None:
    """Make a vehicle file from a model of another program; all that was not understood is named."""
    from ironbird.files.whole import write_text
    from ironbird.vehicles.imports.differences import differences
    from ironbird.vehicles.imports.registry import Given
    from ironbird.vehicles.imports.registry import import_vehicle as read_model
    from ironbird.vehicles.load import load_spec

    with errors():
        draft = read_model(file, format, Given(id_, mass_kg, arm_m))
        path = out or Path(f"{draft.id}.toml")
        write_text(path, draft.text())
        spec = load_spec(path)
        differing = differences(spec, load_spec(against)) if against else []
    for difference in differing:
        typer.echo(difference.text(spec.id, str(against)))
    for sentence in draft.missing:
        typer.secho(f"not understood: {sentence}", fg="yellow", err=True)
    typer.echo(f"{spec.title}: {path}; {len(spec.assumed())} entries are assumed; fly it with 'ironbird fly {path}'")


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
        print_json({"vehicle": vehicle, "signals": found}, "ironbird/signals/1")
        return
    print_table({_named(row): f"[{row['unit']}] {row['doc']}" for row in found}, f"{vehicle}: {len(found)} signals")


def params(
    vehicle: VehicleArgument, pattern: PatternArgument = "", control: ControlOption = None, as_json: JsonOption = False
) -> None:
    """List the parameters of a vehicle with their values, for --set, cases and searches.

    A * marks those that may change in flight (ironbird vehicle set).
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
        print_json({"vehicle": vehicle, "parameters": found}, "ironbird/parameters/1")
        return
    print_table(
        {
            ("*" if row["tunable"] else " ") + _named(row): f"{_value(row['value'])} {row['unit']}  {row['doc']}"
            for row in found
        },
        f"{vehicle}: {len(found)} parameters; * may change in flight",
    )


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
        print_json({"blocks": found}, "ironbird/blocks/1")
    elif block:
        entry = found[block]
        print_table({"what": entry["doc"], "options": ", ".join(entry["options"]), **entry["signals"]}, block)
    else:
        print_columns(("block", "what it is"), [(name, entry["doc"]) for name, entry in found.items()], "Blocks")


def write_board_params(vehicle: VehicleArgument, out: OutOption = None) -> None:
    """Write a vehicle's parameters for a PX4 flight controller, as QGroundControl loads them (VEHICLE.params)."""
    from ironbird.systems.hardware.board_params import board_params
    from ironbird.vehicles.load import load_vehicle

    with errors():
        path = out or Path(f"{Path(vehicle).stem}.params")
        path.write_text(board_params(load_vehicle(vehicle, control="external")))
    typer.echo(f"parameters: {path}")


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
