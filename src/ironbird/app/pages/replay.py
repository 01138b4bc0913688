"""Replay: any log of a flight (Parquet, ULog, .BIN) in the 3D view with a time slider."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from collections.abc import Callable

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel
from ironbird.vehicles.load import vehicle_ids

SPEEDS = (0.25, 1, 4, 16)


def build(desk: Desk) -> None:
    """The page."""
    request = ui.context.client.request
    query = dict(request.query_params) if request is not None else {}
    with desk.frame("Replay", flights=False), ui.element("div").classes("ib-two"):
        with ui.element("div").classes("ib-column"):
            with ui.element("div").props("id=ib-replay").classes("ib-3d"), ui.element("div").classes("ib-glass"):
                ui.element("canvas").props("id=ib-horizon width=110 height=110")
            ui.element("input").props("type=range id=ib-slider min=0 max=0 value=0").classes("ib-slider")
            with ui.row().classes("items-center"):
                _play("stop", 0)
                for speed in SPEEDS:
                    _play(f"{speed:g} times", speed)
                ui.element("div").props("id=ib-replayed").classes("ib-hint")
        with panel("Logs"):
            vehicle = ui.select(vehicle_ids(), value="quad_f450", label="drawn as", with_input=True).props("dense")
            listed = ui.element("div").classes("ib-scroll")

    def show(url: str, drawn_as: str) -> None:
        ui.run_javascript(f"ironbird.replay('ib-replay', {json.dumps(url)}, {json.dumps(drawn_as)})")

    def chosen(name: str) -> Callable[[], None]:
        return lambda: show(f"/log?name={urllib.parse.quote(name)}", vehicle.value)

    async def fill() -> None:
        names = await asyncio.to_thread(desk.records.names)
        with listed:
            if not names:
                ui.label(f"none below {desk.records.folder}").classes("ib-hint")
            for name in names:
                _entry(name, chosen(name))
        if "campaign" in query and "flight" in query:
            wanted = urllib.parse.urlencode({key: query[key] for key in ("campaign", "flight")})
            show(f"/stored?{wanted}", vehicle.value)

    ui.timer(0.3, fill, once=True)


def _play(words: str, speed: float) -> None:
    button = ui.button(words, color="grey-7").props("dense no-caps unelevated size=sm")
    button.on("click", js_handler=f"() => ironbird.play && ironbird.play({speed})")


def _entry(name: str, chosen: Callable[[], None]) -> None:
    entry = ui.label(name).classes("ib-log").style("cursor:pointer;font-size:13px;overflow-wrap:anywhere;padding:2px 0")
    entry.on("click", chosen)
