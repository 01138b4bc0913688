"""The command `ironbird`: one verb, one call. Heavy packages are loaded only by the verbs that need them."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer

from ironbird import __version__
from ironbird.cli.lazy import lazy_group
from ironbird.cli.output import Output, naming_extras
from ironbird.files.registry import Registry

# Where each verb is: a function or a group of verbs in a module of this folder. Breadth and other packages add verbs
# by entry points of the group ironbird.commands
PLACES = {
    "fly": "fly:fly",
    "repeat": "fly:repeat",
    "compare": "fly:compare",
    "tune": "fly:tune",
    "vehicles": "vehicles:vehicles",
    "show": "vehicles:show",
    "trim": "vehicles:trim_vehicle",
    "modes": "vehicles:modes_of_vehicle",
    "signals": "discover:signals",
    "params": "discover:params",
    "blocks": "discover:blocks",
    "requirements": "discover:requirements",
    "missions": "discover:missions",
    "step": "tuning:step",
    "margins": "tuning:margins",
    "autotune": "tuning:autotune",
    "fleet": "vehicles:fleet_table",
    "export": "export:export_model",
    "systems": "fly:systems",
    "serve": "serve:serve",
    "app": "app:app",
    "app-do": "app:app_do",
    "sitl": "autopilots:sitl",
    "hil": "hardware:hil",
    "route": "route:route",
    "compare-autopilots": "autopilots:compare_autopilots",
    "autopilot": "autopilots:autopilot",
    "doctor": "proofs:doctor",
    "bench": "proofs:bench",
    "verify-determinism": "proofs:verify_determinism",
    "compare-estimators": "proofs:compare_estimators",
    "credibility": "credibility:credibility",
    "identify": "identification:identify",
    "excite": "identification:excite",
    # groups of verbs
    "vehicle": "vehicles:vehicle_app",
    "faults": "faults:faults_app",
    "case": "case:case_app",
    "campaign": "campaign:campaign_app",
    "scenario": "scenario:scenario_app",
    "worlds": "worlds:worlds_app",
    "measure": "identification:measure_app",
    "import": "imports:import_app",
    "log": "logs:log_app",
    "chips": "chips:chips_app",
    "sticks": "sticks:sticks_app",
}
VERBS: Registry[Any] = Registry(
    "commands", {name: f"ironbird.cli.{place}" for name, place in PLACES.items()}, object, what="command"
)
# Verbs that print no figures: they serve, stream, or write a file whose name they print
NO_FIGURES = {
    "app", "app-do", "autopilot", "serve", "route", "rflysim", "tune", "show", "chips serve", "case schema",
    "vehicle schema", "case import", "import vehicle", "log convert", "campaign export",
    "campaign report", "campaign evidence", "sticks calibrate", "sticks record", "sticks show", "worlds draw",
}  # fmt: skip
app = typer.Typer(
    cls=lazy_group(VERBS, NO_FIGURES),
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Test control systems of unmanned vehicles: validated models, fault injection, bit-exact verdicts.",
)


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


def main() -> None:
    """Entry point of the command."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # it would look for some in every package that there is
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = Output.instead_of(sys.stdout)
    with naming_extras():
        app()


if __name__ == "__main__":
    main()
