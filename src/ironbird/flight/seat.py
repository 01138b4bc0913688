"""Creates the seat of an external control system from an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ironbird.files.trust import NO_TRUST, Trust
from ironbird.flight.duration import end_s
from ironbird.flight.order import Order
from ironbird.flight.prepare import Fitted
from ironbird.flight.systems import kind_of, read_options
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.system import Seat, Task

CALM_MPS = 1.0  # m/s of wind up to which a plan ignores it


def take_seat(
    order: Order,
    fitted: Fitted,
    *,
    folder: Path | None = None,
    announce: Callable[[str], None] | None = None,
    show: Callable[[str], None] | None = None,
    trust: Trust = NO_TRUST,
) -> Seat:
    """The control system of an order, ready to be started."""
    kind = kind_of(order.control)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    mission = order.mission
    task = Task(
        vehicle=fitted.vehicle,
        items=_local_items(order) if mission is not None and not order.has_plan else (),
        options=read_options(kind, order.options),
        until_s=end_s(order, fitted.model),
        script=order.script,
        injections=order.faults,
        folder=folder,
        announce=announce,
        show=show,
        cruise_speed_mps=mission.cruise_speed_mps if mission is not None else None,
        wind_from_deg=order.weather.from_deg if order.weather.speed_mps > CALM_MPS else None,
        seed=order.seed,
        trust=trust,
        navigator=mission.params if mission is not None else None,
    )
    return kind.seat(task)


def _local_items(order: Order) -> Sequence[LocalItem]:
    assert order.mission is not None
    return [LocalItem(i.north_m, i.east_m, i.height_m, i.hold_s, i.kind, i.yaw_deg) for i in order.mission.item]
