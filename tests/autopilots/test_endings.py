"""What becomes of flights of real autopilots that do not fly, are cut off, or come home: judged on the truth.

In virtual time; needs the autopilots of `conftest.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ironbird.flight import flight as flights
from ironbird.flight.ending import ending_of
from ironbird.flight.flight import Flight
from ironbird.flight.order import make_order
from ironbird.protocols.geodesy import metres_per_degree
from ironbird.protocols.mavlink.numbers import NAV_LAND, NAV_TAKEOFF, NAV_WAYPOINT
from ironbird.protocols.plan_file import Home, PlanItem, plan_text
from ironbird.vehicles.load import load_spec

pytestmark = pytest.mark.autopilot
REACH_M, FENCE_M = 60.0, 40.0


def fly(autopilot: str, folder: Path, **ordered: Any) -> Flight:
    order = make_order("quad_f450", control=autopilot, options={"time": "virtual"}, **ordered)
    return flights.fly(order, folder=folder)


def test_a_mission_flown_to_its_landing_is_completed(autopilot: str, tmp_path: Path) -> None:
    flight = fly(autopilot, tmp_path, requirements="mission_completed")
    assert (str(flight.verdict), ending_of(flight)) == ("pass", "landed"), flight.judged.sentence


def test_one_that_never_gets_ready_is_not_passed(autopilot: str, tmp_path: Path) -> None:
    flight = fly(autopilot, tmp_path, until_s=60.0, faults="environment.gnss_denied@1")
    assert (str(flight.verdict), ending_of(flight)) == ("void", "never airborne")
    assert "never left the ground" in flight.judged.sentence


def test_one_that_is_cut_off_in_the_air_is_not_passed(autopilot: str, tmp_path: Path) -> None:
    flight = fly(autopilot, tmp_path, until_s=75.0 if autopilot == "ardupilot" else 35.0)
    assert (str(flight.verdict), ending_of(flight)) == ("void", "still flying")
    assert "cut off at" in flight.judged.sentence and "items were reached" in flight.judged.sentence


def test_a_plan_that_leaves_its_own_fence_is_not_passed(autopilot: str, tmp_path: Path) -> None:
    """A waypoint beyond the circle that the vehicle shall stay in: refused, or the fence holds it, or it is a fail."""
    home = load_spec("quad_f450").home
    north = REACH_M / metres_per_degree(home.latitude_deg)[0]
    at_home, beyond = (home.latitude_deg, home.longitude_deg), (home.latitude_deg + north, home.longitude_deg)
    items = [
        PlanItem(NAV_TAKEOFF, 3, (0.0, 0.0, 0.0, 0.0), *at_home, 10.0),
        PlanItem(NAV_WAYPOINT, 3, (0.0, 0.0, 0.0, 0.0), *beyond, 10.0),
        PlanItem(NAV_LAND, 3, (0.0, 0.0, 0.0, 0.0), *at_home, 0.0),
    ]
    plan = json.loads(plan_text(items, Home(*at_home, home.height_m)))
    circle = {"circle": {"center": list(at_home), "radius": FENCE_M}, "inclusion": True, "version": 1}
    plan["geoFence"] = {"circles": [circle], "polygons": [], "version": 2}
    flight = fly(autopilot, tmp_path, script=json.dumps(plan), until_s=150.0)
    assert str(flight.verdict) != "pass", flight.judged.sentence
    if autopilot == "px4":
        assert "Geofence violation" in flight.judged.sentence  # it refuses the plan and names the item
    else:
        position = flight.log["body.p_NB_N"]
        furthest = float((position[:, 0] ** 2 + position[:, 1] ** 2).max() ** 0.5)
        assert furthest < REACH_M - 5.0, f"the fence did not hold it: {furthest:.0f} m"
