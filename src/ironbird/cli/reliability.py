"""The verb `ironbird reliability`: how likely a vehicle is lost, and by what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.campaign import StoreOption
from ironbird.cli.options import VehicleArgument
from ironbird.cli.output import errors, print_table


def reliability(
    vehicle: VehicleArgument,
    minutes: Annotated[float, typer.Option(help="Length of a flight.", min=0.1, max=100000)] = 15.0,
    age: Annotated[float, typer.Option(help="Hours that the parts have run.", min=0, max=1e6)] = 100.0,
    lives: Annotated[
        Path | None, typer.Option(help="TOML file with lives of parts, on top of the shipped ones.")
    ] = None,
    campaign: Annotated[str | None, typer.Option(help="Campaign whose verdicts say what a fault does.")] = None,
    store: StoreOption = None,
    draws: Annotated[int, typer.Option(help="Of the importance sampling.", min=100, max=10_000_000)] = 10_000,
    flights: Annotated[int, typer.Option(help="Flights of a life.", min=1, max=100_000)] = 2000,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("out/reliability"),
) -> None:
    """Probability of loss in a flight with its contributors, FMEA and life; lives of parts are data."""
    from ironbird.reliability.sampling import flight_loss, life_losses
    from ironbird.reliability.tree import load_lives, lost_by_fault, tree_of
    from ironbird.report.reliability_page import write_reliability_page

    with errors():
        lost = {}
        if campaign is not None:
            from ironbird.campaign.store import Store

            database = Store(store)
            found = database.campaign(campaign)
            verdicts = {result.id: result.verdict for result in database.results(found)}
            lost = lost_by_fault(
                ([i.fault.id for i in case.faults], verdicts.get(case.id, "")) for case in database.cases(found)
            )
        tree = tree_of(vehicle, load_lives(lives), lost)
        hours = minutes / 60
        sampled = flight_loss(tree, age, hours, draws=draws)
        page = out / "reliability.html"
        losses = life_losses(tree, hours, flights)
        write_reliability_page(tree, sampled, losses, page, age_h=age, hours=hours)
    low, high = sampled.interval
    rows = {
        "loss in a flight": f"{tree.probability(age, hours):.3e}",
        "by importance sampling": f"{sampled.value:.3e} ({low:.2e} to {high:.2e})",
        **{f"{e.kind.name}, {e.count}": f"{p:.2e}  {100 * share:.1f} %" for e, p, share in tree.ranking(age, hours)},
    }
    print_table(rows, f"{vehicle}, {minutes:g} min, parts of {age:g} h")
    typer.echo(f"report: {page}")
