"""A router next to a flight: forwards between the vehicle and several ground stations or files.

The router takes the ground station's port (UDP 14550), so the ground stations themselves are the other connections.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.host.process import GROUND_STATION_PORT
from ironbird.transport.router.route_file import route_of
from ironbird.transport.router.router import Router

VEHICLE = "vehicle"


@contextlib.contextmanager
def routed(
    links: Sequence[str], rules: Sequence[str] = (), *, save: Path | None = None, port: int = GROUND_STATION_PORT
) -> Iterator[Router | None]:
    """Run a router between `vehicle` and `links` (`NAME=WHERE`) inside the `with` block; None if no link is given."""
    if not links and save is None:
        if rules:
            raise LinkError("--rule needs connections: give --link NAME=WHERE")
        yield None
        return
    if any(text.partition("=")[0] == VEHICLE for text in links):
        raise LinkError(f"--link: '{VEHICLE}' is the vehicle that flies; give the connection another name")
    route = route_of([f"{VEHICLE}=udpin:127.0.0.1:{port}", *links], rules)
    with Router(route.connections(), route.rules(), save=save) as router:
        yield router
