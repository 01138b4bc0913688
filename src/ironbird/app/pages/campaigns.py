"""Campaigns: list, progress, verdict matrix, its own page with maps, comparison; a failing flight opened as replay."""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel, table
from ironbird.errors import IronbirdError

VERDICTS = ("pass", "fail", "void", "error")


def build(desk: Desk) -> None:
    """The page."""
    with desk.frame("Campaigns", flights=False), ui.element("div").classes("ib-one"):
        with panel("Campaigns of the store"):
            listed = ui.element("div").classes("w-full")
        with panel("Verdicts"):
            matrix = ui.element("div").classes("ib-scroll")
        with panel("Compare two"):
            with ui.row().classes("items-center"):
                before = ui.select([], label="before").props("dense").style("min-width:160px")
                after = ui.select([], label="after").props("dense").style("min-width:160px")
                ui.button("compare", on_click=lambda: compare()).props("dense no-caps unelevated size=sm")
            compared = ui.element("div").classes("ib-scroll")

    async def show() -> None:
        campaigns = await _asked(desk.rig.campaigns.listed) or []
        names = [campaign["name"] for campaign in campaigns]
        before.set_options(names)
        after.set_options(names)
        listed.clear()
        with listed:
            if not campaigns:
                ui.label("none yet: 'ironbird campaign run safety' makes one").classes("ib-hint")
            for campaign in campaigns:
                _campaign(campaign, choose)

    async def choose(name: str) -> None:
        rows = await _asked(desk.rig.campaigns.matrix, name) or []
        matrix.clear()
        with matrix:
            ui.link(f"page of {name} with maps and plots", f"/campaign/{urllib.parse.quote(name)}", new_tab=True)
            for row in rows:
                _case(name, row)

    async def compare() -> None:
        found = await _asked(desk.rig.campaigns.compared, before.value, after.value) if before.value and after.value else {}
        compared.clear()
        with compared:
            table(["what", "value"], [[key, str(value)] for key, value in (found or {}).items()])

    ui.timer(0.1, show, once=True)


def _campaign(campaign: dict[str, Any], choose: Callable[[str], Awaitable[None]]) -> None:
    counts = {key: value for key, value in campaign.items() if key not in ("name", "title")}

    async def chosen() -> None:
        await choose(campaign["name"])

    with ui.row().classes("items-center no-wrap"):
        ui.button(campaign["name"], on_click=chosen).props("dense no-caps unelevated size=sm")
        ui.label(f"{campaign['title']}  " + ", ".join(f"{value} {key}" for key, value in counts.items()))


def _case(name: str, row: dict[str, Any]) -> None:
    with ui.row().classes("items-center no-wrap").style("gap:10px"):
        ui.label(row["case"]).style("min-width:220px;font-weight:600")
        for verdict in VERDICTS:
            ui.label(f"{row.get(verdict, 0)} {verdict}").classes(f"ib-{verdict}")
        ui.label(f"worst margin {row['margin']}").classes("ib-hint").tooltip(row["why"][:500])
        query = urllib.parse.urlencode({"campaign": name, "flight": row["worst"]})
        ui.link("replay the worst", f"/replay?{query}")


async def _asked(what: Any, *args: Any) -> Any:
    try:
        return await asyncio.to_thread(what, *args)
    except IronbirdError as error:
        ui.notify(str(error)[:500], type="negative")
        return None
