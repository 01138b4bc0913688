"""Page of connections: the packet monitor of each flight's links and of routes, and refused requests to the page."""

from __future__ import annotations

import urllib.parse
from typing import Any

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel, table

LOOK_S = 1.0
COLUMNS = ["of", "partner", "way", "protocol", "message", "count", "Hz", "lost", "latency", "last values, raw bytes"]
LONGEST = 220  # characters of values and of raw bytes that are shown
MOST_SHOWN = 200  # rows
NOTHING = "no packets yet: fly PX4, ArduPilot or a board, or tick 'reachable by MAVLink' before Start"


def build(desk: Desk) -> None:
    """Build the page of connections."""
    with desk.frame("Connections"), ui.element("div").classes("ib-one"):
        with panel("Packets"):
            with ui.row().classes("items-center"):
                words = ui.input("filter", placeholder="HEARTBEAT, from, JSON…").props("dense clearable id=ib-filter")
                still = ui.switch("pause").props("dense")
                raw = ui.switch("raw bytes").props("dense")
            listens = ui.label().classes("ib-hint")
            saves = ui.row()
            packets = ui.element("div").classes("ib-scroll ib-packets")
        with panel("Refused at the door of this page"):
            refused = ui.element("div").classes("ib-scroll")

    def show() -> None:
        if still.value:
            return
        where = [f"{flight.name}: {line}" for flight in list(desk.rig.flights.values()) for line in flight.listens]
        rows_by_name = {name: monitor.rows(words.value or "") for name, monitor in desk.rig.monitors().items()}
        listens.set_text("; ".join(where) or ("" if any(rows_by_name.values()) else NOTHING))
        for box in (saves, packets, refused):
            box.clear()
        with saves:
            for name in (name for name, rows in rows_by_name.items() if rows):
                _links(name, words.value or "")
        with packets:
            cells = [_cells(name, row, raw.value) for name, rows in rows_by_name.items() for row in rows]
            table(COLUMNS, cells[:MOST_SHOWN])
            if skipped := sum(monitor.skipped for monitor in desk.rig.monitors().values()):
                ui.label(f"{skipped} pieces passed while the page was closed: they are not counted").classes("ib-hint")
            if len(cells) > MOST_SHOWN:
                ui.label(f"{len(cells) - MOST_SHOWN} more: filter them").classes("ib-hint")
        with refused:
            for line in reversed(list(desk.door.refusals)[-50:]):
                ui.label(line).classes("ib-hint")
            if not desk.door.refusals:
                ui.label("nobody").classes("ib-hint")

    show()
    ui.timer(LOOK_S, show)


def _links(name: str, words: str) -> None:
    place, query = f"/packets/{urllib.parse.quote(name)}", urllib.parse.urlencode({"filter": words})
    ui.label(f"save the newest packets of {name}:").classes("ib-hint")
    ui.link("pcap (Wireshark)", f"{place}.pcap?{query}").classes("ib-report")
    ui.link("tlog (ground stations)", f"{place}.tlog").classes("ib-report")


def _cells(name: str, row: dict[str, Any], raw: bool) -> list[str]:
    last = row["raw"] if raw else row["values"]
    lost = f"{row['missing']} ({100 * row['lost']:.2g} %)" if row["missing"] else "0"
    late = f"{row['latency_ms']:.3g} ms" if row["latency_ms"] is not None else ""
    places = [name, row["partner"], row["way"], row["protocol"], row["message"]]
    return [*places, str(row["count"]), f"{row['hz']:.1f}", lost, late, last[:LONGEST]]
