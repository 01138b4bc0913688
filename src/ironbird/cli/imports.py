"""The verb `ironbird import`: models of other programs become vehicle files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import errors

import_app = typer.Typer(no_args_is_help=True, help="Models of other programs made into files of Ironbird.")


@import_app.callback()
def _group() -> None:
    """Models of other programs made into files of Ironbird."""


@import_app.command("vehicle")
def vehicle(
    file: Annotated[Path, typer.Argument(help="A model of Gazebo, ArduPilot, PX4 or JSBSim.")],
    format: Annotated[
        str | None, typer.Option(help="sdf, urdf, ardupilot-json, px4 or jsbsim; by default the file's ending says it.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The vehicle file to write; ID.toml by default.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="The vehicle's name; by default the model's.")] = None,
    mass_kg: Annotated[float | None, typer.Option(help="Total mass, where the file does not say it (PX4).")] = None,
    arm_m: Annotated[float | None, typer.Option(help="From the middle to a rotor, for PX4's mixer files.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A vehicle by name or file: every value that differs from it is listed.")
    ] = None,
) -> None:
    """Make a vehicle file from a model of another program; all that was not understood is named."""
    from ironbird.files.whole import write_text
    from ironbird.vehicles.imports.differences import differences
    from ironbird.vehicles.imports.registry import Given, import_vehicle
    from ironbird.vehicles.load import load_spec

    with errors():
        draft = import_vehicle(file, format, Given(id_, mass_kg, arm_m))
        path = out or Path(f"{draft.id}.toml")
        write_text(path, draft.text())
        spec = load_spec(path)
        differing = differences(spec, load_spec(against)) if against else []
    for difference in differing:
        typer.echo(difference.text(spec.id, str(against)))
    for sentence in draft.missing:
        typer.secho(f"not understood: {sentence}", fg="yellow", err=True)
    typer.echo(f"{spec.title}: {path}; {len(spec.assumed())} entries are assumed; fly it with 'ironbird fly {path}'")
