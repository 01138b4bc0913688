"""The geofence of a plan as a requirement: where the vehicle may be, judged on its true position."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from ironbird.errors import MissionError
from ironbird.flight.given_plan import CIRCLES, given_plan, place_of
from ironbird.flight.order import Order, Requirement
from ironbird.protocols.geodesy import Place
from ironbird.protocols.mavlink.numbers import NAV_FENCE_CIRCLE_INCLUSION, NAV_FENCE_POLYGON_VERTEX_INCLUSION
from ironbird.protocols.plan_file import Home as PlannedHome
from ironbird.protocols.plan_file import PlanItem, parse_plan
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_spec

FENCE = "fence"  # name of the requirement
NORTH, EAST = f"{at.BODY.position}[0]", f"{at.BODY.position}[1]"
LEAST = 1e-3  # m between corners, m^2 of an area
Corner = tuple[float, float]  # m north and east of home


def fence_of(order: Order) -> Requirement | None:
    """The requirement that the fence of an order's plan makes; None if it has no plan or the plan has no fence."""
    if order.has_plan_file and (plan := given_plan(order)) is not None and plan.fence:
        home = order.place or load_spec(order.vehicle).home
        here = PlannedHome(home.latitude_deg, home.longitude_deg, home.height_m)
        return Requirement(FENCE, _formula_of(order.script, here), severity="critical")
    return None


@functools.lru_cache(maxsize=256)
def _formula_of(script: str, home: Place) -> str:
    return fence_formula(parse_plan(script).fence, home)


def fence_formula(fence: Sequence[PlanItem], home: Place) -> str:
    """A formula for staying in at least one of the areas to stay in (if there are any) and out of all others.

    Polygons are sets of half planes, those with a dent are divided into triangles first. Heights are not limited: a
    fence of a plan has none. `MissionError` if the border of a polygon crosses itself.
    """
    allowed: list[str] = []
    forbidden: list[str] = []
    corners: list[Corner] = []
    for item in fence:
        corner = place_of(item, home)[:2]
        if item.command in CIRCLES:
            outside = item.command != NAV_FENCE_CIRCLE_INCLUSION
            distance = f"hypot({NORTH} - {_number(corner[0])} m, {EAST} - {_number(corner[1])} m)"
            area = f"{distance} {'>=' if outside else '<='} {item.params[0]:g} m"
        else:
            corners.append(corner)
            if len(corners) < item.params[0]:
                continue
            outside = item.command != NAV_FENCE_POLYGON_VERTEX_INCLUSION
            area = _polygon(corners, outside=outside)
            corners = []
        (forbidden if outside else allowed).append(f"({area})")
    parts = [f"({' or '.join(allowed)})"] if len(allowed) > 1 else allowed
    return f"always ({' and '.join([*parts, *forbidden])})"


def _polygon(corners: Sequence[Corner], *, outside: bool) -> str:
    """The condition for a place inside (or outside) of a polygon."""
    pieces = []
    for piece in _convex_pieces(corners):
        sides = [_side(a, b, outside=outside) for a, b in zip(piece, [*piece[1:], piece[0]], strict=True)]
        pieces.append(f"({(' or ' if outside else ' and ').join(sides)})")
    return (" and " if outside else " or ").join(pieces)


def _side(a: Corner, b: Corner, *, outside: bool) -> str:
    """Left (inside) or right of the line from a to b, seen from above with north ahead and east to the right."""
    length = math.dist(a, b)
    north, east = -(b[1] - a[1]) / length, (b[0] - a[0]) / length  # unit vector to the right of the line
    offset = north * a[0] + east * a[1]
    compare = ">=" if outside else "<="
    return f"{_number(north)} * {NORTH} + {_number(east)} * {EAST} {compare} {_number(offset)} m"


def _number(value: float) -> str:
    return f"{value:.6f}"


def _convex_pieces(corners: Sequence[Corner]) -> list[list[Corner]]:
    """A polygon that turns left all the way, or triangles of one that does not (ear clipping)."""
    ring = [corner for n, corner in enumerate(corners) if math.dist(corner, corners[n - 1]) > LEAST]
    area = sum(_turn((0.0, 0.0), ring[n - 1], ring[n]) for n in range(len(ring)))
    if abs(area) < LEAST:
        raise MissionError("a polygon of the plan's fence has no area: its corners lie on a line")
    sides = [(ring[n - 1], ring[n]) for n in range(len(ring))]
    if any(_cross(*one, *other) for one, other in itertools.combinations(sides, 2)):
        raise MissionError("the border of a polygon of the plan's fence crosses itself")
    if area < 0:
        ring.reverse()
    if all(_turn(ring[n - 2], ring[n - 1], ring[n]) >= 0 for n in range(len(ring))):
        return [ring]
    pieces = []
    while len(ring) > 3:
        ear = next((n for n in range(len(ring)) if _is_ear(ring, n)), None)  # a simple polygon has two, [Meisters1975]
        if ear is None:
            raise MissionError("the border of a polygon of the plan's fence touches itself")
        pieces.append([ring[ear - 2], ring[ear - 1], ring[ear]])
        del ring[ear - 1]
    return [*pieces, ring]


def _is_ear(ring: Sequence[Corner], last: int) -> bool:
    """Whether three corners in a row, up to `last`, make a triangle of the polygon without another corner in it."""
    a, b, c = ring[last - 2], ring[last - 1], ring[last]
    others = [p for p in ring if p not in (a, b, c)]
    return _turn(a, b, c) > 0 and all(min(_turn(a, b, p), _turn(b, c, p), _turn(c, a, p)) < 0 for p in others)


def _cross(a: Corner, b: Corner, c: Corner, d: Corner) -> bool:
    """Whether the lines from a to b and from c to d cross, other than at an end."""
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Corner, b: Corner, c: Corner) -> float:
    """Twice the area of a triangle: positive if it turns left, seen from above with north ahead."""
    return (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1])
