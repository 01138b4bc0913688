"""A plan of another program (.plan, 'QGC WPL 110') in an order: its home, and its content for pages."""

from __future__ import annotations

import math

from ironbird.flight.order import Order
from ironbird.protocols.geodesy import Place, to_local
from ironbird.protocols.mavlink.numbers import (
    FRAME_GLOBAL_RELATIVE_ALT,
    FRAME_MISSION,
    NAV_FENCE_CIRCLE_EXCLUSION,
    NAV_FENCE_CIRCLE_INCLUSION,
    NAV_LAND,
    NAV_VTOL_LAND,
)
from ironbird.protocols.plan_file import PLACE_COMMANDS, Plan, PlanItem, parse_plan

Point = tuple[float, float, float]  # m north and east of home, and above it
CIRCLES = (NAV_FENCE_CIRCLE_INCLUSION, NAV_FENCE_CIRCLE_EXCLUSION)
CORNERS = 36  # of a circle on a page


def given_plan(order: Order) -> Plan | None:
    """The plan that an order's control system flies in place of a mission; None if it has none."""
    return parse_plan(order.script) if order.has_plan_file else None


def title_of_plan(order: Order) -> str:
    """File name of the plan and a count of its items; empty for a record of commands."""
    plan = given_plan(order)
    if plan is None:
        return "as it was commanded"
    parts = [f"{len(plan.items)} items"]
    parts += [f"{len(plan.fence)} of a fence"] if plan.fence else []
    parts += [f"{len(plan.rally)} rally points"] if plan.rally else []
    return f"{order.mission_name or 'a plan'} ({', '.join(parts)})"


def waypoints_of(plan: Plan, home: Place) -> list[Point]:
    """Positions of the plan's items; a landing without a position is below the previous one."""
    here, points = (0.0, 0.0, 0.0), []
    for item in plan.items:
        if item.command not in PLACE_COMMANDS or item.frame == FRAME_MISSION:
            continue
        place = place_of(item, home)
        if not item.latitude_deg and not item.longitude_deg:
            place = (here[0], here[1], place[2])
        if item.command in (NAV_LAND, NAV_VTOL_LAND):
            place = (place[0], place[1], 0.0)
        points.append(place)
        here = place
    return points


def fences_of(plan: Plan, home: Place) -> list[list[Point]]:
    """The plan's fences as closed lines on the ground, circles as polygons."""
    lines: list[list[Point]] = []
    corners: list[Point] = []
    for item in plan.fence:
        north, east, _ = place_of(item, home)
        if item.command in CIRCLES:
            turns = [2 * math.pi * n / CORNERS for n in range(CORNERS + 1)]
            radius = item.params[0]
            lines.append([(north + radius * math.cos(a), east + radius * math.sin(a), 0.0) for a in turns])
            continue
        corners.append((north, east, 0.0))
        if len(corners) == item.params[0]:
            lines.append([*corners, corners[0]])
            corners = []
    return lines


def rally_points_of(plan: Plan, home: Place) -> list[Point]:
    """Positions of the plan's rally points."""
    return [place_of(item, home) for item in plan.rally]


def place_of(item: PlanItem, home: Place) -> Point:
    """Place of an item of a plan: m north and east of home, and above it."""
    above = home.height_m if item.frame == FRAME_GLOBAL_RELATIVE_ALT else 0.0
    north, east, down = to_local(home, item.latitude_deg, item.longitude_deg, item.altitude_m + above)
    return north, east, -down
