"""Commands about scenarios: many vehicles in one world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.completion import scenario_names
from ironbird.cli.exit_codes import EXIT_CODES, INTERRUPTED
from ironbird.cli.options import OutOption
from ironbird.cli.output import (
    JsonOption,
    ending_in_order,
    errors,
    figure,
    print_columns,
    print_json,
    print_report,
    print_table,
    progress_bar,
    results_folder,
)
from ironbird.files.work import working


def fly_many(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A scenario of 'ironbird scenario list', or a TOML file.",
            autocompletion=scenario_names,
        ),
    ],
    threads: Annotated[int, typer.Option(help="Threads; the result does not depend on them.", min=1, max=64)] = 1,
    out: OutOption = None,
) -> None:
    """Fly a scenario, judge it, and write logs, summary and a page with paths and distances.

    Ctrl-C ends it; what was flown until then is kept.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (nothing is verified), 130 interrupted.

    Example: ironbird scenario fly leader_follower
    """
    from ironbird.report.scenario_page import write_scenario_folder
    from ironbird.scenario.run import fly_scenario

    with errors():
        with progress_bar(f"flying {Path(scenario).stem}") as update, ending_in_order():
            flown = fly_scenario(scenario, workers=threads, progress=update)
        name = f"scenario-{flown.scenario.name}"
        with results_folder(out, name) as folder, working("writing the report of the scenario"):
            page = write_scenario_folder(flown, folder)
    vehicles = [(v.name, v.judged.verdict, figure(v.min_distance_m), v.judged.outcome) for v in flown.vehicles]
    required = [(j.name, "yes" if j.holds else "NO", "" if j.holds else j.sentence) for j in flown.judgements]
    print_columns(("vehicle", "verdict", "nearest m", "outcome"), vehicles, "Vehicles", in_json=False)
    if required:
        print_columns(("requirement", "holds", "why not"), required, "Of all vehicles", in_json=False)
    rows = {"verdict": flown.verdict if flown.verdict == "pass" else f"{flown.verdict}: {flown.sentence}"}
    rows |= {"sha256": flown.sha256}
    print_table(rows, flown.scenario.title, {**flown.record(), "wall_s": flown.wall_s, "page": str(page)})
    print_report(page)
    raise typer.Exit(INTERRUPTED if flown.interrupted else EXIT_CODES[flown.verdict])


def list_scenarios(as_json: JsonOption = False) -> None:
    """List the scenarios that come with Ironbird."""
    from ironbird.files.problems import Source, read_source
    from ironbird.scenario.grammar import BUILT_IN, scenario_names

    with errors():
        titles = {}
        for name in scenario_names():
            source = read_source(BUILT_IN / f"{name}.toml")
            titles[name] = str(source.data.get("title", "")) if isinstance(source, Source) else ""
    if as_json:
        data = [{"name": name, "title": title} for name, title in titles.items()]
        print_json({"scenarios": data}, "ironbird/scenarios/1")
        return
    print_columns(("name", "title"), list(titles.items()), "Scenarios")
