"""Connections: the packet monitor of each flight's links, and whom the page itself refused."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel, table

LOOK_S = 1.0
COLUMNS = ["flight", "partner", "way", "message", "count", "Hz", "missing", "last values, raw bytes"]
LONGEST = 220  # characters of values and of raw bytes that are shown


def build(desk: Desk) -> None:
    """The page."""
    with desk.frame("Connections"), ui.element("div").classes("ib-one"):
        with panel("Packets"):
            with ui.row().classes("items-center"):
                words = ui.input("filter", placeholder="HEARTBEAT, from, 14550…").props("dense clearable")
                still = ui.switch("pause").props("dense")
                raw = ui.switch("raw bytes").props("dense")
            listens = ui.label().classes("ib-hint")
            saves = ui.row()
            packets = ui.element("div").classes("ib-scroll")
        with panel("Refused at the door of this page"):
            refused = ui.element("div").classes("ib-scroll")

    def show() -> None:
        if still.value:
            return
        flights = list(desk.rig.flights.values())
        where = [f"{flight.name}: {line}" for flight in flights for line in flight.listens]
        listens.set_text("; ".join(where) or "no flight is reachable: tick 'reachable by MAVLink' before Start")
        rows = [(flight.name, row) for flight in flights for row in flight.monitor.rows(words.value or "")]
        for box in (saves, packets, refused):
            box.clear()
        with saves:
            for name in dict.fromkeys(name for name, _ in rows):
                ui.link(f"save the newest packets of {name} as .tlog", f"/tlog/{name}.tlog").classes("ib-report")
        with packets:
            table(COLUMNS, [_cells(name, row, raw.value) for name, row in rows])
        with refused:
            for line in reversed(list(desk.door.refusals)[-50:]):
                ui.label(line).classes("ib-hint")
            if not desk.door.refusals:
                ui.label("nobody").classes("ib-hint")

    show()
    ui.timer(LOOK_S, show)


def _cells(flight: str, row: dict[str, Any], raw: bool) -> list[str]:
    last = row["raw"] if raw else row["values"]
    figures = [str(row["count"]), f"{row['hz']:.1f}", str(row["missing"])]
    return [flight, row["partner"], row["way"], row["message"], *figures, last[:LONGEST]]
