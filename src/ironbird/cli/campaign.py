"""Commands about campaigns: many cases flown, judged, stored, compared, reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ironbird.cli.exit_codes import INTERRUPTED, code_of
from ironbird.cli.options import (
    NameArgument,
    OutOption,
    ParamOption,
    ParamsOption,
    SampleOption,
    StoreOption,
    StrictOption,
    SuiteArgument,
    TagOption,
    WorkersOption,
    check_store,
    check_suite,
)
from ironbird.cli.output import (
    JsonOption,
    ending_in_order,
    errors,
    print_columns,
    print_json,
    print_report,
    print_table,
    progress_bar,
)
from ironbird.errors import IronbirdError, UnknownNameError, shortened
from ironbird.files.work import listening, working

if TYPE_CHECKING:
    from ironbird.campaign.case import FlightCase
    from ironbird.campaign.difference import MovedMargin
    from ironbird.campaign.result import FlightResult
    from ironbird.campaign.runner import Progress
    from ironbird.campaign.store import Campaign, Store
    from ironbird.report.flight.page import Origin


DaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Fly on a Dask cluster: tcp://HOST:PORT or tls://HOST:PORT?ca=…&cert=…&key=…."
    ),
]
TracesOption = Annotated[
    str, typer.Option(help="Traces to keep as Parquet files: failing (and one of a hundred that pass), all or none.")
]
RequirementsOption = Annotated[
    Path | None, typer.Option(help="CSV with the columns id, text, tags: the project's requirements.")
]
COUNTED = ("pass", "fail", "void", "error", "open")  # columns of flights; open ones are not flown
TRACES = ("failing", "all", "none")
MOST_SHOWN = 20  # flights that are named when they did not come out as they should
FullOption = Annotated[bool, typer.Option("--full", help=f"Print every line, not {MOST_SHOWN} of each kind.")]


# ---------------------------------------------------------------------- flying


def run(
    suite: SuiteArgument,
    name: Annotated[str | None, typer.Option(help="Name of the campaign; the suite's and the time by default.")] = None,
    sample: SampleOption = None,
    tag: TagOption = None,
    param: ParamOption = None,
    params: ParamsOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    traces: TracesOption = "failing",
    strict: StrictOption = False,
    out: OutOption = None,
) -> None:
    """Fly a suite: judge every flight, store it, write the report. Exit code 1 if anything is not as its case says.

    Ctrl-C keeps what is flown; 'ironbird campaign resume NAME' continues it.

    --param and --params are for the flights under PX4 and ArduPilot, on top of those of their cases; variables
    PX4_PARAM_NAME are below both. The campaign keeps them with each flight.
    """
    from ironbird.campaign.places import check_name

    with errors():
        check_suite(suite, tag)
        check_store(store)
        if name is not None:
            check_name(name)
        _check_traces(traces)
        _check_dask(dask)
    from ironbird.campaign.session import begun_campaign

    with (
        errors(),
        begun_campaign(
            suite, name=name, tags=tag or [], sample=sample, param_files=params or [], params=param or [],
            store=store, workers=workers, dask=dask, traces=traces,
        ) as begun,
    ):  # fmt: skip
        _fly(begun.store, begun.campaign, out, begun.run, strict=strict)


def _check_traces(traces: str) -> None:
    if traces not in TRACES:
        raise UnknownNameError("choice of --traces", traces, TRACES)


def _check_dask(address: str | None) -> None:
    if address is not None and not re.match(r"\w+://.+:\d+|inproc://", address):
        raise IronbirdError(
            f"--dask '{shortened(address)}' is no address of a scheduler: give tcp://HOST:PORT or tls://HOST:PORT?ca=…"
        )


def resume(
    name: NameArgument,
    store: StoreOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    traces: TracesOption = "failing",
    strict: StrictOption = False,
    out: OutOption = None,
    redefined: Annotated[
        bool, typer.Option("--redefined", help="Judge flights that are no longer what was defined as errors, unflown.")
    ] = False,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="Fly flights again whose stored result cannot be read.")
    ] = False,
) -> None:
    """Continue a campaign that was interrupted: only what is not judged yet is flown.

    If a vehicle's file or Ironbird itself has changed since the campaign was begun, it is refused and says what
    changed: a campaign holds one definition, flown by one version.
    """
    with errors():
        check_campaign(store, name)
        _check_traces(traces)
        _check_dask(dask)
    from ironbird.campaign.batch import TracePolicy
    from ironbird.campaign.runner import check_unchanged, run_campaign

    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        if damaged:
            check_unchanged(database, campaign)
            again = database.reopen_damaged(campaign)
            typer.echo(f"{len(again)} flights to be flown again, whose results cannot be read", err=True)
        policy = TracePolicy.of(traces, str(database.trace_folder(name).absolute()))
        _fly(
            database,
            campaign,
            out,
            lambda update: run_campaign(
                database, campaign, workers=workers, dask=dask, policy=policy, redefined=redefined, progress=update
            ),
            strict=strict,
        )


def _fly(
    database: Store,
    campaign: Campaign,
    out: Path | None,
    work: Callable[[Callable[[Progress], None]], Progress],
    *,
    strict: bool,
) -> None:
    from ironbird.campaign.summary import exit_code
    from ironbird.report.campaign_folder import write_campaign_folder

    typer.echo(f"campaign {campaign.name}", err=True)
    interrupted = False
    with flight_bar(campaign.name) as update:
        try:
            state = work(update)
        except KeyboardInterrupt:
            interrupted = True
    folder = out or database.folder / campaign.name
    results = database.results(campaign)
    code = exit_code(results, strict=strict)
    write_campaign_folder(database, campaign, folder)
    counts = database.counts(campaign)
    rows = {verdict: str(count) for verdict, count in counts.items() if count}
    rows["as expected"] = f"{sum(result.as_expected for result in results)} of {len(results)}"
    untested = sum(bool(result.untested) for result in results if result.verdict == "pass")
    if untested:
        rows["passes with a requirement not put to the test"] = str(untested)
    unchanged = sum(result.changed_nothing for result in results if result.verdict == "pass")
    if unchanged:
        rows["passes whose faults changed nothing"] = str(unchanged)
    if not interrupted:
        rows["speed"] = (
            f"{state.rate:.1f} flights a second, {state.simulated_s / max(state.wall_s, 1e-9):.0f} times real time"
        )
    print_table(
        rows,
        campaign.name,
        {**counts, "untested": untested, "unchanged": unchanged, "as_expected": code == 0, "folder": str(folder)},
    )
    for line in unexpected(results):
        typer.secho(line, fg="red", err=True)
    if interrupted:
        typer.secho(f"interrupted: continue with 'ironbird campaign resume {campaign.name}'", fg="yellow", err=True)
        code = INTERRUPTED
    print_report(folder / "report.html")
    raise typer.Exit(code)


def unexpected(results: Sequence[FlightResult]) -> list[str]:
    """The flights that did not come out as their cases say, a line each, the worst first."""
    from ironbird.campaign.result import worst_key

    wrong = sorted((r for r in results if not r.as_expected), key=worst_key)
    lines = [f"{r.verdict.upper():5} {r.id}: {shortened(r.sentence, 200)}" for r in wrong[:MOST_SHOWN]]
    return lines + ([f"… and {len(wrong) - MOST_SHOWN} more: see the report"] if len(wrong) > MOST_SHOWN else [])


@contextmanager
def flight_bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """Rate, verdicts and time left on a terminal; a line now and then in files and pipes."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeRemainingColumn())
    console = Console(stderr=True)
    shown_alone = listening(None)  # a second display would draw over this one
    with shown_alone, Bar(*columns, console=console, transient=True, refresh_per_second=4) as bar:  # workers need time
        task = bar.add_task(name, total=None, said="")
        shown, told = 0.0, 0

        def update(state: Progress) -> None:
            nonlocal shown, told
            for text in state.said[told:]:
                typer.secho(text, fg="yellow", err=True)
            told = len(state.said)
            verdicts = ", ".join(f"{count} {verdict}" for verdict, count in state.counts.items() if count)
            said = f"{state.done}/{state.total}  {state.rate:.1f}/s  {verdicts}"
            bar.update(task, total=state.total, completed=state.done, said=said)
            if not console.is_terminal and state.wall_s - shown > 10.0:
                shown = state.wall_s
                typer.echo(f"{said}, {state.left_s:.0f} s left", err=True)

        yield update


# ---------------------------------------------------------------------- looking


def list_campaigns(
    store: StoreOption = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Of all stores on this computer in which campaigns were run.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the campaigns of the store with their verdicts."""
    from ironbird.campaign.places import known_stores, url_of, usual_store
    from ironbird.campaign.store import Store

    with errors():
        places = [url_of(file) for file in known_stores()] if everywhere else [store or usual_store()]
        stores = [Store(place) for place in places]
        if as_json:
            data = [
                {"name": c.name, "created": c.created, **n, **({"store": s.url} if everywhere else {})}
                for s in stores
                for c, n in _counted(s)
            ]
            print_json({"campaigns": data}, "ironbird/campaigns/1")
            return
        for database in stores:
            title = f"Campaigns in {database.file.parent}" if everywhere and database.file else "Campaigns"
            print_campaigns(database, title)


def _counted(database: Store) -> list[tuple[Campaign, dict[str, int]]]:
    """The campaigns of a store with their flights by verdict."""
    return [(campaign, database.counts(campaign)) for campaign in map(database.campaign, database.names())]


def print_campaigns(database: Store, title: str) -> None:
    """Print the campaigns of a store with their verdicts."""
    rows = [
        (c.name, _begun(c.created), *(str(n[verdict] or "-") for verdict in COUNTED), _titled(c))
        for c, n in _counted(database)
    ]
    print_columns(("name", "begun", *COUNTED, "title"), rows, title)


def _titled(campaign: Campaign) -> str:
    """The title of a campaign; with its version if its verdicts mean less than those of today."""
    from ironbird.campaign.identity import earlier_meaning

    title = campaign.title or campaign.name
    return f"{title} (verdicts of {campaign.ironbird})" if earlier_meaning(campaign.ironbird) else title


def _begun(created: str) -> str:
    """The time of the begin on this computer's clock, for people."""
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return created


HERE = Path("out") / "campaigns" / "ironbird.db"  # the store of a folder


def check_campaign(url: str | None, *names: str, flight: str | None = None) -> None:
    """Refuse campaigns, or a flight of one, that no store on this computer has, if the stores are files.

    This loads little; a server is asked later.
    """
    from ironbird.campaign.places import flights_in, known_stores, names_in, url_of, usual_store

    check_store(url)
    chosen = url if url is not None else usual_store()
    if chosen is None:
        files = [HERE, *known_stores()]
    elif chosen.startswith("sqlite:///") and "?" not in chosen:
        files = [Path(chosen.removeprefix("sqlite:///"))]
    else:
        return
    found = {file: names_in(file) for file in dict.fromkeys(files) if file.is_file()}
    if None in found.values():  # the store itself says what is wrong with it
        return
    known = {name for names in found.values() for name in names or ()}
    near = found.get(files[0]) or known
    where = f"the store {chosen or url_of(HERE)}" if near is not known else "the stores of this computer"
    for name in names:
        if name not in known:
            raise UnknownNameError("campaign", name, near, where, "ironbird campaign list --all")
        first = next(file for file, has in found.items() if name in (has or ()))
        flights = flights_in(first, name) if flight is not None else []
        if flight is not None and flights and flight not in flights:
            raise UnknownNameError("flight", flight, flights, f"campaign '{name}'", f"ironbird campaign show {name}")


def check_table(option: str, path: Path | None) -> None:
    """Refuse a table of requirements that is not there, before anything is loaded."""
    if path is not None and not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise IronbirdError(f"{option} {path} {what}: give a CSV file with the columns id, text, tags")


def warn_of_covers(table: Path, cases: Sequence[FlightCase]) -> None:
    """Name the ids that requirements of cases cover and the project's table does not have."""
    from ironbird.campaign.coverage import read_table, unknown_covers

    if unknown := unknown_covers(read_table(table), cases):
        typer.secho(f"warning: covered by cases, but not in {table}: {', '.join(unknown)}", fg="yellow", err=True)


def store_with(url: str | None, name: str) -> Store:
    """The store that has a campaign; a place that was not named is printed."""
    check_campaign(url, name)
    from ironbird.campaign import session

    return session.store_with(name, url, lambda folder: typer.echo(f"campaign {name} is in {folder}", err=True))


def show(
    name: NameArgument,
    flight: Annotated[str | None, typer.Argument(help="One flight, for example motor-loss/0007/s3.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a campaign case by case, or one of its flights with all judgements and witnesses."""
    with errors():
        check_campaign(store, name, flight=flight)
    from ironbird.campaign.identity import earlier_meaning
    from ironbird.campaign.summary import by_case, sampled_cases

    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        if flight is None:
            results = database.results(campaign)
            summaries = by_case(results, sampled=sampled_cases(campaign.source, results))
            summaries.sort(key=lambda s: s.as_expected)  # what is not as it should be comes first
            if as_json:
                data = {s.case_id: {**s.verdicts, "worst": s.worst.record()} for s in summaries}
                print_json({"campaign": name, "cases": data}, "ironbird/campaign-cases/1")
                return
            lines = [
                (
                    s.case_id, "yes" if s.as_expected else "NO",
                    *(str(s.verdicts.get(verdict, 0) or "-") for verdict in COUNTED[:-1]), s.failures(),
                    s.worst.id.removeprefix(f"{s.case_id}/"), _why(s.worst),
                )
                for s in summaries
            ]  # fmt: skip
            heads = ("case", "as expected", *COUNTED[:-1], "failures", "worst flight", "why")
            print_columns(heads, lines, campaign.title or name, optional=("worst flight", "failures"))
            if note := earlier_meaning(campaign.ironbird):
                typer.secho(note, fg="yellow", err=True)
            return
        case = database.case(campaign, flight)
        result = next((r for r in database.results(campaign) if r.id == flight), None)
        if as_json:
            record = {"digest": case.digest(), **case.record()}
            flown = result.record() if result else None
            print_json({"campaign": name, "case": record, "result": flown}, "ironbird/campaign-flight/1")
            return
        typer.echo(case.to_toml())
        if result is None:
            typer.echo("not flown yet")
            return
        rows = {"verdict": result.verdict, "why": result.sentence, "score": f"{result.score:.3f} ({result.level})"}
        rows |= {j.name: "\n".join(filter(None, [j.words(), j.sentence, j.untested])) for j in result.judgements}
        rows["sha256"] = result.sha256
        print_table(rows, flight)


WITNESS = re.compile(r"; [\w.]+@[0-9]+:")  # begin of what a fault did, in the sentence of a flight


def _why(result: FlightResult) -> str:
    """How a flight came to its verdict; what its faults did only if that decided it (void)."""
    return WITNESS.split(result.sentence)[0] if result.verdict in ("pass", "fail") else result.sentence


def diff(
    before: NameArgument,
    after: NameArgument,
    store: StoreOption = None,
    any_: Annotated[
        bool, typer.Option("--any", help="Exit code 1 for any difference, also for a better verdict or a moved margin.")
    ] = False,
    full: FullOption = False,
    other_meaning: Annotated[
        bool, typer.Option("--other-meaning", help="Compare also if one of the two has verdicts of version 0.1.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two campaigns flight by flight: changed verdicts, moved margins. Exit code 1 if something got worse.

    Worse is a worse verdict (pass, void, fail, error), a requirement that is newly broken or no longer put to the test,
    or a missing flight. Flights are paired by case, varied values and seed, also if the vehicle, a parameter or a
    requirement was changed between the two; what was redefined is listed.
    """
    with errors():
        check_campaign(store, before, after)
    from ironbird.campaign.difference import check_meaning, compare

    with errors():
        database = store_with(store, before)
        both = [database.campaign(name) for name in (before, after)]
        if not other_meaning:
            check_meaning(both, "--other-meaning")
        with working(f"comparing campaigns {before} and {after}"):
            cases = [{case.id: case for case in database.cases(campaign)} for campaign in both]
            found = compare(database.results(both[0]), database.results(both[1]), cases)
        if as_json:
            print_json({"before": before, "after": after, **found.record()}, "ironbird/campaign-difference/2")
        else:
            most = None if full else MOST_SHOWN
            _print_some("changed verdicts", [change.sentence() for change in found.verdicts], most)
            _print_some("moved margins", [_moved(margin) for margin in found.margins], most)
            if len({(campaign.ironbird, campaign.software) for campaign in both}) > 1:
                typer.echo("the two were flown by different versions or code of Ironbird")
            for what, count in found.redefinitions().items():
                typer.echo(f"redefined in {count} flight{'s' * (count > 1)}: {what}")
            print_table(
                {
                    "got worse": str(len(found.worse)),
                    "changed verdicts": str(len(found.verdicts)),
                    "moved margins": str(len(found.margins)),
                    "equal to the last bit": str(found.same),
                    "redefined": str(len(found.redefined)),
                    f"only in {before}": str(len(found.only_before)),
                    f"only in {after}": str(len(found.only_after)),
                },
                "Difference",
            )
    if found.only_before:
        typer.secho(f"{len(found.only_before)} flights of {before} are not in {after}", fg="red", err=True)
    if found.is_worse or (any_ and found.is_any):
        raise typer.Exit(1)


def _print_some(what: str, lines: Sequence[str], most: int | None) -> None:
    """Print lines, at most so many, and how many there are more."""
    for line in lines[:most]:
        typer.echo(line)
    if most is not None and len(lines) > most:
        typer.echo(f"{len(lines) - most} more {what}: --full prints them")


def _moved(moved: MovedMargin) -> str:
    """A margin that moved, with its requirement and unit."""
    from ironbird.campaign.margins import margin_text

    return f"{moved.flight_id}: {moved.requirement}: margin {margin_text(moved.before)} -> {margin_text(moved.after)}"


def coverage(
    name: NameArgument,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT", help="Exit code 1 if less of the catalogue's faults on parts was flown.", min=0, max=100
        ),
    ] = None,
    full: FullOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a campaign has tried: of its plan, and of the catalogue's faults on each part of its vehicles.

    Flights that passed or failed count; void ones and errors show nothing. Faults that need a world, chips, firmware or
    packets are left out.
    """
    with errors():
        check_campaign(store, name)
    from ironbird.campaign.coverage import case_coverage
    from ironbird.campaign.fault_coverage import fault_coverage, not_flown, share_flown

    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        cases, results = list(database.cases(campaign)), database.results(campaign)
        with working(f"counting what {name} has flown"):
            plans, faults = case_coverage(campaign.source, cases, results), fault_coverage(cases, results)
        share, flown = share_flown(faults), sum(row.flights > 0 for row in faults)
        if as_json:
            data = {
                "cases": [{**vars(plan), "combinations": [vars(c) for c in plan.combinations]} for plan in plans],
                "faults": [vars(row) for row in faults],
                "share": share,
            }
            print_json({"campaign": name, **data}, "ironbird/campaign-coverage/1")
        else:
            rows = [(plan.id, str(plan.flown), str(plan.planned), plan.sentence()) for plan in plans]
            print_columns(("case", "flown", "planned", "varied"), rows, f"{name}: the plan")
            lines = [f"not flown: {v}: {f}: {', '.join(parts)}" for (v, f), parts in not_flown(faults).items()]
            _print_some("faults that were not flown", lines, None if full else MOST_SHOWN)
            typer.echo(f"{flown} of {len(faults)} faults of the catalogue on parts were flown ({100 * share:.1f} %)")
    if at_least is not None and 100 * share < at_least:
        typer.secho(f"less than {at_least:g} % of the catalogue's faults were flown", fg="red", err=True)
        raise typer.Exit(1)


def export(
    name: NameArgument,
    to: Annotated[Path, typer.Argument(help="A file that ends in .csv, .json or .parquet.")],
    store: StoreOption = None,
) -> None:
    """Write all results as a table: one row per flight, one column per varied parameter and requirement."""
    with errors():
        check_campaign(store, name)
    from ironbird.report.table import write_table

    with errors():
        database = store_with(store, name)
        with working(f"writing {to.name}"):
            results = database.results(database.campaign(name))
            write_table(results, to)
    typer.echo(f"{len(results)} flight{'' if len(results) == 1 else 's'}: {to}")


def report(
    name: NameArgument,
    requirements: RequirementsOption = None,
    pages: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="Fly flights again and link their pages: 'failed' (all that did not pass), 'all', or a flight's id.",
        ),
    ] = None,
    most: Annotated[int, typer.Option(help="Fly at most so many of them, the worst first.", min=1)] = 40,
    flies: Annotated[
        bool,
        typer.Option("--flies", help="The page flies its flight again, and changed ones, in the reader's browser."),
    ] = False,
    store: StoreOption = None,
    out: OutOption = None,
) -> None:
    """Write the report again, with pages of flights and a table of the project's requirements if they are asked for.

    --pages flies the flights again, bit for bit, and writes their pages with all plots beside the report, which links
    them; with --flies these pages hold the simulation themselves. Exit code 1 if a flight differs from what is stored.

    Example: ironbird campaign report first --pages failed
    """
    with errors():
        check_table("--requirements", requirements)
        check_campaign(store, name)
        if flies and pages is None:
            raise IronbirdError("--flies is of the pages of flights: add --pages failed, or a flight's id")
    from ironbird.campaign.coverage import read_table, trace_table
    from ironbird.report.campaign_folder import write_campaign_folder
    from ironbird.report.campaign_page import write_campaign_page

    differing: list[str] = []
    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        folder = out or database.folder / name
        if pages is not None:
            differing = _write_flight_pages(database, campaign, folder, pages, most, flies=flies)
        write_campaign_folder(database, campaign, folder)
        if requirements is not None:
            with working("tracing the project's requirements"):
                cases = list(database.cases(campaign))
                rows = trace_table(read_table(requirements), cases, database.results(campaign))
            warn_of_covers(requirements, cases)
            with working("writing the report"):
                write_campaign_page(database, campaign, folder / "report.html", trace=rows)
    for text in differing:
        typer.secho(f"NOT equal to the stored flight: {text}", fg="red", err=True)
    print_report(folder / "report.html")
    raise typer.Exit(1 if differing else 0)


def _write_flight_pages(
    database: Store, campaign: Campaign, folder: Path, which: str, most: int, *, flies: bool
) -> list[str]:
    """Fly flights of a campaign again and write their pages beside its report; return those that came out otherwise."""
    from ironbird.export.wasm.flight import unfit
    from ironbird.flight.flight import fly
    from ironbird.flight.words import PASS
    from ironbird.report.campaign_page import flight_folder, worst_first
    from ironbird.report.folder import write_flight_folder

    results = worst_first(database.results(campaign))
    if which in ("failed", "all"):
        chosen = [r for r in results if which == "all" or r.verdict != PASS or not r.as_expected]
    else:
        chosen = [r for r in results if r.id == which]
        if not chosen:
            raise UnknownNameError("flight", which, [r.id for r in results], f"campaign '{campaign.name}'")
    differing = []
    with progress_bar(f"flying {min(len(chosen), most)} again") as update:
        for number, result in enumerate(chosen[:most]):
            case = database.case(campaign, result.id)
            if case.scenario:
                typer.secho(f"{case.id}: a scenario has a page of its own: campaign rerun", fg="yellow", err=True)
                continue
            place = flight_folder(folder, result.id)
            again = fly(case, folder=place)
            why = unfit(case) if flies else ""
            if why:
                typer.secho(f"{case.id}: its page cannot fly: {why}", fg="yellow", err=True)
            origin = _origin(campaign, case, place, folder)
            write_flight_folder(again, place, origin=origin, flies=flies and not why)
            if (again.verdict, again.sha256) != (result.verdict, result.sha256) and again.repeats:
                differing.append(result.id)
            update((number + 1) / min(len(chosen), most))
    if len(chosen) > most:
        typer.echo(f"{most} of {len(chosen)} flights have a page; --most {len(chosen)} writes all", err=True)
    return differing


def rerun(
    name: NameArgument,
    flight: Annotated[str, typer.Argument(help="The flight's id.")],
    times: Annotated[int, typer.Option(help="Fly it this often, and say whether the verdicts agree.", min=1)] = 1,
    store: StoreOption = None,
    out: OutOption = None,
) -> None:
    """Fly one flight again, compare its hash with the stored one, and write its page with all plots.

    An autopilot outside does not repeat to the bit: there the verdict is compared, and --times shows flaky ones.
    """
    with errors():
        check_campaign(store, name, flight=flight)
    from ironbird.campaign.identity import definition_changed, software_changed
    from ironbird.campaign.statistics import flakiness
    from ironbird.flight.flight import fly
    from ironbird.report.campaign_page import flight_folder
    from ironbird.report.folder import write_flight_folder

    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        kept = database.flight(campaign, flight)
        case, stored = kept.case, kept.result
        other = software_changed(kept.ironbird or campaign.ironbird, kept.software or campaign.software)
        for change in filter(None, (definition_changed(case, kept.digest, campaign.files), other)):
            typer.secho(f"not the flight that was stored: {change}", fg="yellow", err=True)
        folder = out or flight_folder(database.folder / name, flight)
        if case.scenario:
            _rerun_scenario(case, stored, folder)
        with ending_in_order(), working(f"flying {flight} again"):
            runs = [fly(case, folder=folder)]
            while len(runs) < times and not runs[-1].log.interrupted:
                runs.append(fly(case, folder=folder))
        again = next((run for run in runs if run.log.interrupted), runs[0])
        write_flight_folder(again, folder, origin=_origin(campaign, case, folder, database.folder / name))
        (folder / "case.toml").write_text(case.to_toml())
        exact, judged = again.repeats, again.judged
    print_table({"verdict": judged.verdict, "why": judged.sentence, "sha256": judged.sha256}, flight)
    if times > 1:
        typer.echo(flakiness([run.verdict for run in runs]).sentence())
    print_report(folder / "flight.html")
    if stored is None:
        typer.echo("the campaign has not flown it yet")
    if stored is None or again.log.interrupted:
        raise typer.Exit(code_of(again))
    same = stored.verdict == judged.verdict and (stored.sha256 == judged.sha256 or not exact)
    if not same:
        typer.echo(f"NOT equal to the stored flight: {stored.verdict}, {stored.sha256}")
        raise typer.Exit(1)
    typer.echo("equal to the stored flight, bit for bit" if exact else "the same verdict as stored")


def _origin(campaign: Campaign, case: FlightCase, folder: Path, report: Path) -> Origin:
    """What the page of a flight says of its campaign; with a way back if the report is where it is written usually."""
    from ironbird.report.flight.page import Origin

    back = "../../report.html" if folder.parent == report / "flights" else ""
    return Origin(case.id, campaign.name, case.title, back)


def _rerun_scenario(case: FlightCase, stored: FlightResult | None, folder: Path) -> NoReturn:
    """Fly a scenario of a campaign again, write its folder and say whether it is the same."""
    from ironbird.campaign.scenario_case import judged_scenario, orders_of
    from ironbird.campaign.scenarios import scenario_in
    from ironbird.flight.systems import repeats
    from ironbird.report.scenario_page import write_scenario_folder
    from ironbird.scenario.run import fly_scenario

    with ending_in_order(), working(f"flying {case.id} again"):
        flown = fly_scenario(scenario_in(case.scenario, case.case_id))
    page, judged = write_scenario_folder(flown, folder), judged_scenario(case, flown)
    print_table({"verdict": judged.verdict, "why": judged.sentence, "sha256": judged.sha256}, case.id)
    print_report(page)
    exact = all(repeats(order.control, order.options, order.script) for order in orders_of(case))
    same = stored is not None and stored.verdict == judged.verdict and (stored.sha256 == judged.sha256 or not exact)
    equal = "equal to the stored flight, bit for bit" if exact else "the same verdict as stored"
    typer.echo(equal if same else "NOT equal to a stored flight")
    raise typer.Exit(0 if same else 1)
