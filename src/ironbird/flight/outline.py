"""Outlines of vehicles: names and units of parameters and signals, without a compiled model."""

from __future__ import annotations

import functools
from dataclasses import replace

from ironbird.compiler.flatten import Column
from ironbird.conditions.names import Names
from ironbird.flight.derived import names_of
from ironbird.flight.judge import check_log_step
from ironbird.flight.order import Order
from ironbird.flight.systems import INSIDE, OUTSIDE, kind_of
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Signal
from ironbird.requirements.meaning import parse_requirement
from ironbird.vehicles.external import with_links
from ironbird.vehicles.in_world import put_in_world
from ironbird.vehicles.load import Stamp, file_stamp, load_vehicle, vehicle_path


class Outline:
    """Names and units of a vehicle's parameters and signals, as checks need them, without compiling the model."""

    def __init__(self, diagram: Diagram, step_s: float | None = None) -> None:
        self.name, self.diagram = diagram.name, diagram
        self.step_s = step_s  # step of the flight; None if its control system decides
        self.log, self.p = Column("signal"), Column("parameter")
        for path, block in diagram.blocks.items():
            for name, signal in block.outputs.items():
                self.log.append(f"{path}.{name}", signal)
            for name, param in block.params.items():
                self.p.append(f"{path}.{name}", param)

    def params(self) -> dict[str, Signal]:
        """All parameters of the vehicle by path."""
        return dict(self.p.signals)

    def signals(self) -> dict[str, Signal]:
        """All signals of the vehicle by path."""
        return dict(self.log.signals)

    @functools.cached_property
    def names(self) -> Names:
        """The names that conditions may use."""
        return names_of(self)


def outline(vehicle: str, control: str, *, in_world: bool = False, sights: tuple[str, ...] = ()) -> Outline:
    """The outline of a vehicle; cached until its file changes."""
    return _outline(str(vehicle), control, in_world, sights, file_stamp(vehicle_path(vehicle)))


@functools.lru_cache(maxsize=64)
def _outline(vehicle: str, control: str, in_world: bool, sights: tuple[str, ...], stamp: Stamp) -> Outline:
    inside = control not in OUTSIDE
    if inside:
        loaded = load_vehicle(vehicle, control=control)
    else:
        kind = kind_of(control)
        fitted = kind.fitted(load_vehicle(vehicle, control=kind.vehicle_control), kind.options())
        loaded = replace(fitted, diagram=with_links(fitted.diagram, kind.links(kind.options())))
    placed = put_in_world(loaded, sights) if in_world else loaded
    return Outline(placed.diagram, placed.integration.step_s if inside and control != "external" else None)


def check_requirements(order: Order) -> None:
    """Raise if a requirement of an order cannot be read or judged, before its model is compiled."""
    check_log_step(order)
    if not order.requirements or order.control not in (*INSIDE, *OUTSIDE):
        return
    sights = tuple(str(table["name"]) for table in order.sight)
    names = outline(order.vehicle, order.control, in_world=bool(order.world), sights=sights).names
    for requirement in order.requirements:
        parse_requirement(requirement.formula, names)
