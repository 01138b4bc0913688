"""Page of faults: the catalogue with search; inject now with severity, shape and duration; effects shown at once."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from ironbird.app.pages.desk import Desk, panel, selected
from ironbird.errors import IronbirdError
from ironbird.faults.catalog import FAULTS, KNOWN, search
from ironbird.faults.spec import Fault, Injection
from ironbird.flight.prepare import fit, targets_in

SHAPES = ["step", "ramp", "intermittent"]


def build(desk: Desk) -> None:
    """Build the page of faults."""
    with desk.frame("Faults"), ui.element("div").classes("ib-two"):
        with panel("Catalogue"):
            sought = ui.input("search", placeholder="motor, GPS, wind…").props("dense clearable id=ib-search")
            box = ui.element("div").classes("ib-scroll")
        with ui.element("div").classes("ib-column"):
            order = _Order(desk)
            with panel("In this flight"):
                ui.element("div").props("id=ib-faults")
            with panel("State"):
                ui.element("div").props("id=ib-state")

    def show() -> None:
        box.clear()
        with box:
            for fault in search(sought.value or "", order.flight_faults()):
                _entry(fault, order)

    def chosen(event: GenericEventArguments) -> None:
        order.flight = selected(event)
        show()

    sought.on_value_change(show)
    ui.on("flight", chosen)
    show()


def _entry(fault: Fault, order: _Order) -> None:
    with ui.element("div").classes("ib-fault").style("cursor:pointer;margin-bottom:6px") as entry:
        ui.label(fault.id).style("font-weight:600")
        ui.label(fault.summary).classes("ib-hint")
    entry.on("click", lambda: order.choose(fault))


class _Order:
    """The form by which a fault is ordered."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.fault, self.flight = desk, FAULTS["rotor.speed_loss@1"], ""
        with panel("Inject now"):
            self.name = ui.label(self.fault.id).style("font-weight:600")
            self.meaning = ui.label(self.fault.severity).classes("ib-hint")
            self.fields: dict[str, Any] = {
                "instance": ui.input("part (number or name)", value="1"),
                "severity": _severity(),
                "shape": ui.select(SHAPES, value="step", label="shape"),
                "rise": ui.number("rise s (ramp)", value=2.0, min=0),
                "period": ui.number("period s (intermittent)", value=1.0, min=0.01),
                "duration": ui.number("duration s (0: until cleared)", value=0.0, min=0),
            }
            for field in self.fields.values():
                field.props("dense").classes("w-full")
            button = ui.button("Inject", icon="bolt", color="negative").props("no-caps unelevated id=ib-inject")
            button.on("click", self.inject, js_handler="() => emit(ironbird.selected)")

    def choose(self, fault: Fault) -> None:
        """Show the form for another fault."""
        self.fault = fault
        self.name.set_text(fault.id)
        self.meaning.set_text(fault.severity)
        self.fields["severity"].set_visibility(fault.has_severity)
        self.fields["instance"].set_visibility(fault.counts_instances)

    def text(self) -> str:
        """The order in the fault grammar."""
        value = {key: field.value for key, field in self.fields.items()}
        words = [f"shape={value['shape']}"]
        words += [f"instance={value['instance']}"] if self.fault.counts_instances else []
        words += [f"severity={value['severity']}"] if self.fault.has_severity else []
        words += [f"rise={value['rise']}"] if value["shape"] == "ramp" else []
        words += [f"period={value['period']}"] if value["shape"] == "intermittent" else []
        words += [f"duration={value['duration']}"] if value["duration"] else []
        return f"{self.fault.id}:{','.join(words)}"

    async def inject(self, event: GenericEventArguments) -> None:
        """Inject the fault into the selected flight."""
        await self.desk.act("inject", flight=selected(event), fault=self.text())

    def flight_faults(self) -> list[Fault]:
        """Faults that the selected flight's vehicle can have; all before one is selected."""
        live = self.desk.rig.flights.get(self.flight)
        if live is None or live.stand is None:
            return list(KNOWN.values())
        model = fit(live.order).model
        return [fault for fault in KNOWN.values() if _fits(model, fault)]


def _severity() -> Any:
    with ui.element("div").classes("w-full").style("display:flex;gap:14px;align-items:center;padding-right:10px"):
        ui.label("severity").classes("ib-hint")
        slider = ui.slider(min=0, max=1, step=0.01, value=0.3).props("id=ib-severity")
        ui.label().bind_text_from(slider, "value", lambda value: f"{value:.2f}").classes("ib-hint")
    return slider


def _fits(model: Any, fault: Fault) -> bool:
    try:
        return bool(targets_in(model, Injection(fault))) or True
    except IronbirdError as error:
        return fault.counts_instances and " has " in str(error)  # the vehicle has such parts under other names
