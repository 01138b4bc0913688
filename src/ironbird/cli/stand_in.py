"""The command `connect autopilot`: the reference autopilot in a process of its own, behind another one's protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from ironbird.cli.options import BaudOption, HostOption, MissionOption, VehicleOption
from ironbird.cli.output import errors, print_json
from ironbird.errors import IronbirdError
from ironbird.files import option_texts as texts


def autopilot(
    vehicle: VehicleOption = "quad_f450",
    px4: Annotated[bool, typer.Option("--px4-protocol", help="Connect to a simulator as PX4 does.")] = False,
    ardupilot: Annotated[
        bool, typer.Option("--ardupilot-protocol", help="Speak to a simulator as ArduPilot does.")
    ] = False,
    simulator_port: Annotated[
        int | None, typer.Option(help="Port of the simulator; 4560 (TCP) or 9002 (UDP) by default.", min=1, max=65535)
    ] = None,
    serial: Annotated[
        str | None,
        typer.Option(help="As a PX4 board on this serial port, for 'fly --control hardware --port'."),
    ] = None,
    udp: Annotated[int | None, typer.Option(help=texts.UDP, min=1, max=65535)] = None,
    baud: BaudOption = 921_600,
    host: HostOption = "127.0.0.1",
    mission: MissionOption = None,
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
            run_px4(pilot, host=host, port=simulator_port or 4560)
        elif serial is not None or udp is not None:
            cable = SerialCable(serial, baud) if serial else DatagramCable(0, host, peer=(host, udp or 0))
            print_json(run_px4_board(pilot, cable).data(), "ironbird/board-link/1")
        else:
            run_ardupilot(pilot, host=host, port=simulator_port or 9002)
