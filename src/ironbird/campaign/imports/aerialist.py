"""Test cases of Aerialist (YAML) in our terms. Grammar: [Aerialist], `aerialist_test.py`, `obstacle.py`, `wind.py`.

Their places are PX4's local ones: x north, y east; an obstacle turns clockwise seen from above. Wind is Gazebo's: its
direction is (east, north, up), the way in which it blows, and a gust adds to it (from memory: the plugin was not read).
A mission is a plan of QGroundControl.
Obstacles become requirements: our vehicle does not see them and does not hit them, but its path must keep out of them.
What has no counterpart is listed, not guessed: avoidance, stick commands, recorded flights as the expected outcome.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ironbird.campaign.case import Imported
from ironbird.errors import CaseError
from ironbird.symbolic.earth import ECCENTRICITY_SQ, SEMI_MAJOR_M

VEHICLE = "quad_f450"
MISSION_MODE = 3  # their command that starts the mission
TAKE_OFF, WAYPOINT, LAND, RETURN, CHANGE_SPEED = 22, 16, 21, 20, 178  # MAVLink's numbers of commands
RELATIVE = (3, 6, 10, 11)  # MAVLink's frames in which height counts from home
# PX4 parameters with a counterpart: ours, and whether zero switches the function off
PARAMETERS: dict[str, tuple[str, bool]] = {
    "MPC_XY_CRUISE": ("navigator.cruise_speed", False), "MIS_TAKEOFF_ALT": ("navigator.take_off_height", False),
    "MPC_LAND_SPEED": ("navigator.landing_speed", False), "RTL_RETURN_ALT": ("navigator.return_height", False),
    "GF_MAX_HOR_DIST": ("navigator.fence_radius", True), "GF_MAX_VER_DIST": ("navigator.fence_height", True),
    "BAT_LOW_THR": ("navigator.battery_low", False), "BAT_CRIT_THR": ("navigator.battery_critical", False),
}  # fmt: skip


def import_aerialist(path: str | Path, *, vehicle: str = VEHICLE) -> Imported:
    """A test file as a case; files that it names are looked for beside it and in the folders above."""
    path = Path(path)
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise CaseError(str(path), [f"cannot read it: {error.strerror}"]) from None
    except yaml.YAMLError as error:
        raise CaseError(str(path), [f"not valid YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(data, dict):
        raise CaseError(str(path), ["a test has tables robot, simulation and mission"])
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
    case["require"] = [{"use": "no_crash"}, {"use": "mission_completed"}]
    case["require"] += [
        {"name": f"keeps clear of obstacle {number}", "formula": formula, "severity": "critical"}
        for number, formula in enumerate(_obstacles(simulation.get("obstacles") or [], str(path)), start=1)
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
    """The first of these tables that is there; older files have other names."""
    return next((dict(data[name]) for name in names if isinstance(data.get(name), Mapping)), {})


def _id(stem: str) -> str:
    kept = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_.-") else "-" for sign in stem)
    return kept.lstrip("_.-") or "case"


def _find(name: str, folder: Path) -> Path | None:
    """A file that a test names: theirs count from where the tool is started, often the root of the repository."""
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
    """Modes that a file of commands asks for; None for what cannot be read, such as the log of a flight."""
    file = _find(name, folder) if name.endswith(".csv") else None
    if file is None:
        return [None]
    rows = list(csv.DictReader(file.read_text().splitlines(), skipinitialspace=True))
    return [int(row["mode"]) if row.get("mode", "").isdigit() else None for row in rows]


def _waypoint(north: float, east: float, height: float, **more: float) -> dict[str, Any]:
    item = {"north_m": round(north, 3), "east_m": round(east, 3), "height_m": round(height, 3), **more}
    return {"kind": "waypoint", **{key: value for key, value in item.items() if value != 0.0}}


def read_plan(
    path: Path, home: Sequence[float] | None, missing: list[str]
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """A plan of QGroundControl as mission items; without a home position the first place of the plan is home."""
    try:
        plan = json.loads(path.read_text())["mission"]
        steps = [step for step in plan["items"] if isinstance(step, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        raise CaseError(str(path), ["not a plan of QGroundControl"]) from None
    places = [step["params"] for step in steps if step.get("command") in (TAKE_OFF, WAYPOINT, LAND)]
    if home is None and places:
        home = [places[0][4], places[0][5], (plan.get("plannedHomePosition") or [0, 0, 0])[2]]
    items: list[dict[str, Any]] = []
    cruise: dict[str, float] = {}
    height = 0.0
    for step in steps:
        command, params = step.get("command"), step.get("params", [])
        if command in (TAKE_OFF, WAYPOINT, LAND):
            assert home is not None
            north, east = _from_home(params[4], params[5], home)
            if command != LAND:
                height = float(params[6]) - (0.0 if step.get("frame", 3) in RELATIVE else float(home[2]))
            hold = float(params[0] or 0) if command == WAYPOINT else 0.0
            yaw = float(params[3] or 0) if command == WAYPOINT else 0.0
            items.append(_waypoint(north, east, height, hold_s=hold, yaw_deg=yaw))
            if command == LAND:
                items.append({"kind": "land"})
        elif command == RETURN:
            items += [_waypoint(0.0, 0.0, height), {"kind": "land"}]
        elif command == CHANGE_SPEED and not cruise and params[1] and params[1] > 0:
            cruise["cruise_speed_mps"] = float(params[1])
        else:
            missing.append(f"plan item {command if command is not None else step.get('complexItemType', step)}")
    return items, cruise


def _from_home(latitude_deg: float, longitude_deg: float, home: Sequence[float]) -> tuple[float, float]:
    """North and east of home on the ellipsoid's tangent plane, [NIMA8350]; good to centimetres over a kilometre."""
    latitude = math.radians(home[0])
    w2 = 1 - ECCENTRICITY_SQ * math.sin(latitude) ** 2
    prime = SEMI_MAJOR_M / math.sqrt(w2)
    north = math.radians(latitude_deg - home[0]) * prime * (1 - ECCENTRICITY_SQ) / w2
    return north, math.radians(longitude_deg - home[1]) * prime * math.cos(latitude)


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
            missing.append("the variance of the wind: ours is turbulence, set turbulence_mps")
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
                faults.append(
                    {"id": "wind.gust@1", "axis": axis, "severity": severity,
                     "start_s": float(wind.get("gust_start", 0)), "duration_s": lasts_s}
                )  # fmt: skip
    return table, faults


def _settings(robot: Mapping[str, Any], folder: Path, missing: list[str]) -> dict[str, float]:
    params: dict[str, Any] = dict(robot.get("params") or {})
    if robot.get("params_file"):
        file = _find(str(robot["params_file"]), folder)
        if file is None:
            missing.append(f"the parameters of {robot['params_file']}: it was not found")
        else:
            for line in file.read_text().splitlines():
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


def _obstacles(obstacles: Sequence[Any], where: str) -> list[str]:
    """Formulas by which a path keeps out of boxes and cylinders; both written forms."""
    if obstacles and not isinstance(obstacles[0], Mapping):
        if len(obstacles) % 7:
            raise CaseError(where, [f"obstacles have 7 numbers each (l, w, h, x, y, z, r); there are {len(obstacles)}"])
        numbers = [float(number) for number in obstacles]
        obstacles = [
            {"size": dict(zip("lwh", numbers[i : i + 3], strict=True)),
             "position": dict(zip("xyzr", numbers[i + 3 : i + 7], strict=True))}
            for i in range(0, len(numbers), 7)
        ]  # fmt: skip
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
