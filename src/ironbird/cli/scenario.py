"""The verbs `ironbird scenario …`: many vehicles in one world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.exit_codes import EXIT_CODES, INTERRUPTED
from ironbird.cli.output import JsonOption, ending_in_order, errors, print_table, progress_bar

scenario_app = typer.Typer(no_args_is_help=True, help="Many vehicles in one world, on one clock.")


@scenario_app.command("fly")
def fly_many(
    scenario: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A scenario of 'scenario list', or a TOML file.")
    ],
    workers: Annotated[int, typer.Option(help="Threads; the result does not depend on them.", min=1, max=64)] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; out/scenario-NAME by default.")] = None,
) -> None:
    """Fly a scenario, judge it, and write logs, summary and a page with paths and distances.

    Ctrl-C ends it; what was flown until then is kept.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (a fault did not act), 130 interrupted.

    Example: ironbird scenario fly leader_follower
    """
    from ironbird.report.scenario_page import write_scenario_folder
    from ironbird.scenario.run import fly_scenario

    with errors():
        with progress_bar(f"flying {Path(scenario).stem}") as update, ending_in_order():
            flown = fly_scenario(scenario, workers=workers, progress=update)
        page = write_scenario_folder(flown, out or Path("out") / f"scenario-{flown.scenario.name}")
    rows = {
        v.name: f"{v.judged.verdict}; {v.judged.outcome}; smallest distance {v.min_distance_m:.2f} m"
        for v in flown.vehicles
    }
    rows |= {j.name: "holds" if j.holds else f"broken: {j.sentence}" for j in flown.judgements}
    rows |= {"verdict": flown.verdict if flown.verdict == "pass" else f"{flown.verdict}: {flown.sentence}"}
    rows |= {"sha256": flown.sha256}
    print_table(rows, flown.scenario.title, {**flown.record(), "wall_s": flown.wall_s, "page": str(page)})
    typer.echo(f"report: {page}")
    raise typer.Exit(INTERRUPTED if flown.interrupted else EXIT_CODES[flown.verdict])


@scenario_app.command("list")
def list_scenarios(as_json: JsonOption = False) -> None:
    """The scenarios that come with Ironbird."""
    import json

    from ironbird.files.problems import Source, read_source
    from ironbird.scenario.grammar import BUILT_IN, scenario_names

    with errors():
        titles = {}
        for name in scenario_names():
            source = read_source(BUILT_IN / f"{name}.toml")
            titles[name] = str(source.data.get("title", "")) if isinstance(source, Source) else ""
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=2))
        return
    print_table(titles, "Scenarios")
