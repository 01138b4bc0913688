"""Flights of PX4 and ArduPilot, software in the loop: from a vehicle of the catalogue to a judged flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ironbird.campaign.case import FlightCase
from ironbird.campaign.external import fly_external
from ironbird.campaign.flight import Flight, Wind
from ironbird.campaign.mission import Mission, load_mission
from ironbird.errors import LinkError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.links.ground import Pilot
from ironbird.links.plan_file import Kind, LocalItem, PlanItem, from_mission, load_plan
from ironbird.links.system import ControlSystem
from ironbird.model.signal import Number
from ironbird.vehicles.load import Vehicle, load_vehicle

Autopilot = Literal["px4", "ardupilot"]
AUTOPILOTS: tuple[str, ...] = get_args(Autopilot)
KINDS: dict[str, Kind] = {
    "multicopter": "copter", "helicopter": "copter", "fixed_wing": "plane", "vtol": "vtol", "car": "rover",
    "rover": "rover", "surface_vessel": "boat", "underwater": "sub",
}  # fmt: skip
LONGEST_S = 600.0


@dataclass(frozen=True)
class Order:
    """One flight to be flown by an autopilot."""

    autopilot: str
    vehicle: str
    mission: str | Mission | None = None  # built-in name, TOML, .plan or waypoint file; by default the vehicle's own
    where: str | None = None  # the autopilot's folder
    wind: Wind = field(default_factory=Wind)
    faults: tuple[str, ...] = ()
    settings: Mapping[str, Number] = field(default_factory=dict)
    seed: int = 0
    until_s: float = LONGEST_S
    log_s: float = 0.02
    speed: float | None = None
    instance: int | None = None
    keep: str | None = None  # folder for the autopilot's own logs
    feed_ground_station: bool = False  # whether a ground station on UDP 14550 is fed too


def fly_sitl(order: Order, progress: Callable[[float], None] | None = None) -> Flight:
    """Start the autopilot, fly, land, and leave nothing behind."""
    if order.autopilot not in AUTOPILOTS:
        raise UnknownNameError("autopilot", order.autopilot, AUTOPILOTS)
    vehicle = load_vehicle(order.vehicle, control="external")
    if vehicle.spec.template not in KINDS:
        raise LinkError(f"no autopilot flies a vehicle of kind '{vehicle.spec.template}' yet")
    kind = KINDS[vehicle.spec.template]
    mission, plan = plan_of(vehicle, order.mission, kind)
    keep = Path(order.keep) if order.keep else None
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    system, pilot = _px4(order, kind, plan, keep) if order.autopilot == "px4" else _ardupilot(order, kind, plan, keep)
    try:
        return fly_external(
            vehicle, system, pilot=pilot, mission=mission, wind=order.wind, faults=order.faults, seed=order.seed,
            settings=order.settings, until_s=order.until_s, log_s=order.log_s, speed=order.speed, progress=progress,
        )  # fmt: skip
    finally:
        pilot.close()


def order_of(case: FlightCase, *, where: str | None = None, keep: str | None = None) -> Order:
    """A case whose control is an autopilot; settings of our own navigator mean nothing to it."""
    return Order(
        case.control, case.vehicle, mission=case.mission, where=where, wind=case.wind,
        faults=tuple(injection.describe() for injection in case.faults), seed=case.seed,
        settings={path: value for path, value in case.settings.items() if not path.startswith("navigator.")},
        until_s=case.until_s or LONGEST_S, log_s=case.log_s, keep=keep,
    )  # fmt: skip


def plan_of(vehicle: Vehicle, given: str | Mission | None, kind: Kind) -> tuple[Mission, Sequence[PlanItem]]:
    """The mission in our words and in the autopilot's."""
    if isinstance(given, str) and Path(given).suffix not in ("", ".toml"):
        return load_mission(vehicle.spec.mission), load_plan(given).items
    mission = given if isinstance(given, Mission) else load_mission(given or vehicle.spec.mission)
    rows = [LocalItem(i.north_m, i.east_m, i.height_m, i.hold_s, i.kind) for i in mission.item]
    return mission, from_mission(rows, vehicle.spec.home, kind=kind, speed_mps=mission.cruise_speed_mps)


def _px4(order: Order, kind: Kind, plan: Sequence[PlanItem], keep: Path | None) -> tuple[ControlSystem, Pilot]:
    from ironbird.links.px4 import Px4
    from ironbird.links.px4_process import PILOT_PORT, Px4Process, free_instance

    instance = order.instance if order.instance is not None else free_instance()
    system = Px4(Px4Process(order.where, keep=keep), instance=instance)
    pilot = Pilot("px4", kind=kind, port=PILOT_PORT + instance, peer_port=14580 + instance, plan=plan)
    return system, pilot


def _ardupilot(order: Order, kind: Kind, plan: Sequence[PlanItem], keep: Path | None) -> tuple[ControlSystem, Pilot]:
    from ironbird.links.ardupilot import ArduPilot
    from ironbird.links.ardupilot_process import ArduPilotProcess

    extra = ("--serial2", "udpclient:127.0.0.1:14550") if order.feed_ground_station else ()
    process = ArduPilotProcess(order.where, keep=keep, extra=extra)
    injections = [parse_fault(text) for text in order.faults]
    system = ArduPilot(process, injections=injections)
    pilot = Pilot("ardupilot", kind=kind, port=process.ground_port, plan=plan)
    return system, pilot
