"""Page of campaigns: list, progress, verdict matrix, maps over varied parameters, comparison; replay of any flight."""

from __future__ import annotations

import asyncio
import functools
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel, table
from ironbird.app.point_map import point_map
from ironbird.app.records import OTHER_MEANING
from ironbird.errors import IronbirdError

VERDICTS = ("pass", "fail", "void", "error")
MOST_SHOWN = 50  # rows of a comparison


def build(desk: Desk) -> None:
    """Build the page of campaigns."""
    campaigns = desk.rig.campaigns
    with desk.frame("Campaigns", flights=False), ui.element("div").classes("ib-one"):
        with panel("Campaigns of the store"):
            listed = ui.element("div").classes("w-full")
        with panel("Verdicts"):
            matrix = ui.element("div").classes("ib-scroll ib-matrix")
            with matrix:
                ui.label("choose a campaign above").classes("ib-hint")
        maps = _Maps()
        with panel("Compare two"):
            with ui.row().classes("items-center"):
                before = ui.select([], label="before").props("dense").classes("ib-choice")
                after = ui.select([], label="after").props("dense").classes("ib-choice")
                other_meaning = ui.checkbox(OTHER_MEANING)
                ui.button("compare", on_click=lambda: compare()).props("dense no-caps unelevated size=sm")
            compared = ui.element("div").classes("ib-scroll ib-compared")

    async def show() -> None:
        stored = await _called(campaigns.listed) or []
        names = [campaign["name"] for campaign in stored]
        before.set_options(names)
        after.set_options(names)
        listed.clear()
        with listed:
            if not stored:
                ui.label("none yet: 'ironbird campaign run safety' makes one").classes("ib-hint")
            for campaign in stored:
                _campaign(campaign, choose)

    async def choose(name: str) -> None:
        rows = await _called(campaigns.matrix, name) or []
        matrix.clear()
        with matrix:
            ui.link(f"page of {name} with plots", f"/campaign/{urllib.parse.quote(name)}", new_tab=True)
            for row in rows:
                _case(name, row)
        maps.show(name, await _called(campaigns.points, name) or {})

    async def compare() -> None:
        if not before.value or not after.value:
            return
        work = functools.partial(campaigns.compared, other_meaning=other_meaning.value)
        difference = await _called(work, before.value, after.value)
        compared.clear()
        if difference is not None:
            with compared:
                _compared(difference, before.value, after.value)

    ui.timer(0.1, show, once=True)


class _Maps:
    """Map of verdicts over two of the parameters that a case varies."""

    def __init__(self) -> None:
        self.campaign, self.points = "", {}
        with panel("Map over two varied parameters (a point opens its replay)"):
            with ui.row().classes("items-center"):
                self.case = ui.select([], label="case", on_change=self._chosen).props("dense").classes("ib-choice")
                self.across, self.along = (
                    ui.select([], label=label, on_change=self._draw).props("dense").classes("ib-choice")
                    for label in ("across", "along")
                )
            self.box = ui.element("div").classes("ib-map-box")
        self._draw()

    campaign: str
    points: dict[str, list[dict[str, Any]]]

    def show(self, campaign: str, points: dict[str, list[dict[str, Any]]]) -> None:
        """Show the points of a campaign, by case."""
        self.campaign, self.points = campaign, points
        self.case.set_options(list(points), value=next(iter(points), None))
        self._chosen()

    def _chosen(self) -> None:
        points = self.points.get(self.case.value or "", [])
        names = sorted({name for point in points for name in point["values"]})
        for field, place in ((self.across, 0), (self.along, 1)):
            field.set_options(names, value=names[place] if len(names) > 1 else None)
        self._draw()

    def _draw(self) -> None:
        self.box.clear()
        with self.box:
            if not self.across.value or not self.along.value:
                words = "no case of this campaign varies two numbers" if self.campaign else "choose a campaign above"
                ui.label(words).classes("ib-hint")
                return
            points = self.points.get(self.case.value or "", [])
            ui.html(point_map(self.campaign, points, self.across.value, self.along.value), sanitize=False)


def _campaign(campaign: dict[str, Any], choose: Callable[[str], Awaitable[None]]) -> None:
    counts = {key: value for key, value in campaign.items() if key not in ("name", "title")}

    async def chosen() -> None:
        await choose(campaign["name"])

    with ui.row().classes("items-center no-wrap ib-campaign"):
        ui.button(campaign["name"], on_click=chosen).props("dense no-caps unelevated size=sm")
        ui.label(f"{campaign['title']}: " + ", ".join(f"{value} {key}" for key, value in counts.items() if value))


def _case(name: str, row: dict[str, Any]) -> None:
    with ui.row().classes("items-center").style("gap:10px"):
        ui.label(row["case"]).classes("ib-case")
        for verdict in VERDICTS:
            ui.label(f"{row.get(verdict, 0)} {verdict}").classes(f"ib-{verdict}")
        ui.label(f"worst margin {row['margin']}").classes("ib-hint").tooltip(row["why"][:500])
        ui.link("replay the worst", _replay(name, row["worst"]))


def _compared(difference: dict[str, Any], before: str, after: str) -> None:
    counts = {
        "same log": difference["same"], "other verdict": len(difference["verdicts"]),
        "other margin": len(difference["margins"]),
        f"only in {before}": len(difference["only_before"]), f"only in {after}": len(difference["only_after"]),
        "redefined": len(difference["redefined"]),
    }  # fmt: skip
    ui.label(", ".join(f"{count} {words}" for words, count in counts.items())).style("font-weight:600")
    rows = [[c["flight"], "verdict", c["before"], c["after"]] for c in difference["verdicts"]]
    for moved in difference["margins"]:
        margins = [f"{_shown(moved[key])} {moved['unit']}".strip() for key in ("before", "after")]
        rows.append([moved["flight"], moved["requirement"], *margins])
    if rows:
        table(["flight", "what", before, after], rows[:MOST_SHOWN])
    for flight, what in list(difference["redefined"].items())[:MOST_SHOWN]:
        ui.label(f"{flight}: {', '.join(what) or 'redefined'}").classes("ib-hint")


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


def _replay(campaign: str, flight: str) -> str:
    return f"/replay?{urllib.parse.urlencode({'campaign': campaign, 'flight': flight})}"


async def _called(what: Any, *args: Any) -> Any:
    try:
        return await asyncio.to_thread(what, *args)
    except IronbirdError as error:
        ui.notify(str(error)[:500], type="negative")
        return None
