"""The reference autopilot behind its MAVLink server, in a thread of the test, as fast as it goes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from ironbird.links.commanded.kind import CommandedSystem
from ironbird.links.mavlink_server.connections import TcpEndpoint, UdpEndpoint
from ironbird.links.mavlink_server.front import MavlinkFront
from ironbird.links.rig import make_rig
from ironbird.vehicles.load import load_vehicle


@contextlib.contextmanager
def served(vehicle: str = "quad_f450", links: str = "udpin:127.0.0.1:0") -> Iterator[str]:
    """The address of a vehicle that flies until the block ends."""
    rig = make_rig(load_vehicle(vehicle, control="commanded"), until_s=3600.0)
    front = MavlinkFront({"links": links})
    system = CommandedSystem(front)
    system.start(rig)
    over = threading.Event()

    def run() -> None:
        while not over.is_set() and rig.step(system.step_ticks):
            system.exchange(rig)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    endpoint = front.endpoints[0]
    assert isinstance(endpoint, UdpEndpoint | TcpEndpoint)
    try:
        yield f"{'tcp' if isinstance(endpoint, TcpEndpoint) else 'udpout'}:127.0.0.1:{endpoint.port}"
    finally:
        over.set()
        thread.join()
        system.stop()
