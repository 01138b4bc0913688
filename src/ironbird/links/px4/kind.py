"""PX4 as a kind of control system: a program of its own, in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.links.autopilot_kind import AutopilotKind, announce, trusted, watches
from ironbird.links.ground.pilot import Pilot
from ironbird.links.mission_plan import class_of, plan_of
from ironbird.links.process import GROUND_STATION_PORT
from ironbird.links.px4.link import Px4
from ironbird.links.px4.process import (
    COMMAND_PORT,
    LISTENER_PORT,
    PILOT_PORT,
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
        """Its binary, if there is one."""
        try:
            return (find_px4(getattr(options, "folder", None)).binary,)
        except LinkError:
            return ()

    def seat(self, task: Task) -> Seat:
        """A PX4 of an instance that is free, and our ground station on its ports."""
        options, watch, spec = trusted(task, VARIABLE), watches(task), task.vehicle.spec
        instance = options.instance if options.instance is not None else free_instance(0 if watch else None)
        peer_port, pilot_port = COMMAND_PORT + instance, PILOT_PORT + instance
        pilot: Pilot
        if watch:
            kind, port = class_of(task.vehicle), LISTENER_PORT + instance
            pilot = Pilot("px4", kind=kind, port=port, peer_port=peer_port, passive=True)
        elif isinstance(spec, UnderwaterSpec):
            pilot = StickPilot(spec, plan_of(task), port=pilot_port, peer_port=peer_port)
        else:
            kind = class_of(task.vehicle)
            pilot = Pilot("px4", kind=kind, port=pilot_port, peer_port=peer_port, plan=plan_of(task))
        announce(
            task,
            f"PX4 {instance} (MAVLink system {instance + 1}) sends to UDP {GROUND_STATION_PORT} (QGroundControl, "
            f"MAVProxy, pymavlink: udpin:127.0.0.1:{GROUND_STATION_PORT}) and UDP {pilot_port} "
            f"(MAVSDK: udpin://127.0.0.1:{pilot_port})",
        )
        pilot.port.process = process = Px4Process(options.folder, keep=task.folder, watched=watch)
        return Seat(Px4(process, instance=instance), pilot)


PX4 = Px4Kind()
