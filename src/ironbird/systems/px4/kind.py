"""PX4 as a kind of control system: a separate program, in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

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
from ironbird.autopilots.px4.process import (
    COMMAND_PORT,
    GROUND_PORT,
    LISTENER_PORT,
    PILOT_PORT,
    START_FILES,
    VARIABLE,
    Px4Process,
    find_px4,
    free_instance,
)
from ironbird.boards.board import load_board
from ironbird.boards.on_chips import BusTrace
from ironbird.boards.wire_faults import with_wires
from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.ground.client.attended import Attended
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Port
from ironbird.host.process import GROUND_STATION_PORT
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.system import Options, Seat, Task
from ironbird.systems.px4.hand_flown import HandPilot, stick_params
from ironbird.systems.px4.link import Px4
from ironbird.systems.px4.on_chips import Px4OnChips, Px4OnChipsProcess, find_board_px4, variable_of
from ironbird.systems.px4.sticks import StickPilot
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.templates.underwater import UnderwaterSpec

STICK_SPEED_MPS = 5.0  # of a mission that names no speed


class Px4Options(AutopilotOptions):
    """Options of control system `px4`: those of all autopilots, and the board that carries its sensors."""

    chips: Annotated[
        str,
        Field(description=texts.CHIPS),
    ] = ""
    bus_trace: BusTrace = ""
    quiet: Annotated[
        bool, Field(description="In real time: no link of PX4 to ground stations on UDP 14550 (--headless).")
    ] = False


class Px4Kind(AutopilotKind):
    """Kind of control system `px4`; submarines are flown with sticks (`sticks.py`), all others by a mission."""

    name = "px4"
    title = "PX4"
    summary = "Fly a mission with PX4 in lockstep; PX4 itself sends to QGroundControl on UDP 14550."
    log_ending = ".ulg"
    param_variable = "PX4_PARAM_"  # as its own start-up has them
    options = Px4Options

    def takes_orders(self, template: str) -> bool:
        """Whether commands in flight are accepted: for all vehicles but submarines, which fly by sticks alone."""
        return not KINDS.load(template).px4_by_sticks

    def programs(self, options: Options) -> Sequence[Path]:
        """PX4's binary, if it is found; in virtual time its libraries and start-up files too."""
        folder, board = getattr(options, "folder", None), _board_of(options)
        try:
            if board:
                return with_libraries(find_board_px4(board, folder), options)
            program = find_px4(folder)
        except LinkError:
            return ()
        files = with_libraries(program.binary, options)
        if not isinstance(options, AutopilotOptions) or options.time == "real":
            return files
        return *files, *(path for name in START_FILES for path in sorted(program.etc.parent.glob(name)))

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle, with the wires of the board if one is chosen."""
        vehicle, board = super().fitted(vehicle, options), _board_of(options)
        return with_wires(vehicle, load_board(board)) if board else vehicle

    def links(self, options: Options) -> Sequence[str]:
        """Links on which link faults can act: telemetry, and sensors, outputs and sticks of the simulator link."""
        return (*super().links(options), *(() if _board_of(options) else ("sensors", "actuators", "rc")))

    def seat(self, task: Task) -> Seat:
        """A PX4 with a free instance number, and the built-in ground station on its ports."""
        board = _board_of(task.options)
        options, watch = trusted(task, variable_of(board) if board else VARIABLE), watches(task)
        virtual = in_virtual_time(task)
        instance = options.instance
        if instance is None:
            instance = 0 if virtual else free_instance(0 if watch else None)
        process: Px4Process
        if board:
            process = Px4OnChipsProcess(
                options.folder,
                board=load_board(board),
                keep=task.folder,
                virtual=virtual,
                thread_seed=options.thread_seed,
            )
        else:
            quiet = isinstance(options, Px4Options) and options.quiet and not virtual
            process = Px4Process(
                options.folder,
                keep=task.folder,
                watched=watch,
                quiet=quiet,
                virtual=virtual,
                thread_seed=options.thread_seed,
            )
        try:
            pilot = self._pilot(task, process, instance)
        except BaseException:
            process.stop()
            raise
        chosen = {**(stick_params(_stick_speed(task)) if _by_sticks(task) else {}), **read_params(options.params)}
        params = {name: int(value) if value % 1 == 0 else value for name, value in chosen.items()}
        if isinstance(process, Px4OnChipsProcess):
            process.params = params
            trace = options.bus_trace if isinstance(options, Px4Options) else ""
            on_chips = Px4OnChips(process, task.injections, instance=instance, seed=task.seed, bus_trace=trace)
            return attend(on_chips, pilot) if isinstance(pilot, Attended) else Seat(on_chips, pilot)
        system = Px4(process, instance=instance, params=params)
        if isinstance(pilot, Attended):
            return attend(system, pilot)
        system.recorder = pilot.relay.record if pilot.relay is not None else None
        return Seat(system, pilot)

    def _pilot(self, task: Task, process: Px4Process, instance: int) -> Pilot | Attended:
        """The built-in ground station on the ports of an instance."""
        watch, spec = watches(task), task.vehicle.spec
        peer_port, pilot_port = COMMAND_PORT + instance, PILOT_PORT + instance
        pilot: Pilot | Attended
        if chosen(task).pilot == "attended":
            if not self.takes_orders(spec.template):
                raise LinkError("PX4 flies submarines by the built-in sticks alone: leave --pilot as it is")
            peer = ("127.0.0.1", peer_port)
            wire = Port(pilot_port, peer=peer, who="px4", process=process, mirror_port=mirror_port(task))
            pilot = attended(task, wire)
        elif watch:
            kind, port = class_of(task.vehicle), LISTENER_PORT + instance
            relay = relay_of(task, process, peer_port=GROUND_PORT + instance)
            pilot = Pilot(
                "px4",
                kind=kind,
                port=port,
                peer_port=peer_port,
                passive=True,
                flights=chosen(task).flights,
                process=process,
                relay=relay,
            )
        elif _by_sticks(task):
            if class_of(task.vehicle) != "copter" or task.script:
                raise LinkError(
                    "'pilot = sticks' flies missions of multicopters; leave it out for others and for plans"
                )
            pilot = HandPilot(task.items, _stick_speed(task), port=pilot_port, peer_port=peer_port, process=process)
        elif isinstance(spec, UnderwaterSpec):
            pilot = StickPilot(spec, plan_of(task).items, port=pilot_port, peer_port=peer_port, process=process)
        else:
            kind, plan = class_of(task.vehicle), plan_of(task, edge_on=True)
            pilot = Pilot(
                "px4",
                kind=kind,
                port=pilot_port,
                peer_port=peer_port,
                plan=plan.items,
                fence=plan.fence,
                rally=plan.rally,
                process=process,
                mirror_port=mirror_port(task),
            )
        more = f" and UDP {pilot_port} (MAVSDK: udpin://127.0.0.1:{pilot_port})" if process.run is None else ""
        announce(
            task,
            f"PX4 {instance} (MAVLink system {instance + 1}) sends to UDP {GROUND_STATION_PORT} (QGroundControl, "
            f"MAVProxy, pymavlink: udpin:127.0.0.1:{GROUND_STATION_PORT}){more}",
        )
        return pilot


def _by_sticks(task: Task) -> bool:
    return isinstance(task.options, AutopilotOptions) and task.options.pilot == "sticks"


def _stick_speed(task: Task) -> float:
    """Speed (m/s) that full deflection of a stick commands."""
    return task.cruise_speed_mps or STICK_SPEED_MPS


def _board_of(options: Options) -> str:
    return options.chips if isinstance(options, Px4Options) else ""


PX4 = Px4Kind()
