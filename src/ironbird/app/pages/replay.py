"""Page of the replay: any log of a flight (Parquet, ULog, .BIN) in the 3D view with a time slider."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from collections.abc import Callable

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel
from ironbird.errors import IronbirdError
from ironbird.vehicles.names import vehicle_ids

SPEEDS = (0.25, 1, 4, 16)
LOOK_S = 0.5


def build(desk: Desk) -> None:
    """Build the page of the replay."""
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
                with ui.element("div").props("id=ib-replayed").classes("ib-hint"):
                    ui.label("choose a log, or a flight of a campaign")
            missing = ui.row().classes("items-center")
        with panel("Logs"):
            vehicle = ui.select(vehicle_ids(), value="quad_f450", label="drawn as", with_input=True).props("dense")
            listed = ui.element("div").classes("ib-scroll")

    def show(url: str, drawn_as: str, scenery: str = "") -> None:
        args = ", ".join(json.dumps(text) for text in ("ib-replay", url, drawn_as, scenery))
        ui.run_javascript(f"ironbird.replay({args})")

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
            await stored(query["campaign"], query["flight"])

    async def stored(campaign: str, flight: str) -> None:
        """Show a flight of a campaign: from its trace, or flown again on request."""
        try:
            kept, drawn_as = await asyncio.to_thread(desk.rig.campaigns.kept, campaign, flight)
        except IronbirdError as error:
            ui.notify(str(error)[:500], type="negative")
            return
        if drawn_as in vehicle_ids():
            vehicle.set_value(drawn_as)
        words = urllib.parse.urlencode({"campaign": campaign, "flight": flight})
        if kept:
            show(f"/stored?{words}", vehicle.value, f"/stored-scenery?{words}")
            return

        async def again() -> None:
            answer = await desk.act("refly", campaign=campaign, stored=flight)
            if answer["ok"]:
                name = answer["result"]["flight"]
                live = desk.rig.flight(name)
                while not await asyncio.to_thread(live.join, LOOK_S):
                    pass
                if live.failure:
                    ui.notify(live.failure[:500], type="negative")
                else:
                    show(f"/frames/{urllib.parse.quote(name)}", vehicle.value, f"/stored-scenery?{words}")

        with missing:
            missing.clear()
            ui.label(f"{flight}: its trace was not kept").classes("ib-hint")
            ui.button("fly it again", icon="replay", on_click=again).props("dense no-caps unelevated size=sm")

    ui.timer(0.3, fill, once=True)


def _play(words: str, speed: float) -> None:
    button = ui.button(words, color="grey-7").props("dense no-caps unelevated size=sm")
    button.on("click", js_handler=f"() => ironbird.play && ironbird.play({speed})")


def _entry(name: str, chosen: Callable[[], None]) -> None:
    entry = ui.label(name).classes("ib-log").style("cursor:pointer;font-size:13px;overflow-wrap:anywhere;padding:2px 0")
    entry.on("click", chosen)
