"""Flights of PX4 and ArduPilot, software in the loop: from a vehicle of the catalogue to a judged flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ironbird.campaign.case import FlightCase
from ironbird.errors import LinkError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight, Wind
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.outside import fly_external
from ironbird.links.ground import Pilot
from ironbird.links.plan_file import Approach, Kind, LocalItem, PlanItem, from_mission, load_plan
from ironbird.links.process import free_tcp_port
from ironbird.links.px4.sticks import StickPilot
from ironbird.links.system import ControlSystem
from ironbird.model.signal import Number
from ironbird.vehicles.load import Vehicle, load_vehicle
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.underwater import UnderwaterSpec

Autopilot = Literal["px4", "ardupilot"]
AUTOPILOTS: tuple[str, ...] = get_args(Autopilot)
KINDS: dict[str, Kind] = {
    "multicopter": "copter", "helicopter": "copter", "fixed_wing": "plane", "vtol": "vtol", "car": "rover",
    "rover": "rover", "surface_vessel": "boat", "underwater": "sub",
}  # fmt: skip
LONGEST_S = 600.0
PILOTS = ("ours", "none")
GROUND_PORT = 14550  # UDP where ground stations listen
TCP_PORT = 5760  # where clients of ArduPilot connect to
PORT_STEP = 10  # between the ports of ArduPilot's instances
# Parameters of an ArduPilot that we only listen to: MAVLink on its TCP port; what our own link is sent unasked, in Hz
WATCHED = "SERIAL5_PROTOCOL 2\nMAV1_EXT_STAT 2\nMAV1_POSITION 5\nMAV1_EXTRA3 2\n"


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
    pilot: str = "ours"  # or none: another ground station commands, ours only watches


def fly_sitl(
    order: Order, progress: Callable[[float], None] | None = None, announce: Callable[[str], None] | None = None
) -> Flight:
    """Start the autopilot, fly, land, and leave nothing behind. Ctrl-C in flight ends it there, with its results.

    With the pilot `none`, `announce` is told the ports for ground stations and other clients.
    """
    if order.autopilot not in AUTOPILOTS:
        raise UnknownNameError("autopilot", order.autopilot, AUTOPILOTS)
    if order.pilot not in PILOTS:
        raise UnknownNameError("pilot", order.pilot, PILOTS)
    vehicle = load_vehicle(order.vehicle, control="external")
    if vehicle.spec.template not in KINDS:
        raise LinkError(f"no autopilot flies a vehicle of kind '{vehicle.spec.template}' yet")
    kind = KINDS[vehicle.spec.template]
    mission, plan = plan_of(vehicle, order.mission, kind)
    keep = Path(order.keep) if order.keep else None
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    make = _px4 if order.autopilot == "px4" else _ardupilot
    system, pilot, ports = make(order, vehicle, kind, plan, keep)
    if announce is not None and order.pilot == "none":
        announce(f"{ports}; the run ends when the vehicle is down and disarmed after its flight, at "
                 f"{order.until_s:g} s of simulation time, or with Ctrl-C")  # fmt: skip
    try:
        return fly_external(
            vehicle, system, pilot=pilot, mission=mission, wind=order.wind, faults=order.faults, seed=order.seed,
            settings=order.settings, until_s=order.until_s, log_s=order.log_s, speed=order.speed, progress=progress,
            keep_interrupted=True,
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
    rows = [LocalItem(i.north_m, i.east_m, i.height_m, i.hold_s, i.kind, i.yaw_deg) for i in mission.item]
    spec, approach = vehicle.spec, None
    if isinstance(spec, FixedWingSpec):
        table = spec.control
        approach = Approach(table.approach_height_m, table.glide_slope_deg, table.loiter_radius_m)
    speed = mission.cruise_speed_mps
    return mission, from_mission(rows, spec.home, kind=kind, speed_mps=speed, approach=approach)


def _px4(
    order: Order, vehicle: Vehicle, kind: Kind, plan: Sequence[PlanItem], keep: Path | None
) -> tuple[ControlSystem, Pilot, str]:
    from ironbird.links.px4.link import Px4
    from ironbird.links.px4.process import LISTENER_PORT, PILOT_PORT, Px4Process, free_instance

    watch = order.pilot == "none"
    instance = order.instance
    if instance is None:
        instance = free_instance(0 if watch else None)
    system = Px4(Px4Process(order.where, keep=keep, watched=watch), instance=instance)
    pilot: Pilot
    if isinstance(vehicle.spec, UnderwaterSpec) and not watch:
        pilot = StickPilot(vehicle.spec, plan, port=PILOT_PORT + instance, peer_port=14580 + instance)
    else:
        pilot = Pilot(
            "px4", kind=kind, port=(LISTENER_PORT if watch else PILOT_PORT) + instance, peer_port=14580 + instance,
            plan=() if watch else plan, passive=watch,
        )  # fmt: skip
    ports = (
        f"PX4 {instance} (MAVLink system {instance + 1}) sends to UDP {GROUND_PORT} (QGroundControl, MAVProxy, "
        f"pymavlink: udpin:127.0.0.1:{GROUND_PORT}) and UDP {PILOT_PORT + instance} "
        f"(MAVSDK: udpin://127.0.0.1:{PILOT_PORT + instance})"
    )
    return system, pilot, ports


def _ardupilot(
    order: Order, vehicle: Vehicle, kind: Kind, plan: Sequence[PlanItem], keep: Path | None
) -> tuple[ControlSystem, Pilot, str]:
    from ironbird.links.ardupilot.link import ArduPilot
    from ironbird.links.ardupilot.process import ArduPilotProcess

    watch = order.pilot == "none"
    ground = GROUND_PORT + PORT_STEP * (order.instance or 0)
    extra = ["--serial2", f"udpclient:127.0.0.1:{ground}"] if order.feed_ground_station or watch else []
    tcp = free_tcp_port(TCP_PORT + PORT_STEP * (order.instance or 0), PORT_STEP) if watch else 0
    if watch:
        extra += ["--serial5", f"tcp:{tcp}"]
    process = ArduPilotProcess(order.where, keep=keep, params=WATCHED if watch else "", extra=extra)
    injections = [parse_fault(text) for text in order.faults]
    system = ArduPilot(process, injections=injections)
    pilot = Pilot("ardupilot", kind=kind, port=process.ground_port, plan=() if watch else plan, passive=watch)
    ports = (
        f"ArduPilot sends to UDP {ground} (QGroundControl, MAVProxy, pymavlink: udpin:127.0.0.1:{ground}) and "
        f"listens on TCP {tcp} (tcp:127.0.0.1:{tcp})"
    )
    return system, pilot, ports
