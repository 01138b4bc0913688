"""A control system for tests that is told over MAVLink, as PX4 is: the reference autopilot behind its own server."""

from __future__ import annotations

import socket
from typing import Annotated, Literal

from pydantic import Field

from ironbird.ground.client.attended import Attended
from ironbird.ground.wires import Port
from ironbird.protocols.orders import is_orders
from ironbird.rig.mission_plan import plan_of
from ironbird.rig.system import Kind, Options, Seat, Task
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.mavlink.front import MavlinkFront


class ToldOptions(Options):
    """As those of autopilots."""

    pilot: Annotated[Literal["ours", "attended"], Field()] = "ours"


class ToldSystem(CommandedSystem):
    """Records nothing of its own."""

    def script(self) -> str:
        """The orders to its ground station."""
        return self.recorder() if self.recorder is not None else ""


class ToldKind(Kind):
    """A vehicle at the other end of a UDP line on this machine."""

    name, title, summary = "told", "told over MAVLink", "For tests."
    options = ToldOptions
    vehicle_control = "commanded"

    def takes_orders(self, template: str) -> bool:
        """All."""
        return True

    def seat(self, task: Task) -> Seat:
        """Its server on a free port, and our ground station on another."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        system = ToldSystem(MavlinkFront({"links": f"udpin:127.0.0.1:{port}"}))
        script = task.script if is_orders(task.script) else ""
        wire = Port(0, peer=("127.0.0.1", port))
        pilot = Attended(wire, plan=plan_of(task), items=task.items, script=script)
        system.recorder, system.open_ended = pilot.record, True
        return Seat(system, pilot)


TOLD = ToldKind()
