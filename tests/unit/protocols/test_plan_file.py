"""Mission files: what ground stations write is read, what is wrong is named, nothing else is ever raised."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ironbird.errors import MissionError
from ironbird.protocols.geodesy import to_geodetic, to_local
from ironbird.protocols.mavlink.numbers import (
    DO_CHANGE_SPEED,
    DO_LAND_START,
    DO_VTOL_TRANSITION,
    FRAME_GLOBAL,
    FRAME_GLOBAL_RELATIVE_ALT,
    FRAME_MISSION,
    NAV_LAND,
    NAV_LOITER_TIME,
    NAV_LOITER_TO_ALT,
    NAV_RETURN_TO_LAUNCH,
    NAV_TAKEOFF,
    NAV_VTOL_LAND,
    NAV_VTOL_TAKEOFF,
    NAV_WAYPOINT,
)
from ironbird.protocols.plan_file import (
    Approach,
    Home,
    LocalItem,
    PlanItem,
    from_mission,
    load_plan,
    parse_plan,
    plan_text,
)
from ironbird.rig.mission_plan import plan_of
from ironbird.rig.system import Options, Task
from ironbird.vehicles.load import load_vehicle

HOME = Home(47.397742, 8.545594, 488.0)
SQUARE = [(0, 0, 10, 1, "waypoint"), (20, 0, 10, 1, "waypoint"), (20, 20, 10, 1, "waypoint"), (0, 0, 0, 0, "land")]
# In the manner of the MAVLink Developer Guide's example, from memory
GUIDE = """QGC WPL 110
0\t1\t0\t16\t0.149999999999999994\t0\t0\t0\t8.54800000000000004\t47.3759999999999977\t550\t1
1\t0\t0\t16\t0.149999999999999994\t0\t0\t0\t8.54800000000000004\t47.3759999999999977\t550\t1
2\t0\t0\t16\t0.149999999999999994\t0\t0\t0\t8.54800000000000004\t47.3759999999999977\t550\t1
"""


def plan(*items: dict[str, Any], **more: Any) -> str:
    mission = {"items": list(items), "plannedHomePosition": list(HOME), "version": 2}
    return json.dumps({"fileType": "Plan", "version": 1, "mission": mission} | more)


def simple(command: Any = 16, frame: int = 3, params: Any = (0, 0, 0, None, 47.4, 8.5, 30)) -> dict[str, Any]:
    return {"type": "SimpleItem", "command": command, "frame": frame, "params": list(params), "autoContinue": True}


def test_what_is_written_is_read_again() -> None:
    items = from_mission(SQUARE, HOME, speed_mps=4.0)

    again = parse_plan(plan_text(items, HOME))

    assert again.home == HOME
    assert [i.command for i in again.items] == [
        NAV_TAKEOFF,
        DO_CHANGE_SPEED,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_LAND,
    ]
    for a, b in zip(items, again.items, strict=True):
        assert (a.frame, a.latitude_deg, a.longitude_deg, a.altitude_m) == (
            b.frame,
            b.latitude_deg,
            b.longitude_deg,
            b.altitude_m,
        )
        assert all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a.params, b.params, strict=True))


def test_a_waypoint_file_is_read_with_its_home(tmp_path: Path) -> None:
    file = tmp_path / "guide.waypoints"
    file.write_text(GUIDE)

    read = load_plan(file)

    assert read.home == Home(8.548, 47.376, 550.0)
    assert read.items == 2 * [PlanItem(NAV_WAYPOINT, FRAME_GLOBAL, (0.15, 0.0, 0.0, 0.0), 8.548, 47.376, 550.0)]


def test_a_survey_is_spread_out() -> None:
    survey = {
        "type": "ComplexItem", "complexItemType": "survey",
        "TransectStyleComplexItem": {"Items": [simple(), simple(frame=6)]},
    }  # fmt: skip
    read = parse_plan(plan(simple(22), survey))

    assert [i.command for i in read.items] == [NAV_TAKEOFF, NAV_WAYPOINT, NAV_WAYPOINT]
    assert read.items[2].frame == FRAME_GLOBAL_RELATIVE_ALT
    assert math.isnan(read.items[1].params[3])


def test_fences_and_rally_points_become_items_of_their_own() -> None:
    corners = [[47.0, 8.0], [47.1, 8.0], [47.0, 8.1]]
    read = parse_plan(
        plan(
            simple(22),
            geoFence={
                "polygons": [{"inclusion": False, "polygon": corners}],
                "circles": [{"inclusion": True, "circle": {"center": [47.0, 8.0], "radius": 120}}],
            },
            rallyPoints={"points": [[47.05, 8.05, 30]]},
        )
    )
    assert [(i.command, i.params[0], i.latitude_deg, i.longitude_deg) for i in read.fence] == [
        *((5002, 3.0, *corner) for corner in corners), (5003, 120.0, 47.0, 8.0),
    ]  # fmt: skip
    assert [(i.command, i.altitude_m) for i in read.rally] == [(5100, 30.0)]


@pytest.mark.parametrize(
    ("fence", "words"),
    [
        ({"circles": [1]}, r"geoFence\.circles\[0\] must be a table"),
        ({"polygons": [{"polygon": [[1, 2]]}]}, "needs three corners, it has 1"),
        ({"circles": [{"circle": {"center": [1, 2], "radius": -5}}]}, "a radius of -5 m"),
    ],
)
def test_a_fence_that_is_none_is_refused_with_its_place(fence: dict[str, object], words: str) -> None:
    with pytest.raises(MissionError, match=words):
        parse_plan(plan(simple(22), geoFence=fence))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "begins with 'QGC WPL 110'"),
        ("", "neither a QGroundControl plan"),
        ("QGC WPL 120\n", "line 1 is 'QGC WPL 120'"),
        ("QGC WPL 110\n", "no items"),
        ("QGC WPL 110\n0 1 0 16 0 0 0\n", "line 2 has 7 columns; 12 are needed"),
        ("QGC WPL 110\n1 0 3 16 0 0 x 0 1 1 1 1\n", "line 2, column 7: 'x' is no number"),
        ("QGC WPL 110\n\n1 0 3 16 0 0 0 0 91 1 1 1\n", "line 3: latitude 91"),
        ("QGC WPL 110\n1 0 3 1e99 0 0 0 0 1 1 1 1\n", "column 4: 1e+99 is no whole number"),
        ("QGC WPL 110\n1 0 10 16 0 0 0 0 1 1 1 1\n", "column 3 is 10; heights must be"),
        ("{", "line 1, column 2"),
        ("{}", "fileType is None"),
        ('{"fileType": "Plan"}', "mission must be a table"),
        ('{"fileType": "Plan", "mission": {"items": 3}}', "mission.items must be a list"),
        (plan(), "nothing to fly"),
        (plan(simple(), simple(params=[1, 2])), "mission.items[1].params must be a list of 7 numbers"),
        (plan(simple(params=[0, 0, 0, 0, "a", 0, 0])), "params[4] must be a number or null, not 'a'"),
        (plan(simple(params=[0, 0, 0, 0, None, 8.5, 0])), "latitude nan"),
        (plan(simple(params=[0, 0, 0, 0, 47.0, 200.0, 0])), "longitude 200 is not from -180 to 180"),
        (plan(simple(params=[0, 0, 0, 0, 47.0, 8.0, 1e300])), "height 1e+300 m"),
        (plan(simple(command=-1)), "command must be a whole number from 0 to 65535, not -1"),
        (plan(simple(command="land")), "not 'land'"),
        (plan({"type": "ComplexItem", "complexItemType": "fwLandingPattern"}), "'fwLandingPattern'"),
        ("{" * 100_000, "no valid JSON"),
        ('{"fileType":' + "[" * 200_000, "no valid JSON"),
    ],
)
def test_an_error_names_the_place_and_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(MissionError, match=r"flight\.plan: ") as caught:
        parse_plan(text, "flight.plan")
    assert says in str(caught.value)


def test_a_missing_file_and_one_of_bytes_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissionError, match="does not exist"):
        load_plan(tmp_path / "none.plan")
    (tmp_path / "bytes.plan").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MissionError, match="cannot be read"):
        load_plan(tmp_path / "bytes.plan")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
numbers = st.integers(-(10**400), 10**400) | st.floats() | st.none() | values
items = st.fixed_dictionaries(
    {
        "command": st.integers(0, 200) | values,
        "frame": st.sampled_from([0, 2, 3, 6]) | values,
        "params": st.lists(numbers, min_size=7, max_size=7) | values,
    },
    optional={"type": st.sampled_from(["SimpleItem", "ComplexItem"]) | values, "TransectStyleComplexItem": values},
)
plans = st.fixed_dictionaries(
    {
        "fileType": st.just("Plan"),
        "mission": st.fixed_dictionaries(
            {"items": st.lists(items | values, max_size=4) | values},
            optional={"plannedHomePosition": st.lists(numbers, min_size=3, max_size=3) | values},
        ),
    },
    optional={"geoFence": values, "rallyPoints": values},
)
rows = st.lists(st.integers(-5, 200).map(str) | st.floats().map(str) | st.text(max_size=6), min_size=11, max_size=13)
line_files = st.lists(rows.map("\t".join), max_size=4).map(lambda lines: "\n".join(["QGC WPL 110", *lines]))


@settings(max_examples=200, deadline=None)
@given(st.text() | plans.map(json.dumps) | line_files | st.text().map("QGC WPL 110\n".__add__))
@example('{"fileType": "Plan", "mission": {"items": [], "plannedHomePosition": [1e400, 0, 0]}}')
@example('{"a": ' + "9" * 5000 + "}")
def test_no_text_raises_anything_but_the_projects_error(text: str) -> None:
    try:
        read = parse_plan(text)
    except MissionError:
        return
    for item in read.items:  # and what is taken can be sent
        assert abs(round(item.latitude_deg * 1e7)) < 2**31 and abs(round(item.longitude_deg * 1e7)) < 2**31
        assert math.isfinite(item.altitude_m) and 0 <= item.command <= 65535
        assert not any(math.isinf(value) for value in item.params)


def test_our_square_becomes_take_off_places_and_landing() -> None:
    items = from_mission(SQUARE, HOME)

    assert [i.command for i in items] == [
        NAV_TAKEOFF,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_LAND,
    ]
    assert items[0].altitude_m == 10 and items[2].params[0] == 1
    corner = pymap3d.geodetic2ned(
        items[3].latitude_deg,
        items[3].longitude_deg,
        HOME.height_m,
        HOME.latitude_deg,
        HOME.longitude_deg,
        HOME.height_m,
    )
    # 20 m on a plane and on the ellipsoid 488 m below the place: 20 m * 488 m / 6378 km
    assert corner[:2] == pytest.approx((20.0, 20.0), abs=2e-3)
    assert (items[4].latitude_deg, items[4].longitude_deg) == (items[3].latitude_deg, items[3].longitude_deg)


def test_wings_rovers_and_boats_get_their_own_commands() -> None:
    circuit = [(0, 0, 40, 0, "takeoff"), (600, 0, 60, 0, "waypoint"), (600, 0, 60, 20, "loiter"), (9, 40, 0, 0, "land")]

    wing = from_mission(circuit, HOME, kind="plane", approach=Approach(40.0, 4.0, 120.0))
    vtol = from_mission(circuit, HOME, kind="vtol")
    boat = from_mission([(40, 0, 0, 0, "waypoint"), (0, 0, 0, 0, "return")], HOME, kind="boat", speed_mps=1.0)

    assert [i.command for i in wing] == [
        NAV_TAKEOFF,
        NAV_WAYPOINT,
        NAV_LOITER_TIME,
        DO_LAND_START,
        NAV_LOITER_TO_ALT,
        NAV_LAND,
    ]
    assert to_local(HOME, wing[5].latitude_deg, wing[5].longitude_deg, 0.0)[:2] == pytest.approx((9, 40), abs=1e-6)
    assert (vtol[0].command, vtol[-1].command) == (NAV_VTOL_TAKEOFF, NAV_VTOL_LAND)
    assert [i.command for i in boat] == [NAV_WAYPOINT, DO_CHANGE_SPEED, NAV_RETURN_TO_LAUNCH]
    assert boat[2].frame == FRAME_MISSION
    with pytest.raises(MissionError, match="kind 'dance'"):
        from_mission([(0, 0, 1, 0, "dance")], HOME)
    with pytest.raises(MissionError, match="no items"):
        from_mission([], HOME)


@pytest.mark.parametrize("course_deg", [0.0, 70.0, -120.0])
@pytest.mark.parametrize("side", [1, -1])
def test_a_wings_approach_is_a_tangent_of_its_circle_down_the_slope(course_deg: float, side: int) -> None:
    """From the circle's point that is a quarter of a turn behind the centre, on the side from which the wing came."""
    along = np.array([math.cos(math.radians(course_deg)), math.sin(math.radians(course_deg))])
    right = np.array([-along[1], along[0]])
    touch = np.array([30.0, -20.0])
    before = touch + 300.0 * side * right
    rows = [
        LocalItem(0, 0, 40, 0, "takeoff"), LocalItem(before[0], before[1], 60, 0, "waypoint"),
        LocalItem(touch[0], touch[1], 0, 0, "land", course_deg),
    ]  # fmt: skip
    marker, circle, land = from_mission(rows, HOME, kind="plane", approach=Approach(40.0, 5.0, 90.0))[-3:]
    assert (marker.command, marker.frame) == (
        DO_LAND_START,
        FRAME_MISSION,
    )  # PX4 takes it in this frame only
    assert circle.altitude_m == 40.0 and circle.params[1] == pytest.approx(90.0 * side)  # clockwise to the right
    centre = np.array(to_local(HOME, circle.latitude_deg, circle.longitude_deg, 0.0)[:2])
    entry = centre - 90.0 * side * right
    end = np.array(to_local(HOME, land.latitude_deg, land.longitude_deg, 0.0)[:2])
    assert end == pytest.approx(touch, abs=1e-5)
    assert math.degrees(math.atan2(40.0, float((end - entry) @ along))) == pytest.approx(5.0, abs=1e-5)
    assert float((end - entry) @ right) == pytest.approx(0.0, abs=1e-5)


def test_a_wings_mission_that_ends_in_the_air_ends_on_the_ground_at_the_take_off_point() -> None:
    rows = [(0, 0, 30, 0, "takeoff"), (600, 350, 50, 0, "waypoint"), (0, 0, 60, 20, "return")]
    plan = from_mission(rows, HOME, kind="plane", approach=Approach(15.0, 5.0, 60.0))
    assert [i.command for i in plan][2:] == [
        NAV_LOITER_TIME,
        DO_LAND_START,
        NAV_LOITER_TO_ALT,
        NAV_LAND,
    ]
    assert (plan[2].params[0], plan[2].altitude_m) == (20.0, 60.0)
    assert (plan[-1].latitude_deg, plan[-1].longitude_deg) == pytest.approx((HOME.latitude_deg, HOME.longitude_deg))
    with pytest.raises(MissionError, match="needs an approach"):
        from_mission(rows, HOME, kind="plane")


@given(st.floats(-80, 80), st.floats(-170, 170), st.tuples(*[st.floats(-5000, 5000)] * 3))
def test_metres_become_degrees_and_metres_again(latitude: float, longitude: float, place: tuple[float, ...]) -> None:
    home = Home(latitude, longitude, 100.0)
    assert to_local(home, *to_geodetic(home, place)) == pytest.approx(place, abs=1e-5)  # 1e-14 of 180 degrees


def test_a_quadplane_flies_straight_to_its_landing() -> None:
    """ArduPilot refuses a waypoint over the landing: there is no room left to brake in."""
    rows = [(0, 0, 40, 1, "waypoint"), (400, 0, 40, 0, "waypoint"), (0, 0, 40, 1, "waypoint"), (0, 0, 0, 0, "land")]
    commands = {kind: [i.command for i in from_mission(rows, HOME, kind=kind)] for kind in ("vtol", "copter")}
    assert commands["vtol"] == [
        NAV_VTOL_TAKEOFF,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_VTOL_LAND,
    ]
    assert commands["copter"] == [
        NAV_TAKEOFF,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_WAYPOINT,
        NAV_LAND,
    ]
    landing = from_mission(rows, HOME, kind="vtol")[-1]
    assert (landing.latitude_deg, landing.longitude_deg) == pytest.approx((HOME.latitude_deg, HOME.longitude_deg))


def test_a_tail_sitter_lands_with_the_edges_of_its_wings_in_the_wind() -> None:
    rows = [(0, 0, 40, 1, "waypoint"), (0, 400, 40, 0, "waypoint"), (0, 0, 40, 1, "waypoint"), (0, 0, 0, 0, "land")]
    brake, change, turn, land = from_mission(rows, HOME, kind="vtol", edge_deg=120.0)[-4:]

    assert (change.command, change.params[0]) == (DO_VTOL_TRANSITION, 3.0)  # MAV_VTOL_STATE_MC
    away = to_local(HOME, brake.latitude_deg, brake.longitude_deg, HOME.height_m)
    assert away[:2] == pytest.approx((0.0, 70.0), abs=0.01)  # on the way from the last waypoint
    assert (turn.command, turn.altitude_m, turn.params[3]) == (NAV_WAYPOINT, 40.0, 120.0)
    assert (turn.latitude_deg, turn.longitude_deg) == (land.latitude_deg, land.longitude_deg)
    assert (land.command, land.params[3]) == (NAV_VTOL_LAND, 120.0)


@pytest.mark.parametrize(
    ("vehicle", "wind_from_deg", "edge_on", "yaw_deg"),
    [("vtol_tailsitter", 300.0, True, 30.0), ("vtol_tailsitter", None, True, None),
     ("vtol_tailsitter", 300.0, False, None), ("vtol_standard", 300.0, True, None)],
)  # fmt: skip
def test_the_wind_matters_to_the_landing_of_tail_sitters_alone(
    vehicle: str, wind_from_deg: float | None, edge_on: bool, yaw_deg: float | None
) -> None:
    items = [LocalItem(0.0, 100.0, 40.0, 0.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
    loaded = load_vehicle(vehicle, control="external")
    task = Task(vehicle=loaded, items=items, options=Options(), until_s=1.0, wind_from_deg=wind_from_deg)
    yaw = plan_of(task, edge_on=edge_on).items[-1].params[3]
    assert yaw == yaw_deg if yaw_deg is not None else math.isnan(yaw)
