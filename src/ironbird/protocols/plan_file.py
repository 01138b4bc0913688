"""Mission files of ground stations: QGroundControl's .plan and the text form 'QGC WPL 110', and Ironbird's missions.

All become one list of `PlanItem`, which a `Pilot` can send to an autopilot. Formats: [QGCPlan], [MAVLinkMission].
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ironbird.errors import MissionError
from ironbird.files.problems import read_bytes
from ironbird.protocols.geodesy import Place, to_geodetic, to_local
from ironbird.protocols.mavlink.numbers import (
    DO_CHANGE_SPEED,
    DO_CONTROL_VIDEO,
    DO_DIGICAM_CONTROL,
    DO_GIMBAL_MANAGER_CONFIGURE,
    DO_GIMBAL_MANAGER_PITCHYAW,
    DO_LAND_START,
    DO_MOUNT_CONFIGURE,
    DO_MOUNT_CONTROL,
    DO_SET_CAM_TRIGG_DIST,
    DO_SET_ROI,
    DO_SET_ROI_LOCATION,
    DO_SET_ROI_NONE,
    DO_SET_ROI_WPNEXT_OFFSET,
    DO_VTOL_TRANSITION,
    FRAME_GLOBAL,
    FRAME_GLOBAL_INT,
    FRAME_GLOBAL_RELATIVE_ALT,
    FRAME_GLOBAL_RELATIVE_ALT_INT,
    FRAME_MISSION,
    IMAGE_START_CAPTURE,
    IMAGE_STOP_CAPTURE,
    MAV_VTOL_STATE_MC,
    NAV_DELAY,
    NAV_FENCE_CIRCLE_EXCLUSION,
    NAV_FENCE_CIRCLE_INCLUSION,
    NAV_FENCE_POLYGON_VERTEX_EXCLUSION,
    NAV_FENCE_POLYGON_VERTEX_INCLUSION,
    NAV_LAND,
    NAV_LAST,
    NAV_LOITER_TIME,
    NAV_LOITER_TO_ALT,
    NAV_LOITER_TURNS,
    NAV_LOITER_UNLIM,
    NAV_RALLY_POINT,
    NAV_RETURN_TO_LAUNCH,
    NAV_ROI,
    NAV_TAKEOFF,
    NAV_VTOL_LAND,
    NAV_VTOL_TAKEOFF,
    NAV_WAYPOINT,
    SET_CAMERA_MODE,
    VIDEO_START_CAPTURE,
    VIDEO_STOP_CAPTURE,
)
from ironbird.vehicles.kinds import VehicleClass

SAME_FRAME = {  # the _INT frames have the same meaning
    FRAME_GLOBAL: FRAME_GLOBAL,
    FRAME_GLOBAL_INT: FRAME_GLOBAL,
    FRAME_MISSION: FRAME_MISSION,
    FRAME_GLOBAL_RELATIVE_ALT: FRAME_GLOBAL_RELATIVE_ALT,
    FRAME_GLOBAL_RELATIVE_ALT_INT: FRAME_GLOBAL_RELATIVE_ALT,
}
NEEDS_PLACE = (NAV_WAYPOINT, NAV_LOITER_UNLIM, NAV_LOITER_TIME)
PLACE_COMMANDS = range(NAV_WAYPOINT, NAV_LAST + 1)  # commands whose last three parameters are a position
FOR_EVER_S = 1e9
PASSED_OVER = (  # commands for cameras, gimbals and markers, which Ironbird's navigators skip
    DO_CONTROL_VIDEO, DO_DIGICAM_CONTROL, DO_GIMBAL_MANAGER_CONFIGURE, DO_GIMBAL_MANAGER_PITCHYAW, DO_LAND_START,
    DO_MOUNT_CONFIGURE, DO_MOUNT_CONTROL, DO_SET_CAM_TRIGG_DIST, DO_SET_ROI, DO_SET_ROI_LOCATION, DO_SET_ROI_NONE,
    DO_SET_ROI_WPNEXT_OFFSET, IMAGE_START_CAPTURE, IMAGE_STOP_CAPTURE, NAV_ROI, SET_CAMERA_MODE, VIDEO_START_CAPTURE,
    VIDEO_STOP_CAPTURE,
)  # fmt: skip
HEIGHT_MOST_M = 100_000.0
BRAKING_M = 70.0  # m that a tail-sitter needs for the transition from wings to rotors
ITEMS_MOST = 5000
MOST_FLOAT = 3.4e38  # parameters are sent as 32-bit floats
HEADER = "QGC WPL 110"
COLUMNS = 12
TOUCHES = ("rover", "boat", "sub")  # vehicle kinds without a take-off
SAME_PLACE_M, ON_GROUND_M = 0.5, 1.0


class Home(NamedTuple):
    """Origin of a mission's metres: latitude, longitude and height."""

    latitude_deg: float
    longitude_deg: float
    height_m: float


@dataclass(frozen=True)
class PlanItem:
    """One mission item in MAVLink's form; NaN means that the autopilot chooses the value."""

    command: int  # number of the MAV_CMD
    frame: int = FRAME_GLOBAL_RELATIVE_ALT
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, math.nan)
    latitude_deg: float = 0.0
    longitude_deg: float = 0.0
    altitude_m: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Content of a mission file: the items, the planned home, and fences and rally points as items."""

    items: list[PlanItem]
    home: Home | None = None
    fence: list[PlanItem] = field(default_factory=list)
    rally: list[PlanItem] = field(default_factory=list)


class LocalItem(NamedTuple):
    """An item of Ironbird's missions: its kind, position in m and other numbers."""

    north_m: float
    east_m: float
    height_m: float
    hold_s: float
    kind: str  # waypoint, land, spiral, takeoff, loiter, return
    yaw_deg: float = 0.0  # degrees, course of a fixed-wing landing


class LocalMission(NamedTuple):
    """A plan converted to a mission of Ironbird."""

    items: list[LocalItem]
    numbers: list[int]  # item number in the plan of each item
    speeds_mps: dict[int, float]  # speed from this item on, where the plan changes it
    passed_over: list[int]  # item numbers of skipped commands
    returns: int | None = None  # item number of the return home that ends the plan


class Approach(NamedTuple):
    """Landing approach of a fixed wing: a circle at the height where the glide begins, then straight down a slope."""

    height_m: float
    slope_deg: float
    radius_m: float


def load_plan(path: Path | str) -> Plan:
    """Read a .plan or .waypoints file."""
    path = Path(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise MissionError(f"mission file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MissionError(f"mission file {path} cannot be read: {error}") from None
    return parse_plan(text, str(path))


def is_plan(text: str) -> bool:
    """Whether a text is a plan, judged by its beginning."""
    first = text.lstrip()
    return first.startswith(("QGC WPL", "{"))


def parse_plan(text: str, where: str = "mission") -> Plan:
    """Parse the content of a .plan file or of a 'QGC WPL 110' file; `where` is the place for errors."""
    first = text.lstrip()
    if first.startswith("QGC WPL"):
        return _parse_lines(text, where)
    if first.startswith("{"):
        return _parse_json(text, where)
    raise MissionError(
        f"{where}: neither a QGroundControl plan, which begins with '{{', nor a waypoint file, which begins with "
        f"'{HEADER}'; save it from the ground station as one of these"
    )


def from_mission(
    items: Iterable[LocalItem | tuple[float, float, float, float, str]],
    home: Place,
    *,
    kind: VehicleClass = "copter",
    speed_mps: float | None = None,
    approach: Approach | None = None,
    edge_deg: float | None = None,
) -> list[PlanItem]:
    """A mission of Ironbird as an autopilot takes it, with a take-off and a speed in front of it.

    A spiral becomes a stay at its place. A fixed wing lands at the position and on the course of its item, by an
    `approach`; where other vehicles return to the take-off point it circles it, and if the mission ends in the air it
    lands there, on the course of the launch. Other vehicles land where they are: a VTOL with `edge_deg` brakes in front
    of the position, turns to this heading, which puts the edges of its wings into the wind, and descends.
    """
    rows = [LocalItem(*item) for item in items]
    if not rows:
        raise MissionError("the mission has no items; give at least one waypoint")
    floats, wing = kind in TOUCHES, kind == "plane"
    plan: list[PlanItem] = []
    if not floats and rows[0].kind != "takeoff":
        rows.insert(0, LocalItem(0.0, 0.0, rows[0].height_m or 10.0, 0.0, "takeoff"))
    if wing and rows[-1].kind != "land":
        rows.append(LocalItem(0.0, 0.0, 0.0, 0.0, "land"))
    here = flown = (0.0, 0.0)  # position of this item, and of the last one on the route
    for number, row in enumerate(rows):
        before = here
        if row.kind != "land" or wing:
            here = (row.north_m, row.east_m)
        if kind == "vtol" and row.kind == "waypoint" and number + 1 < len(rows) and rows[number + 1].kind == "land":
            continue  # the vehicle brakes on its way to the landing point, and needs room in front of it
        latitude, longitude, _ = to_geodetic(home, (*here, 0.0))
        height = row.height_m if kind != "sub" else min(row.height_m, 0.0)
        place = (latitude, longitude, 0.0 if kind in ("rover", "boat") else height)
        if row.kind == "takeoff":
            if floats:
                continue
            pitch = 15.0 if wing else 0.0  # degrees, least climb angle of a fixed-wing take-off
            command = NAV_VTOL_TAKEOFF if kind == "vtol" else NAV_TAKEOFF
            plan.append(PlanItem(command, FRAME_GLOBAL_RELATIVE_ALT, (pitch, 0.0, 0.0, math.nan), *place))
        elif row.kind == "land":
            if wing:
                plan += _approach(row, before, home, approach)
            command, yaw_deg = NAV_VTOL_LAND if kind == "vtol" else NAV_LAND, math.nan
            if kind == "vtol" and edge_deg is not None:
                yaw_deg = edge_deg
                plan += _edge_on(flown, here, rows[number - 1].height_m, home, yaw_deg)
            plan.append(
                PlanItem(command, FRAME_GLOBAL_RELATIVE_ALT, (0.0, 0.0, 0.0, yaw_deg), latitude, longitude, 0.0)
            )
        elif row.kind == "loiter" or (wing and (row.hold_s > 0 or row.kind == "return")):
            plan.append(PlanItem(NAV_LOITER_TIME, FRAME_GLOBAL_RELATIVE_ALT, (row.hold_s, 0.0, 0.0, math.nan), *place))
        elif row.kind == "return":
            plan.append(PlanItem(NAV_RETURN_TO_LAUNCH, FRAME_MISSION, (0.0, 0.0, 0.0, 0.0)))
        elif row.kind in ("waypoint", "spiral"):
            plan.append(PlanItem(NAV_WAYPOINT, FRAME_GLOBAL_RELATIVE_ALT, (row.hold_s, 0.0, 0.0, math.nan), *place))
        else:
            raise MissionError(f"item {number}: kind '{row.kind}' cannot be given to an autopilot")
        flown = here
        if speed_mps is not None and (number == 0 or (floats and len(plan) == 1)):
            plan.append(PlanItem(DO_CHANGE_SPEED, FRAME_MISSION, (1.0, speed_mps, -1.0, 0.0)))  # 1: ground speed
    return plan


def to_mission(plan: Sequence[PlanItem], origin: Place, home_height_m: float) -> LocalMission:
    """A plan as a mission of Ironbird: metres from `origin`; `home_height_m` is above the sea.

    Ironbird's circles last for a time: a circle with a number of turns is refused. A landing at another place becomes a
    waypoint above that place and a landing. Commands for cameras are skipped. A return home ends the mission, because
    it is a mode.
    """
    mission = LocalMission([], [], {}, [])
    here, height_m = (0.0, 0.0), 0.0
    for number, item in enumerate(plan):
        at, command = f"item {number} (MAV_CMD {item.command})", item.command
        if command in PASSED_OVER or (number == 0 and _is_home(plan, home_height_m)):
            mission.passed_over.append(number)
            continue
        if command == DO_CHANGE_SPEED:
            if not math.isfinite(item.params[1]):
                raise MissionError(
                    f"{at}: a speed of {item.params[1]} m/s is not a number; give one, or -1 for no change"
                )
            if item.params[1] > 0:
                mission.speeds_mps[len(mission.items)] = item.params[1]
            continue
        if command == NAV_RETURN_TO_LAUNCH:
            mission = mission._replace(returns=number)
            break  # later items are never flown
        kind, hold_s = _own_kind(item, at)
        frame = SAME_FRAME.get(item.frame)
        if frame is None:
            raise MissionError(f"{at}: frame {item.frame}; heights must be above sea (0), above home (3), or none (2)")
        if kind == "delay":
            if not mission.items:
                raise MissionError(f"{at}: there is no item before it at which to wait")
            mission.items[-1] = mission.items[-1]._replace(hold_s=mission.items[-1].hold_s + hold_s)
            continue
        if frame != FRAME_MISSION:
            position = [item.latitude_deg, item.longitude_deg, item.altitude_m]
            if not any(position[:2]) or not all(map(math.isfinite, position[:2])):  # the current position
                position[:2] = to_geodetic(origin, (*here, 0.0))[:2]
            if not math.isfinite(position[2]):
                position[2] = 0.0 if command in (NAV_LAND, NAV_VTOL_LAND) else height_m
            latitude, longitude, above = _place(position[0], position[1], position[2], at)
            sea_m = above + (home_height_m if frame == FRAME_GLOBAL_RELATIVE_ALT else 0.0)
            north, east, down = to_local(origin, latitude, longitude, sea_m)
        else:
            north, east, down = 0.0, 0.0, -height_m
        yaw = item.params[3]
        yaw_deg = yaw if math.isfinite(yaw) and abs(yaw) <= 360 else 0.0
        if kind == "land" and math.dist((north, east), here) > SAME_PLACE_M and mission.items:
            mission.items.append(LocalItem(north, east, height_m, 0.0, "waypoint", yaw_deg))
            mission.numbers.append(number)
        mission.items.append(LocalItem(north, east, -down, hold_s, kind, yaw_deg))
        mission.numbers.append(number)
        here, height_m = (north, east), height_m if kind == "land" else -down
    if not mission.items:
        raise MissionError("the plan has no item to fly to; add a waypoint or a landing")
    return mission


def _is_home(plan: Sequence[PlanItem], home_height_m: float) -> bool:
    """Whether the first item is home by convention: a place on the ground, before a take-off."""
    first, takes_off = plan[0], any(item.command in (NAV_TAKEOFF, NAV_VTOL_TAKEOFF) for item in plan)
    return (
        takes_off
        and first.command == NAV_WAYPOINT
        and SAME_FRAME.get(first.frame) == FRAME_GLOBAL
        and abs(first.altitude_m - home_height_m) < ON_GROUND_M
    )


def from_local(items: Sequence[LocalItem], origin: Place) -> list[PlanItem]:
    """Ironbird's items converted one by one for a ground station; a return becomes the position it leads to."""
    commands = {"land": NAV_LAND, "takeoff": NAV_TAKEOFF, "loiter": NAV_LOITER_TIME}
    plan = []
    for item in items:
        latitude, longitude, _ = to_geodetic(origin, (item.north_m, item.east_m, 0.0))
        command = commands.get(item.kind, NAV_WAYPOINT)
        params = (item.hold_s, 0.0, 0.0, item.yaw_deg)
        plan.append(PlanItem(command, FRAME_GLOBAL_RELATIVE_ALT, params, latitude, longitude, item.height_m))
    return plan


def _own_kind(item: PlanItem, at: str) -> tuple[str, float]:
    """Kind of Ironbird's item for an item of a plan, and the time in s it stays there."""
    hold_s = item.params[0] if math.isfinite(item.params[0]) and item.params[0] > 0 else 0.0
    match item.command:
        case c if c == NAV_WAYPOINT:
            return "waypoint", min(hold_s, FOR_EVER_S)
        case c if c == NAV_LOITER_TIME:
            return "loiter", min(hold_s, FOR_EVER_S)
        case c if c == NAV_LOITER_UNLIM:
            return "loiter", FOR_EVER_S
        case c if c == NAV_LOITER_TO_ALT:
            return "waypoint", 0.0
        case c if c == NAV_DELAY:
            return "delay", min(hold_s, FOR_EVER_S)
        case c if c in (NAV_TAKEOFF, NAV_VTOL_TAKEOFF):
            return "takeoff", 0.0
        case c if c in (NAV_LAND, NAV_VTOL_LAND):
            return "land", 0.0
        case c if c == NAV_LOITER_TURNS:
            raise MissionError(f"{at}: circles are flown by time here; give NAV_LOITER_TIME (19)")
    raise MissionError(f"{at} is not known to the reference autopilot: take it out of the plan")


def _edge_on(
    before: tuple[float, float], place: tuple[float, float], height_m: float, home: Place, yaw_deg: float
) -> list[PlanItem]:
    """Items to fly to a place on wings, then change to rotors and stay there until the given heading is reached."""
    away = math.dist(before, place)
    share = min(1.0, BRAKING_M / away) if away > 0 else 0.0
    brake = tuple(to + share * (since - to) for since, to in zip(before, place, strict=True))
    plan = []
    for (north, east), hold_s, yaw in ((brake, 0.0, math.nan), (place, 2.0, yaw_deg)):
        latitude, longitude, _ = to_geodetic(home, (north, east, 0.0))
        values = (hold_s, 0.0, 0.0, yaw)
        plan.append(PlanItem(NAV_WAYPOINT, FRAME_GLOBAL_RELATIVE_ALT, values, latitude, longitude, height_m))
    plan.insert(1, PlanItem(DO_VTOL_TRANSITION, FRAME_MISSION, (float(MAV_VTOL_STATE_MC), 0.0, 0.0, 0.0)))
    return plan


def _approach(row: LocalItem, before: tuple[float, float], home: Place, approach: Approach | None) -> list[PlanItem]:
    """Items before a fixed-wing landing: a circle tangent to the approach line where the glide begins.

    The circle is on the side from which the wing comes. It is left for the landing at its height and on that line.
    """
    if approach is None:
        raise MissionError("a wing's landing needs an approach: its height, slope and radius")
    north, east = math.cos(math.radians(row.yaw_deg)), math.sin(math.radians(row.yaw_deg))
    back = approach.height_m / math.tan(math.radians(approach.slope_deg))
    off_line = (before[1] - row.east_m) * north - (before[0] - row.north_m) * east
    radius = math.copysign(approach.radius_m, off_line)  # positive to the right, as the sign of the circle's radius
    centre = (row.north_m - back * north - radius * east, row.east_m - back * east + radius * north)
    latitude, longitude, _ = to_geodetic(home, (*centre, 0.0))
    marker = PlanItem(DO_LAND_START, FRAME_MISSION, (0.0, 0.0, 0.0, 0.0), latitude, longitude, approach.height_m)
    circle = (1.0, radius, 0.0, 1.0)  # exit towards the next item, on the tangent
    return [
        marker,
        PlanItem(NAV_LOITER_TO_ALT, FRAME_GLOBAL_RELATIVE_ALT, circle, latitude, longitude, approach.height_m),
    ]


def plan_text(items: Sequence[PlanItem], home: Home) -> str:
    """Text of a .plan file for a mission, as QGroundControl writes it."""

    def number(value: float) -> float | None:
        return None if math.isnan(value) else value

    rows = [
        {
            "AMSLAltAboveTerrain": None,
            "Altitude": item.altitude_m,
            "AltitudeMode": 1,
            "autoContinue": True,
            "command": item.command,
            "doJumpId": place,
            "frame": item.frame,
            "params": [
                *map(number, item.params),
                number(item.latitude_deg),
                number(item.longitude_deg),
                number(item.altitude_m),
            ],
            "type": "SimpleItem",
        }
        for place, item in enumerate(items, start=1)
    ]
    mission = {
        "cruiseSpeed": 15, "firmwareType": 12, "globalPlanAltitudeMode": 1, "hoverSpeed": 5, "items": rows,
        "plannedHomePosition": list(home), "vehicleType": 2, "version": 2,
    }  # fmt: skip
    plan = {
        "fileType": "Plan", "geoFence": {"circles": [], "polygons": [], "version": 2},
        "groundStation": "QGroundControl", "mission": mission, "rallyPoints": {"points": [], "version": 2},
        "version": 1,
    }  # fmt: skip
    return json.dumps(plan, indent=4)


# ---------------------------------------------------------------------------------------------- .plan


def _parse_json(text: str, where: str) -> Plan:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise MissionError(f"{where}: line {error.lineno}, column {error.colno}: {error.msg}; no valid JSON") from None
    except (ValueError, RecursionError) as error:
        raise MissionError(f"{where}: no valid JSON: {error}") from None
    return plan_of(data, where)


def plan_of(data: dict[str, Any], where: str = "mission") -> Plan:
    """The plan in parsed JSON of a .plan file; `where` is the place for errors."""
    if data.get("fileType") != "Plan":
        raise MissionError(f"{where}: fileType is {data.get('fileType')!r:.40}; 'Plan' is needed")
    mission = _table(data.get("mission"), f"{where}: mission")
    rows = mission.get("items")
    if not isinstance(rows, list):
        raise MissionError(f"{where}: mission.items must be a list")
    items: list[PlanItem] = []
    _add_rows(rows, f"{where}: mission.items", items)
    if not items:
        raise MissionError(f"{where}: mission.items is empty: there is nothing to fly")
    home = None
    if mission.get("plannedHomePosition") is not None:
        at = f"{where}: mission.plannedHomePosition"
        values = _numbers(mission["plannedHomePosition"], 3, at)
        home = Home(*_place(values[0], values[1], values[2], at))
    return Plan(items, home, _fence(data.get("geoFence"), where), _rally(data.get("rallyPoints"), where))


def _rows(data: Any, name: str, where: str) -> list[Any]:
    """A list of a JSON table; empty if it is missing."""
    rows = _table(data, where).get(name) if data is not None else None
    if rows is not None and not isinstance(rows, list):
        raise MissionError(f"{where}.{name} must be a list, not {rows!r:.40}")
    if len(rows or []) > ITEMS_MOST:
        raise MissionError(f"{where}.{name}: more than {ITEMS_MOST} entries; no autopilot takes so many")
    return rows or []


def _fence(data: Any, where: str) -> list[PlanItem]:
    """Geofence polygons and circles (to stay inside or outside of) as MAVLink mission items [MAVLinkMission]."""
    items: list[PlanItem] = []
    for number, row in enumerate(_rows(data, "polygons", f"{where}: geoFence")):
        at = f"{where}: geoFence.polygons[{number}]"
        corners = _rows(row, "polygon", at)
        if len(corners) < 3:
            raise MissionError(f"{at}: a polygon needs three corners, it has {len(corners)}")
        command = (
            NAV_FENCE_POLYGON_VERTEX_INCLUSION
            if _table(row, at).get("inclusion", True)
            else NAV_FENCE_POLYGON_VERTEX_EXCLUSION
        )
        for place, corner in enumerate(corners):
            latitude, longitude = _numbers(corner, 2, f"{at}.polygon[{place}]")
            params = (float(len(corners)), 0.0, 0.0, 0.0)
            items.append(PlanItem(command, FRAME_GLOBAL, params, *_place(latitude, longitude, 0.0, at)))
    for number, row in enumerate(_rows(data, "circles", f"{where}: geoFence")):
        at = f"{where}: geoFence.circles[{number}]"
        circle = _table(_table(row, at).get("circle"), f"{at}.circle")
        latitude, longitude = _numbers(circle.get("center"), 2, f"{at}.circle.center")
        (radius,) = _numbers([circle.get("radius")], 1, f"{at}.circle.radius")
        if not 0 < radius < HEIGHT_MOST_M:
            raise MissionError(f"{at}: a radius of {radius:g} m is not between 0 and {HEIGHT_MOST_M:g} m")
        command = NAV_FENCE_CIRCLE_INCLUSION if row.get("inclusion", True) else NAV_FENCE_CIRCLE_EXCLUSION
        items.append(PlanItem(command, FRAME_GLOBAL, (radius, 0.0, 0.0, 0.0), *_place(latitude, longitude, 0.0, at)))
    if len(items) > ITEMS_MOST:
        raise MissionError(f"{where}: geoFence has more than {ITEMS_MOST} corners; no autopilot takes so many")
    return items


def _rally(data: Any, where: str) -> list[PlanItem]:
    items = []
    for number, row in enumerate(_rows(data, "points", f"{where}: rallyPoints")):
        at = f"{where}: rallyPoints.points[{number}]"
        latitude, longitude, height = _numbers(row, 3, at)
        place = _place(latitude, longitude, height, at)
        items.append(PlanItem(NAV_RALLY_POINT, FRAME_GLOBAL_RELATIVE_ALT, (0.0, 0.0, 0.0, 0.0), *place))
    return items


def _add_rows(rows: list[Any], where: str, items: list[PlanItem], depth: int = 0) -> None:
    for number, row in enumerate(rows):
        at = f"{where}[{number}]"
        table = _table(row, at)
        if table.get("type") == "ComplexItem":
            inner = table.get("TransectStyleComplexItem")
            inner = inner.get("Items") if isinstance(inner, dict) else None
            if not isinstance(inner, list) or depth:
                raise MissionError(
                    f"{at}: a complex item ({table.get('complexItemType')!r:.40}) without a list of its waypoints; "
                    "replace it in the ground station by plain waypoints"
                )
            _add_rows(inner, f"{at}.TransectStyleComplexItem.Items", items, depth + 1)
            continue
        values = _numbers(table.get("params"), 7, f"{at}.params")
        command = _whole(table.get("command"), 0, 65535, f"{at}.command")
        items.append(_item(command, _frame(table.get("frame"), f"{at}.frame"), values, at))
        if len(items) > ITEMS_MOST:
            raise MissionError(f"{at}: more than {ITEMS_MOST} items; no autopilot takes so many")


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MissionError(f"{where} must be a table {{...}}, not {value!r:.40}")
    return value


def _numbers(value: Any, count: int, where: str) -> list[float]:
    if not isinstance(value, list) or len(value) != count:
        raise MissionError(f"{where} must be a list of {count} numbers, not {value!r:.60}")
    numbers = []
    for place, entry in enumerate(value):
        if entry is None:
            numbers.append(math.nan)
            continue
        if isinstance(entry, bool) or not isinstance(entry, int | float):
            raise MissionError(f"{where}[{place}] must be a number or null, not {entry!r:.40}")
        try:
            numbers.append(float(entry))
        except OverflowError:
            raise MissionError(f"{where}[{place}] is too large for a number") from None
    return numbers


def _whole(value: Any, low: int, high: int, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise MissionError(f"{where} must be a whole number from {low} to {high}, not {value!r:.40}")
    return value


def _frame(value: Any, where: str) -> int:
    number = _whole(value, 0, 255, where)
    if number not in SAME_FRAME:
        raise MissionError(
            f"{where} is {number}; heights must be above sea (0), above home (3), or none (2). Plans over terrain or "
            "in local metres: convert them in the ground station"
        )
    return SAME_FRAME[number]


def _item(command: int, frame: int, values: list[float], where: str) -> PlanItem:
    params = (values[0], values[1], values[2], values[3])
    for place, value in enumerate(params):
        if abs(value) > MOST_FLOAT:
            raise MissionError(f"{where}: parameter {place + 1} is {value:g}, which cannot be sent")
    if command not in PLACE_COMMANDS or frame == FRAME_MISSION:
        for place, value in enumerate(values[4:], start=5):
            if math.isinf(value) or abs(value) > 1e9:
                raise MissionError(f"{where}: parameter {place} is {value:g}, which cannot be sent")
        rest = [0.0 if math.isnan(value) else value for value in values[4:]]
        if abs(rest[0]) > 200 or abs(rest[1]) > 200:  # degrees are sent as 32-bit integers of 1e-7 degrees
            raise MissionError(f"{where}: parameters 5 and 6 of a command without place must be within 200")
        return PlanItem(command, frame, params, *rest)
    if command not in NEEDS_PLACE:  # zero means the current position, home, ...
        values = [*values[:4], *(0.0 if math.isnan(value) else value for value in values[4:])]
    return PlanItem(command, frame, params, *_place(values[4], values[5], values[6], where))


def _place(latitude: float, longitude: float, height: float, where: str) -> tuple[float, float, float]:
    if not -90 <= latitude <= 90:
        raise MissionError(f"{where}: latitude {latitude:g} is not from -90 to 90 degrees")
    if not -180 <= longitude <= 180:
        raise MissionError(f"{where}: longitude {longitude:g} is not from -180 to 180 degrees")
    if not -HEIGHT_MOST_M <= height <= HEIGHT_MOST_M:
        raise MissionError(f"{where}: height {height:g} m is not a height to fly at")
    return latitude, longitude, height


# ---------------------------------------------------------------------------------------------- QGC WPL


def _parse_lines(text: str, where: str) -> Plan:
    lines = text.lstrip().splitlines()
    head = " ".join(lines[0].split())
    if head != HEADER:
        raise MissionError(f"{where}: line 1 is {head!r:.40}; only '{HEADER}' is read: save it in that version")
    items: list[PlanItem] = []
    home = None
    before = len(text) - len(text.lstrip())
    first = text[:before].count("\n") + 1
    for number, line in enumerate(lines[1:], start=first + 1):
        if not line.strip():
            continue
        at = f"{where}: line {number}"
        parts = line.split()
        if len(parts) != COLUMNS:
            raise MissionError(f"{at} has {len(parts)} columns; {COLUMNS} are needed")
        numbers = []
        for column, part in enumerate(parts, start=1):
            try:
                numbers.append(float(part))
            except ValueError:
                raise MissionError(f"{at}, column {column}: {part!r:.40} is no number") from None
        index, _, frame, command = (_column(numbers, column, at) for column in range(4))
        values = numbers[4:11]
        if index == 0 and not items and home is None and frame == FRAME_GLOBAL and command == NAV_WAYPOINT:
            home = Home(
                *_place(values[4], values[5], values[6], at)
            )  # by convention the first row is home, not a waypoint
            continue
        items.append(_item(command, _frame(frame, f"{at}, column 3"), values, at))
        if len(items) > ITEMS_MOST:
            raise MissionError(f"{at}: more than {ITEMS_MOST} items; no autopilot takes so many")
    if not items:
        raise MissionError(f"{where}: there are no items to fly")
    return Plan(items, home)


def _column(numbers: list[float], column: int, where: str) -> int:
    value = numbers[column]
    if not 0 <= value <= 65535 or value != int(value):
        raise MissionError(f"{where}, column {column + 1}: {value:g} is no whole number from 0 to 65535")
    return int(value)
