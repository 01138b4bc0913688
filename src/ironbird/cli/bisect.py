"""The verb `ironbird bisect`: which commit of an autopilot or controller changed a flight."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ironbird.cli.options import PROGRAM_HELP, OutPathOption, check_suite
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_table, results_folder, write_flight

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight


def bisect(
    case: Annotated[str, typer.Argument(metavar="CASE.toml", help="Case file, or the name of a suite.")],
    good: Annotated[str, typer.Option(help="A commit that is right: hash, tag or branch.")],
    bad: Annotated[str, typer.Option(help="A later commit that is not.")],
    build: Annotated[str, typer.Option(help="Shell command that builds a commit, run in a copy of the repository.")],
    repo: Annotated[Path, typer.Option(help="Git repository of the program; it is only read.")] = Path(),
    program: Annotated[str, typer.Option(help=PROGRAM_HELP)] = ".",
    judge: Annotated[
        Literal["verdict", "parting"],
        typer.Option(help="A commit is bad by its verdict, or if its flight parts from that of --good."),
    ] = "verdict",
    name: Annotated[str | None, typer.Option("--case", help="Which case of the file, if it has several.")] = None,
    build_limit: Annotated[float, typer.Option(help="Longest time of a build, s.", min=1.0)] = 3600.0,
    work: Annotated[
        Path | None, typer.Option(help="Where the copy of the repository is built; by default in --out.")
    ] = None,
    out: OutPathOption = Path("out/bisect"),
    as_json: JsonOption = False,
) -> None:
    """Find the commit that changed a flight: build and fly commits between a good and a bad one, halving each time.

    With n commits to search at most ceil(log2 n) + 1 are flown. Commits that do not build, or do not fly, are skipped.
    Of the case its first flight is flown; --program is a path in the repository. A commit is bad if its verdict is not
    what the case expects, or with --judge parting if its flight is not the same as that of --good, bit for bit (in
    virtual time). Results are kept by commit: the same command with the same --out goes
    on after a stop. Started by root, builds run as 'nobody'.

    Exit code: 0 the commit was found, 1 only those among which it is, 2 error.

    Example: ironbird bisect landing.toml --repo ~/PX4-Autopilot --good v1.16.0 --bad main
    --build 'make px4_sitl_default' --program build/px4_sitl_default
    """
    with errors():
        check_suite(case, case=name, one=True)
        from ironbird.bisect.bisect import Bisection, Wanted
        from ironbird.bisect.history import WorkTree
        from ironbird.campaign.suite import planned_case
        from ironbird.campaign.suite_path import suite_path
        from ironbird.report.flights_page import partings, read_flight

        flight = next(planned_case(suite_path(case), name).flights(1))

        def keep(flown: Flight, into: Path) -> None:
            write_flight(flown, into)

        def part(first: Path, second: Path) -> str:
            a, b = read_flight(first).log, read_flight(second).log
            found = partings(a, b)
            if found:
                return f"parts at {found[0].first_s:.3f} s: {found[0].signal}"
            lengths = [float(log.time_s[-1]) for log in (a, b)]
            return "" if len(a.time_s) == len(b.time_s) else f"ends at {lengths[1]:.3f} s, not at {lengths[0]:.3f} s"

        def say(text: str) -> None:
            typer.echo(text, err=True)

        with results_folder(out, "bisect") as folder:
            tree = WorkTree(repo, work or folder / "work")
            tree.prepare()
            wanted = Wanted(flight, tree.commit(good), tree.commit(bad), build, program, judge, build_limit)
            search = Bisection(wanted, tree, folder, keep, part, say)
            found = search.run()
    named = {commit: tree.title(commit) for commit in found.candidates}
    if as_json:
        data = {"exact": found.exact, "candidates": named, "flights": len(search.flown)}
        print_json({**data, "tried": [asdict(one) for one in search.tried.values()]}, "ironbird/bisection/1")
    else:
        print_columns(
            ["commit", "outcome", "flown", "why", "title"],
            [[t.commit[:10], t.outcome, "yes" if t.flown else "no", t.why, t.title] for t in search.tried.values()],
            "commits tried",
        )
        rows = {commit[:10]: title for commit, title in named.items()}
        flights = f"{len(search.flown)} flights"
        print_table(rows, f"first bad commit ({flights})" if found.exact else f"one of these ({flights})")
        typer.echo(f"flights: {folder / 'flights'}")
    raise typer.Exit(int(not found.exact))
