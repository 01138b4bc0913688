"""Commands that look for failures: `campaign search`, `map`, `shrink`, and how many flights `plan` needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.campaign import check_campaign, store_with
from ironbird.cli.options import NameArgument, OutOption, SeedOption, StoreOption, SuiteArgument, check_suite
from ironbird.cli.output import errors, print_sentence, progress_bar
from ironbird.files.work import working

ByOption = Annotated[
    str | None,
    typer.Option(
        metavar="REQUIREMENT", help="Requirement that must stay broken; the most severe that is broken by default."
    ),
]
CaseOption = Annotated[str | None, typer.Option(help="Which case of the file, if it has several.")]


def search(
    suite: SuiteArgument,
    case: CaseOption = None,
    trials: Annotated[int, typer.Option(help="Flights to spend.", min=1)] = 200,
    seed: SeedOption = 0,
    shrink: Annotated[bool, typer.Option("--shrink/--no-shrink", help="Shrink the worst failing flight.")] = True,
    by: ByOption = None,
    out: OutOption = None,
) -> None:
    """Look for values of the varied parameters at which the requirements break; say the smallest fault that does it.

    --out FILE writes the worst flight as a case file.
    """
    with errors():
        check_suite(suite, case=case, one=True)
    from ironbird.campaign.search import falsify
    from ironbird.campaign.search import shrink as make_small
    from ironbird.campaign.suite import planned_case

    with errors():
        planned = planned_case(suite, case)
        with progress_bar(f"searching {planned.id}") as update:
            found = falsify(planned, trials=trials, seed=seed, progress=update)
        print_sentence(
            found.sentence(), planned.id, {"failing": len(found.failing), "worst": found.worst.result.record()}
        )
        worst = found.worst.case
        if found.failing and shrink:
            with working("making the failing flight smaller"):
                small = make_small(worst, by=by)
            print_sentence(
                f"smallest found ({small.flown} more flights): {small.sentence()}",
                "smallest",
                {"flown": small.flown, "case": small.case.record(), "result": small.result.record()},
            )
            worst = small.case
        if out is not None:
            out.write_text(worst.to_toml())
            typer.echo(f"case: {out}")
    raise typer.Exit(1 if found.failing else 0)


def boundary_map(
    suite: SuiteArgument,
    across: Annotated[str, typer.Argument(help="A varied parameter, for example fault.1.severity.")],
    along: Annotated[str, typer.Argument(help="Another one, for example fault.1.duration_s.")],
    case: CaseOption = None,
    points: Annotated[int, typer.Option(help="Points along each side.", min=3, max=60)] = 12,
    points_along: Annotated[
        int | None, typer.Option(help="Points along the second side, if not as many.", min=2, max=60)
    ] = None,
    refine: Annotated[
        bool, typer.Option(help="Look for the line between the points; it costs more flights in each column.")
    ] = True,
    out: OutOption = None,
) -> None:
    """Draw the line between survived and lost over two varied parameters."""
    with errors():
        check_suite(suite, case=case, one=True)
    from ironbird.campaign import search as searching
    from ironbird.campaign.suite import planned_case
    from ironbird.report.svg_plot import write_map

    with errors():
        planned = planned_case(suite, case)
        with progress_bar(f"mapping {planned.id}") as update:
            found = searching.boundary_map(
                planned,
                across,
                along,
                points=(points, points_along or points),
                tolerance=searching.LINE_TOLERANCE if refine else None,
                progress=update,
            )
        title = planned.title
        out = out or Path("out/map.svg")
        write_map(found, out, f"{title}: verdict over {across} and {along}")
        for x, y in found.line:
            print_sentence(f"{across} = {x:.5g}: turns at {along} = {y:.5g}", planned.id, {across: x, along: y})
    print_sentence(f"picture: {out}", "picture", {"file": str(out)})


def shrink_flight(
    name: NameArgument,
    flight: Annotated[str, typer.Argument(help="A failing flight's id.")],
    by: ByOption = None,
    store: StoreOption = None,
    out: OutOption = None,
) -> None:
    """Make a failing flight smaller as long as it breaks the same requirement; say what is left in a sentence.

    --out FILE writes the small flight as a case file.
    """
    with errors():
        check_campaign(store, name)
    from ironbird.campaign.search import shrink

    with errors():
        database = store_with(store, name)
        with working(f"making {flight} smaller"):
            small = shrink(database.case(database.campaign(name), flight), by=by)
        figures = {"flown": small.flown, "case": small.case.record(), "result": small.result.record()}
        print_sentence(small.sentence(), flight, figures)
        if out is not None:
            out.write_text(small.case.to_toml())
            typer.echo(f"case: {out}")


def plan(
    probability: Annotated[float, typer.Option(help="Failure probability to stay below.")],
    confidence: Annotated[float, typer.Option(help="With this confidence.")] = 0.95,
    failures: Annotated[int, typer.Option(help="Failures that are allowed on the way.", min=0)] = 0,
) -> None:
    """Say how many random flights are needed to show a failure probability."""
    from ironbird.campaign.statistics import flights_needed

    with errors():
        count = flights_needed(probability, confidence, failures)
    print_sentence(
        f"{count} flights with at most {failures} failures show a failure probability below {probability:g} "
        f"with {100 * confidence:g} % confidence",
        "plan",
        {"flights": count, "probability": probability, "confidence": confidence, "failures": failures},
    )
