"""Verbs about autopilots: real ones fly the catalogue, and the reference autopilot runs behind their protocols."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ironbird.cli.exit_codes import WRONG, code_of, code_of_all, code_of_ending
from ironbird.cli.options import (
    ControlArgument,
    FaultOption,
    FaultsFileOption,
    HomeYawOption,
    ParamOption,
    ParamsOption,
    PlanMissionOption,
    RequireOption,
    SeedOption,
    SetOption,
    SightOption,
    TurbulenceOption,
    VehicleOption,
    WindOption,
    WorldOption,
    faults_of,
    home_and_yaw,
    order_from,
    pace_of,
    params_of,
    settings_of,
    sight_of,
    weather_of,
)
from ironbird.cli.output import ENDS, ending_in_order, errors, on_signals, print_table, progress_bar
from ironbird.cli.route import LinkOption, RuleOption, SaveOption, figures_of, text_of
from ironbird.errors import IronbirdError, LinkError, UnknownNameError
from ironbird.files.whole import write_text

if TYPE_CHECKING:
    from ironbird.flight.order import Order


FolderOption = Annotated[
    str | None,
    typer.Option(
        "--folder",
        "--px4",
        "--ardupilot",
        help="Where the autopilot is: PX4's build folder, the folder with arducopter; by default IRONBIRD_PX4 or "
        "IRONBIRD_ARDUPILOT, then the PATH.",
    ),
]
PilotOption = Annotated[
    Literal["ours", "none", "sticks"],
    typer.Option(
        help="Who commands: 'ours', the built-in ground station, flies the mission; with 'none' QGroundControl, "
        "MAVSDK, MAVProxy or a script may: their ports are printed, the run ends after landing and disarming; "
        "'sticks' fly a multicopter of PX4 to the mission's places in position mode."
    ),
]
SpeedOption = Annotated[
    str | None,
    typer.Option(
        metavar="max|FACTOR", help="As fast as it goes, or times real time; by default max, with '--pilot none' 1."
    ),
]
TimeOption = Annotated[
    Literal["real", "virtual", "paced"],
    typer.Option(
        help="The autopilot's clock: the wall's; the simulation's, so that the flight repeats to the last byte; or "
        "that held to the wall clock."
    ),
]
ChipsOption = Annotated[
    str,
    typer.Option(
        help="A board (pilotpi) whose chips the autopilot's own drivers read; the program is its build for that "
        "board, named by IRONBIRD_PX4_PILOTPI or IRONBIRD_ARDUPILOT_PILOTPI."
    ),
]
HeadlessOption = Annotated[
    bool, typer.Option("--headless", help="Do not feed a ground station on UDP 14550 (QGroundControl).")
]
TwinOption = Annotated[
    bool,
    typer.Option(
        "--twin", help="With --time virtual: fly the same without faults too, and list what the faults caused."
    ),
]
FlightsOption = Annotated[
    int,
    typer.Option(
        help="With --pilot none: after how many flights, each with a landing and disarming, the run ends; 0: it "
        "goes on until --until or Ctrl-C.",
        min=0,
        max=1000,
    ),
]
InstanceOption = Annotated[
    int | None, typer.Option(help="Number that its ports follow; by default a free one.", min=0, max=9)
]


def sitl(
    autopilot: ControlArgument,
    vehicle: VehicleOption = "quad_f450",
    folder: FolderOption = None,
    mission: PlanMissionOption = None,
    pilot: PilotOption = "ours",
    speed: SpeedOption = None,
    time: TimeOption = "real",
    chips: ChipsOption = "",
    count: Annotated[int, typer.Option("-n", "--count", help="Vehicles at the same time.", min=1, max=10)] = 1,
    headless: HeadlessOption = False,
    link: LinkOption = None,
    rule: RuleOption = None,
    save: SaveOption = None,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    set_: SetOption = None,
    param: ParamOption = None,
    params: ParamsOption = None,
    twin: TwinOption = False,
    home: HomeYawOption = None,
    flights: FlightsOption = 1,
    world: WorldOption = "",
    sight: SightOption = None,
    instance: InstanceOption = None,
    seed: SeedOption = 0,
    until: Annotated[float, typer.Option(help="End after this many seconds of simulation time.", min=1)] = 600.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; out/AUTOPILOT-VEHICLE by default.")] = None,
) -> None:
    """Fly with PX4 or ArduPilot in lockstep: start it, upload the mission, arm, fly, land, end it and clean up.

    Exit code: 0 landed (a vehicle on wheels or in water: disarmed) with every requirement held, 1 a requirement is
    broken, 2 error (the autopilot is missing or does not answer), 3 void (a fault did not act), 4 crashed, 5 never
    airborne, 6 still flying at the end, 7 disarmed in the air, 130 interrupted. Of several flights: 0 if each has 0.

    With --time virtual the row sha256 is the same each time; without, it identifies this flight. Variables
    PX4_PARAM_NAME are parameters of PX4, as its own start-up has them; --params and --param win over them.

    Example: ironbird sitl px4 --vehicle quad_f450 --mission square --wind 5,270 --turbulence 7.7
    """
    from ironbird.autopilots.kind import AutopilotKind
    from ironbird.flight.pose import start_settings
    from ironbird.flight.systems import kind_of, loadable_kinds
    from ironbird.transport.router.beside import routed

    with errors():
        known = [kind.name for kind in loadable_kinds() if isinstance(kind, AutopilotKind)]
        if autopilot not in known:
            raise UnknownNameError("autopilot", autopilot, known)
        kind = kind_of(autopilot)
        place, yaw = home_and_yaw(home)
        order = order_from(
            vehicle,
            mission=mission,
            control=autopilot,
            weather=weather_of(wind, turbulence),
            settings=settings_of(set_),
            faults=faults_of(fault, faults_file),
            requirements=require or [],
            until_s=until,
            place=place,
            world=world,
            sight=sight_of(sight),
        )
        if yaw:
            order = replace(order, settings={**start_settings(order, yaw_deg=yaw), **order.settings})
        if flights != 1 and pilot != "none":
            raise IronbirdError("--flights counts flights of another ground station: add --pilot none")
        base = out or Path("out") / f"{autopilot}-{Path(vehicle).stem}"
        options: dict[str, Any] = {"pilot": pilot, **({"folder": folder} if folder else {})}
        options |= {"time": time} if time != "real" else {}
        quiet = headless and pilot != "none" and "quiet" in kind.options.model_fields and time == "real" and not chips
        options |= {"quiet": True} if quiet else {}
        options |= {"flights": flights} if flights != 1 else {}
        own = params_of(autopilot, params or [], param or [])
        options |= {"params": own} if own else {}
        options |= {"chips": chips} if chips else {}
        orders = _numbered(replace(order, seed=seed, options=options), count, instance, ground_station=not headless)
        folders = [base if count == 1 else base / str(number) for number in range(count)]
        if twin and time == "real":
            raise IronbirdError("--twin needs a flight that repeats: add --time virtual")
        with routed(link or [], rule or [], save=save) as router:
            code = _fly(orders, folders, pace_of(speed or ("max" if pilot == "ours" else "1")), twin)
        if router is not None:
            typer.echo(text_of(figures_of(router), values=False))
    raise typer.Exit(code)


def _numbered(order: Order, count: int, instance: int | None, *, ground_station: bool) -> list[Order]:
    """The orders of several vehicles at once: each has its own seed and ports, the first the ground station."""
    orders = []
    for number in range(count):
        options = {**order.options, "ground_station": ground_station and number == 0}
        if instance is not None or count > 1:
            options["instance"] = (instance or 0) + number
        orders.append(replace(order, seed=order.seed + number, options=options))
    return orders


def fly_one(
    order: Order,
    folder: Path,
    speed: float | None,
    twin: bool = False,
    progress: Callable[[float], None] | None = None,
) -> tuple[dict[str, str], dict[str, Any], int]:
    """Fly an order of the command line, with `twin` also without faults, and write its results.

    Returns texts, figures and the exit code.
    """
    from ironbird.files.trust import Trust
    from ironbird.flight.cause import cause_of, fly_healthy
    from ironbird.flight.ending import ending_of
    from ironbird.flight.flight import fly
    from ironbird.protocols.plan_file import TOUCHES
    from ironbird.report.folder import clear_flight_folder, write_flight_folder
    from ironbird.rig.mission_plan import class_of

    trust = Trust.by_hand(order.options)
    clear_flight_folder(folder)  # if this one fails, nothing there passes for its result
    with ending_in_order():
        flight = fly(order, folder=folder, speed=speed, progress=progress, announce=typer.echo, trust=trust)
    with on_signals(signal.SIG_IGN, (signal.SIGINT, *ENDS)):  # what was flown is not lost
        rows = write_flight_folder(flight, folder)
    if twin and order.faults:
        with ending_in_order():
            healthy = fly_healthy(flight, folder / "healthy", trust)
        write_flight_folder(healthy, folder / "healthy")
        rows = {name: text for name, text in rows.items() if not name.startswith("reaction ")}  # what merely came next
        rows |= cause_of(flight, healthy).rows()
    ending = ending_of(flight)
    rows["ending"] = ending
    figures = {**flight.figures(), "ending": ending, "folder": str(folder)}
    summary = {**rows, "figures": figures}
    write_text(folder / "summary.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return rows, figures, code_of_ending(flight, class_of(flight.vehicle) in TOUCHES, ending)


def _begin_worker(parent: int) -> None:
    """A worker ends with its parent, and in flight on SIGTERM; Ctrl-C reaches it through its parent."""
    from ironbird.campaign.worker import begin_worker

    begin_worker(parent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _fly_all(
    orders: Sequence[Order], folders: Sequence[Path], speed: float | None, twin: bool
) -> list[tuple[dict[str, str], dict[str, Any], int]]:
    """Each in a process of its own; when this one is interrupted, they are, and write their results."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    with (
        ProcessPoolExecutor(
            len(orders), mp_context=get_context("spawn"), initializer=_begin_worker, initargs=(os.getpid(),)
        ) as pool,
        ending_in_order(),
    ):
        flights = [
            pool.submit(fly_one, order, folder, speed, twin) for order, folder in zip(orders, folders, strict=True)
        ]
        try:
            return [flight.result() for flight in flights]
        except KeyboardInterrupt:
            for worker in active_children():
                worker.terminate()
            return [flight.result() for flight in flights]


def _fly(orders: Sequence[Order], folders: Sequence[Path], speed: float | None, twin: bool) -> int:
    control, vehicle = orders[0].control, orders[0].vehicle
    try:
        if len(orders) == 1:
            with progress_bar(f"{control} flies {vehicle}") as update:
                found = [fly_one(orders[0], folders[0], speed, twin, update)]
        else:
            found = _fly_all(orders, folders, speed, twin)
    except LinkError as error:
        left = [str(folder) for folder in folders if folder.is_dir() and any(folder.iterdir())]
        raise LinkError(f"{error}" + (f"\nwhat the autopilot left: {', '.join(left)}" if left else "")) from None
    for number, ((rows, figures, _), folder) in enumerate(zip(found, folders, strict=True)):
        print_table(rows, f"{control}, {vehicle}" + (f", {number}" if len(orders) > 1 else ""), figures)
        typer.echo(f"report: {folder / 'flight.html'}")
    codes = [code for *_, code in found]
    return codes[0] if len(codes) == 1 else code_of_all(codes)


def compare_autopilots(
    case: Annotated[str, typer.Argument(help="A case file with one case, or FILE:CASE.")],
    control: Annotated[
        list[str] | None,
        typer.Option(help="A control system; may be repeated. By default reference, px4 and ardupilot."),
    ] = None,
    px4: Annotated[str | None, typer.Option(help="PX4's build folder.")] = None,
    ardupilot: Annotated[str | None, typer.Option(help="ArduPilot's folder.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/compare-autopilots"),
) -> None:
    """Fly one case under several control systems and put them on one page. Exit code 1 if any did not pass."""
    from ironbird.campaign.compare import compare, first_flight
    from ironbird.report.compare_page import write_compare_page
    from ironbird.report.folder import write_flight_folder

    with errors():
        folders = {"px4": px4, "ardupilot": ardupilot}
        systems: dict[str, dict[str, Any]] = {}
        for name in control or ("reference", "px4", "ardupilot"):
            folder = folders.get(name)
            systems[name] = {"folder": folder} if folder else {}
        flown = compare(first_flight(case), systems, out)
        for one in flown:
            if one.flight is not None:
                write_flight_folder(one.flight, out / one.name)
        write_compare_page(flown, out / "comparison.html")
    figures = {one.name: one.flight.figures() if one.flight is not None else None for one in flown}
    print_table({one.name: one.sentence() for one in flown}, case, figures)
    typer.echo(f"report: {out / 'comparison.html'}")
    raise typer.Exit(code_of_all([code_of(one.flight) if one.flight is not None else WRONG for one in flown]))


def autopilot(
    vehicle: Annotated[str, typer.Option(help="Whose control system it is.")] = "quad_f450",
    px4: Annotated[bool, typer.Option("--px4-protocol", help="Connect to a simulator as PX4 does.")] = False,
    ardupilot: Annotated[
        bool, typer.Option("--ardupilot-protocol", help="Speak to a simulator as ArduPilot does.")
    ] = False,
    port: Annotated[int | None, typer.Option(help="4560 (TCP) or 9002 (UDP) by default.", min=1, max=65535)] = None,
    serial: Annotated[
        str | None, typer.Option(help="As a PX4 board on this serial port, for 'ironbird hil --port'.")
    ] = None,
    udp: Annotated[
        int | None, typer.Option(help="As a PX4 board on UDP, for 'ironbird hil --udp'.", min=1, max=65535)
    ] = None,
    baud: Annotated[int, typer.Option(help="Of the serial port.", min=1200, max=12_000_000)] = 921_600,
    host: Annotated[str, typer.Option(help="Where the simulator runs.")] = "127.0.0.1",
    mission: Annotated[str | None, typer.Option(help="By default the vehicle's own.")] = None,
    arm_after: Annotated[float | None, typer.Option(help="Simulation time of the first arming, s.", min=0.0)] = None,
) -> None:
    """Run the reference autopilot in a process of its own behind the protocol of PX4 or ArduPilot.

    For trying a simulator's link without their binaries: it flies the mission by itself, from what comes over the link.
    As a board it prints at the end what it received.
    """
    from ironbird.autopilots.standin.ardupilot import run_ardupilot
    from ironbird.autopilots.standin.board import run_px4_board
    from ironbird.autopilots.standin.px4 import run_px4
    from ironbird.flight.mission import load_mission
    from ironbird.rig.reference_autopilot import ReferenceAutopilot
    from ironbird.transport.cable import DatagramCable, SerialCable
    from ironbird.vehicles import places as at
    from ironbird.vehicles.load import load_vehicle

    with errors():
        if [px4, ardupilot, serial is not None, udp is not None].count(True) != 1:
            raise IronbirdError("give one of --px4-protocol and --ardupilot-protocol, --serial and --udp")
        loaded = load_vehicle(vehicle, control="reference")
        params = load_mission(mission or loaded.spec.mission).params(loaded.diagram.param(at.NAVIGATOR.table).columns)
        pilot = ReferenceAutopilot(loaded, params=params, arm_after_s=arm_after)
        typer.echo(f"{loaded.id}: ready", err=True)
        if px4:
            run_px4(pilot, host=host, port=port or 4560)
        elif serial is not None or udp is not None:
            cable = SerialCable(serial, baud) if serial else DatagramCable(0, host, peer=(host, udp or 0))
            typer.echo(json.dumps(run_px4_board(pilot, cable).data()))
        else:
            run_ardupilot(pilot, host=host, port=port or 9002)
