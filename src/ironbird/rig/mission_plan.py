"""The plan of a task: the mission as an autopilot's mission items."""

from __future__ import annotations

from ironbird.errors import LinkError
from ironbird.protocols.orders import is_orders
from ironbird.protocols.plan_file import Approach, Plan, from_mission, parse_plan
from ironbird.rig.system import Task
from ironbird.vehicles.kinds import VehicleClass
from ironbird.vehicles.load import Vehicle


def class_of(vehicle: Vehicle, who: str = "autopilot") -> VehicleClass:
    """The class of a vehicle for autopilots (copter, plane, …); `LinkError` if they support none for it."""
    result = vehicle.kind.autopilot_class
    if result is None:
        raise LinkError(f"no {who} flies a vehicle of kind '{vehicle.spec.template}' yet")
    return result


def plan_of(task: Task, *, edge_on: bool = False) -> Plan:
    """The task's script with its fences and rally points, or else its mission; empty if it has neither.

    With `edge_on` a tail-sitter lands with the edges of its wings into the wind, if there is wind: broadside its wings
    carry it, and it does not descend.
    """
    if task.script and not is_orders(task.script):
        return parse_plan(task.script)
    if not task.items:
        return Plan([])
    spec, kind, edge_deg = task.vehicle.spec, class_of(task.vehicle), None
    approach = Approach(*descent) if (descent := spec.approach()) is not None else None
    if edge_on and spec.lands_on_tail() and task.wind_from_deg is not None:
        edge_deg = (task.wind_from_deg + 90.0) % 360.0
    return Plan(
        from_mission(
            task.items, spec.home, kind=kind, speed_mps=task.cruise_speed_mps, approach=approach, edge_deg=edge_deg
        )
    )
