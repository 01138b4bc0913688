"""The verb `ironbird hil`: a flight controller on a cable flies a vehicle of the catalogue in real time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.exit_codes import code_of_all
from ironbird.cli.options import (
    FaultOption,
    FaultsFileOption,
    RequireOption,
    SeedOption,
    SetOption,
    TurbulenceOption,
    WindOption,
    WorldOption,
    faults_of,
    order_from,
    settings_of,
    weather_of,
)
from ironbird.cli.output import ending_in_order, errors, print_table, write_and_print
from ironbird.cli.route import LinkOption, RuleOption, SaveOption, figures_of, text_of

if TYPE_CHECKING:
    from ironbird.flight.order import Order
    from ironbird.transport.cable import Cable, Load

CLEAR_LINE = "\r\x1b[K"


PortOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Serial port of the board, for example /dev/ttyACM0; repeat it for several boards at once, each with "
        "its vehicle if you like: /dev/ttyACM1=aerosonde."
    ),
]
BaudOption = Annotated[
    int, typer.Option(help="Baud rate of the serial port; boards on USB ignore it.", min=1200, max=12_000_000)
]
UdpOption = Annotated[
    list[str] | None,
    typer.Option(help="Or a UDP port to which the board sends; repeatable, also beside serial ports: 14560=aerosonde."),
]
VehicleOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A vehicle of the catalogue (see 'ironbird vehicles') or a TOML file, quad_f450 by default; with "
        "several boards one for all, or one for each: serial ports first."
    ),
]
BesideOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Another vehicle on the same clock under any control system of 'ironbird systems', for example "
        "px4=quad_iris; it flies the mission, or its own. Repeatable."
    ),
]
MissionOption = Annotated[
    str | None,
    typer.Option(
        help="Upload this (.plan, waypoint file, mission file), arm and fly it. Without it no commands are sent."
    ),
]
SensorHzOption = Annotated[
    float,
    typer.Option(
        help="Inertial samples a second: 1000, 500, 250, 200 or 100; 2000, 4000, 5000 or 8000 go out in batches, "
        "with a model as fast (--model-hz).",
        min=10,
        max=8000,
    ),
]
ModelHzOption = Annotated[
    float,
    typer.Option(help="Steps of the vehicle's model a second: 1000, 2000, 4000, 5000 or 8000.", min=1000, max=8000),
]
ControlHzOption = Annotated[float, typer.Option(help="Controls a second that the board is asked for.", min=1, max=1000)]
PriorityOption = Annotated[
    bool, typer.Option("--priority/--no-priority", help="Ask the system for real-time priority.")
]
CoreOption = Annotated[
    int | None,
    typer.Option(help="Keep the loop on this core of the processor; of the next for the next board.", min=0),
]
WriteParamsOption = Annotated[
    Path | None,
    typer.Option(help="Only write the vehicle's parameters for a PX4 board, as QGroundControl loads them."),
]


def hil(
    port: PortOption = None,
    baud: BaudOption = 921_600,
    udp: UdpOption = None,
    host: Annotated[str, typer.Option(help="Address of this computer that the board sends to, with --udp.")] = (
        "127.0.0.1"
    ),
    vehicle: VehicleOption = None,
    beside: BesideOption = None,
    mission: MissionOption = None,
    until: Annotated[float, typer.Option(help="End after this many seconds.", min=1)] = 60.0,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    world: WorldOption = "",
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    set_: SetOption = None,
    seed: SeedOption = 0,
    sensor_hz: SensorHzOption = 500.0,
    model_hz: ModelHzOption = 1000.0,
    control_hz: ControlHzOption = 400.0,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the first controls.", min=1)] = 30.0,
    priority: PriorityOption = True,
    core: CoreOption = None,
    headless: Annotated[bool, typer.Option("--headless", help="Do not feed QGroundControl on UDP 14550.")] = False,
    link: LinkOption = None,
    rule: RuleOption = None,
    save: SaveOption = None,
    write_params: WriteParamsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; out/hil-VEHICLE by default.")] = None,
) -> None:
    """Hardware in the loop: a flight controller on a cable flies a vehicle in real time.

    The board gets HIL_SENSOR and HIL_GPS and gives HIL_ACTUATOR_CONTROLS (PX4: SYS_HITL 1, airframe 1001). Before the
    start the messages are added up against what the cable carries. While it flies, late steps and lost frames are
    counted; if rates do not hold, or more than 0.5 % is late or lost, the verdict is error: the rig failed. Ctrl-C ends
    the flight and keeps its results. Several boards, and vehicles beside them, fly at once on one clock; each has its
    own vehicle and folder of results. In a world the loop is stepped in Python, as what is near is looked up between
    its steps.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (a fault did not act), 130 interrupted.

    Example: ironbird hil --port /dev/ttyACM0 --vehicle quad_f450 --wind 5,270 --until 120

    Without a board: 'python -m ironbird.transport.serial_wire' makes a serial line with two ends, 'ironbird
    autopilot --serial END' is a board on the one end, 'ironbird hil --port END' the bench on the other.
    """
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import fly
    from ironbird.flight.systems import title_of
    from ironbird.flight.together import fly_together
    from ironbird.transport.router.beside import routed

    vehicles = vehicle or ["quad_f450"]
    if write_params is not None:
        _write_params(vehicles[0], write_params)
        return
    with errors():
        shared: dict[str, Any] = {"weather": weather_of(wind, turbulence), "until_s": until}
        given: dict[str, Any] = {"baud": baud, "sensor_hz": sensor_hz, "control_hz": control_hz, "connect_s": wait}
        given |= {"priority": priority, "ground_station": not headless}
        given |= {"core": core} if core is not None else {}
        given |= {"model_hz": model_hz} if model_hz != 1000.0 else {}
        broken = {
            "world": world,
            "faults": faults_of(fault, faults_file),
            "requirements": require or [],
            "settings": settings_of(set_),
        }
        boards = _boards(port or [], udp or [], host, vehicles)
        orders, titles = _board_orders(boards, given, mission, seed, {**shared, **broken})
        others = _orders_beside(beside or [], mission, seed + len(orders), shared)
        orders, titles = [*orders, *others], [*titles, *(f"under {title_of(order.control)}" for order in others)]
        base = out or Path("out") / f"hil-{Path(orders[0].vehicle).stem}"
        folders = [base if len(orders) == 1 else base / str(number) for number in range(1, len(orders) + 1)]
        trust = Trust.by_hand(*(order.options for order in orders))
        try:
            with ending_in_order(), routed(link or [], rule or [], save=save) as router:
                if len(orders) == 1:
                    shown = _show if sys.stderr.isatty() else None
                    flights = [fly(orders[0], folder=folders[0], show=shown, trust=trust)]
                else:
                    flights = fly_together(orders, folders, trust=trust)
        finally:
            if sys.stderr.isatty():
                sys.stderr.write(CLEAR_LINE)
        codes = [
            write_and_print(flight, folder, title=f"{flight.vehicle.spec.title} {words}")
            for flight, folder, words in zip(flights, folders, titles, strict=True)
        ]
        if router is not None:
            typer.echo(text_of(figures_of(router), values=False))
    raise typer.Exit(codes[0] if len(codes) == 1 else code_of_all(codes))


def _boards(port: list[str], udp: list[str], host: str, vehicles: list[str]) -> list[tuple[dict[str, Any], str]]:
    """Where each board is, as options of its control system, and the vehicle that it flies."""
    from ironbird.errors import OrderError

    places: list[dict[str, Any]] = [{"port": one} for one, _ in map(_apart, port)]
    places += [{"udp": _udp_port(one), "host": host} for one, _ in map(_apart, udp)]
    places = places or [{}]
    named = [name for _, name in map(_apart, [*port, *udp])] or [""]
    if len(vehicles) not in (1, len(places)):
        raise OrderError(f"{len(vehicles)} vehicles for {len(places)} boards: give one for all, or one for each")
    if any(named) and len(vehicles) > 1:
        raise OrderError("a vehicle stands behind its port (PORT=VEHICLE) or in the list of --vehicle, not in both")
    each = vehicles if len(vehicles) > 1 else vehicles * len(places)
    return [(place, name or usual) for place, name, usual in zip(places, named, each, strict=True)]


def _board_orders(
    boards: list[tuple[dict[str, Any], str]],
    given: dict[str, Any],
    mission: str | None,
    seed: int,
    shared: dict[str, Any],
) -> tuple[list[Order], list[str]]:
    """The orders of all boards, and where each is; what its cable has to carry is printed."""
    from ironbird.flight.prepare import fit
    from ironbird.flight.systems import read_options
    from ironbird.systems.hardware.kind import HARDWARE, HardwareOptions, cable_of

    orders, titles = [], []
    for number, (board, vehicle) in enumerate(boards):
        own = {"core": given["core"] + number} if "core" in given else {}
        order = order_from(
            vehicle,
            mission=mission or "none",  # without commands the board flies what it has, or by its pilot
            control="hardware",
            options={**board, **given, **own},
            seed=seed + number,
            **shared,
        )
        options = read_options(HARDWARE, order.options)
        assert isinstance(options, HardwareOptions)
        cable = cable_of(options)
        _print_budget(HARDWARE.loads(fit(order).vehicle, options, told=mission is not None), cable)
        orders.append(order)
        titles.append(f"on {cable.name}")
    return orders, titles


def _orders_beside(beside: list[str], mission: str | None, seed: int, shared: dict[str, Any]) -> list[Order]:
    """The orders of vehicles that fly beside the boards, each under its own control system."""
    from ironbird.errors import OrderError

    orders = []
    for number, one in enumerate(beside):
        control, equals, name = one.partition("=")
        if not (equals and control and name):
            raise OrderError(f"--beside '{one}': give CONTROL=VEHICLE, for example reference=quad_f450")
        orders.append(order_from(name, mission=mission, control=control, seed=seed + number, **shared))
    return orders


def _apart(text: str) -> tuple[str, str]:
    """A port and the vehicle behind it: PORT=VEHICLE; no vehicle if there is none, or if a device has such a name."""
    port, equals, vehicle = text.rpartition("=")
    return (text, "") if not equals or Path(text).exists() else (port, vehicle)


def _udp_port(text: str) -> int:
    from ironbird.errors import OrderError

    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535):
        raise OrderError(f"--udp '{text}': give a port, 1 to 65535, or PORT=VEHICLE")
    return int(text)


def _write_params(vehicle: str, path: Path) -> None:
    from ironbird.systems.hardware.board_params import board_params
    from ironbird.vehicles.load import load_vehicle

    with errors():
        path.write_text(board_params(load_vehicle(vehicle, control="external")))
    typer.echo(f"parameters: {path}")


def _print_budget(loads: list[Load], cable: Cable) -> None:
    rows = {}
    for load in loads:
        for name, (rate, size) in load.parts.items():
            rows[f"{load.direction}: {name}"] = f"{rate:g} a second of {size} bytes: {rate * size:.0f} bytes/s"
        room = (
            ""
            if load.room_per_s is None
            else (
                f" of {load.room_per_s:.0f}, {100 * load.bytes_per_s / load.room_per_s:.0f} %"
                f"{'' if load.fits else ': TOO MUCH'}"
            )
        )
        rows[load.direction] = f"{load.bytes_per_s:.0f} bytes/s{room}"
    figures = {
        load.direction: {
            "bytes_per_s": load.bytes_per_s,
            "room_bytes_per_s": load.room_per_s,
            "fits": load.fits,
            "messages": {name: {"per_s": rate, "bytes": size} for name, (rate, size) in load.parts.items()},
        }
        for load in loads
    }
    title = f"Budget of {cable.name}" + (f" at {cable.baud} baud" if cable.baud else "")
    print_table(rows, title, {"baud": cable.baud, "directions": figures})


def _show(line: str) -> None:
    sys.stderr.write(CLEAR_LINE + line)
    sys.stderr.flush()
