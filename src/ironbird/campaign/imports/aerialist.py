"""Test cases of Aerialist (YAML) for Ironbird. Grammar: [Aerialist], `aerialist_test.py`, `obstacle.py`, `wind.py`.

Its positions are PX4's local ones: x north, y east; an obstacle turns clockwise seen from above. Wind is Gazebo's: its
direction is (east, north, up), the way in which it blows, and a gust adds to it (from memory: the plugin was not read).
A mission is a plan of QGroundControl. Obstacles are in the world of the case, where the vehicle may hit them, and are
requirements too: its path must stay outside. The smallest distance to them is the signal `min_distance`.
What has no counterpart is listed, not guessed: avoidance, stick commands, recorded flights as the expected outcome.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ironbird.campaign.case import Imported
from ironbird.errors import CaseError, MissionError, WorldError, shortened
from ironbird.files.problems import read_bytes
from ironbird.files.toml_text import write_toml
from ironbird.protocols.geodesy import Place, to_local
from ironbird.protocols.mavlink.numbers import (
    DO_CHANGE_SPEED,
    FRAME_GLOBAL_RELATIVE_ALT,
    NAV_LAND,
    NAV_RETURN_TO_LAUNCH,
    NAV_TAKEOFF,
    NAV_WAYPOINT,
)
from ironbird.protocols.plan_file import Home, PlanItem, load_plan
from ironbird.world.imports.aerialist import CONCRETE, obstacles_of
from ironbird.world.model import Box, Cylinder

VEHICLE = "quad_f450"
MISSION_MODE = 3  # their command that starts the mission
PLACES = (NAV_TAKEOFF, NAV_WAYPOINT, NAV_LAND)  # commands that fly to a place
# PX4 parameters with a counterpart: Ironbird's name, and whether zero switches the function off
PARAMETERS: dict[str, tuple[str, bool]] = {
    "MPC_XY_CRUISE": ("navigator.cruise_speed", False), "MIS_TAKEOFF_ALT": ("navigator.take_off_height", False),
    "MPC_LAND_SPEED": ("navigator.landing_speed", False), "RTL_RETURN_ALT": ("navigator.return_height", False),
    "GF_MAX_HOR_DIST": ("navigator.fence_radius", True), "GF_MAX_VER_DIST": ("navigator.fence_height", True),
    "BAT_LOW_THR": ("navigator.battery_low", False), "BAT_CRIT_THR": ("navigator.battery_critical", False),
}  # fmt: skip


def import_aerialist(path: str | Path, *, vehicle: str = VEHICLE) -> Imported:
    """A test file as a case; files that it names are searched next to it and in the folders above."""
    path = Path(path)
    try:
        data = yaml.safe_load(read_bytes(path))
    except OSError as error:
        raise CaseError(str(path), [f"cannot read it: {error.strerror}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CaseError(str(path), [f"not valid YAML: {' '.join(str(error).split())}"]) from None
    return case_of(path, data, vehicle=vehicle)


def case_of(path: Path, data: Any, *, vehicle: str = VEHICLE) -> Imported:
    """A case from the content of a test file (YAML data)."""
    if not isinstance(data, dict):
        raise CaseError(str(path), ["a test has tables robot, simulation and mission"])
    try:
        return _import(path, data, vehicle)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, OSError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise CaseError(str(path), [f"a value is not as Aerialist writes it: {shortened(why, 200)}"]) from None


def _import(path: Path, data: dict[str, Any], vehicle: str) -> Imported:
    missing: list[str] = []
    robot = _table(data, "robot", "drone")
    simulation = _table(data, "simulation")
    mission = _table(data, "mission", "test")
    case: dict[str, Any] = {"id": _id(path.stem), "source": f"Aerialist: {path.name}", "vehicle": vehicle}
    items, cruise = _mission(robot, mission, simulation, path.parent, missing)
    if not items:
        raise CaseError(str(path), ["it has no mission: neither a plan that can be read nor waypoints"])
    case["mission"] = {"title": f"mission of {path.name}", **cruise, "item": items}
    if isinstance(simulation.get("timeout"), int | float) and simulation["timeout"] > 0:
        case["until_s"] = float(simulation["timeout"])
    count = _table(data, "agent").get("count", 1)
    case["seeds"] = {"first": 1, "count": count} if isinstance(count, int) and count > 1 else 1
    case["tags"] = ["aerialist"]
    case["wind"], case["fault"] = _wind(simulation.get("wind") or {}, missing)
    case["set"] = _settings(robot, path.parent, missing)
    obstacles = simulation.get("obstacles") or []
    if obstacles:
        case["world"] = world_text(world_of_obstacles(obstacles, str(path)))
    case["require"] = [{"use": "no_crash"}, {"use": "mission_completed"}]
    case["require"] += [
        {"name": f"keeps clear of obstacle {number}", "formula": formula, "severity": "critical"}
        for number, formula in enumerate(_obstacles(obstacles, str(path)), start=1)
    ]
    if len(case["require"]) > 2 or simulation.get("simulator") == "ros":
        missing.append("avoidance of obstacles")
    assertion = _table(data, "assertion")
    if assertion.get("log_file"):
        missing.append(f"the recorded flight {assertion['log_file']} as the expected outcome")
    if simulation.get("world", "default") != "default":
        missing.append(f"the world {simulation['world']}")
    return Imported(case, tuple(missing))


def _table(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The first of these tables that exists; older files use other names."""
    return next((dict(data[name]) for name in names if isinstance(data.get(name), Mapping)), {})


def _id(stem: str) -> str:
    name = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_.-") else "-" for sign in stem)
    return name.lstrip("_.-") or "case"


def _find(name: str, folder: Path) -> Path | None:
    """Path of a file that a test names, relative to the test or a folder above it; None if there is none."""
    return next((f / name for f in (folder, *folder.resolve().parents) if (f / name).is_file()), None)


# ---------------------------------------------------------------------- missions


def _mission(
    robot: Mapping[str, Any],
    mission: Mapping[str, Any],
    simulation: Mapping[str, Any],
    folder: Path,
    missing: list[str],
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    modes = [command.get("mode") for command in mission.get("commands") or []]
    if mission.get("commands_file"):
        modes += _modes(str(mission["commands_file"]), folder)
    if any(mode != MISSION_MODE for mode in modes):
        missing.append("stick and mode commands other than the start of the mission")
    if robot.get("mission_file"):
        plan = _find(str(robot["mission_file"]), folder)
        if plan is not None:
            return read_plan(plan, simulation.get("home_position"), missing)
        missing.append(f"the plan {robot['mission_file']}: it was not found")
    items = [_waypoint(float(w["x"]), float(w["y"]), float(w.get("z", 0))) for w in mission.get("waypoints") or []]
    return items, {}


def _modes(name: str, folder: Path) -> list[int | None]:
    """Modes that a file of commands requests; None for what cannot be read, such as the log of a flight."""
    file = _find(name, folder) if name.endswith(".csv") else None
    if file is None:
        return [None]
    rows = list(csv.DictReader(read_bytes(file).decode("utf-8", "replace").splitlines(), skipinitialspace=True))
    return [int(row["mode"]) if str(row.get("mode", "")).isdecimal() else None for row in rows]


def _waypoint(north: float, east: float, height: float, **more: float) -> dict[str, Any]:
    item = {"north_m": round(north, 3), "east_m": round(east, 3), "height_m": round(height, 3), **more}
    return {"kind": "waypoint", **{key: value for key, value in item.items() if value != 0.0}}


def read_plan(
    path: Path, home_position: Sequence[float] | None, missing: list[str]
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """A plan of a ground station as mission items; without a home position the first place of the plan is home."""
    try:
        plan = load_plan(path)
    except MissionError as error:
        raise CaseError(str(path), [f"its plan cannot be read: {error}"]) from None
    missing += [
        f"the plan's {part}" for part, there in (("geoFence", plan.fence), ("rallyPoints", plan.rally)) if there
    ]
    first = next((item for item in plan.items if item.command in PLACES and _has_place(item)), None)
    if home_position is not None:
        home = Home(*map(float, home_position))
    elif first is not None:
        home = Home(first.latitude_deg, first.longitude_deg, plan.home.height_m if plan.home else 0.0)
    else:
        raise CaseError(str(path), ["it has neither a home position nor a plan with a place"])
    items: list[dict[str, Any]] = []
    cruise: dict[str, float] = {}
    height = 0.0
    for item in plan.items:
        if item.command in PLACES:
            if item.command != NAV_LAND:
                height = item.altitude_m - (0.0 if item.frame == FRAME_GLOBAL_RELATIVE_ALT else home.height_m)
            stays = item.command == NAV_WAYPOINT
            hold, yaw = (_given(item.params[0]), _given(item.params[3])) if stays else (0.0, 0.0)
            if item.command != NAV_LAND or _has_place(item):
                items.append(_waypoint(*_from_home(item, home), height, hold_s=hold, yaw_deg=yaw))
            if item.command == NAV_LAND:
                items.append({"kind": "land"})
        elif item.command == NAV_RETURN_TO_LAUNCH:
            items += [_waypoint(0.0, 0.0, height), {"kind": "land"}]
        elif item.command == DO_CHANGE_SPEED and not cruise and item.params[1] > 0:
            cruise["cruise_speed_mps"] = item.params[1]
        else:
            missing.append(f"plan item {item.command}")
    return items, cruise


def _given(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _has_place(item: PlanItem) -> bool:
    """Whether an item has its own position; without, it means the vehicle's: at home, or below itself."""
    return (item.latitude_deg, item.longitude_deg) != (0.0, 0.0)


def _from_home(item: PlanItem, home: Place) -> tuple[float, float]:
    """Position of an item in m north and east of home."""
    if not _has_place(item):
        return 0.0, 0.0
    north, east, _ = to_local(home, item.latitude_deg, item.longitude_deg, 0.0)
    return north, east


# ---------------------------------------------------------------------- weather, settings, obstacles


def _wind(wind: Mapping[str, Any], missing: list[str]) -> tuple[dict[str, float], list[dict[str, Any]]]:
    table: dict[str, float] = {}
    speed = float(wind.get("velocity_mean", 0))
    if speed > 0:
        east, north, up = (float(part) for part in wind.get("direction", [1, 0, 0]))
        table = {"speed_mps": speed, "from_deg": round(math.degrees(math.atan2(-east, -north)) % 360, 6)}
        if up:
            missing.append("the vertical part of the wind")
        if wind.get("velocity_variance") or wind.get("direction_variance"):
            missing.append("the variance of the wind: Ironbird has turbulence, set turbulence_mps")
    faults: list[dict[str, Any]] = []
    gust, lasts_s = float(wind.get("gust_velocity_mean", 0)), float(wind.get("gust_duration", 0))
    if gust > 0 and lasts_s > 0:
        east, north, up = (float(part) for part in wind.get("gust_direction", [1, 0, 0]))
        size = math.sqrt(east**2 + north**2 + up**2) or 1.0
        for axis, part in enumerate((north / size, east / size, -up / size)):
            if part < 0:
                missing.append(f"a gust against axis {axis}: severity has no sign")
            elif part > 0:
                severity = min(1.0, float(f"{gust * part / 20:.6g}"))  # 1 is 20 m/s
                order = {"id": "wind.gust@1", "axis": axis, "severity": severity}
                faults.append(order | {"start_s": float(wind.get("gust_start", 0)), "duration_s": lasts_s})
    return table, faults


def _settings(robot: Mapping[str, Any], folder: Path, missing: list[str]) -> dict[str, float]:
    params: dict[str, Any] = dict(robot.get("params") or {})
    if robot.get("params_file"):
        file = _find(str(robot["params_file"]), folder)
        if file is None:
            missing.append(f"the parameters of {robot['params_file']}: it was not found")
        else:
            for line in read_bytes(file).decode("utf-8", "replace").splitlines():
                name, _, value = line.partition(",")
                params.setdefault(name.strip(), value.strip())
    settings = {}
    for name, value in params.items():
        if name not in PARAMETERS:
            missing.append(f"PX4 parameter {name}")
            continue
        ours, off_at_zero = PARAMETERS[name]
        if not (off_at_zero and float(value) == 0):
            settings[ours] = float(value)
    return settings


def world_of_obstacles(obstacles: Any, where: str) -> dict[str, Any]:
    """The obstacles of a test as the content of a world file, on flat ground."""
    try:
        shapes = obstacles_of(obstacles)
    except WorldError as error:
        raise CaseError(where, [str(error)]) from None
    tables: dict[str, list[dict[str, Any]]] = {"box": [], "cylinder": []}
    for shape in shapes:
        north, east, down = shape.p_N_m
        yaw = math.degrees(2 * math.atan2(shape.q_NB[3], shape.q_NB[0]))
        tall = shape.height_m if isinstance(shape, Cylinder) else shape.size_m[2] if isinstance(shape, Box) else 0.0
        entry: dict[str, Any] = {"name": shape.name, "north_m": north, "east_m": east, "height_m": -down - tall / 2}
        if isinstance(shape, Cylinder):
            tables["cylinder"].append({**entry, "radius_m": shape.radius_m, "tall_m": tall, "material": "concrete"})
        elif isinstance(shape, Box):
            tables["box"].append({**entry, "yaw_deg": yaw, "size_m": list(shape.size_m), "material": "concrete"})
    concrete = {"friction": CONCRETE.friction, "restitution": CONCRETE.restitution}
    return {
        "schema": 1, "title": "obstacles of an Aerialist test", "terrain": {"kind": "plane"},
        "material": {"concrete": concrete}, **{kind: rows for kind, rows in tables.items() if rows},
    }  # fmt: skip


def world_text(tables: Mapping[str, Any]) -> str:
    """The text of a world file from its content."""
    return write_toml(dict(tables), ("terrain", "material", "concrete", "box", "cylinder"))


def _obstacles(obstacles: Sequence[Any], where: str) -> list[str]:
    """Formulas that require a path to stay outside boxes and cylinders; both notations."""
    if obstacles and not isinstance(obstacles[0], Mapping):
        if len(obstacles) % 7:
            raise CaseError(where, [f"obstacles have 7 numbers each (l, w, h, x, y, z, r); there are {len(obstacles)}"])
        numbers = [float(number) for number in obstacles]
        rows = [dict(zip("lwhxyzr", numbers[i : i + 7], strict=True)) for i in range(0, len(numbers), 7)]
        obstacles = [{"size": row, "position": row} for row in rows]
    return [_obstacle(obstacle) for obstacle in obstacles]


def _obstacle(obstacle: Mapping[str, Any]) -> str:
    size, at = obstacle["size"], obstacle["position"]
    north, east = _minus("body.p_NB_N[0]", float(at["x"])), _minus("body.p_NB_N[1]", float(at["y"]))
    bottom = float(at.get("z", 0))
    if obstacle.get("shape") == "cylinder":
        sides = [f"hypot({north}, {east}) >= {float(size['r']):.9g} m"]
    else:
        turn = math.radians(float(at.get("r", 0)))
        cos, sin = round(math.cos(turn), 9), round(math.sin(turn), 9)
        along = f"{cos:.9g} * ({north}) + {sin:.9g} * ({east})" if sin else north
        across = f"{cos:.9g} * ({east}) - {sin:.9g} * ({north})" if sin else east
        sides = [f"abs({along}) >= {float(size['l']) / 2:.9g} m", f"abs({across}) >= {float(size['w']) / 2:.9g} m"]
    sides.append(f"-body.p_NB_N[2] >= {bottom + float(size['h']):.9g} m")
    if bottom > 0:
        sides.append(f"-body.p_NB_N[2] <= {bottom:.9g} m")
    return f"always ({' or '.join(sides)})"


def _minus(signal: str, value: float) -> str:
    return f"{signal} - {value:.9g} m" if value >= 0 else f"{signal} + {-value:.9g} m"
