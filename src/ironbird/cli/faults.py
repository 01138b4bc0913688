"""Verbs about faults: the catalogue, and one fault explained and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import JsonOption, errors, print_table

faults_app = typer.Typer(invoke_without_command=True)


@faults_app.callback()
def faults(
    context: typer.Context,
    find: Annotated[str, typer.Option(help="Only faults whose id or text holds this, for example 'gnss'.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List the faults that can be injected, with what their severity means; `show` explains and draws one."""
    from ironbird.faults.catalog import FAULTS, GRAMMAR

    if context.invoked_subcommand:
        return
    found = [f for f in FAULTS.values() if find.lower() in f"{f.id} {f.summary}".lower()]
    if as_json:
        keys = ("id", "summary", "severity", "reference", "witness")
        rows = [{**{key: getattr(f, key) for key in keys}, "targets": [c.target for c in f.changes]} for f in found]
        typer.echo(json.dumps(rows, indent=2))
        return
    print_table({f.id: f"{f.summary} Severity: {f.severity}." for f in found}, f"{len(found)} faults")
    typer.echo(f"written as {GRAMMAR}")


@faults_app.command("show")
def show_fault(
    fault: Annotated[str, typer.Argument(help="The fault's id, or a whole order as for 'fly --fault'.")],
    vehicle: Annotated[str, typer.Option(help="The vehicle that shows it.")] = "quad_f450",
    out: Annotated[Path | None, typer.Option(help="Folder for the page; out/faults/ID by default.")] = None,
) -> None:
    """Explain a fault and draw the signal that shows it, before and after, in a hover flight with a healthy twin."""
    from ironbird.faults.catalog import parse_fault
    from ironbird.flight.flight import fly as fly_mission
    from ironbird.report.folder import write_flight_folder

    with errors():
        order = parse_fault(fault if ":" in fault else f"{fault}:start=15,end=20")
        print_table(
            {
                "what": order.fault.summary,
                "severity": order.fault.severity,
                "changes": "\n".join(order.targets),
                "shown by": order.witness,
                "source": order.fault.reference,
            },
            order.fault.id,
        )
        flight = fly_mission(vehicle, mission="hover", faults=[order], until_s=25.0, control="reference")
        folder = out or Path("out") / "faults" / order.fault.id
        write_flight_folder(flight, folder)
    typer.echo(flight.witnesses[0].sentence())
    typer.echo(f"report: {folder / 'flight.html'}")
