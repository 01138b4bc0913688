"""A plan of another program is ordered, shown and repeated as it is: its name, home, places, fences, rally points."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from ironbird.cli.options import order_from
from ironbird.errors import MissionError, OrderError
from ironbird.flight.flight import Flight, fly
from ironbird.flight.given_plan import fences_of, given_plan, rally_points_of, title_of_plan, waypoints_of
from ironbird.flight.order import make_order, parse_order
from ironbird.protocols.geodesy import metres_per_degree
from ironbird.protocols.plan_file import Home as PlannedHome
from ironbird.protocols.plan_file import PlanItem, plan_text
from ironbird.report.flight.paths import path_figures
from ironbird.report.flight.plots import Plots
from ironbird.report.flight.repeat import command, mission_text, notes
from ironbird.report.folder import clear_flight_folder, write_flight_folder
from ironbird.vehicles.spec import Home

HOME = PlannedHome(47.397742, 8.545594, 488.0)
NORTH_M, EAST_M = metres_per_degree(HOME.latitude_deg)
ITEMS = [
    PlanItem(22, params=(0.0, 0.0, 0.0, math.nan), altitude_m=15.0),  # take-off where it stands
    PlanItem(16, latitude_deg=HOME.latitude_deg + 40 / NORTH_M, longitude_deg=HOME.longitude_deg, altitude_m=20.0),
    PlanItem(178, 2, (1.0, 4.0, -1.0, 0.0)),  # 4 m/s from here on
    PlanItem(16, 0, latitude_deg=HOME.latitude_deg, longitude_deg=HOME.longitude_deg + 30 / EAST_M, altitude_m=510.0),
    PlanItem(21),
]
WPL = """QGC WPL 110
0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1
1\t0\t3\t22\t0\t0\t0\t0\t0\t0\t12\t1
2\t0\t3\t21\t0\t0\t0\t0\t0\t0\t0\t1
"""


def text() -> str:
    """As QGroundControl saves it, with a fence and a rally point."""
    data = json.loads(plan_text(ITEMS, HOME))
    at = [HOME.latitude_deg, HOME.longitude_deg]
    corners = [[at[0] + n / NORTH_M, at[1] + e / EAST_M] for n, e in ((-80, -80), (80, -80), (80, 80), (-80, 80))]
    data["geoFence"]["polygons"] = [{"polygon": corners, "inclusion": True, "version": 1}]
    data["geoFence"]["circles"] = [{"circle": {"center": at, "radius": 90.0}, "inclusion": True, "version": 1}]
    data["rallyPoints"]["points"] = [[at[0] + 10 / NORTH_M, at[1], 25.0]]
    return json.dumps(data)


@pytest.fixture(params=["survey.plan", "survey.waypoints"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_text(text() if path.suffix == ".plan" else WPL)
    return path


def test_a_flight_of_a_plan_begins_where_it_was_planned_from(file: Path) -> None:
    order = order_from("quad_f450", mission=str(file), control="px4")
    assert order.place == Home(latitude_deg=47.397742, longitude_deg=8.545594, height_m=488.0)
    assert order.mission is None and order.mission_name == file.name and order.script == file.read_text()
    assert parse_order(order.text()) == order
    elsewhere = Home(latitude_deg=1.0)
    assert order_from("quad_f450", mission=str(file), control="px4", place=elsewhere).place == elsewhere


def test_the_vehicles_own_home_is_no_other_place_and_a_broken_plan_is_refused_when_it_is_ordered() -> None:
    usual = Home()
    own = plan_text(ITEMS, PlannedHome(usual.latitude_deg, usual.longitude_deg, usual.height_m))
    assert make_order("quad_f450", control="px4", script=own).place is None
    with pytest.raises(MissionError, match=r"line 2 has 1 columns"):
        make_order("quad_f450", control="px4", script="QGC WPL 110\nx\n")
    with pytest.raises(OrderError, match="too near a pole"):
        make_order("quad_f450", control="px4", script=plan_text(ITEMS, PlannedHome(90.0, 0.0, 0.0)))


def test_its_places_fences_and_rally_points_are_in_metres_from_home() -> None:
    order = make_order("quad_f450", control="px4", script=text(), script_name="survey.plan")
    plan = given_plan(order)
    assert plan is not None
    assert title_of_plan(order) == "survey.plan (5 items, 5 of a fence, 1 rally points)"
    found = waypoints_of(plan, HOME)
    wanted = [(0, 0, 15), (40, 0, 20), (0, 30, 22), (0, 30, 0)]  # the change of speed has no place
    assert [pytest.approx(place, abs=1e-6) for place in wanted] == found
    polygon, circle = fences_of(plan, HOME)
    assert polygon[0] == polygon[-1] == pytest.approx((-80, -80, 0)) and len(polygon) == 5
    assert all(math.hypot(*corner[:2]) == pytest.approx(90.0) for corner in circle)
    assert rally_points_of(plan, HOME) == [pytest.approx((10.0, 0.0, 25.0))]


@pytest.fixture(scope="module")
def flown() -> Flight:
    """A flight of another order that the page takes for one of the plan."""
    flight = fly("quad_f450", control="truth", mission="hover", until_s=0.5, place=Home(**HOME._asdict()))
    order = make_order("quad_f450", control="px4", script=text(), script_name="survey.plan")
    return replace(flight, order=replace(order, control=flight.order.control))


def test_the_page_shows_the_plan_and_not_the_vehicles_usual_mission(flown: Flight) -> None:
    plots = Plots(flown)
    path_figures(plots)
    assert flown.mission_title.startswith("survey.plan (5 items")
    assert plots.figures["replay"]["waypoints"][1] == pytest.approx([40.0, 0.0, 20.0])
    names = [trace["name"] for trace in plots.figures["path-plan"]["data"]]
    assert {"fence 1", "fence 2", "rally points", "waypoints"} <= set(names)
    assert mission_text(flown.order) == text() and any("mission.plan" in note for note in notes(flown))
    assert "--plan mission.plan" in command(flown.order)


def test_the_plan_lies_beside_the_log_and_goes_with_an_earlier_flight(flown: Flight, tmp_path: Path) -> None:
    write_flight_folder(flown, tmp_path)
    assert (tmp_path / "mission.plan").read_text() == text()
    clear_flight_folder(tmp_path)
    assert not (tmp_path / "mission.plan").exists()
