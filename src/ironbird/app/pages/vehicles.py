"""Page of vehicles: the catalogue, assumed values of each vehicle, and its block diagram."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from ironbird.app.pages.desk import Desk, panel
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids

FIRST = "quad_f450"  # is shown until another is chosen


def build(desk: Desk) -> None:
    """Build the page of vehicles."""
    with desk.frame("Vehicles", flights=False), ui.element("div").classes("ib-two ib-vehicles"):
        with panel("Block diagram"):
            picture = ui.element("div").classes("w-full ib-picture")
        with panel("Catalogue"), ui.element("div").classes("ib-scroll"):
            shows = {name: _vehicle(name, picture) for name in vehicle_ids()}
    shows[FIRST]()


def _vehicle(name: str, picture: ui.element) -> Callable[[], None]:
    spec = load_spec(name)
    with ui.element("div").classes("ib-fault").style("cursor:pointer;margin-bottom:6px") as entry:
        ui.label(f"{spec.id}: {spec.title}").style("font-weight:600")
        ui.label(spec.summary).classes("ib-hint")

    def show() -> None:
        picture.clear()
        with picture:
            ui.label(f"{spec.title} ({spec.template}), mission {spec.mission}").style("font-weight:600")
            ui.label(
                f"{len(spec.assumed())} numbers are assumed, all others have a source; drawing takes some seconds"
            ).classes("ib-hint")
            ui.link("open it alone, to zoom", f"/diagram/{spec.id}.svg", new_tab=True).classes("ib-report")
            ui.html(f'<img src="/diagram/{spec.id}.svg" class="ib-diagram" alt="block diagram">', sanitize=False)

    entry.on("click", show)
    return show
