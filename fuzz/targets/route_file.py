"""Files of routes: connections and rules of the router."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.target import Refused, attempt, file_of
from ironbird.transport.router import cables
from ironbird.transport.router.route_file import Route, read_route, route_in

WORDS = (
    "[connection.a]\n", "[[rule]]\n", "at = ", "udpin:14550", "udpout:127.0.0.1:14550", "tcp:1.2.3.4:5", "tcpin:5760", "pty", "file:a",
    "serial:/dev/a:57600", "protocol = ", "raw", "from = ", "to = ", "only = ", "without = ", "HEARTBEAT", "most_hz = ", "33",
)  # fmt: skip
MOST = 1024
FORMAT = "toml"
OWN_ADDRESS = vars(cables)["own_address"]


def _offline(reader: Callable[..., Any], *arguments: Any) -> Any:
    """No name is looked up in a network."""
    vars(cables)["own_address"] = lambda host: "127.0.0.1"
    try:
        return attempt(reader, *arguments)
    finally:
        vars(cables)["own_address"] = OWN_ADDRESS


def check(data: bytes) -> bool | None:
    """Taken or refused; what is taken has connections and rules, or says why not."""
    route = _offline(read_route, file_of(data, "route.toml"))
    if isinstance(route, Refused):
        return " is no TOML" not in str(route.error)
    _look(route)
    return None


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib."""
    route = _offline(route_in, table, "route.toml")
    if not isinstance(route, Refused):
        _look(route)
    return None


def _look(route: Route) -> None:
    _offline(route.connections)
    _offline(route.rules)
