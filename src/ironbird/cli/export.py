"""The command `export`: a vehicle or a part of it as code for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.completion import export_names
from ironbird.cli.options import (
    LIST_HELP,
    ControlOption,
    FaultOption,
    FaultsFileOption,
    OutOption,
    SeedOption,
    VehicleArgument,
    faults_of,
)
from ironbird.cli.output import errors, print_table, tables_as_json
from ironbird.files.work import working


def _list(context: typer.Context, asked: bool) -> None:
    """Print what can be written, those of packages and of the user included."""
    from ironbird.export.registry import EXPORTERS, exporter_of

    if asked:
        with errors(), tables_as_json(context.params.get("as_json", False)):
            print_table({name: exporter_of(name).summary for name in EXPORTERS}, "Exporters")
        raise typer.Exit()


def export_model(
    kind: Annotated[
        str,
        typer.Argument(
            help="c, library, rflysim, fmu2, fmu3, wasm, cortex-m, realtime, policy; see --list.",
            autocompletion=export_names,
        ),
    ],
    vehicle: VehicleArgument,
    part: Annotated[
        str, typer.Option(help="vehicle, whole, controller, estimator, autopilot, sensors, or a block's path.")
    ] = "",
    control: ControlOption = None,
    precision: Annotated[str, typer.Option(help="double or single.")] = "",
    seconds: Annotated[
        float, typer.Option(help="Length of the flight that is recorded for the back-to-back test.", min=0.1, max=3600)
    ] = 10.0,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    seed: SeedOption = 1,
    target: Annotated[
        list[str] | None, typer.Option(help="A platform (linux64, aarch64, win64); may be repeated. All by default.")
    ] = None,
    rate: Annotated[
        float, typer.Option(help="Steps a second; other than 1000 for realtime only.", min=100, max=20000)
    ] = 1000.0,
    list_: Annotated[bool, typer.Option("--list", help=LIST_HELP, callback=_list)] = False,
    out: OutOption = None,
) -> None:
    """Write a vehicle, its controller or any block as C, library, RflySim model, FMU or program, with proof.

    Example: ironbird export c quad_f450 --part controller --precision single
    """
    from ironbird.export.job import Job
    from ironbird.export.registry import export, exporter_of

    with errors():
        exporter = exporter_of(kind)
        job = Job(
            vehicle=vehicle,
            part=part or exporter.default_part,
            control=control,
            precision=precision or exporter.precisions[0],
            seconds=seconds,
            faults=faults_of(fault, faults_file),
            seed=seed,
            targets=target or (),
            rate_hz=rate,
        )
        folder = out or Path("out/export") / f"{kind}_{Path(vehicle).stem}_{job.part.replace('/', '_')}"
        with working(f"exporting {vehicle} as {kind}"):
            rows = export(kind, job, folder)
    print_table(rows, f"{vehicle}: {job.part} as {kind}")
