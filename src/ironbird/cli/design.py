"""The verbs `ironbird design …`: vehicles from a parts list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import errors, print_table
from ironbird.errors import IronbirdError

design_app = typer.Typer(no_args_is_help=True, help="Vehicles from a parts list: evaluate a set, or search for one.")
PartsOption = Annotated[
    list[Path] | None, typer.Option("--parts", help="TOML file of your own parts; may be repeated.")
]
FrameOption = Annotated[float, typer.Option(help="Diagonal between motors, in m.", min=0.05, max=5)]
OutOption = Annotated[Path, typer.Option(help="Folder for the vehicle file, parameters and page.")]
UNITS = {"min": 1.0, "h": 60.0, "s": 1 / 60, "kg": 1.0, "g": 1e-3}


@design_app.callback()
def _group() -> None:
    """Vehicles from a parts list: evaluate a set, or search for one."""


@design_app.command("evaluate")
def evaluate_parts(
    motor: Annotated[str, typer.Option(help="Name of a motor.")],
    propeller: Annotated[str, typer.Option(help="Name of a propeller.")],
    esc: Annotated[str, typer.Option(help="Name of a speed controller.")],
    battery: Annotated[str, typer.Option(help="Name of a battery.")],
    mass: Annotated[float, typer.Option(help="Of the whole vehicle, in kg.", min=0.01, max=1000)],
    frame: FrameOption = 0.45,
    height: Annotated[float, typer.Option(help="Of the place above the sea, in m.")] = 50.0,
    temperature: Annotated[float, typer.Option(help="At the place, in °C.", min=-60, max=60)] = 25.0,
    parts: PartsOption = None,
    name: Annotated[str, typer.Option(help="Id of the vehicle.")] = "designed_quad",
    out: OutOption = Path("out/design"),
) -> None:
    """Hover, full throttle, payload, range and endurance of a set of parts; writes a vehicle file."""
    from ironbird.design.evaluate import Craft, evaluate
    from ironbird.design.parts import load_database

    with errors():
        database = load_database(*(parts or []))
        craft = Craft(
            database.motor(motor),
            database.propeller(propeller),
            database.esc(esc),
            database.battery(battery),
            mass,
            frame,
            height_m=height,
            temperature_C=temperature,
        )
        _write(evaluate(craft), None, out, name)


@design_app.command("search")
def search_parts(
    battery: Annotated[str, typer.Option(help="Name of a battery.")],
    esc: Annotated[str, typer.Option(help="Name of a speed controller.")],
    endurance: Annotated[str, typer.Option(help="For example 25min.")] = "0min",
    payload: Annotated[str, typer.Option(help="For example 0.5kg.")] = "0kg",
    frame: FrameOption = 0.45,
    frame_mass: Annotated[float, typer.Option(help="Of frame and electronics, in kg.", min=0, max=1000)] = 0.5,
    parts: PartsOption = None,
    name: Annotated[str, typer.Option(help="Id of the vehicle.")] = "designed_quad",
    out: OutOption = Path("out/design"),
) -> None:
    """Try every motor with every propeller of the database; draws the front of hover time over mass."""
    from ironbird.design.evaluate import evaluate
    from ironbird.design.parts import load_database
    from ironbird.design.search import Wanted, search
    from ironbird.errors import RecordError

    with errors():
        database = load_database(*(parts or []))
        wanted = Wanted(_amount("--endurance", endurance), _amount("--payload", payload), frame, frame_mass)
        found = search(database, wanted, database.battery(battery), database.esc(esc))
        if not found.front:
            raise RecordError(
                f"none of {found.tried:,} pairs flies {wanted.endurance_min:g} min with {wanted.payload_kg:g} kg on "
                f"{battery}; take a larger battery or frame, or ask for less"
            )
        typer.echo(f"{found.tried:,} pairs tried, {found.possible:,} meet what is wanted")
        _write(evaluate(found.front[0].craft(wanted)), found, out, name)


@design_app.command("parts")
def list_parts(
    kind: Annotated[str, typer.Argument(help="motor, propeller, esc or battery.")],
    contains: Annotated[str, typer.Argument(help="Part of the name.")] = "",
) -> None:
    """List parts of the database."""
    from ironbird.design.parts import KINDS, load_database
    from ironbird.errors import UnknownNameError

    with errors():
        if kind not in KINDS:
            raise UnknownNameError("kind of part", kind, KINDS)
        database = load_database()
        found: dict[str, list[str]] = {
            "motor": list(database.motors),
            "propeller": list(database.propellers),
            "esc": list(database.escs),
            "battery": list(database.batteries),
        }
        for name in sorted(found[kind]):
            if contains.lower() in name.lower():
                typer.echo(name)


def _amount(option: str, text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", text)
    if match is None or match[2] not in UNITS:
        raise IronbirdError(f"{option} '{text}': give a number with its unit, for example 25min or 0.5kg")
    return float(match[1]) * UNITS[match[2]]


def _write(evaluation: object, found: object, out: Path, name: str) -> None:
    from ironbird.design.evaluate import Evaluation
    from ironbird.design.search import Found
    from ironbird.design.vehicle import write_design
    from ironbird.report.design_page import write_design_page

    assert isinstance(evaluation, Evaluation)
    paths = write_design(evaluation, out, name)
    page = out / "design.html"
    write_design_page(
        evaluation, page, found=found if isinstance(found, Found) else None, files=[p.name for p in paths.values()]
    )
    print_table({key: str(value) for key, value in evaluation.figures.items()}, name)
    for text in evaluation.warnings:
        typer.secho(f"warning: {text}", fg="yellow", err=True)
    for kind, path in paths.items():
        typer.echo(f"{kind}: {path}")
    typer.echo(f"report: {page}")
