"""What PX4 and ArduPilot share as kinds of control systems: a program on this computer, in lockstep, over MAVLink."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.ground.client.attended import Attended
from ironbird.ground.relay import Relay, is_record
from ironbird.ground.wires import Wire
from ironbird.host.process import GROUND_STATION_PORT, AutopilotProcess
from ironbird.host.virtual_time.run import libraries_of
from ironbird.protocols.autopilot_log import AutopilotLog, read_autopilot_log
from ironbird.protocols.geodesy import Place
from ironbird.protocols.orders import is_orders
from ironbird.protocols.parm_file import parse_parm
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles.load import Vehicle


def read_params(text: str) -> dict[str, float]:
    """Parse the option `params` (NAME=VALUE); later values win, `LinkError` quotes an invalid one."""
    return {name: param.value for name, param in parse_parm(text.replace(",", "\n"), "params").items()}


def _with_numbers(text: str) -> str:
    try:
        read_params(text)
    except LinkError as error:
        raise ValueError(str(error)) from None
    return text


ParamsText = Annotated[str, AfterValidator(_with_numbers)]  # NAME=VALUE, separated by commas or lines


class AutopilotOptions(Options):
    """Options of autopilots: where the program is, who commands it, and how time passes."""

    folder: Annotated[
        str | None,
        Field(description=texts.FOLDER),
    ] = None
    pilot: Annotated[
        Literal["ours", "attended", "none", "sticks"],
        Field(description=texts.PILOT),
    ] = "ours"
    flights: Annotated[
        int,
        Field(
            description=texts.FLIGHTS,
            ge=0,
            le=1000,
        ),
    ] = 1
    instance: Annotated[
        int | None,
        Field(description=texts.INSTANCE, ge=0, le=9),
    ] = None
    time: Annotated[
        Literal["real", "virtual", "paced"],
        Field(
            description="virtual: the program's clock is the simulation's and the flight repeats to the last byte; "
            "paced: the same, held to the wall clock; real: its clock is the wall's."
        ),
    ] = "real"
    thread_seed: Annotated[
        int,
        Field(
            description="With time virtual: draws which of the program's threads goes on, and interrupts them more "
            "often, so that races show; the same seed repeats. 0: first come, first served.",
            ge=0,
            le=2**63 - 1,
        ),
    ] = 0
    failure_commands: Annotated[
        Literal["vehicle", "autopilot"],
        Field(
            description="With time virtual and pilot none, who carries out MAV_CMD_INJECT_FAILURE: the vehicle, as "
            "faults of the catalogue, or the autopilot by itself."
        ),
    ] = "vehicle"
    ground_station: Annotated[
        bool,
        Field(description=texts.GROUND_STATION),
    ] = False
    twin: Annotated[
        bool,
        Field(
            description="With faults and time=virtual: fly healthy flights beside (without the faults, as ordered and "
            "with one least bit of a sensor changed) and report what the faults caused."
        ),
    ] = False
    params: Annotated[
        ParamsText,
        Field(
            description="Parameters of the autopilot on top of those of the vehicle: NAME=VALUE, apart by commas or "
            "lines."
        ),
    ] = ""


class AutopilotKind(Kind):
    """Base class of autopilots whose program Ironbird starts; supports all vehicle types of MAVLink."""

    options: type[Options] = AutopilotOptions
    log_ending: str  # of the names of its logs
    lands = True
    param_variable: str = ""  # begins names of variables of the environment that are its parameters

    def pace(self, options: Options, script: str) -> float | None:
        """Real time if it is to be paced, or if another ground station commands."""
        assert isinstance(options, AutopilotOptions)
        return 1.0 if options.time == "paced" or (options.pilot == "none" and options.time == "real") else None

    def repeats(self, options: Options, script: str) -> bool:
        """Whether a flight repeats: in virtual time, with the built-in ground station or a record of another one."""
        if not isinstance(options, AutopilotOptions) or options.time == "real":
            return False
        return options.pilot != "none" or is_record(script)

    def has_live_events(self, options: Options, *, has_mission: bool) -> bool:
        """Whether events are printed live: if another ground station commands, or there is no mission to fly."""
        assert isinstance(options, AutopilotOptions)
        return options.pilot == "none" or (options.pilot == "ours" and not has_mission)

    def takes_orders(self, template: str) -> bool:
        """True: commands in flight are accepted for every vehicle."""
        return True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle, unchanged; `LinkError` if MAVLink has no type for it."""
        class_of(vehicle)
        return vehicle

    def links(self, options: Options) -> Sequence[str]:
        """Links on which link faults can act: telemetry, in both directions."""
        return ("ground", "vehicle")

    def read_log(self, paths: Sequence[Path], home: Place) -> AutopilotLog | None:
        """Read the largest of the autopilot's logs; `LinkError` if none can be read."""
        logs = [path for path in paths if path.suffix.lower() == self.log_ending]
        if not logs:
            left = ", ".join(path.name for path in paths) or "nothing"
            raise LinkError(f"{self.title} left no log ({self.log_ending}); it left {left}")
        largest = max(logs, key=lambda path: path.stat().st_size if path.is_file() else -1)
        log = read_autopilot_log(largest, home)
        if len(logs) > 1:
            log.notes.append(f"it wrote {len(logs)} logs; this is the largest of them")
        return log


def chosen(task: Task) -> AutopilotOptions:
    """The options of a task, checked to be those of an autopilot."""
    assert isinstance(task.options, AutopilotOptions)
    return task.options


def trusted(task: Task, variable: str) -> AutopilotOptions:
    """The options of a task; `LinkError` if a program is named by a file only, not by the user."""
    options = chosen(task)
    if options.folder is not None:
        task.trust.check_folder(options.folder, variable)
    return options


def watches(task: Task) -> bool:
    """Whether the built-in ground station only observes: another one commands, or there is nothing to fly."""
    pilot = chosen(task).pilot
    return pilot == "none" or (pilot == "ours" and not (task.items or task.script))


def mirror_port(task: Task) -> int | None:
    """UDP port at which other ground stations can listen in virtual time; None if not wanted."""
    options = chosen(task)
    return GROUND_STATION_PORT if options.time != "real" and options.ground_station else None


def in_virtual_time(task: Task) -> bool:
    """Whether the program runs in virtual time; `LinkError` if nothing would command it."""
    options = chosen(task)
    virtual = options.time != "real"
    if options.thread_seed and not virtual:
        raise LinkError(
            f"thread_seed = {options.thread_seed} draws the order of threads in virtual time: add --time virtual"
        )
    if virtual and options.pilot != "none" and watches(task):
        raise LinkError("in virtual time the autopilot needs commands: give a mission, or --pilot none for others")
    if is_record(task.script) and not (virtual and options.pilot == "none"):
        raise LinkError("a record of a ground station is flown with --time virtual or paced and --pilot none")
    if is_orders(task.script) and options.pilot != "attended":
        raise LinkError("a record of orders is flown with --pilot attended")
    return virtual


def attended(task: Task, wire: Wire, *, accept_calibration: bool = False) -> Attended:
    """The built-in ground station that carries out orders in flight, on a wire, which it closes."""
    try:
        script = task.script if is_orders(task.script) else ""
        plan = plan_of(task)
        return Attended(wire, plan=plan, items=task.items, script=script, accept_calibration=accept_calibration)
    except BaseException:
        wire.close()
        raise


def attend(system: ControlSystem, pilot: Attended) -> Seat:
    """Seat of a control system with such a ground station: a flight of any length, with all orders recorded."""
    system.recorder, system.open_ended = pilot.record, True
    return Seat(system, pilot)


def relay_of(task: Task, process: AutopilotProcess, *, peer_port: int | None = None, shift: int = 0) -> Relay | None:
    """Relay through which other ground stations command the autopilot in virtual time; None if they do not."""
    if process.run is None or chosen(task).pilot != "none":
        return None
    port = GROUND_STATION_PORT
    answers = chosen(task).failure_commands == "vehicle"
    return Relay(process, port, peer_port=peer_port, script=task.script, outside=port + shift, answers_failures=answers)


def with_libraries(program: Path, options: Options) -> tuple[Path, ...]:
    """A program, and in virtual time the libraries it is linked with, because a repeat depends on them."""
    virtual = isinstance(options, AutopilotOptions) and options.time != "real"
    return (program, *(libraries_of(program) if virtual else ()))


def announce(task: Task, ports: str) -> None:
    """Print the ports for external commands and how to end the run; or the ports for additional ground stations."""
    if task.announce is None:
        return
    if watches(task):
        count = chosen(task).flights
        flight = "its flight" if count == 1 else f"{count} flights"
        down = f"when the vehicle is down and disarmed after {flight}, " if count else ""
        task.announce(f"{ports}; the run ends {down}at {task.until_s:g} s of simulation time, or with Ctrl-C")
    elif chosen(task).pilot == "attended" and chosen(task).ground_station:
        task.announce(ports)
