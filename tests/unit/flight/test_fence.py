"""The fence of a plan as a requirement: compared with ray casting on random places."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import numpy as np
import pytest

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import MissionError
from ironbird.flight.fence import FENCE, fence_formula, fence_of
from ironbird.flight.judge import requirements_of
from ironbird.flight.order import make_order
from ironbird.protocols.geodesy import metres_per_degree
from ironbird.protocols.mavlink import numbers
from ironbird.protocols.plan_file import Home, PlanItem, plan_text
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace

HOME = Home(47.397742, 8.545594, 488.0)
NORTH_M, EAST_M = metres_per_degree(HOME.latitude_deg)
SQUARE = [(-20.0, -20.0), (20.0, -20.0), (20.0, 20.0), (-20.0, 20.0)]
DENT = [(-40.0, -40.0), (40.0, -40.0), (40.0, 40.0), (0.0, 0.0), (-40.0, 40.0)]  # a square without its east quarter


def corner(north: float, east: float) -> tuple[float, float]:
    return HOME.latitude_deg + north / NORTH_M, HOME.longitude_deg + east / EAST_M


def polygon(corners: Sequence[tuple[float, float]], *, inclusion: bool = True) -> list[PlanItem]:
    command = numbers.NAV_FENCE_POLYGON_VERTEX_INCLUSION if inclusion else numbers.NAV_FENCE_POLYGON_VERTEX_EXCLUSION
    at = [corner(*c) for c in corners]
    return [PlanItem(command, 0, (float(len(at)), 0.0, 0.0, 0.0), latitude, longitude) for latitude, longitude in at]


def circle(north: float, east: float, radius: float, *, inclusion: bool = True) -> PlanItem:
    command = numbers.NAV_FENCE_CIRCLE_INCLUSION if inclusion else numbers.NAV_FENCE_CIRCLE_EXCLUSION
    return PlanItem(command, 0, (radius, 0.0, 0.0, 0.0), *corner(north, east))


def inside(corners: Sequence[tuple[float, float]], north: float, east: float) -> bool:
    """Ray casting (even-odd rule), as autopilots do it."""
    odd = False
    for (n1, e1), (n2, e2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (e1 > east) != (e2 > east) and north < (n2 - n1) * (east - e1) / (e2 - e1) + n1:
            odd = not odd
    return odd


def margins(formula: str, places: Sequence[tuple[float, float]]) -> np.ndarray:
    """Margin of a formula at each place, as the judge computes it: one lane of one row each."""
    north, east = (np.array([[place[axis]] for place in places]) for axis in (0, 1))
    trace = Trace(np.zeros(1), {"body.p_NB_N[0]": north, "body.p_NB_N[1]": east}, np.ones(len(places)))
    return robustness(parse_formula(formula, Names({"body.p_NB_N[0]": "m", "body.p_NB_N[1]": "m"})), trace)


@pytest.mark.parametrize("shape", [SQUARE, DENT, DENT[::-1]], ids=["square", "dent", "clockwise"])
@pytest.mark.parametrize("inclusion", [True, False])
def test_a_polygon_is_what_ray_casting_says(shape: list[tuple[float, float]], inclusion: bool) -> None:
    formula = fence_formula(polygon(shape, inclusion=inclusion), HOME)
    draw = random.Random(4)
    places = [(draw.uniform(-60, 60), draw.uniform(-60, 60)) for _ in range(2000)]
    wanted = [inside(shape, *place) == inclusion for place in places]
    assert (margins(formula, places) > 0).tolist() == wanted
    assert 200 < sum(wanted) < 1800


def test_margins_are_metres_to_the_border() -> None:
    formula = fence_formula([*polygon(SQUARE), circle(0.0, 0.0, 5.0, inclusion=False)], HOME)
    assert margins(formula, [(15.0, 0.0), (25.0, 0.0), (8.0, 0.0), (0.0, 2.0)]) == pytest.approx(
        [5.0, -5.0, 3.0, -3.0], abs=1e-4
    )


def test_one_of_several_areas_is_enough_and_every_forbidden_one_counts() -> None:
    fence = [circle(0.0, 0.0, 10.0), circle(30.0, 0.0, 10.0), circle(30.0, 0.0, 2.0, inclusion=False)]
    places = [(0.0, 0.0), (25.0, 0.0), (15.0, 0.0), (31.0, 0.0)]
    assert (margins(fence_formula(fence, HOME), places) > 0).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("corners", "why"),
    [
        ([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)], "no area"),
        ([(0.0, 0.0), (10.0, 10.0), (10.0, 0.0), (0.0, 12.0)], "crosses itself"),
    ],
)
def test_a_polygon_that_has_no_inside_is_refused(corners: list[tuple[float, float]], why: str) -> None:
    with pytest.raises(MissionError, match=why):
        fence_formula(polygon(corners), HOME)


def plan(*, fence: bool) -> str:
    at = [HOME.latitude_deg, HOME.longitude_deg]
    data = json.loads(plan_text([PlanItem(22, altitude_m=15.0), PlanItem(21)], HOME))
    if fence:
        data["geoFence"]["circles"] = [{"circle": {"center": at, "radius": 40.0}, "inclusion": True, "version": 1}]
    return json.dumps(data)


def test_a_flight_of_a_plan_must_stay_within_its_fence() -> None:
    fenced, free = (make_order("quad_f450", control="px4", script=plan(fence=fence)) for fence in (True, False))
    (required,) = [one for one in requirements_of(fenced) if one.name == FENCE]
    assert required == fence_of(fenced) and required.severity == "critical"
    assert margins(required.formula, [(0.0, 39.0), (0.0, 41.0)]) == pytest.approx([1.0, -1.0], abs=1e-3)
    assert fence_of(free) is None and FENCE not in [one.name for one in requirements_of(free)]
