"""The verb `mixer`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import JsonOption, errors, print_json, print_table


def mixer(
    file: Annotated[Path, typer.Argument(help="A PX4 mixer file, for example quad_x.main.mix.")],
    as_json: JsonOption = False,
) -> None:
    """Explain a PX4 mixer file: which control goes to which output; for rotors the matrix and a drawing."""
    from ironbird.mixer.text import mixer_data, mixer_rows
    from ironbird.vehicles.mixer import load_mixer

    with errors():
        loaded = load_mixer(file)
    if as_json:
        print_json(mixer_data(loaded), "ironbird/mixer/1")
        return
    for warning in loaded.warnings:
        typer.secho(f"warning: {warning}", fg="yellow", err=True)
    for title, rows in mixer_rows(loaded):
        print_table(rows, title)
