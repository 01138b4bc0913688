"""Commands about one flight: `fly` it, `repeat` it, change its parameters, `compare` kept ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.exit_codes import code_of_all
from ironbird.cli.kind_options import KindVerb, given_options, spelled_out
from ironbird.cli.live import FlightLines
from ironbird.cli.options import (
    ControlOption,
    FaultOption,
    FaultsFileOption,
    GustOption,
    HomeOption,
    LinkOption,
    LogStepOption,
    MissionOption,
    OptionOption,
    OutOption,
    ParamOption,
    ParamsOption,
    RequireOption,
    RuleOption,
    SaveOption,
    SeedOption,
    SetOption,
    SightOption,
    SpeedOption,
    StartOption,
    StrictOption,
    TurbulenceOption,
    UntilOption,
    VehicleArgument,
    WindOption,
    WorldOption,
    YearOption,
    faults_of,
    home_of,
    options_of,
    order_from,
    pace_of,
    params_of,
    settings_of,
    sight_of,
    start_of,
    weather_of,
)
from ironbird.cli.output import (
    JsonOption,
    WrittenFlight,
    ending_in_order,
    errors,
    lead_to,
    print_flight,
    print_json,
    print_report,
    print_table,
    progress_bar,
    results_folder,
    write_and_print,
    write_flight,
)
from ironbird.errors import IronbirdError, LinkError, OrderError
from ironbird.files.work import working
from ironbird.flight.ends import HELP, MAY_CRASH

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight
    from ironbird.flight.order import Order
    from ironbird.rig.system import Kind

OUTSIDE = "Control systems outside"  # panel of the help
USUAL_STEP_S = 0.002
MOST_COMPARED = 6  # flights on one page
UlogOption = Annotated[bool, typer.Option("--ulog", help="Also write a PX4 ULog file.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Also write a CSV file.")]
FliesOption = Annotated[
    bool, typer.Option("--flies", help="The page flies its flight again, and changed ones, in the reader's browser.")
]
EndsOption = Annotated[str, typer.Option(metavar="HOW", help=HELP)]
MayCrashOption = Annotated[bool, typer.Option("--may-crash", help=MAY_CRASH)]
IntegrationOption = Annotated[
    str,
    typer.Option(
        metavar="METHOD@STEP",
        help="Integration in place of the vehicle's own, such as rk4@0.001: Runge-Kutta of order 4, 1 ms steps.",
    ),
]
ReplayOption = Annotated[
    Path | None, typer.Option(help="A tunings.json of an earlier flight: the same changes at the same ticks.")
]
CountOption = Annotated[
    int,
    typer.Option(
        help="Fly this many at the same time, each in a process and with a seed and ports of its own.",
        min=1,
        max=10,
        rich_help_panel=OUTSIDE,
    ),
]
BesideOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONTROL=VEHICLE[,KEY=VALUE…]",
        help="Another vehicle at the same time on the same wall clock, under its own control system, for example "
        "'hardware=aerosonde,port=/dev/ttyACM1' or 'px4=quad_iris'; may be repeated.",
        rich_help_panel=OUTSIDE,
    ),
]


def fly(
    context: typer.Context,
    vehicle: VehicleArgument,
    mission: MissionOption = None,
    control: ControlOption = None,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    gust: GustOption = None,
    home: HomeOption = None,
    year: YearOption = None,
    start: StartOption = None,
    world: WorldOption = "",
    sight: SightOption = None,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    ends: EndsOption = "",
    may_crash: MayCrashOption = False,
    strict: StrictOption = False,
    set_: SetOption = None,
    seed: SeedOption = 0,
    until: UntilOption = None,
    speed: SpeedOption = None,
    log_step: LogStepOption = 0.02,
    integration: IntegrationOption = "",
    replay: ReplayOption = None,
    out: OutOption = None,
    ulog: UlogOption = False,
    csv: CsvOption = False,
    flies: FliesOption = False,
    option: OptionOption = None,
    param: ParamOption = None,
    params: ParamsOption = None,
    count: CountOption = 1,
    beside: BesideOption = None,
    link: LinkOption = None,
    rule: RuleOption = None,
    save: SaveOption = None,
) -> None:
    """Fly one vehicle, judge the flight, and write a log (Parquet) and a page with plots.

    Who flies it is --control: the reference autopilot inside Ironbird, PX4 or ArduPilot in lockstep, a flight
    controller on a cable, MAVLink clients, an FMU … ('ironbird system list'); 'ironbird fly --control px4 --help' shows
    the options of that one. With faults, a twin without them flies in the same wind, and the difference is each fault's
    witness. Ctrl-C ends the flight early; what was flown until then is kept. 'ironbird repeat FOLDER' flies the same
    order again.

    A flight passes if it ends as ordered (--ends), in truth, does not crash, and meets its requirements. Exit code:
    0 pass, 1 fail, 2 error, 3 void (nothing was flown, it was cut off, or a fault did not act), 130 interrupted.

    Example: ironbird fly quad_f450 --wind 5,270 --fault 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'

    Example: ironbird fly quad_f450 --control px4 --mission square --time virtual
    """
    with errors():
        pace, begin, settings = pace_of(speed), start_of(start), settings_of(set_)  # words before anything is loaded
        sights, weather = sight_of(sight), weather_of(wind, turbulence, gust)
        from ironbird.vehicles.load import usual_control

        name, options = spelled_out(control or usual_control(vehicle), {**options_of(option), **given_options(context)})
        if (own := params_of(name, params or [], param or [], str(options.get("params", "")))) or "params" in options:
            options["params"] = own
        from ironbird.flight.pose import start_settings
        from ironbird.runtime.tuning import read_tunings

        order = order_from(
            vehicle,
            mission=mission,
            control=name,
            options=options,
            weather=weather,
            place=home_of(home, year, vehicle),
            world=world,
            sight=sights,
            seed=seed,
            settings=settings,
            faults=faults_of(fault, faults_file),
            requirements=require or [],
            ends=ends,
            may_crash=may_crash,
            until_s=until,
            log_s=log_step,
            integration=integration,
            tunings=read_tunings(replay) if replay else (),
        )
        if start is not None:
            order = replace(order, settings={**start_settings(order, *begin), **order.settings})
        orders = [*_numbered(order, count), *_orders_beside(beside or [], order, mission)]
        _check(order, count, beside or [], flies=flies)
        shown = {"ulog": ulog, "csv": csv, "flies": flies, "strict": strict}
        with _routed(link, rule, save), results_folder(out, Path(vehicle).stem) as folder:
            flown = _fly_all(orders, folder, pace, shown, count=count)
            for number, one in enumerate(flown, start=1):
                print_flight(one, number if len(flown) > 1 else None)
    raise typer.Exit(code_of_all([one.code for one in flown]))


fly.command_class = KindVerb  # type: ignore[attr-defined]


def _check(order: Order, count: int, beside: Sequence[str], *, flies: bool) -> None:
    """Refuse what cannot be flown, and print what the link will carry, before anything is compiled."""
    from ironbird.flight.outline import check_requirements
    from ironbird.flight.systems import is_outside, kind_of, read_options

    if order.options.get("twin") and not order.faults:
        raise OrderError("--twin compares with flights without faults: give a --fault, or leave --twin out")
    if order.options.get("twin"):
        from ironbird.flight.healthy import healthy_order

        healthy_order(order)  # it has to repeat
    check_requirements(order)
    if flies:
        _check_flies(order)
    if not is_outside(order.control):
        _check_log_step(order)
        if count > 1 or beside:
            raise OrderError(
                f"--count and --beside are for control systems outside, not for '{order.control}': add --control px4 "
                "or another of 'ironbird system list'; 'ironbird scenario fly' flies many vehicles"
            )
        return
    kind = kind_of(order.control)
    options = read_options(kind, order.options)
    if count > 1 and beside:
        raise OrderError(f"--count {count} and --beside '{beside[0]}' together: give a --beside for each vehicle")
    if count > 1 and "instance" not in type(options).model_fields:
        raise OrderError(f"--count {count}: control '{order.control}' has no instances; give a --beside for each")
    for title, rows, figures in kind.budget(order.vehicle, options, has_mission=order.mission is not None):
        print_table(rows, title, figures)


def _check_flies(order: Order) -> None:
    """Refuse a page that could not fly its flight, before anything is flown."""
    from ironbird.export.wasm.flight import unfit

    if why := unfit(order):
        raise OrderError(f"--flies: a page cannot fly this flight: {why}; leave --flies out")


def _check_log_step(order: Order) -> None:
    """Refuse rows of the log between two steps; rows at multiples of the usual step fit every vehicle."""
    if _is_multiple(order.log_s, USUAL_STEP_S) and not order.integration:
        return
    from ironbird.vehicles.load import load_vehicle
    from ironbird.vehicles.spec import Integration

    own = load_vehicle(order.vehicle, control=order.control).integration
    step_s = (Integration.parse(order.integration) if order.integration else own).step_s
    if not _is_multiple(order.log_s, step_s):
        raise OrderError(
            f"--log-step {order.log_s:g} s is not a whole number of steps of {step_s:g} s: give a multiple of it, or "
            "fly with smaller steps (--integration rk4@0.001)"
        )


def _is_multiple(time_s: float, step_s: float) -> bool:
    return abs(round(time_s / step_s) * step_s - time_s) < 1e-9


def _numbered(order: Order, count: int) -> list[Order]:
    """The same order several times, each with its own seed and ports; the first alone feeds a ground station."""
    if count == 1:
        return [order]
    first = int(order.options.get("instance", 0))
    orders = []
    for number in range(count):
        options = {**order.options, "instance": first + number}
        if number:
            options["ground_station"] = False
        orders.append(replace(order, seed=order.seed + number, options=options))
    return orders


def _orders_beside(beside: Sequence[str], order: Order, mission: str | None) -> list[Order]:
    """The orders of vehicles that fly at the same time, each under its own control system, in the same weather.

    They fly the mission of the command line; without one, or if it is none, each flies its own.
    """
    orders = []
    for number, text in enumerate(beside, start=1):
        named, *pairs = text.split(",")
        control, equals, name = named.partition("=")
        if not (equals and control and name):
            raise OrderError(f"--beside '{text}': give CONTROL=VEHICLE[,KEY=VALUE…], for example reference=quad_f450")
        kind, options = spelled_out(control, options_of(pairs))
        orders.append(
            order_from(
                name,
                mission=None if mission == "none" else mission,
                control=kind,
                options=options,
                seed=order.seed + number,
                weather=order.weather,
                ends=order.ends,
                may_crash=order.may_crash,
                until_s=order.until_s,
            )
        )
    return orders


def _routed(link: list[str] | None, rule: list[str] | None, save: Path | None) -> AbstractContextManager[Any]:
    """A MAVLink router beside the flight, if one is asked for; what it carried is printed at the end."""
    if not (link or rule or save):
        return nullcontext()
    from ironbird.cli.route import routed_and_printed

    return routed_and_printed(link or [], rule or [], save)


def _fly_all(
    orders: Sequence[Order], folder: Path, speed: float | None, shown: dict[str, bool], *, count: int
) -> list[WrittenFlight]:
    """Fly one order into a folder, or several into its numbered folders: `count` of them in processes, others on one
    wall clock."""
    if len(orders) == 1:
        return [_fly_one(orders[0], folder, speed, shown)]
    folders = [folder / str(number) for number in range(1, len(orders) + 1)]
    return _fly_in_processes(orders, folders, speed, shown) if count > 1 else _fly_together(orders, folders, shown)


def _fly_one(order: Order, folder: Path, speed: float | None, shown: dict[str, bool]) -> WrittenFlight:
    """Fly an order of the command line and write its results."""
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import fly as fly_order
    from ironbird.flight.live import LiveControl
    from ironbird.flight.systems import is_outside
    from ironbird.report.folder import clear_flight_folder

    live, trust = None, Trust.by_hand(order.options)
    if is_outside(order.control):
        clear_flight_folder(folder)  # if this one fails, nothing there passes for its result
    elif speed is not None:
        live = LiveControl(folder)
        typer.echo(f"listening: ironbird vehicle set {folder} PATH=VALUE", err=True)
    watched = _is_watched(order)
    lines = FlightLines(logged=order.options.get("front") == "sticks")
    bar: Any = nullcontext() if watched else progress_bar(f"flying {order.vehicle}")
    try:
        with bar as update, ending_in_order():
            flight = fly_order(
                order,
                progress=update,
                speed=speed,
                live=live,
                folder=folder,
                announce=lines.say,
                show=lines.shower(watched),
                on_event=lines.event if watched else None,
                trust=trust,
            )
    except LinkError as error:
        left = f"\nwhat the control system left: {folder}" if folder.is_dir() and any(folder.iterdir()) else ""
        raise LinkError(f"{error}{left}") from None
    finally:
        lines.close()
        if live is not None:
            live.close()
    return _written(flight, folder, shown)


def _written(flight: Flight, folder: Path, shown: dict[str, bool]) -> WrittenFlight:
    """Write a flight's folder, with the option `twin` also that of its healthy twin."""
    more: dict[str, str] = {}
    if flight.order.options.get("twin") and flight.order.faults:
        more |= _caused(flight, folder)
    kind = _kind(flight.order)
    if kind is not None and kind.lands:
        from ironbird.flight.ending import ending_of

        more["ending"] = ending_of(flight)
    written = {name: shown[name] for name in ("ulog", "csv", "strict", "flies")}
    return write_flight(flight, folder, more=more, **written)


def _caused(flight: Flight, folder: Path) -> dict[str, str]:
    """Fly the same without faults, write that flight beside, and report what the faults caused."""
    from ironbird.files.trust import Trust
    from ironbird.flight.cause import cause_of, with_cause
    from ironbird.flight.healthy import fly_healthy
    from ironbird.report.folder import write_flight_folder

    try:
        with progress_bar("flying the healthy twins"), ending_in_order():
            healthy, all_healthy = fly_healthy(flight.order, folder / "healthy", Trust.by_hand(flight.order.options))
        write_flight_folder(healthy, folder / "healthy")
        cause = cause_of(flight, all_healthy)
    except LinkError as error:  # the flight itself is valid
        return {"caused": f"not known: {error}"}
    flight.judged = with_cause(flight.judged, cause)
    return cause.rows()


def _kind(order: Order) -> Kind | None:
    """The kind of the control system of an order; None for those inside Ironbird, or an object of Python."""
    from ironbird.flight.systems import OUTSIDE, kind_of

    return kind_of(order.control) if order.control in OUTSIDE else None


def _is_watched(order: Order) -> bool:
    """Whether people or programs outside command, or a board flies: what happens is printed, in place of a bar."""
    from ironbird.flight.systems import read_options

    kind = _kind(order)
    if kind is None or (order.script and kind.vehicle_control == "commanded"):  # a recorded stream: no client commands
        return False
    has_mission = order.mission is not None or order.has_plan
    return kind.has_live_events(read_options(kind, order.options), has_mission=has_mission)


def _fly_together(orders: Sequence[Order], folders: Sequence[Path], shown: dict[str, bool]) -> list[WrittenFlight]:
    """Several vehicles on one wall clock."""
    from ironbird.files.trust import Trust
    from ironbird.flight.together import fly_together

    trust = Trust.by_hand(*(order.options for order in orders))
    names = [f"vehicle {number}, {order.vehicle}" for number, order in enumerate(orders, start=1)]
    lines = {number: FlightLines(name) for number, name in enumerate(names, start=1)}
    with ending_in_order():
        flights = fly_together(
            orders, folders, announce=typer.echo, trust=trust, on_event=lambda n, event: lines[n].event(event)
        )
    return [_written(flight, folder, shown) for flight, folder in zip(flights, folders, strict=True)]


def _begin_worker(parent: int) -> None:
    """A worker ends with its parent, and in flight on SIGTERM; Ctrl-C reaches it through its parent."""
    import signal

    from ironbird.campaign.worker import begin_worker

    begin_worker(parent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _fly_in_processes(
    orders: Sequence[Order], folders: Sequence[Path], speed: float | None, shown: dict[str, bool]
) -> list[WrittenFlight]:
    """Each in a process of its own; when this one is interrupted, they are, and write their results."""
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    context = get_context("spawn")
    with (
        ProcessPoolExecutor(len(orders), context, initializer=_begin_worker, initargs=(os.getpid(),)) as pool,
        ending_in_order(),
    ):
        flights = [pool.submit(_fly_one, *pair, speed, shown) for pair in zip(orders, folders, strict=True)]
        try:
            return [flight.result() for flight in flights]
        except KeyboardInterrupt:
            for worker in active_children():
                worker.terminate()
            return [flight.result() for flight in flights]


def repeat(
    flight: Annotated[Path, typer.Argument(help="The folder of a flight, or its order.toml.")] = Path("out/latest"),
    out: OutOption = None,
) -> None:
    """Fly the order of an earlier flight again and compare the hashes of the two logs.

    Without a folder it repeats the last flight. The results go to FOLDER/again. Exit code 1 if the hashes differ.
    """
    from ironbird.flight.flight import fly as fly_order
    from ironbird.flight.order import load_order

    with errors():
        source = (flight if flight.is_dir() else flight.parent).resolve()
        order = load_order(source if flight.is_dir() else flight)
        before = _stored_hash(source / "summary.json")
        with progress_bar(f"flying {order.vehicle}") as update, ending_in_order():
            again = fly_order(order, progress=update, folder=out or source / "again", announce=typer.echo)
        code = write_and_print(again, out or source / "again")
    if not again.repeats:
        typer.echo("this control system does not repeat to the bit: compare the verdicts")
    elif before and before != again.sha256:
        typer.secho(f"NOT equal: the earlier log has the hash {before}", fg="red", err=True)
        code = 1
    elif before:
        typer.echo("equal to the earlier flight, bit for bit")
    raise typer.Exit(code)


def set_in_flight(
    folder: Annotated[Path, typer.Argument(help="Folder of a flight that was started with 'ironbird fly … --speed'.")],
    values: Annotated[list[str], typer.Argument(metavar="PATH=VALUE…", help="Tunable parameters and their values.")],
) -> None:
    """Change parameters of a flight while it flies; the changes are recorded and can be replayed."""
    from ironbird.flight.live import tune as tune_flight

    with errors():
        time_s = tune_flight(folder, dict(settings_of(values, option="")))
    typer.echo(f"changed at {time_s:.3f} s of simulation time")


def _stored_hash(summary: Path) -> str:
    """The hash of an earlier flight from its summary; empty if there is none, or the flight was interrupted."""
    import json

    if not summary.is_file():
        return ""
    try:
        stored = json.loads(summary.read_text(encoding="utf-8"))
        return "" if "interrupted" in stored else str(stored.get("sha256", ""))
    except (ValueError, AttributeError, TypeError):
        raise OrderError(f"{summary} is damaged: repeat the order.toml beside it in a folder of its own") from None


def compare(
    flights: Annotated[list[Path], typer.Argument(help="Folders of flights, two to six.")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put kept flights on one page: what was ordered differently, results, curves, where they part.

    Exit code 0 if all logs are equal, else 1. 'ironbird bench autopilots' flies one case under several systems.
    """
    from ironbird.report.flights_page import ordered_differently, partings, read_flight, write_flights_page

    with errors():
        if not 2 <= len(flights) <= MOST_COMPARED:
            raise IronbirdError(f"give 2 to {MOST_COMPARED} folders of flights, not {len(flights)}")
        with working("reading the flights"):
            kept = [read_flight(folder) for folder in flights]
        as_file = out is not None and out.suffix and not out.is_dir()
        where: AbstractContextManager[Path | None] = nullcontext() if as_file else results_folder(out, "compare")
        with where as into, working("writing the page of the comparison"):
            page = into / "compare.html" if into is not None else Path(out or "compare.html")
            write_flights_page(kept, page)
        parted = [partings(kept[0].log, other.log) for other in kept[1:]]
        equal = all(
            not one and len(kept[0].log.time_s) == len(k.log.time_s) for one, k in zip(parted, kept[1:], strict=True)
        )
    if as_json:
        figures = {str(folder): one.summary.get("figures", {}) for folder, one in zip(flights, kept, strict=True)}
        first = [vars(one[0]) if one else None for one in parted]
        data = {"equal": equal, "ordered": ordered_differently(kept), "flights": figures, "parted": first}
        print_json({**data, "page": str(page)}, "ironbird/flight-comparison/1")
        lead_to(page)
    else:
        rows = {key: " | ".join(values) for key, values in ordered_differently(kept).items()}
        rows |= {
            key: " | ".join(str(one.summary.get(key, "-")) for one in kept)
            for key in ("verdict", "outcome", "tracking error")
        }
        for other, one in zip(kept[1:], parted, strict=True):
            rows[f"{kept[0].name} and {other.name}"] = (
                f"part at {one[0].first_s:.3f} s: {one[0].signal}" if one else "equal at common times"
            )
        print_table(rows, " | ".join(one.name for one in kept))
        print_report(page)
    raise typer.Exit(int(not equal))
