"""The plan of a task: the mission of an autopilot, in its own terms."""

from __future__ import annotations

from ironbird.errors import LinkError
from ironbird.links.client.orders import is_orders
from ironbird.links.plan_file import Approach, Plan, VehicleClass, from_mission, parse_plan
from ironbird.links.system import Task
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec

CLASSES: dict[str, VehicleClass] = {  # of Ironbird's templates
    "multicopter": "copter",
    "helicopter": "copter",
    "tilt_rotor": "copter",
    "fixed_wing": "plane",
    "vtol": "vtol",
    "car": "rover",
    "rover": "rover",
    "surface_vessel": "boat",
    "underwater": "sub",
}


def class_of(vehicle: Vehicle, who: str = "autopilot") -> VehicleClass:
    """What a vehicle is to autopilots; `LinkError` if it is nothing to them."""
    found = CLASSES.get(vehicle.spec.template)
    if found is None:
        raise LinkError(f"no {who} flies a vehicle of kind '{vehicle.spec.template}' yet")
    return found


def plan_of(task: Task) -> Plan:
    """The task's script with its fences and rally points, or else its mission; empty if it has neither."""
    if task.script and not is_orders(task.script):
        return parse_plan(task.script)
    if not task.items:
        return Plan([])
    spec, approach = task.vehicle.spec, None
    if isinstance(spec, FixedWingSpec):
        table = spec.control
        approach = Approach(table.approach_height_m, table.glide_slope_deg, table.loiter_radius_m)
    kind = class_of(task.vehicle)
    return Plan(from_mission(task.items, spec.home, kind=kind, speed_mps=task.cruise_speed_mps, approach=approach))
