"""ArduPilot as a kind of control system: a separate program, in lockstep."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from pydantic import Field

from ironbird.autopilots.ardupilot.channels import Firmware
from ironbird.autopilots.ardupilot.process import PORT_STEP, TCP_PORT, VARIABLE, ArduPilotProcess, find_program
from ironbird.autopilots.kind import (
    AutopilotKind,
    AutopilotOptions,
    announce,
    attend,
    attended,
    chosen,
    in_virtual_time,
    mirror_port,
    read_params,
    relay_of,
    trusted,
    watches,
    with_libraries,
)
from ironbird.boards.board import load_board
from ironbird.boards.on_chips import BusTrace
from ironbird.boards.wire_faults import with_wires
from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Port
from ironbird.host.process import GROUND_STATION_PORT, free_tcp_port
from ironbird.protocols.parm_file import Param, write_parm
from ironbird.protocols.plan_file import Plan
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.system import Options, Seat, Task
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.systems.ardupilot.on_chips import (
    ArduPilotOnChips,
    ArduPilotOnChipsProcess,
    find_board_ardupilot,
    variable_of,
)
from ironbird.vehicles.load import Vehicle

# Parameters of an ArduPilot that is only observed: MAVLink on its TCP port; rates of its messages in Hz
WATCHED = "MAV1_EXT_STAT 2\nMAV1_POSITION 5\nMAV1_EXTRA3 2\n"
WATCHED_TCP = "SERIAL5_PROTOCOL 2\n"
# Its fence is off by default: a plan with areas switches it on, for these areas only [ArduPilotCode]
FENCED = {
    "FENCE_ENABLE": Param(1, "the plan has a fence"),
    "FENCE_TYPE": Param(4, "its polygons and circles; no height, no circle round home"),
}


class ArduPilotOptions(AutopilotOptions):
    """Options of control system `ardupilot`: those of all autopilots, and the board that carries its sensors."""

    chips: Annotated[
        str,
        Field(description=texts.CHIPS),
    ] = ""
    bus_trace: BusTrace = ""


class ArduPilotKind(AutopilotKind):
    """Kind of control system `ardupilot`; faults of sensors that ArduPilot simulates are set there (`faults.py`)."""

    name = "ardupilot"
    title = "ArduPilot"
    summary = "Fly a mission with ArduPilot in lockstep."
    log_ending = ".bin"
    options = ArduPilotOptions

    def programs(self, options: Options) -> Sequence[Path]:
        """The installed ArduPilot programs that may fly, with their libraries."""
        files: list[Path] = []
        board = _board_of(options)
        if board:
            with contextlib.suppress(LinkError):
                files += with_libraries(find_board_ardupilot(board, getattr(options, "folder", None)), options)
            return files
        for name in get_args(Firmware):
            with contextlib.suppress(LinkError):
                files += with_libraries(find_program(name, getattr(options, "folder", None)), options)
        return list(dict.fromkeys(files))

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle, with the wires of the board if one is chosen."""
        vehicle, board = super().fitted(vehicle, options), _board_of(options)
        return with_wires(vehicle, load_board(board)) if board else vehicle

    def seat(self, task: Task) -> Seat:
        """An ArduPilot with the built-in ground station on its first link; its third link and TCP port are free."""
        board = _board_of(task.options)
        if board:
            return _seat_on_chips(task, board)
        options, watch = trusted(task, VARIABLE), watches(task)
        if options.pilot == "sticks":
            raise LinkError("ArduPilot is not flown by the built-in sticks: leave 'pilot = sticks' out")
        shift = PORT_STEP * (options.instance or 0)
        ground = GROUND_STATION_PORT + shift
        virtual = in_virtual_time(task)
        telemetry = watch or (options.ground_station and not virtual)
        inside = GROUND_STATION_PORT if virtual else ground
        extra = ["--serial2", f"udpclient:127.0.0.1:{inside}"] if telemetry else []
        if watch and virtual:
            announce(
                task,
                f"ArduPilot sends to UDP {ground} (QGroundControl, MAVProxy, pymavlink: udpin:127.0.0.1:{ground})",
            )
        elif watch:
            tcp = free_tcp_port(TCP_PORT + shift, PORT_STEP)
            extra += ["--serial5", f"tcp:{tcp}"]
            announce(
                task,
                f"ArduPilot sends to UDP {ground} (QGroundControl, MAVProxy, pymavlink: udpin:127.0.0.1:{ground}) and "
                f"listens on TCP {tcp} (tcp:127.0.0.1:{tcp})",
            )
        elif telemetry:
            announce(task, f"ArduPilot sends to UDP {ground} (QGroundControl, MAVProxy: udpin:127.0.0.1:{ground})")
        plan = Plan([]) if watch else plan_of(task)
        own = FENCED if plan.fence else {}
        own = own | {name: Param(value, "ordered") for name, value in read_params(options.params).items()}
        watched = ("" if virtual else WATCHED_TCP) + WATCHED if watch else ""
        params = watched + (write_parm(own) if own else "")
        kind = class_of(task.vehicle)
        process = ArduPilotProcess(
            options.folder,
            keep=task.folder,
            params=params,
            extra=extra,
            virtual=virtual,
            thread_seed=options.thread_seed,
        )
        system = ArduPilot(process, injections=task.injections)
        try:
            if options.pilot == "attended":
                wire = Port(process.ground_port, who="ardupilot", process=process, mirror_port=mirror_port(task))
                return attend(system, attended(task, wire))
            pilot = Pilot(
                "ardupilot",
                kind=kind,
                port=process.ground_port,
                plan=plan.items,
                fence=plan.fence,
                rally=plan.rally,
                passive=watch,
                flights=chosen(task).flights,
                process=process,
                mirror_port=mirror_port(task),
                relay=relay_of(task, process, shift=shift),
            )
        except BaseException:
            process.stop()
            raise
        system.recorder = pilot.relay.record if pilot.relay is not None else None
        return Seat(system, pilot)


def _board_of(options: Options) -> str:
    return options.chips if isinstance(options, ArduPilotOptions) else ""


def _seat_on_chips(task: Task, board: str) -> Seat:
    """An ArduPilot built for a board, with the built-in ground station on its first link."""
    options = trusted(task, variable_of(board))
    if options.pilot not in ("ours", "attended"):
        raise LinkError(
            f"ArduPilot on chips is flown by the built-in ground station, or attended: leave 'pilot = {options.pilot}' "
            "out"
        )
    own = {name: Param(value, "ordered") for name, value in read_params(options.params).items()}
    process = ArduPilotOnChipsProcess(
        options.folder,
        board=load_board(board),
        keep=task.folder,
        params=write_parm(own) if own else "",
        virtual=in_virtual_time(task),
        thread_seed=options.thread_seed,
    )
    trace = options.bus_trace if isinstance(options, ArduPilotOptions) else ""
    system = ArduPilotOnChips(process, task.injections, seed=task.seed, bus_trace=trace)
    try:
        if options.pilot == "attended":
            wire = Port(process.ground_port, who="ardupilot", process=process, mirror_port=mirror_port(task))
            return attend(system, attended(task, wire, accept_calibration=True))
        plan = plan_of(task)
        pilot = Pilot(
            "ardupilot",
            kind=class_of(task.vehicle),
            port=process.ground_port,
            plan=plan.items,
            fence=plan.fence,
            rally=plan.rally,
            accept_calibration=True,
            process=process,
            mirror_port=mirror_port(task),
        )
    except BaseException:
        process.stop()
        raise
    return Seat(system, pilot)


ARDUPILOT = ArduPilotKind()
