"""The verb `ironbird vehicle reliability`: how likely a vehicle is lost, and by what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import OutPathOption, SeedsOption, StoreOption, VehicleArgument, numbers_of
from ironbird.cli.output import errors, print_report, print_table
from ironbird.files.work import working


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
    life: Annotated[int, typer.Option(help="Flights of a life.", min=1, max=100_000)] = 2000,
    cases: Annotated[
        Path | None,
        typer.Option(help="Write a case file that flies the worn vehicle at --ages, with and without faults."),
    ] = None,
    ages: Annotated[str, typer.Option(metavar="H,H,…", help="Hours of --cases.")] = "0,100,300",
    cycles: Annotated[float, typer.Option(help="Charges of the battery in an hour of flight.", min=0, max=100)] = 4.0,
    wear: Annotated[Path | None, typer.Option(help="TOML file of what ages, on top of the shipped one.")] = None,
    seeds: SeedsOption = 1,
    out: OutPathOption = Path("out/reliability"),
) -> None:
    """Probability of loss in a flight with its contributors, FMEA and life; lives of parts are data."""
    from ironbird.files.whole import write_text
    from ironbird.reliability.page import write_reliability_page
    from ironbird.reliability.sampling import flight_loss, life_losses
    from ironbird.reliability.tree import load_lives, lost_by_fault, tree_of
    from ironbird.reliability.wear import life_cases, load_wear

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
        kinds = load_lives(lives)
        if cases is not None:
            hours_each = numbers_of("--ages", ages, 1, 100, "hours with commas, for example 0,100,300")
            text = life_cases(vehicle, hours_each, cycles, kinds, wear=load_wear(wear), seeds=seeds)
            cases.parent.mkdir(parents=True, exist_ok=True)
            write_text(cases, text)
            typer.echo(f"cases:  {cases} (ironbird campaign run {cases})")
        tree = tree_of(vehicle, kinds, lost)
        hours = minutes / 60
        with working(f"drawing {draws} flights and a life of {life}"):
            sampled = flight_loss(tree, age, hours, draws=draws)
            losses = life_losses(tree, hours, life)
        page = out / "reliability.html"
        write_reliability_page(tree, sampled, losses, page, age_h=age, hours=hours)
    low, high = sampled.interval
    figures = {
        "loss": tree.probability(age, hours),
        "sampled": {"value": sampled.value, "low": low, "high": high},
        "parts": {e.kind.name: {"count": e.count, "loss": p, "share": s} for e, p, s in tree.ranking(age, hours)},
    }
    rows = {
        "loss in a flight": f"{tree.probability(age, hours):.3e}",
        "by importance sampling": f"{sampled.value:.3e} ({low:.2e} to {high:.2e})",
        **{f"{e.kind.name}, {e.count}": f"{p:.2e}  {100 * share:.1f} %" for e, p, share in tree.ranking(age, hours)},
    }
    print_table(rows, f"{vehicle}, {minutes:g} min, parts of {age:g} h", figures)
    print_report(page)
