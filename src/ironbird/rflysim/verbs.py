"""The verb `rflysim`: vehicles behind RflySim's network interface, as CopterSim puts them there."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ironbird.cli.completion import fitting, offered
from ironbird.cli.exit_codes import code_of, code_of_all
from ironbird.cli.live import FlightLines
from ironbird.cli.options import (
    ControlOption,
    FaultOption,
    FaultsFileOption,
    HomeOption,
    HostOption,
    OutPathOption,
    RequireOption,
    SeedOption,
    SetOption,
    SpeedOption,
    StartOption,
    TurbulenceOption,
    UntilOption,
    WindOption,
    YearOption,
    faults_of,
    home_of,
    order_from,
    pace_of,
    settings_of,
    start_of,
    weather_of,
)
from ironbird.cli.output import ENDS, ending_in_order, errors, lead_to, on_signals
from ironbird.errors import IronbirdError, UnknownNameError
from ironbird.files import option_texts as texts
from ironbird.flight.ends import TIME
from ironbird.rflysim.ports import LOOPBACK, MOST_VEHICLES

if TYPE_CHECKING:
    from ironbird.flight.order import Order
    from ironbird.rflysim.front import RflySimFront
    from ironbird.rig.system import ControlSystem

LONGEST_S = 3600.0  # of a flight, without --until
CONTROLS = ("reference", "truth", "px4")  # who can fly behind these ports
Mode = Literal["udp_full", "udp_simple", "mavlink_full", "mavlink_simple", "mavlink_nosend"]


@offered
def rflysim_modes(incomplete: str) -> Iterable[str]:
    """Communication modes of RflySim."""
    from ironbird.rflysim.modes import MODES

    return fitting(MODES, incomplete)


@dataclass(frozen=True)
class Served:
    """One vehicle of the server: what is flown, and behind which ports."""

    order: Order
    options: dict[str, Any]
    folder: Path
    speed: float | None
    control: str  # reference, truth or px4
    yaw_deg: float  # of the start
    flights: int  # at most; 0 is no limit


def rflysim(
    vehicles: Annotated[int, typer.Option(help="How many.", min=1, max=MOST_VEHICLES)] = 1,
    type_: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="VEHICLE", help="Of the catalogue; may be repeated, the last is for the rest."),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="RflySim communication mode.", autocompletion=rflysim_modes)] = "udp_full",
    start_index: Annotated[int, typer.Option(help="Number of the first vehicle (START_INDEX).", min=1, max=9999)] = 1,
    interval: Annotated[float, typer.Option(help="Metres between vehicles of the grid.", min=0.0, max=1e4)] = 2.0,
    start: StartOption = None,
    home: HomeOption = None,
    year: YearOption = None,
    control: ControlOption = "reference",
    host: HostOption = LOOPBACK,
    shift: Annotated[int, typer.Option(help="Added to every port number.", min=-19000, max=25000)] = 0,
    fault_map: Annotated[Literal["A", "B", "C"], typer.Option(help="Map of RFlySimSafe's fault ids.")] = "A",
    init_params: Annotated[
        str,
        typer.Option(metavar="NUMBER=PATH,…", help=texts.INIT_PARAMS),
    ] = "",
    dyn_params: Annotated[str, typer.Option(metavar="NUMBER=PATH,…", help=texts.DYN_PARAMS)] = "",
    all_truth: Annotated[bool, typer.Option("--all-truth", help="Send the truth in all five structs.")] = False,
    scene: Annotated[bool, typer.Option(help="Feed RflySim3D on UDP 20010.")] = True,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    set_: SetOption = None,
    seed: SeedOption = 0,
    speed: SpeedOption = None,
    until: UntilOption = None,
    flights: Annotated[
        int,
        typer.Option(help=texts.FLIGHTS, min=0),
    ] = 0,
    out: OutPathOption = Path("out/rflysim"),
) -> None:
    """Serve RflySim's network interface: programs written for CopterSim fly the vehicles, unchanged.

    UDP 20100, 20101, 30100, 30101 and 40101 (plus 2 for each further vehicle), heartbeat on 20005, re-placement on
    20002. Every flight leaves a folder with its report; a reboot, a re-placement or a crash begins the next one. Ctrl-C
    ends the session, which is judged on what was flown until then.

    Example: ironbird connect rflysim --vehicles 3 --type quad_f450 --mode udp_simple
    """
    with errors():
        factor = pace_of(speed or "1")
        if control not in CONTROLS:
            raise UnknownNameError("control system", str(control), CONTROLS, "connect rflysim")
        types = type_ or ["quad_f450"]
        from_north, from_east, yaw = start_of(start)
        weather, settings = weather_of(wind, turbulence), settings_of(set_)
        served = []
        for number in range(vehicles):
            vehicle = types[min(number, len(types) - 1)]
            north, east = grid_place(number, vehicles, interval)
            north, east = north + from_north, east + from_east
            order = order_from(
                vehicle,
                control="px4" if control == "px4" else "commanded",
                weather=weather,
                settings=settings,
                faults=faults_of(fault, faults_file),
                requirements=require or [],
                until_s=until or LONGEST_S,
                ends=TIME,  # its clients command what is flown
                place=home_of(home, year, vehicle),
            )
            options = {
                "vehicle_id": start_index + number, "mode": mode, "host": host, "shift": shift, "map_north_m": north,
                "map_east_m": east, "fault_map": fault_map, "init_params": init_params, "dyn_params": dyn_params,
                "all_truth": all_truth, "scene": scene,
            }  # fmt: skip
            folder = out / str(start_index + number)
            order = replace(order, seed=seed + number, options={"state": "truth"} if control == "truth" else {})
            served.append(Served(order, options, folder, factor, control, yaw, flights))
        code = serve(served)
    raise typer.Exit(code)


def grid_place(number: int, count: int, interval_m: float) -> tuple[float, float]:
    """North and east of a vehicle on CopterSim's square grid: rows of ceil(sqrt(count)), filled one after another."""
    side = math.ceil(math.sqrt(count))
    return interval_m * (number // side), interval_m * (number % side)


def serve(served: list[Served]) -> int:
    """Each vehicle in a process of its own, the only one in this; returns the exit code."""
    typer.echo("Ctrl-C ends the flights and judges them", err=True)
    if len(served) == 1:
        with ending_in_order():
            return serve_one(served[0])
    from multiprocessing import get_context

    from ironbird.flight.prepare import fit

    fit(served[0].order).model.library(1)  # compiled once, and what is loaded here is shared by all
    context = get_context("fork")
    parent = os.getpid()
    workers = [context.Process(target=_work, args=(one, parent)) for one in served]
    for worker in workers:
        worker.start()
    with ending_in_order():
        try:
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join()
    return code_of_all([worker.exitcode if worker.exitcode is not None else 1 for worker in workers])


def _work(one: Served, parent: int) -> None:
    from ironbird.campaign.worker import begin_worker

    begin_worker(parent)
    code = 2
    with ending_in_order():
        try:
            code = serve_one(one)
        except KeyboardInterrupt:
            code = 130
        except IronbirdError as error:
            typer.secho(f"vehicle {one.options['vehicle_id']}: {error}", fg="red", err=True)
    os._exit(code)


def serve_one(one: Served) -> int:
    """Fly one vehicle again and again; returns the exit code of the last flight."""
    from ironbird.flight.flight import fly
    from ironbird.flight.pose import start_settings
    from ironbird.report.folder import write_flight_folder

    order, options, yaw_deg, number = one.order, dict(one.options), one.yaw_deg, 0
    while True:
        number += 1
        folder = one.folder / str(number)
        front, system = _seated(one.control, options, folder)
        facing = start_settings(order, yaw_deg=yaw_deg)
        lines = FlightLines(f"vehicle {front.ports.vehicle}", begin=False)
        flight = fly(
            replace(order, settings={**facing, **order.settings}),
            control=system,
            speed=None if one.speed == math.inf else one.speed,
            on_event=lines.event,
        )
        with on_signals(signal.SIG_IGN, (signal.SIGINT, *ENDS)):  # what was flown is not lost
            write_flight_folder(flight, folder)
        code = code_of(flight)
        typer.echo(
            f"vehicle {front.ports.vehicle}, flight {number}: {flight.verdict}, {flight.ended_s:.1f} s; "
            f"report: {folder / 'flight.html'}"
        )
        lead_to(folder / "flight.html")
        if flight.log.interrupted or number == one.flights or not (front.finished or flight.stop):
            return code
        if front.placement is not None:
            order, options = _placed(order, options, front)
            yaw_deg = front.placement.yaw_deg


def _seated(control: str, options: dict[str, Any], folder: Path) -> tuple[RflySimFront, ControlSystem]:
    """The front end of a vehicle, and who flies it."""
    from ironbird.autopilots.px4.process import Px4Process
    from ironbird.rflysim.front import RflySimFront
    from ironbird.rflysim.px4 import Px4Front, ServedPx4
    from ironbird.systems.commanded.kind import CommandedSystem

    if control == "px4":
        behind = Px4Front(options)
        folder.mkdir(parents=True, exist_ok=True)
        return behind, ServedPx4(behind, Px4Process(keep=folder), announce=typer.echo)
    front = RflySimFront(options)
    return front, CommandedSystem(front, sees_truth=control == "truth", announce=typer.echo)


def _placed(order: Order, options: dict[str, Any], front: RflySimFront) -> tuple[Order, dict[str, Any]]:
    """The order and options of a vehicle that was placed again."""
    asked = front.placement
    assert asked is not None
    if asked.origin is not None:
        latitude, longitude, height = asked.origin
        moved = {"latitude_deg": latitude, "longitude_deg": longitude, "height_m": height}
        order = replace(order, place=front.origin.model_copy(update=moved))
    return order, {**options, "map_north_m": asked.map_north_m, "map_east_m": asked.map_east_m}
