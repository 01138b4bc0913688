"""List of all pages of the app, one line each."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from ironbird.app.pages import campaigns, connections, faults, fly, plots, replay, vehicles
from ironbird.app.pages.desk import Desk

PAGES: tuple[tuple[str, str, Callable[[Desk], None]], ...] = (  # title, path, function that builds it
    ("Fly", "/", fly.build),
    ("Plots and tuning", "/plots", plots.build),
    ("Faults", "/faults", faults.build),
    ("Connections", "/connections", connections.build),
    ("Campaigns", "/campaigns", campaigns.build),
    ("Vehicles", "/vehicles", vehicles.build),
    ("Replay", "/replay", replay.build),
)


def add_pages(desk: Desk) -> None:
    """Register all pages with the server."""
    desk.pages = [(title, path) for title, path, _ in PAGES]
    for title, path, build in PAGES:
        ui.page(path, title=f"Ironbird: {title}")(_page(build, desk))


def _page(build: Callable[[Desk], None], desk: Desk) -> Callable[[], None]:
    def page() -> None:
        build(desk)

    return page
