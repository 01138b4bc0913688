"""A vehicle to rehearse a program with: the reference autopilot behind its MAVLink server, in a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from ironbird.errors import LinkError
from ironbird.rig.rig import make_rig
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.mavlink.connections import TcpEndpoint, UdpEndpoint
from ironbird.systems.commanded.mavlink.front import MavlinkFront
from ironbird.vehicles.load import load_vehicle

LONGEST_S = 24 * 3600.0


@contextlib.contextmanager
def rehearsal(
    vehicle: str = "quad_f450", *, speed: float | None = None, seed: int = 0, link: str = "udpin:127.0.0.1:0"
) -> Iterator[str]:
    """A vehicle that flies until the block ends, to try a program against.

    Such flights are not judged and not kept: for that use `ironbird fly --control mavlink`, and connect to it.

    Parameters
    ----------
    vehicle : str, default "quad_f450"
        Catalogue name, or a TOML file.
    speed : float, optional
        Times real time; as fast as possible by default.
    seed : int, default 0
        Seed of all noise.
    link : str, default "udpin:127.0.0.1:0"
        Where the vehicle listens; port 0 is a free one.

    Yields
    ------
    str
        The address to connect to.

    Examples
    --------
    >>> with ib.rehearsal("quad_f450") as address:  # doctest: +SKIP
    ...     vehicle = ib.connect(address)
    """
    if speed is not None and not 0.0 < speed < 1e4:
        raise LinkError(f"a speed of {speed!r} times real time: give more than 0")
    rig = make_rig(load_vehicle(vehicle, control="commanded"), until_s=LONGEST_S, seed=seed, log=[])
    front = MavlinkFront({"links": link, "flights": 0})
    system = CommandedSystem(front)
    over, failed = threading.Event(), list[BaseException]()

    def run() -> None:
        begin = time.monotonic()
        try:
            while not over.is_set() and rig.step(system.step_ticks):
                system.exchange(rig)
                if speed is not None:
                    over.wait(max(begin + rig.time_s / speed - time.monotonic(), 0.0))
        except BaseException as error:
            failed.append(error)

    try:
        system.start(rig)
        endpoint = front.endpoints[0]
        if not isinstance(endpoint, UdpEndpoint | TcpEndpoint):
            raise LinkError(f"a rehearsal is reached over UDP or TCP, not over '{link}'")
        thread = threading.Thread(target=run, name=f"rehearsal of {vehicle}", daemon=True)
        thread.start()
        try:
            yield f"{'tcp' if isinstance(endpoint, TcpEndpoint) else 'udpout'}:127.0.0.1:{endpoint.port}"
        finally:
            over.set()
            thread.join()
    finally:
        system.stop()
    if failed:
        raise failed[0]
