"""The verb `ironbird campaign dataset`: labelled time series of faulted flights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from ironbird.cli.options import OutPathOption, SampleOption, SeedsOption, TagOption
from ironbird.cli.output import errors, print_table
from ironbird.errors import UnknownNameError
from ironbird.files.work import working


def _check_suites(suites: Sequence[str], tags: Sequence[str]) -> None:
    """Refuse suites that cannot be read, and tags that none of them has, before anything is loaded."""
    from ironbird.campaign.suite_path import glance_at

    found = [glance_at(suite) for suite in suites]
    known = {name for one in found for name in (*one.tags, *one.cases)}
    for tag in tags:
        if tag not in known:
            raise UnknownNameError("tag", tag, {tag for one in found for tag in one.tags} or known, ", ".join(suites))


def dataset(
    suites: Annotated[list[str], typer.Argument(help="Case or suite files, or built-in suites (safety, regression).")],
    out: OutPathOption,
    tag: TagOption = None,
    sample: SampleOption = None,
    seeds: SeedsOption = 1,
    healthy: Annotated[bool, typer.Option(help="Fly each flight also without its faults, as healthy examples.")] = True,
    log_step: Annotated[
        float | None, typer.Option(help="Seconds between two rows of the log, a multiple of the step (0.002).")
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the data, for the card.")] = "CC-BY-4.0",
) -> None:
    """Write labelled flights with faults: Parquet by split, a card, and a simple expert diagnosis as baseline."""
    with errors():
        _check_suites(suites, tag or [])
    from ironbird.campaign.batch import draw_over_cases
    from ironbird.campaign.suite import load_suite
    from ironbird.dataset.files import healthy_flights, write_dataset

    with errors():
        with working(f"reading the cases of {', '.join(suites)}"):
            loaded = [load_suite(suite) for suite in suites]
        flights = [flight for suite in loaded for flight in suite.flights()]
        if tag:
            flights = [flight for flight in flights if {*flight.tags, flight.case_id} & set(tag)]
        if sample is not None and sample < len(flights):
            flights = draw_over_cases(flights, sample)
        if healthy:
            flights += healthy_flights(flights)
        flights = [
            replace(flight, seed=flight.seed + n, id=f"{flight.id}+{n}" if n else flight.id)
            for flight in flights
            for n in range(seeds)
        ]
        if log_step is not None:
            flights = [replace(flight, log_s=log_step) for flight in flights]
        sources = {name: text for suite in loaded for name, text in suite.sources().items()}
        name = ", ".join(s.id for s in loaded)
        with working(f"flying {len(flights)} flights and writing the data set"):
            found = write_dataset(flights, out, name=name, licence=licence, sources=sources)
    rows = {
        "flights": str(found.flights),
        "rows": str(found.rows),
        "baseline": f"{100 * found.accuracy:.1f} % of the test flights",
    }
    figures = {"flights": found.flights, "rows": found.rows, "accuracy": found.accuracy}
    print_table(rows, f"Data set {out}", figures)
    typer.echo(f"card: {out / 'card.md'}")
