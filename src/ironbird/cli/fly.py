"""Verbs that fly one order: `fly`, `repeat`, `tune`; `compare` of kept flights; `systems` lists who may fly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ironbird.cli.options import (
    ControlOption,
    FaultOption,
    FaultsFileOption,
    GustOption,
    HomeOption,
    MissionOption,
    OptionOption,
    OutOption,
    RequireOption,
    SeedOption,
    SetOption,
    SightOption,
    TurbulenceOption,
    UntilOption,
    VehicleArgument,
    WindOption,
    WorldOption,
    faults_of,
    home_of,
    options_of,
    order_from,
    settings_of,
    sight_of,
    start_of,
    weather_of,
)
from ironbird.cli.output import (
    JsonOption,
    ending_in_order,
    errors,
    print_table,
    progress_bar,
    results_folder,
    write_and_print,
)
from ironbird.errors import IronbirdError, OrderError

UlogOption = Annotated[bool, typer.Option("--ulog", help="Also write a PX4 ULog file.")]
MOST_COMPARED = 6  # flights on one page
CsvOption = Annotated[bool, typer.Option("--csv", help="Also write a CSV file.")]


PlanOption = Annotated[
    Path | None,
    typer.Option(help="A QGroundControl .plan or waypoint file that a control system outside flies instead."),
]
StartOption = Annotated[
    str | None,
    typer.Option(metavar="NORTH,EAST[,YAW]", help="Where it starts, in m from home, and its heading in degrees."),
]
LogStepOption = Annotated[
    float, typer.Option(help="Seconds between two rows of the log, a multiple of the step (0.002).", min=0.001)
]
IntegrationOption = Annotated[
    str,
    typer.Option(
        metavar="METHOD@STEP",
        help="Integration in place of the vehicle's own, such as rk4@0.001: Runge-Kutta of order 4, 1 ms steps.",
    ),
]
SpeedOption = Annotated[
    float | None,
    typer.Option(help="Keep to the wall clock at this factor and listen to 'ironbird tune'.", min=0.01, max=100),
]
ReplayOption = Annotated[
    Path | None, typer.Option(help="A tunings.json of an earlier flight: the same changes at the same ticks.")
]


def fly(
    vehicle: VehicleArgument,
    mission: MissionOption = None,
    plan: PlanOption = None,
    control: ControlOption = None,
    option: OptionOption = None,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    gust: GustOption = None,
    home: HomeOption = None,
    world: WorldOption = "",
    sight: SightOption = None,
    start: StartOption = None,
    seed: SeedOption = 0,
    set_: SetOption = None,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    until: UntilOption = None,
    log_step: LogStepOption = 0.02,
    integration: IntegrationOption = "",
    out: OutOption = None,
    speed: SpeedOption = None,
    replay: ReplayOption = None,
    ulog: UlogOption = False,
    csv: CsvOption = False,
) -> None:
    """Fly a mission, judge it, and write a log (Parquet) and a page with plots.

    With faults, a twin without them flies in the same wind, and the difference is each fault's witness. Ctrl-C ends the
    flight early; what was flown until then is kept. 'ironbird repeat FOLDER' flies the same order again.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (a fault did not act), 130 interrupted.

    Example: ironbird fly quad_f450 --wind 5,270 --fault 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'
    """
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import fly as fly_order
    from ironbird.flight.live import LiveControl
    from ironbird.flight.pose import start_settings
    from ironbird.flight.systems import is_outside
    from ironbird.runtime.tuning import read_tunings

    live = None
    with errors():
        order = order_from(
            vehicle,
            mission=str(plan) if plan is not None else mission,
            control=control,
            options=options_of(option),
            weather=weather_of(wind, turbulence, gust),
            place=home_of(home),
            world=world,
            sight=sight_of(sight),
            seed=seed,
            settings=settings_of(set_),
            faults=faults_of(fault, faults_file),
            requirements=require or [],
            until_s=until,
            log_s=log_step,
            integration=integration,
            tunings=read_tunings(replay) if replay else (),
        )
        if start is not None:
            order = replace(order, settings={**start_settings(order, *start_of(start)), **order.settings})
        with results_folder(out, Path(vehicle).stem) as folder:
            if speed is not None and not is_outside(order.control):
                live = LiveControl(folder)
                typer.echo(f"listening: ironbird tune {folder} PATH=VALUE", err=True)
            try:
                with progress_bar(f"flying {vehicle}") as update, ending_in_order():
                    flight = fly_order(
                        order,
                        progress=update,
                        speed=speed,
                        live=live,
                        folder=folder,
                        announce=typer.echo,
                        trust=Trust.by_hand(order.options),
                    )
            finally:
                if live is not None:
                    live.close()
            code = write_and_print(flight, folder, ulog=ulog, csv=csv)
    raise typer.Exit(code)


def repeat(
    flight: Annotated[Path, typer.Argument(help="The folder of a flight, or its order.toml.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the results; FOLDER/again by default.")] = None,
) -> None:
    """Fly the order of an earlier flight again and compare the hashes of the two logs. Exit code 1 if they differ."""
    from ironbird.flight.flight import fly as fly_order
    from ironbird.flight.order import load_order

    with errors():
        source = flight if flight.is_dir() else flight.parent
        order = load_order(flight)
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


def tune(
    folder: Annotated[Path, typer.Argument(help="Folder of a flight started with 'fly … --speed'.")],
    values: Annotated[list[str], typer.Argument(metavar="PATH=VALUE…", help="Tunable parameters and their values.")],
) -> None:
    """Change parameters of a flight while it flies; the changes are recorded and can be replayed."""
    from ironbird.flight.live import tune as tune_flight

    with errors():
        time_s = tune_flight(folder, dict(settings_of(values, option="")))
    typer.echo(f"changed at {time_s:.3f} s of simulation time")


def systems(as_json: JsonOption = False) -> None:
    """List the control systems that may fly an order, with the options of those outside."""
    import json

    from ironbird.flight.systems import INSIDE, OUTSIDE, kind_of

    with errors():
        data: list[dict[str, Any]] = [
            {"name": name, "title": title, "outside": False} for name, title in INSIDE.items()
        ]
        for name in OUTSIDE:
            try:
                kind = kind_of(name)
            except IronbirdError as error:  # the others are listed all the same
                data.append({"name": name, "title": name, "outside": True, "summary": str(error), "options": {}})
                continue
            options = kind.choices()
            data.append(
                {"name": name, "title": kind.title, "outside": True, "summary": kind.summary, "options": options}
            )
    if as_json:
        typer.echo(json.dumps(data, indent=2))
        return
    rows = {}
    for entry in data:
        lines = [entry.get("summary") or f"{entry['title']}; part of the vehicle's own diagram"]
        lines += [f"  --option {key}=…  {text}" for key, text in entry.get("options", {}).items()]
        rows[entry["name"]] = "\n".join(lines)
    print_table(rows, "Control systems")


def _stored_hash(summary: Path) -> str:
    """The hash of an earlier flight from its summary; empty if there is none, or the flight was interrupted."""
    import json

    if not summary.is_file():
        return ""
    try:
        said = json.loads(summary.read_text(encoding="utf-8"))
        return "" if "interrupted" in said else str(said.get("sha256", ""))
    except (ValueError, AttributeError, TypeError):
        raise OrderError(f"{summary} is damaged: repeat the order.toml beside it in a folder of its own") from None


def compare(
    flights: Annotated[list[Path], typer.Argument(help="Folders of flights, two to six.")],
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("out/compare.html"),
    as_json: JsonOption = False,
) -> None:
    """Put kept flights on one page: what was ordered differently, results, curves, where they part.

    Exit code 0 if all logs are equal, else 1. 'ironbird compare-autopilots' flies one case under several systems.
    """
    import json

    from ironbird.report.flights_page import ordered_differently, partings, read_flight, write_flights_page

    with errors():
        if not 2 <= len(flights) <= MOST_COMPARED:
            raise IronbirdError(f"give two to {MOST_COMPARED} folders of flights, not {len(flights)}")
        kept = [read_flight(folder) for folder in flights]
        write_flights_page(kept, out)
        parted = [partings(kept[0].log, other.log) for other in kept[1:]]
        equal = all(
            not one and len(kept[0].log.time_s) == len(k.log.time_s) for one, k in zip(parted, kept[1:], strict=True)
        )
    if as_json:
        figures = {str(folder): one.summary.get("figures", {}) for folder, one in zip(flights, kept, strict=True)}
        first = [vars(one[0]) if one else None for one in parted]
        typer.echo(
            json.dumps({"equal": equal, "ordered": ordered_differently(kept), "flights": figures, "parted": first})
        )
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
        typer.echo(f"report: {out}")
    raise typer.Exit(int(not equal))
