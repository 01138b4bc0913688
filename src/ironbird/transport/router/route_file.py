"""Route files: connections and rules as TOML, or from the short texts of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironbird.errors import LinkError, shortened
from ironbird.files.problems import read_bytes, read_toml
from ironbird.protocols.mavlink.dialect import message_of
from ironbird.transport.router.cables import parse_cable
from ironbird.transport.router.router import Connection, Rule

Name = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$", max_length=40)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, populate_by_name=True)


class ConnectionTable(_Table):
    """Table of one connection in a route file."""

    at: Annotated[str, Field(description="Where: udpin:14550, udpout:HOST:PORT, tcp:, tcpin:, serial:, pty, file:.")]
    protocol: Annotated[Literal["mavlink", "raw"], Field(description="raw: bytes are passed on as they come.")] = (
        "mavlink"
    )


class RuleTable(_Table):
    """Table of one rule in a route file: what is forwarded from one connection to another."""

    source: Annotated[Name, Field(alias="from", description="Connection that it comes from.")]
    to: Annotated[Name, Field(description="Connection that it goes to.")]
    only: Annotated[list[str], Field(description="Messages that pass, by name or number; all if there is none.")] = []
    without: Annotated[list[str], Field(description="Messages that do not pass.")] = []
    most_hz: Annotated[float, Field(description="Of each message; 0 is no limit.", ge=0.0, le=1e5)] = 0.0


class Route(_Table):
    """Content of a route file: connections and rules."""

    connection: Annotated[dict[Name, ConnectionTable], Field(min_length=1, max_length=64)]
    rule: Annotated[list[RuleTable], Field(max_length=1000)] = []

    def connections(self) -> list[Connection]:
        """The connections as objects, not yet open."""
        return [Connection(name, parse_cable(one.at), one.protocol) for name, one in self.connection.items()]

    def rules(self) -> list[Rule]:
        """The rules as objects; without any in the file, everything is forwarded between all connections."""
        if not self.rule:
            names = list(self.connection)
            return [Rule(a, b) for a in names for b in names if a != b]
        for rule in self.rule:
            for word in (*rule.only, *rule.without):
                if not word.isdecimal():
                    message_of(word, where=f"the rule from {rule.source} to {rule.to}")
        return [Rule(one.source, one.to, frozenset(one.only), frozenset(one.without), one.most_hz) for one in self.rule]


def read_route(path: Path) -> Route:
    """Read a route file; all problems are reported in one error."""
    try:
        data = read_toml(read_bytes(path).decode())
    except OSError as error:
        raise LinkError(f"route {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LinkError(f"route {path} is no TOML: {shortened(error)}") from None
    return route_in(data, str(path))


def route_in(data: Mapping[str, Any], where: str) -> Route:
    """The route in the parsed tables of a route file."""
    try:
        return Route.model_validate(data)
    except ValidationError as error:
        raise LinkError(f"route {where}: {_problems(error)}; docs/guide/route.md shows the keys") from None


def route_of(links: Sequence[str], rules: Sequence[str]) -> Route:
    """A route from `NAME=WHERE` and `FROM>TO[:MESSAGE,…][@HZ]` of the command line."""
    connection = {}
    for text in links:
        name, equals, where = text.partition("=")
        if not equals:
            raise LinkError(
                f"link '{shortened(text)}' is not of the form NAME=WHERE, for example gcs=udpout:127.0.0.1:14550"
            )
        if name in connection:
            raise LinkError(f"there are two links with the name {shortened(name)}")
        connection[name] = {"at": where}
    tables = []
    for text in rules:
        route, _, limit = text.partition("@")
        ends, _, only = route.partition(":")
        source, arrow, to = ends.partition(">")
        try:
            most_hz = float(limit or 0.0)
        except ValueError:
            arrow = ""
        if not arrow:
            raise LinkError(f"rule '{shortened(text)}' is not of the form FROM>TO[:MESSAGE,…][@HZ]")
        tables.append({"from": source, "to": to, "only": [w for w in only.split(",") if w], "most_hz": most_hz})
    try:
        return Route.model_validate({"connection": connection, "rule": tables})
    except ValidationError as error:
        raise LinkError(f"route: {_problems(error)}") from None


def _problems(error: ValidationError) -> str:
    return shortened("; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:8]), 600)
