"""The verb `serve`: a vehicle with its own autopilot that waits for commands from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ironbird.cli.options import (
    FaultOption,
    FaultsFileOption,
    HomeYawOption,
    MissionOption,
    OptionOption,
    RequireOption,
    SeedOption,
    SetOption,
    TurbulenceOption,
    VehicleArgument,
    WindOption,
    faults_of,
    home_and_yaw,
    options_of,
    order_from,
    pace_of,
    settings_of,
    start_of,
    weather_of,
)
from ironbird.cli.output import ending_in_order, errors, results_folder, write_and_print
from ironbird.errors import IronbirdError


def serve(
    vehicle: VehicleArgument,
    front: Annotated[
        str, typer.Option(help="Who may command: mavlink, sticks, rflysim; 'mission' flies the mission alone.")
    ] = "mavlink",
    option: OptionOption = None,
    mission: MissionOption = None,
    speed: Annotated[
        str | None,
        typer.Option(metavar="max|FACTOR", help="As fast as it goes, or times real time; 1 if something listens."),
    ] = None,
    home: HomeYawOption = None,
    start: Annotated[
        str | None, typer.Option(metavar="NORTH,EAST[,YAW]", help="Where it stands, in m from home, and its heading.")
    ] = None,
    state: Annotated[
        Literal["estimate", "truth"], typer.Option(help="What control sees; sensors work in both.")
    ] = "estimate",
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    require: RequireOption = None,
    set_: SetOption = None,
    seed: SeedOption = 0,
    until: Annotated[
        float, typer.Option(help="End after this many seconds of simulation time.", min=1, max=1e5)
    ] = 3600.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; out/serve-VEHICLE by default.")] = None,
) -> None:
    """Let a vehicle's own autopilot be commanded from outside until Ctrl-C: by MAVLink, sticks, RflySim's programs.

    All that was commanded is recorded: 'ironbird repeat FOLDER' flies it again, bit for bit.

    Ctrl-C is how a session ends: it is judged on what was flown until then.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (a fault did not act), 130 interrupted before or with --front mission.

    Example: ironbird serve quad_f450 --wind 5,270
    """
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import fly
    from ironbird.flight.pose import start_settings

    with errors():
        place, heading = home_and_yaw(home)
        options: dict[str, Any] = {**options_of(option), "front": front, "state": state}
        order = order_from(
            vehicle,
            mission=mission,
            control="commanded",
            options=options,
            weather=weather_of(wind, turbulence),
            place=place,
            seed=seed,
            faults=faults_of(fault, faults_file),
            requirements=require or [],
            until_s=until,
        )
        north, east, yaw = start_of(start)
        if heading is not None:
            if start is not None and start.count(",") == 2:
                raise IronbirdError(f"the heading is given twice, by --home {home} and --start {start}: leave one out")
            yaw = heading
        pose = start_settings(order, north, east, yaw)
        order = replace(order, settings={**pose, **settings_of(set_)})
        pace = pace_of(speed or ("max" if front == "mission" else "1"))
        with results_folder(out, f"serve-{Path(vehicle).stem}") as folder:
            with ending_in_order():
                flight = fly(order, speed=pace, folder=folder, announce=typer.echo, trust=Trust.by_hand(options))
            code = write_and_print(flight, folder)
    raise typer.Exit(code)
