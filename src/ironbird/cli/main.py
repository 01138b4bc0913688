"""The command `ironbird`: one verb, one call. Heavy packages are loaded only by the verbs that need them."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ironbird import __version__
from ironbird.cli.app import app as app_verb
from ironbird.cli.app import app_do
from ironbird.cli.autopilots import autopilot, compare_autopilots, sitl
from ironbird.cli.campaign import campaign_app
from ironbird.cli.case import case_app
from ironbird.cli.chips import chips_app
from ironbird.cli.credibility import credibility
from ironbird.cli.dataset import dataset
from ironbird.cli.design import design_app
from ironbird.cli.discover import missions, params, requirements, signals
from ironbird.cli.export import export_model
from ironbird.cli.faults import faults_app
from ironbird.cli.firmware import firmware_app, provant
from ironbird.cli.fly import compare, fly, repeat, systems, tune
from ironbird.cli.hardware import hil
from ironbird.cli.hdl import hdl
from ironbird.cli.identification import excite, identify, measure_app
from ironbird.cli.imports import import_app
from ironbird.cli.logs import log_app
from ironbird.cli.output import Output, naming_extras, with_json
from ironbird.cli.proofs import bench, compare_estimators, doctor, verify_determinism
from ironbird.cli.reliability import reliability
from ironbird.cli.rflysim import rflysim
from ironbird.cli.route import route
from ironbird.cli.scenario import scenario_app
from ironbird.cli.serve import serve
from ironbird.cli.sticks import sticks_app
from ironbird.cli.tuning import autotune, margins, step
from ironbird.cli.vehicles import fleet_table, mixer, modes_of_vehicle, show, trim_vehicle, vehicle_app, vehicles
from ironbird.cli.worlds import worlds_app

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Test control systems of unmanned vehicles: validated models, fault injection, bit-exact verdicts.",
)
VERBS: dict[str, Callable[..., None]] = {
    "fly": fly,
    "repeat": repeat,
    "compare": compare,
    "tune": tune,
    "vehicles": vehicles,
    "show": show,
    "trim": trim_vehicle,
    "modes": modes_of_vehicle,
    "signals": signals,
    "params": params,
    "requirements": requirements,
    "missions": missions,
    "step": step,
    "margins": margins,
    "autotune": autotune,
    "fleet": fleet_table,
    "mixer": mixer,
    "export": export_model,
    "systems": systems,
    "serve": serve,
    "app": app_verb,
    "app-do": app_do,
    "sitl": sitl,
    "hil": hil,
    "rflysim": rflysim,
    "route": route,
    "provant": provant,
    "compare-autopilots": compare_autopilots,
    "autopilot": autopilot,
    "doctor": doctor,
    "bench": bench,
    "verify-determinism": verify_determinism,
    "compare-estimators": compare_estimators,
    "dataset": dataset,
    "hdl": hdl,
    "credibility": credibility,
    "identify": identify,
    "excite": excite,
    "reliability": reliability,
}


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ironbird {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


GROUPS: dict[str, typer.Typer] = {
    "vehicle": vehicle_app,
    "faults": faults_app,
    "case": case_app,
    "campaign": campaign_app,
    "scenario": scenario_app,
    "worlds": worlds_app,
    "design": design_app,
    "measure": measure_app,
    "import": import_app,
    "log": log_app,
    "chips": chips_app,
    "firmware": firmware_app,
    "sticks": sticks_app,
}
# Verbs that print no figures: they serve, stream, or write a file whose name they print
NO_FIGURES = {
    "app", "app-do", "autopilot", "serve", "route", "rflysim", "tune", "show", "chips serve", "case schema",
    "vehicle schema", "case import", "import vehicle", "log convert", "campaign export",
    "campaign report", "campaign evidence", "sticks calibrate", "sticks record", "sticks show", "worlds draw",
}  # fmt: skip


def _reflowed(text: str | None) -> str:
    """A docstring whose paragraphs are lines: the terminal breaks them where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))


for name, verb in VERBS.items():
    app.command(name, help=_reflowed(verb.__doc__))(verb if name in NO_FIGURES else with_json(verb))
for name, group in GROUPS.items():
    for command in group.registered_commands:
        assert command.callback is not None
        command.help = _reflowed(command.callback.__doc__)
        if f"{name} {command.name}" not in NO_FIGURES:
            command.callback = with_json(command.callback)
    app.add_typer(group, name=name)


def main() -> None:
    """Entry point of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = Output.instead_of(sys.stdout)
    with naming_extras():
        app()


if __name__ == "__main__":
    main()
