"""What every page shares: the rig, the role of the browser, and the frame around its content."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from ironbird.app.actions import act
from ironbird.app.records import Records
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT, ROLE, Door


@dataclass
class Desk:
    """The rig and the data that pages show."""

    rig: Rig
    door: Door
    records: Records
    pages: list[tuple[str, str]] = field(default_factory=list)  # title and path

    def role(self) -> str:
        """The role (pilot or guest) of the browser whose page is being built or whose click is served."""
        request = ui.context.client.request
        return str(request.scope.get(ROLE, "")) if request is not None else ""

    async def act(self, name: str, **args: Any) -> dict[str, Any]:
        """Carry out an action by name, and notify the browser if it was refused."""
        answer = await asyncio.to_thread(act, self.rig, self.role(), name, args)
        if not answer["ok"]:
            ui.notify(answer["error"], type="negative", multi_line=True, timeout=8000)
        return answer

    @contextmanager
    def frame(self, here: str, *, flights: bool = True) -> Iterator[None]:
        """Context manager: header and list of flights around the content of a page."""
        ui.add_head_html('<link rel="stylesheet" href="/static/app.css"><link rel="icon" href="data:,">')
        ui.add_head_html('<script src="/scene.js"></script><script type="module" src="/static/app.js"></script>')
        with ui.row().classes("ib-head w-full items-center"):
            ui.label("IRONBIRD").classes("ib-brand")
            for title, path in self.pages:
                ui.link(title, path).classes("ib-here" if title == here else "")
            if self.role() != PILOT:
                ui.label("guest: look only").classes("ib-guest")
        ui.label("the connection was lost: waiting for the server").props("id=ib-banner").classes("ib-banner")
        if flights:
            ui.element("div").props("id=ib-flights").classes("ib-bar")
        ui.element("div").props("id=ib-message").classes("ib-message")
        yield


def js_button(words: str, action: str, *, icon: str = "", tip: str = "", colour: str = "primary", **args: Any) -> None:
    """A button that sends an action for the selected flight directly from the browser."""
    text = ", ".join(f"{key}: {_js(value)}" for key, value in args.items())
    button = ui.button(words, icon=icon or None, color=colour)
    button.props("dense no-caps unelevated size=sm").on(
        "click", js_handler=f"() => ironbird.act('{action}', {{{text}}})"
    )
    if tip:
        button.tooltip(tip)


def _js(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)


@contextmanager
def panel(title: str, classes: str = "") -> Iterator[None]:
    """Context manager: a box with a title."""
    with ui.element("div").classes(f"ib-panel {classes}"):
        ui.label(title).classes("ib-title")
        yield


@contextmanager
def buttons() -> Iterator[None]:
    """Context manager: a row of small buttons."""
    with ui.element("div").classes("ib-buttons"):
        yield


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of plain text with column titles."""
    with ui.element("table").classes("ib-table"):
        with ui.element("tr"):
            for name in columns:
                _cell("th", name)
        for row in rows:
            with ui.element("tr"):
                for value in row:
                    _cell("td", value)


def _cell(kind: str, words: str) -> None:
    with ui.element(kind):
        ui.label(words)


def selected(event: GenericEventArguments) -> str:
    """The flight that is selected in the browser."""
    return str(event.args)[:80] if isinstance(event.args, str) else ""
