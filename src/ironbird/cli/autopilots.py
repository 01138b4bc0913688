"""The verbs `ironbird sitl` and `ironbird compare-autopilots`: real autopilots fly the vehicles of the catalogue."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ironbird.cli.output import fail, print_table, progress_bar, settings_of, wind_of
from ironbird.errors import IronbirdError, LinkError

if TYPE_CHECKING:
    from ironbird.campaign.sitl import Order
    from ironbird.flight.flight import Flight

INTERRUPTED = 128 + signal.SIGINT  # exit code
ENDS = (signal.SIGTERM, signal.SIGHUP)  # end us as Ctrl-C does
Handler = Callable[[int, FrameType | None], Any] | int | None

sitl_app = typer.Typer(
    no_args_is_help=True,
    help="Fly with PX4 or ArduPilot in lockstep: started, armed, flown, landed, ended; nothing is left behind.",
)

VehicleOption = Annotated[
    str, typer.Option(help="A vehicle of the catalogue (see 'ironbird vehicles') or a TOML file.")
]
MissionOption = Annotated[
    str | None,
    typer.Option(help="A QGroundControl .plan, a waypoint file (WPL 110), or a mission of ours; the vehicle's own."),
]
SpeedOption = Annotated[
    str | None,
    typer.Option(
        metavar="max|FACTOR", help="As fast as it goes, or times real time; by default max, with '--pilot none' 1."
    ),
]
PilotOption = Annotated[
    Literal["ours", "none"],
    typer.Option(
        help="Who commands: our ground station flies the mission; or none of ours, so that QGroundControl, MAVSDK, "
        "MAVProxy or a script may: their ports are printed, the run ends after landing and disarming."
    ),
]
CountOption = Annotated[int, typer.Option("-n", "--count", help="Vehicles at the same time.", min=1, max=10)]
HeadlessOption = Annotated[
    bool, typer.Option("--headless", help="Do not feed a ground station on UDP 14550 (QGroundControl) beside ours.")
]
WindOption = Annotated[str | None, typer.Option(metavar="SPEED[,FROM_DEG]", help="Steady wind in m/s.")]
TurbulenceOption = Annotated[float, typer.Option(help="Dryden turbulence: mean wind at 20 ft in m/s.", min=0, max=60)]
FaultOption = Annotated[
    list[str] | None, typer.Option(metavar="ID:key=value,…", help="A fault, as for 'ironbird fly'; may be repeated.")
]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="A parameter of the vehicle.")]
SeedOption = Annotated[int, typer.Option(help="Seed of wind and sensors.", min=0)]
UntilOption = Annotated[float, typer.Option(help="End after this many seconds of simulation time.", min=1)]
OutOption = Annotated[Path | None, typer.Option(help="Folder for the results; out/AUTOPILOT-VEHICLE by default.")]


@sitl_app.command("px4")
def px4(
    vehicle: VehicleOption = "quad_f450",
    folder: Annotated[
        str | None, typer.Option("--px4", help="PX4's build folder; by default IRONBIRD_PX4, then the PATH.")
    ] = None,
    mission: MissionOption = None,
    pilot: PilotOption = "ours",
    speed: SpeedOption = None,
    count: CountOption = 1,
    headless: HeadlessOption = False,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    fault: FaultOption = None,
    set_: SetOption = None,
    seed: SeedOption = 0,
    until: UntilOption = 600.0,
    out: OutOption = None,
) -> None:
    """Fly a mission with PX4. PX4 itself sends to QGroundControl on UDP 14550; our own ground station flies it."""
    orders = _orders(
        "px4", vehicle, folder, mission, pilot, speed, count, headless, wind, turbulence, fault, set_, seed, until, out
    )
    _fly(orders, out or Path("out") / f"px4-{Path(vehicle).stem}")


@sitl_app.command("ardupilot")
def ardupilot(
    vehicle: VehicleOption = "quad_f450",
    folder: Annotated[
        str | None,
        typer.Option("--ardupilot", help="Folder with arducopter, …; by default IRONBIRD_ARDUPILOT, then the PATH."),
    ] = None,
    mission: MissionOption = None,
    pilot: PilotOption = "ours",
    speed: SpeedOption = None,
    count: CountOption = 1,
    headless: HeadlessOption = False,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    fault: FaultOption = None,
    set_: SetOption = None,
    seed: SeedOption = 0,
    until: UntilOption = 600.0,
    out: OutOption = None,
) -> None:
    """Fly a mission with ArduPilot."""
    orders = _orders(
        "ardupilot", vehicle, folder, mission, pilot, speed, count, headless, wind, turbulence, fault, set_, seed,
        until, out,
    )  # fmt: skip
    _fly(orders, out or Path("out") / f"ardupilot-{Path(vehicle).stem}")


def _orders(
    autopilot: str, vehicle: str, folder: str | None, mission: str | None, pilot: str, speed: str | None, count: int,
    headless: bool, wind: str | None, turbulence: float, faults: list[str] | None, settings: list[str] | None,
    seed: int, until: float, out: Path | None,
) -> list[Order]:  # fmt: skip
    from ironbird.campaign.sitl import Order

    speed = speed or ("max" if pilot == "ours" else "1")
    try:
        factor = None if speed == "max" else float(speed)
        if factor is not None and not 0.01 <= factor <= 100:
            raise ValueError
    except ValueError:
        fail(IronbirdError(f"--speed '{speed}': give 'max' or a factor from 0.01 to 100"))
    base = out or Path("out") / f"{autopilot}-{Path(vehicle).stem}"
    try:
        return [
            Order(
                autopilot, vehicle, mission=mission, where=folder, wind=wind_of(wind, turbulence),
                faults=tuple(faults or ()), settings=settings_of(settings or []), seed=seed + number, until_s=until,
                speed=factor, instance=number if count > 1 else None, keep=str(_place(base, number, count)),
                feed_ground_station=not headless and number == 0, pilot=pilot,
            )
            for number in range(count)
        ]  # fmt: skip
    except IronbirdError as error:
        fail(error)


def _place(base: Path, number: int, count: int) -> Path:
    return base if count == 1 else base / str(number)


def fly_one(order: Order, progress: Callable[[float], None] | None = None) -> dict[str, str]:
    """Fly one order and write its results; returns the summary."""
    from ironbird.campaign.sitl import fly_sitl

    with _on_signals(signal.default_int_handler, ENDS):  # as on Ctrl-C: in order
        flight = fly_sitl(order, progress, announce=typer.echo)
    assert order.keep is not None
    with _on_signals(signal.SIG_IGN, (signal.SIGINT, *ENDS)):  # what was flown is not lost
        return write_results(flight, Path(order.keep))


@contextmanager
def _on_signals(handler: Handler, numbers: Sequence[signal.Signals]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin_worker(parent: int) -> None:
    """A worker ends with its parent, and in flight on SIGTERM; Ctrl-C reaches it through its parent."""
    from ironbird.campaign.worker import begin_worker

    begin_worker(parent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _fly_all(orders: Sequence[Order]) -> list[dict[str, str]]:
    """Each in a process of its own; when we are interrupted, they are, and write their results."""
    with ProcessPoolExecutor(
        len(orders), mp_context=get_context("spawn"), initializer=_begin_worker, initargs=(os.getpid(),)
    ) as pool, _on_signals(signal.default_int_handler, ENDS):  # fmt: skip
        flights = [pool.submit(fly_one, order) for order in orders]
        try:
            return [flight.result() for flight in flights]
        except KeyboardInterrupt:
            for worker in active_children():
                worker.terminate()
            return [flight.result() for flight in flights]


def write_results(flight: Flight, folder: Path) -> dict[str, str]:
    """The log, the page, the summary and what the control system said; returns the summary."""
    from ironbird.flight.belief import Belief, beside
    from ironbird.flight.outside import reactions
    from ironbird.report.flight_page import write_flight_page

    folder.mkdir(parents=True, exist_ok=True)
    flight.log.to_parquet(folder / "flight.parquet")
    belief = beside(flight)
    if isinstance(belief, Belief):
        belief.write(folder / "autopilot.parquet")
    write_flight_page(flight, folder / "flight.html", belief)
    said = [{"time_s": h.time_s, "kind": h.kind, "text": h.text} for h in flight.happenings]
    (folder / "happenings.json").write_text(json.dumps(said, indent=1) + "\n")
    rows = flight.summary()
    for number, reaction in enumerate(reactions(flight), start=1):
        rows[f"reaction {number}"] = reaction.sentence()
    if belief is not None:
        rows["autopilot's log"] = str(belief)
    if flight.log.interrupted:
        rows["interrupted"] = "by a signal; these are the results so far"
    (folder / "summary.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    return rows


def _fly(orders: Sequence[Order], base: Path) -> None:
    try:
        if len(orders) == 1:
            with progress_bar(f"{orders[0].autopilot} flies {orders[0].vehicle}") as update:
                found = [fly_one(orders[0], update)]
        else:
            found = _fly_all(orders)
    except LinkError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        typer.echo(f"what the autopilot left: {base}", err=True)
        raise typer.Exit(2) from None
    except IronbirdError as error:
        fail(error)
    for order, rows in zip(orders, found, strict=True):
        print_table(rows, f"{order.autopilot}, {order.vehicle}" + (f", {order.instance}" if len(orders) > 1 else ""))
        typer.echo(f"report: {Path(str(order.keep)) / 'flight.html'}")
    if any("interrupted" in rows for rows in found):
        raise typer.Exit(INTERRUPTED)


def compare_autopilots(
    case: Annotated[str, typer.Argument(help="A case file with one case, or FILE:CASE.")],
    px4: Annotated[str | None, typer.Option(help="PX4's build folder.")] = None,
    ardupilot: Annotated[str | None, typer.Option(help="ArduPilot's folder.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/compare-autopilots"),
) -> None:
    """Fly one case on PX4, ArduPilot and the reference autopilot, and put them on one page."""
    from ironbird.campaign.compare import compare, first_flight
    from ironbird.report.compare_page import write_compare_page

    try:
        flown = compare(first_flight(case), {"px4": px4, "ardupilot": ardupilot}, out)
        for one in flown:
            if one.flight is not None:
                write_results(one.flight, out / one.name)
        write_compare_page(flown, out / "comparison.html")
    except IronbirdError as error:
        fail(error)
    print_table({f.name: f.sentence() for f in flown}, case)
    typer.echo(f"report: {out / 'comparison.html'}")
