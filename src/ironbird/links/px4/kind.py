"""PX4 as a kind of control system: a program of its own, in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.links.autopilot_kind import (
    AutopilotKind,
    AutopilotOptions,
    announce,
    in_virtual_time,
    mirror_port,
    read_params,
    trusted,
    watches,
    with_libraries,
)
from ironbird.links.ground.pilot import Pilot
from ironbird.links.mission_plan import class_of, plan_of
from ironbird.links.process import GROUND_STATION_PORT
from ironbird.links.px4.link import Px4
from ironbird.links.px4.process import (
    COMMAND_PORT,
    LISTENER_PORT,
    PILOT_PORT,
    START_FILES,
    VARIABLE,
    Px4Process,
    find_px4,
    free_instance,
)
from ironbird.links.px4.sticks import StickPilot
from ironbird.links.system import Options, Seat, Task
from ironbird.vehicles.templates.underwater import UnderwaterSpec


class Px4Kind(AutopilotKind):
    """Submarines are flown by sticks (`sticks.py`), all others by their mission."""

    name = "px4"
    title = "PX4"
    summary = "Fly a mission with PX4 in lockstep; PX4 itself sends to QGroundControl on UDP 14550."
    log_ending = ".ulg"

    def programs(self, options: Options) -> Sequence[Path]:
        """Its binary, if there is one; in virtual time its libraries and start-up files too."""
        try:
            program = find_px4(getattr(options, "folder", None))
        except LinkError:
            return ()
        found = with_libraries(program.binary, options)
        if not isinstance(options, AutopilotOptions) or options.time == "real":
            return found
        return *found, *(path for name in START_FILES for path in sorted(program.etc.parent.glob(name)))

    def seat(self, task: Task) -> Seat:
        """A PX4 of an instance that is free, and our ground station on its ports."""
        options, watch = trusted(task, VARIABLE), watches(task)
        virtual = in_virtual_time(task)
        instance = options.instance
        if instance is None:
            instance = 0 if virtual else free_instance(0 if watch else None)
        process = Px4Process(options.folder, keep=task.folder, watched=watch, virtual=virtual)
        try:
            pilot = self._pilot(task, process, instance)
        except BaseException:
            process.stop()
            raise
        params = {name: int(value) if value % 1 == 0 else value for name, value in read_params(options.params).items()}
        return Seat(Px4(process, instance=instance, params=params), pilot)

    def _pilot(self, task: Task, process: Px4Process, instance: int) -> Pilot:
        """Our ground station on the ports of an instance."""
        watch, spec = watches(task), task.vehicle.spec
        peer_port, pilot_port = COMMAND_PORT + instance, PILOT_PORT + instance
        pilot: Pilot
        if watch:
            kind, port = class_of(task.vehicle), LISTENER_PORT + instance
            pilot = Pilot("px4", kind=kind, port=port, peer_port=peer_port, passive=True, process=process)
        elif isinstance(spec, UnderwaterSpec):
            pilot = StickPilot(spec, plan_of(task).items, port=pilot_port, peer_port=peer_port, process=process)
        else:
            kind, plan = class_of(task.vehicle), plan_of(task)
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
        announce(
            task,
            f"PX4 {instance} (MAVLink system {instance + 1}) sends to UDP {GROUND_STATION_PORT} (QGroundControl, "
            f"MAVProxy, pymavlink: udpin:127.0.0.1:{GROUND_STATION_PORT}) and UDP {pilot_port} "
            f"(MAVSDK: udpin://127.0.0.1:{pilot_port})",
        )
        return pilot


PX4 = Px4Kind()
