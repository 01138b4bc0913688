"""Aerialist's test files as cases: places, wind, obstacles, parameters, plans; and a list of what is left out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pytest

from ironbird.campaign.imports.aerialist import import_aerialist
from ironbird.campaign.suite import check
from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import CaseError
from ironbird.flight.worlds import ordered_world
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace
from ironbird.world.model import Box
from ironbird.world.rays import Scene

HOME = [47.397742, 8.545594, 488.0]
TEST = """
robot:
  port: px4_ros
  params: { MPC_XY_CRUISE: 3.0, GF_MAX_HOR_DIST: 0, NAV_ACC_RAD: 0.5 }
  params_file: flights/params.csv
  mission_file: flights/way.plan
simulation:
  simulator: ros
  speed: 1
  timeout: 90
  home_position: [47.397742, 8.545594, 488.0]
  obstacles:
  - size: { l: 10, w: 4, h: 12 }
    position: { x: 20, y: -5, z: 0, r: 30 }
  wind:
    velocity_mean: 3.0
    velocity_max: 5.0
    direction: [1, 0, 0]
    gust_start: 10
    gust_duration: 4
    gust_velocity_mean: 5
    gust_direction: [3, 4, 0]
mission:
  commands_file: flights/commands.csv
assertion:
  log_file: flights/way.ulg
agent:
  engine: docker
  count: 5
"""


def item(command: int, *params: float | None, frame: int = 3) -> dict[str, Any]:
    return {"command": command, "frame": frame, "params": list(params), "type": "SimpleItem"}


def write(folder: Path, test: str = TEST) -> Path:
    """A test in a folder of its own; the files that it names count from the folder above, as in their repository."""
    flights = folder / "flights"
    flights.mkdir(exist_ok=True)
    (flights / "params.csv").write_text("MIS_TAKEOFF_ALT, 2.5\nSDLOG_PROFILE, 7")
    (flights / "commands.csv").write_text("timestamp,mode,x,y,z,r\n1,3,0,0,0.5,0")
    items = [
        item(22, 0, 0, 0, None, HOME[0], HOME[1], 10),
        item(530, 0, 2, None, None, None, None, None, frame=2),
        item(16, 4, 0, 0, 45, 47.3987, 8.5471, 10),
        item(16, 0, 0, 0, None, 47.3970, 8.5460, 500.0, frame=0),  # above sea level
        item(21, 0, 0, 0, None, 47.3972, 8.5450, 0),
    ]
    plan = {"fileType": "Plan", "mission": {"items": items, "plannedHomePosition": HOME}}
    (flights / "way.plan").write_text(json.dumps(plan))
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "avoid 1.yaml").write_text(test)
    return folder / "tests" / "avoid 1.yaml"


def test_an_imported_case_can_be_flown(tmp_path: Path) -> None:
    imported = import_aerialist(write(tmp_path))
    (tmp_path / "case.toml").write_text(imported.to_toml())

    assert check(tmp_path / "case.toml") == []
    assert imported.case["id"] == "avoid-1" and imported.case["until_s"] == 90.0
    assert imported.case["seeds"] == {"first": 1, "count": 5}


def test_places_of_a_plan_are_north_and_east_of_home(tmp_path: Path) -> None:
    way = import_aerialist(write(tmp_path)).case["mission"]["item"]

    assert [step["kind"] for step in way] == ["waypoint"] * 4 + ["land"]
    assert way[0] == {"kind": "waypoint", "height_m": 10.0}
    assert way[1]["hold_s"] == 4.0 and way[1]["yaw_deg"] == 45.0
    for step, place in zip(way[1:4], ((47.3987, 8.5471), (47.3970, 8.5460), (47.3972, 8.5450)), strict=True):
        east, north, _ = pymap3d.geodetic2enu(*place, HOME[2], *HOME)
        assert (step["north_m"], step["east_m"]) == pytest.approx((north, east), abs=0.01)
    assert [step.get("height_m") for step in way[1:4]] == [10.0, 12.0, 12.0]  # above sea level less home; kept to land


def test_wind_blows_where_gazebo_says(tmp_path: Path) -> None:
    case = import_aerialist(write(tmp_path)).case

    assert case["wind"] == {"speed_mps": 3.0, "from_deg": 270.0}  # (1, 0, 0) is to the east
    assert case["fault"] == [
        {"id": "wind.gust@1", "axis": 0, "severity": 0.2, "start_s": 10.0, "duration_s": 4.0},  # north: 4/5 of 5 m/s
        {"id": "wind.gust@1", "axis": 1, "severity": 0.15, "start_s": 10.0, "duration_s": 4.0},
    ]


def margin(formula: str, north: float, east: float, height: float) -> float:
    columns = {f"body.p_NB_N[{i}]": np.full((1, 2), value) for i, value in enumerate((north, east, -height))}
    read = parse_formula(formula, Names({"body.p_NB_N": "m"}))
    return float(robustness(read, Trace(np.array([0.0, 0.1]), columns, np.array([2])))[0])


def test_a_path_through_an_obstacle_violates_its_requirement(tmp_path: Path) -> None:
    formula = import_aerialist(write(tmp_path)).case["require"][2]["formula"]

    # 10 m long, 4 m wide; the long axis points 30 degrees east of north
    cos, sin = math.cos(math.radians(30)), math.sin(math.radians(30))
    assert margin(formula, 20.0, -5.0, 6.0) == pytest.approx(-2.0)  # in the middle: two metres to the nearest side
    assert margin(formula, 20.0 + 4 * cos, -5.0 + 4 * sin, 6.0) == pytest.approx(-1.0)
    assert margin(formula, 20.0 + 6 * cos, -5.0 + 6 * sin, 6.0) == pytest.approx(1.0)
    assert margin(formula, 20.0 + 4 * cos, -5.0 - 4 * sin, 6.0) == pytest.approx(4 * math.sin(math.radians(60)) - 2)
    assert margin(formula, 20.0, -5.0, 13.0) == pytest.approx(1.0)  # above it


def test_obstacles_stand_in_the_world_of_the_case_where_the_formula_has_them(tmp_path: Path) -> None:
    case = import_aerialist(write(tmp_path)).case
    world = ordered_world(case["world"])
    formula = case["require"][2]["formula"]

    (box,) = world.obstacles
    scene = Scene(world)
    for north, east, height in ((20.0, -5.0, 6.0), (24.0, -3.0, 6.0), (20.0, -5.0, 12.5), (26.0, -1.0, 5.0)):
        distance, _ = scene.distance([[north, east, -height]], terrain=False)
        assert (distance[0] < 0) == (margin(formula, north, east, height) < 0)
    assert isinstance(box, Box) and box.size_m == (10.0, 4.0, 12.0)
    assert box.p_N_m == pytest.approx((20.0, -5.0, -6.0))


def test_the_older_forms_of_a_test_are_read(tmp_path: Path) -> None:
    old = TEST.replace("robot:", "drone:").replace("\nmission:", "\ntest:")
    head, _, rest = old.partition("  obstacles:\n")
    old = head + "  obstacles: [10, 4, 12,  20, -5, 0,  30, 2, 2, 5, 0, 0, 0, 0]\n" + rest[rest.index("  wind:") :]
    new = import_aerialist(write(tmp_path)).case
    case = import_aerialist(write(tmp_path, old)).case

    assert case["require"][:3] == new["require"] and len(case["require"]) == 4
    assert case["mission"] == new["mission"]


def test_parameters_have_counterparts_or_are_listed(tmp_path: Path) -> None:
    imported = import_aerialist(write(tmp_path))

    assert imported.case["set"] == {"navigator.cruise_speed": 3.0, "navigator.take_off_height": 2.5}
    assert imported.missing == (
        "plan item 530",
        "PX4 parameter NAV_ACC_RAD",
        "PX4 parameter SDLOG_PROFILE",
        "avoidance of obstacles",
        "the recorded flight flights/way.ulg as the expected outcome",
    )


def test_stick_commands_and_lost_files_are_listed(tmp_path: Path) -> None:
    test = TEST.replace("flights/commands.csv", "flights/way.ulg").replace("flights/params.csv", "nowhere.csv")
    missing = import_aerialist(write(tmp_path, test)).missing

    assert "stick and mode commands other than the start of the mission" in missing
    assert "the parameters of nowhere.csv: it was not found" in missing


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("robot: [", "not valid YAML"),
        ("- 1", "a test has tables robot, simulation and mission"),
        (TEST.replace("way.plan", "params.csv"), "neither a QGroundControl plan"),
        (TEST.replace("way.plan", "lost.plan"), "it has no mission"),
    ],
)
def test_wrong_tests_are_refused(tmp_path: Path, test: str, words: str) -> None:
    with pytest.raises(CaseError, match=words):
        import_aerialist(write(tmp_path, test))
    with pytest.raises(CaseError, match="cannot read it"):
        import_aerialist(tmp_path / "nowhere.yaml")


def test_a_plan_is_read_as_strictly_as_one_that_is_flown(tmp_path: Path) -> None:
    path = write(tmp_path)
    plan = tmp_path / "flights" / "way.plan"
    data = json.loads(plan.read_text())
    over_terrain = {**data, "mission": {"items": [item(16, 0, 0, 0, 0, *HOME[:2], 10, frame=10)]}}
    plan.write_text(json.dumps(over_terrain))
    with pytest.raises(CaseError, match=r"items\[0\]\.frame is 10; heights must be above sea"):
        import_aerialist(path)
    plan.write_text(json.dumps({**data, "rallyPoints": {"points": [HOME]}}))
    assert "the plan's rallyPoints" in import_aerialist(path).missing


def test_a_landing_without_a_place_is_where_the_vehicle_is(tmp_path: Path) -> None:
    path = write(tmp_path)
    rows = [item(16, 0, 0, 0, None, 47.3987, 8.5471, 10), item(21, 0, 0, 0, None, None, None, None)]
    (tmp_path / "flights" / "way.plan").write_text(json.dumps({"fileType": "Plan", "mission": {"items": rows}}))
    assert [step["kind"] for step in import_aerialist(path).case["mission"]["item"]] == ["waypoint", "land"]
