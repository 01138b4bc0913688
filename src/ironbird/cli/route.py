"""The command `connect route`: a MAVLink router with a packet monitor and link faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.options import FaultOption, LinkOption, RuleOption, SaveOption, SeedOption, UntilOption
from ironbird.cli.output import JsonOption, ending_in_order, errors, print_json

if TYPE_CHECKING:
    from ironbird.transport.router.router import Router

MOST_SHOWN = 12  # messages of one connection


def route(
    file: Annotated[Path | None, typer.Argument(help="Route file (TOML); or give --link twice or more.")] = None,
    link: LinkOption = None,
    rule: RuleOption = None,
    fault: FaultOption = None,
    seed: SeedOption = 0,
    save: SaveOption = None,
    until: UntilOption = None,
    every: Annotated[float, typer.Option(help="Seconds between two tables; 0: only at the end.", min=0.0)] = 0.0,
    values: Annotated[bool, typer.Option(help="Show the last values of each message, too.")] = False,
    priority: Annotated[bool, typer.Option("--priority", help="Ask the system for real-time priority.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Pass packets between serial lines, UDP, TCP, pseudo-terminals and logs; watch them, limit them, break the link.

    Example: ironbird connect route --link vehicle=udpin:14550 --link gcs=udpout:127.0.0.1:14551
    --fault route.drop@1:instance=gcs,severity=0.1,start=5
    """
    from ironbird.errors import LinkError
    from ironbird.faults.catalog import parse_fault
    from ironbird.faults.route import ROUTE_FAULTS
    from ironbird.transport.router.route_file import read_route, route_of
    from ironbird.transport.router.router import Router

    with errors(), ending_in_order():
        if (file is None) == (not link):
            raise LinkError("give a route file, or connections with --link NAME=WHERE")
        wanted = read_route(file) if file is not None else route_of(link or [], rule or [])
        faults = [parse_fault(text, ROUTE_FAULTS) for text in fault or []]
        router = Router(wanted.connections(), wanted.rules(), faults=faults, seed=seed, save=save, priority=priority)
        with router:
            for connection in router.connections.values():
                typer.echo(f"{connection.name}: {connection.cable.name}", err=as_json)
            _watch(router, until, every, values=values, as_json=as_json)
        figures = figures_of(router)
        if as_json:
            print_json(figures, "ironbird/route/1")
        else:
            typer.echo(text_of(figures, values))


@contextmanager
def routed_and_printed(links: list[str], rules: list[str], save: Path | None) -> Iterator[None]:
    """A router beside a flight; what it carried is printed at the end."""
    from ironbird.transport.router.beside import routed

    with routed(links, rules, save=save) as router:
        yield
    if router is not None:
        typer.echo(text_of(figures_of(router), values=False))


def _watch(router: Router, until_s: float | None, every_s: float, *, values: bool, as_json: bool) -> None:
    """Wait until the end; a table now and then, beside standard output if that is JSON."""
    shown_s = 0.0
    try:
        while (until_s is None or router.time_s < until_s) and not router.finished:
            time.sleep(0.05)
            if every_s > 0.0 and router.time_s - shown_s >= every_s:
                shown_s = router.time_s
                typer.echo(text_of(figures_of(router), values), err=as_json)
    except KeyboardInterrupt:
        pass


def figures_of(router: Router) -> dict[str, Any]:
    """Figures of all connections: messages, rates, losses, latencies; what faults did."""
    now = time.monotonic()
    connections: dict[str, Any] = {}
    for name, one in router.connections.items():
        late = sorted(one.latencies_s)
        connections[name] = {
            "where": one.cable.name,
            "trouble": one.trouble,
            "received": _messages(one.figures(one.received, now)),
            "sent": _messages(one.figures(one.sent, now)),
            "missing": one.lost,
            "skipped_bytes": one.reader.skipped,
            "overflowed": one.overflowed,
            "unsent": one.unsent,
            "latency_ms": {
                key: round(1e3 * late[min(len(late) - 1, int(share * len(late)))], 3)
                for key, share in {"median": 0.5, "p95": 0.95, "worst": 1.0}.items()
            }
            if late
            else {},
        }
    return {
        "seconds": round(router.time_s, 3),
        "connections": connections,
        "faults": [witness.sentence() for witness in router.witnesses],
    }


def _messages(figures: dict[str, tuple[int, float, bytes]]) -> dict[str, Any]:
    from ironbird.transport.frames import values_of

    return {
        name: {"count": count, "hz": round(hz, 1), "last": values_of(last)}
        for name, (count, hz, last) in figures.items()
    }


def text_of(figures: dict[str, Any], values: bool = False) -> str:
    """Figures of a router as lines of text for people."""
    from ironbird.transport.frames import with_units

    lines = [f"-- {figures['seconds']:.1f} s"]
    for name, one in figures["connections"].items():
        late = one["latency_ms"]
        lines.append(
            f"{name} ({one['where']}): {sum(m['count'] for m in one['received'].values())} received, "
            f"{sum(m['count'] for m in one['sent'].values())} sent, {one['missing']} missing, "
            f"{one['overflowed'] + one['unsent']} not sent"
            + (f", latency {late['median']:.2f} ms (95 %: {late['p95']:.2f})" if late else "")
            + (f"; not open: {one['trouble']}" if one["trouble"] else "")
        )
        for way, word in (("received", "from"), ("sent", "to")):
            busiest = sorted(one[way].items(), key=lambda item: -item[1]["hz"])[:MOST_SHOWN]
            for message, n in busiest:
                lines.append(f"   {word:<4} {message:<32} {n['count']:>8}  {n['hz']:>7.1f} Hz")
                if values:
                    last = with_units(message, n["last"])
                    lines.append("        " + ", ".join(f"{key} {value}" for key, value in last.items()))
    return "\n".join([*lines, *figures["faults"]])
