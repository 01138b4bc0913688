"""What a vehicle did of its order, judged on its true state: items reached, landed, in the air at all, falling.

The navigator of the vehicle under test reports what it estimates; its receivers may be biased. Here each item of the
mission counts as reached, in order, when the true position comes within a stated distance of it: the distance at which
the vehicle's own navigator counts an item as reached (its file's value), and an allowance for its estimate of
`ALLOWED_M`, or of a quarter of the mission's median leg if that is less. Heights may differ by a quarter of the
former (1 m at least) and the same allowance.

Not judged: courses at items, the path between them, how steadily a place is held.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import MissionError
from ironbird.flight.order import Order
from ironbird.flight.words import COMPLETED, HARMLESS
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec, load_vehicle, usual_control
from ironbird.vehicles.spec import Home

_Item: TypeAlias = tuple[str, float, float, float, float]  # kind, m north, m east, m high, stay in s

ALLOWED_M = 3.0  # for the estimate of the position
SHARE_OF_LEG = 0.25  # of the median leg that the allowance may be
HOVER_M = 1.0  # distance at which vehicles that hover count a waypoint as reached
SHARE_OF_HEIGHT = 0.25  # of the distance at which an item counts: allowed as a difference of height
TOUCH_DOWN_M = 30.0  # from the place at which a wing should touch down
AIRBORNE_M = 0.5  # above its start: it has left the ground
MOVED_M = 0.5  # from its start: a vehicle on the ground or in the water has moved
GROUND_M = 1.0  # of the centre of mass above ground: a vehicle that began in the air lies or stands
STANDS_M = 0.25  # above where it stood at the start: it lies or stands
FALL_MPS = 3.0  # sinks faster than any vehicle lands
FALL_S = 3.0  # before the ground, at that speed
FOR_EVER_S = 1e6  # a stay that is longer has no end
CIRCLE, RETURN_HEIGHT = "loiter_radius", "return_height"  # parameters of the navigators of wings
AT_REST_MPS = 0.5  # a vehicle that is slower in its first row stands on the ground,
STANDS_S, FALLS_MPS = 0.2, 1.0  # unless it sinks that fast after that time
MOST_PARTS = 1000  # between two rows of a log
HOLD_SLACK_S = 1.0  # of a stay that may be missing: it is counted from when the item is reached in truth
REACH = ("acceptance_radius", "arrived", "turn_radius")  # parameters of navigators: a nearer item counts as reached
STEP_SHARE = 0.5  # of the distance that counts: rows of a log that are farther apart are interpolated


@dataclass(frozen=True)
class Target:
    """One item of a mission as a place in the world."""

    kind: str  # as in a mission file
    north_m: float
    east_m: float
    height_m: float  # above the take-off point
    within_m: float  # horizontal distance that counts as reached
    apart_m: float  # difference of height that does; infinite if heights are not judged
    hold_s: float = 0.0

    @property
    def text(self) -> str:
        """Kind and place in words."""
        place = f"{self.north_m:g} m north, {self.east_m:g} m east"
        return f"{self.kind}, {place}" + (f", {self.height_m:g} m high" if math.isfinite(self.apart_m) else "")


@dataclass(frozen=True)
class Ended:
    """How far a flight came, in truth."""

    targets: tuple[Target, ...]
    reached: int  # items, in order
    completed: bool  # all of them, and ended as the last one says
    landed: bool  # on the ground after it was in the air, whole and disarmed
    flown: bool  # left the ground, or moved
    why: str  # it is not completed; empty if it is
    off_m: float  # largest distance from an item that was reached
    falling: str = ""  # how it fell when the flight ended; empty if it did not
    left: bool = False  # it was at the last place, where it should stay, and is not there at the end

    @property
    def where(self) -> str:
        """How far it came, in words."""
        count = len(self.targets)
        if self.reached == count:
            return self.why
        return f"{self.reached} of {count} items were reached, next is the {self.targets[self.reached].text}"


def ended(order: Order, model: CompiledModel, log: Log, lane: int, *, disarmed: bool = False) -> Ended:
    """What a flight of an order came to in truth.

    Parameters
    ----------
    order : Order
        As it was flown.
    model : CompiledModel
        Of its vehicle.
    log : Log
        With position and velocity of the body; with the height above ground where the ground is not flat.
    lane : int
        Its lane.
    disarmed : bool, default False
        Whether a control system outside was disarmed at the end; the navigators of Ironbird stop the flight then.
    """
    kind = vehicle_kind(load_spec(order.vehicle))
    targets = targets_of(order, model)
    if not log.rows(lane):
        return Ended(targets, 0, False, False, False, "it ended before its first row was logged", math.nan)
    path = _Path.of(log, lane, min((t.within_m for t in targets), default=math.inf))
    flown = path.left_the_ground if kind.flies else path.moved
    stop = log.stops[lane]
    whole = stop is None or stop.reason in HARMLESS
    landed = flown and kind.flies and path.lies[-1] and (disarmed if stop is None else whole)
    reached, row, off_m, why = _reach(targets, path)
    left = False
    if not why and whole:
        why, left = _stays(targets, path, row, done=stop is not None and stop.reason == COMPLETED)
    completed = bool(targets) and whole and flown and not why
    return Ended(
        targets=targets,
        reached=reached,
        completed=completed,
        landed=bool(landed),
        flown=bool(flown),
        why="" if completed else why or ("it crashed" if not whole else "it was given no mission"),
        off_m=off_m,
        falling=path.falling() if whole and kind.flies else "",
        left=left,
    )


# ---------------------------------------------------------------------- items as places


def targets_of(order: Order, model: CompiledModel) -> tuple[Target, ...]:
    """The items of an order's mission or plan as places; none if its control system is given neither."""
    items: tuple[_Item, ...]
    if order.mission is not None:
        items = tuple((item.kind, item.north_m, item.east_m, item.height_m, item.hold_s) for item in order.mission.item)
    elif order.has_plan_file:
        items = _plan_items(order.script, order.place or load_spec(order.vehicle).home)
    else:
        return ()
    return _targets(items, order.vehicle, *_reach_m(order.vehicle, model))


@functools.lru_cache(maxsize=64)
def _plan_items(script: str, home: Home) -> tuple[_Item, ...]:
    """The items of a plan of another program that have a place; commands that Ironbird does not know are waypoints."""
    from ironbird.flight.given_plan import waypoints_of  # plans of others are not loaded without need
    from ironbird.protocols.plan_file import parse_plan, to_mission

    plan = parse_plan(script)
    try:
        items = to_mission(plan.items, home, home.height_m).items
    except MissionError:
        return tuple(("waypoint", *point, 0.0) for point in waypoints_of(plan, home))
    return tuple((item.kind, item.north_m, item.east_m, item.height_m, item.hold_s) for item in items)


@functools.lru_cache(maxsize=256)
def _reach_m(vehicle: str, model: CompiledModel) -> tuple[float, float, float]:
    """Distance at which the vehicle's navigator counts an item as reached, radius of its circles, height of its return.

    All are those of its file: an order that changes them does not change what counts. Vehicles under a control system
    outside have the navigator of their usual one.
    """
    diagram = None
    if at.NAVIGATOR.count not in model.flat.p.start:
        diagram = load_vehicle(vehicle, control=usual_control(vehicle)).diagram
    names = set(diagram.param_paths()) if diagram is not None else set(model.flat.p.start)

    def value(name: str) -> float:
        path = at.NAVIGATOR(name)
        if path not in names:
            return 0.0
        values = model.flat.values[model.param_rows(path)] if diagram is None else diagram.value(path)
        return float(np.ravel(values)[0])

    reach_m = sum(map(value, REACH))
    least_m = HOVER_M if vehicle_kind(load_spec(vehicle)).flies else 0.0
    return max(reach_m, least_m), value(CIRCLE), value(RETURN_HEIGHT)


@functools.lru_cache(maxsize=1024)
def _targets(
    items: tuple[_Item, ...], vehicle: str, reach_m: float, circle_m: float, return_m: float
) -> tuple[Target, ...]:
    """Items with what counts as reached.

    Wings circle where they stay: at loiters and returns, at waypoints with a stay, and at the last one.
    """
    kind = vehicle_kind(load_spec(vehicle))
    places = np.array([item[1:4] for item in items])
    legs = np.linalg.norm(np.diff(places, axis=0), axis=1)
    if not (legs > 0.0).any():
        legs = np.linalg.norm(places[:1], axis=1)  # the way from the start is the only one
    usual = float(np.median(legs[legs > 0.0])) if (legs > 0.0).any() else math.inf
    allowed_m = min(ALLOWED_M, SHARE_OF_LEG * usual)
    level = kind.flies or kind.autopilot_class == "sub"  # others are where the ground or the water is
    apart_m = max(HOVER_M, SHARE_OF_HEIGHT * reach_m) + allowed_m if level else math.inf
    here, targets = (0.0, 0.0), []
    for number, (name, north_m, east_m, height_m, hold_s) in enumerate(items, start=1):
        within_m = reach_m + allowed_m
        if name == "land":
            if kind.launched:
                within_m = TOUCH_DOWN_M
            else:
                (north_m, east_m), within_m = here, HOVER_M + allowed_m
        elif name == "takeoff" and kind.launched:
            within_m = math.inf
        elif kind.launched:
            if name == "return":
                north_m, east_m, height_m = 0.0, 0.0, height_m if height_m > 0.0 else return_m
            if name in ("loiter", "return") or hold_s > 0.0 or number == len(items):
                within_m += circle_m
        targets.append(Target(name, north_m, east_m, height_m, within_m, apart_m, hold_s))
        here = (north_m, east_m)
    return tuple(targets)


# ---------------------------------------------------------------------- the true path


@dataclass(frozen=True)
class _Path:
    """True positions of a flight over its rows, and which of them are on the ground."""

    time_s: np.ndarray
    position: np.ndarray  # m [row, 3] north, east, down
    velocity: np.ndarray  # m/s [row, 3]
    above_m: np.ndarray  # of the centre of mass above ground
    lies: np.ndarray  # whether it stands or lies on the ground

    @staticmethod
    def of(log: Log, lane: int, least_m: float) -> _Path:
        """The path of a lane; where its rows are too far apart to show a passage within `least_m`, more of them."""
        time_s, position = log.time(lane), log.lane(at.BODY.position, lane)
        velocity = log.lane(at.BODY.velocity, lane)
        ground = at.TERRAIN.height_above_ground
        above = log.lane(ground, lane) if ground in log else -position[:, 2]
        begun = int(np.searchsorted(time_s, STANDS_S).clip(0, len(time_s) - 1))  # what nothing holds falls by then
        stood = float(np.abs(velocity[0]).max()) < AT_REST_MPS and velocity[begun, 2] < FALLS_MPS
        lies = above <= (float(above[0]) + STANDS_M if stood else GROUND_M)
        if len(time_s) > 1 and math.isfinite(least_m):
            longest = float(np.abs(np.diff(position, axis=0)).max())
            parts = min(MOST_PARTS, math.ceil(longest / max(STEP_SHARE * least_m, 1e-6)))
            if parts > 1:
                old, rows = np.arange(len(time_s)), np.linspace(0, len(time_s) - 1, (len(time_s) - 1) * parts + 1)
                time_s, above = np.interp(rows, old, time_s), np.interp(rows, old, above)
                position = np.stack([np.interp(rows, old, column) for column in position.T], axis=1)
                velocity = np.stack([np.interp(rows, old, column) for column in velocity.T], axis=1)
                lies = lies[np.minimum(np.ceil(rows).astype(int), len(lies) - 1)]
        return _Path(time_s, position, velocity, above, lies)

    @property
    def left_the_ground(self) -> bool:
        """Whether it was in the air at any time."""
        return bool((self.above_m > self.above_m[0] + AIRBORNE_M).any() or not self.lies[0])

    @property
    def moved(self) -> bool:
        """Whether it came away from its start."""
        return bool((np.abs(self.position - self.position[0]) > MOVED_M).any())

    def apart(self, target: Target, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Horizontal distance and difference of height from an item, from a row on."""
        place = self.position[first:]
        flat = np.hypot(place[:, 0] - target.north_m, place[:, 1] - target.east_m)
        return flat, np.abs(place[:, 2] + target.height_m)

    def falling(self) -> str:
        """How it falls in the last row, towards ground that is near; empty if it does not."""
        sinks, above = float(self.velocity[-1, 2]), float(self.above_m[-1])
        if self.lies[-1] or sinks < FALL_MPS or above > FALL_S * sinks:
            return ""
        return f"the flight ended while the vehicle fell: {above:.1f} m above ground, sinking {sinks:.1f} m/s"


def _reach(targets: Sequence[Target], path: _Path) -> tuple[int, int, float, str]:
    """How many items were reached in order, the row of the last one, the largest distance, why not all."""
    row, most_m = 0, 0.0
    for number, target in enumerate(targets):
        flat, high = path.apart(target, row)
        if target.kind == "land":
            near = path.lies[row:] & (flat <= target.within_m)
            if number == 0 or not path.lies[row]:
                near &= np.maximum.accumulate(~path.lies[row:])  # it was in the air before
        elif target.kind == "takeoff" and math.isinf(target.within_m):
            near = -path.position[row:, 2] >= target.height_m - target.apart_m
        else:
            near = (flat <= target.within_m) & (high <= target.apart_m)
        if not near.any():
            return number, row, most_m, _missed(_item(number, targets), target, flat, high, path.lies[row:])
        first = int(near.argmax())
        if math.isfinite(target.within_m) and target.kind != "land":
            left = ~near[first:]
            last = first + (int(left.argmax()) if left.any() else len(left))
            most_m = max(most_m, float(flat[first:last].min()))
        row += first
        if number < len(targets) - 1 and target.hold_s:
            row = int(path.time_s.searchsorted(path.time_s[row] + target.hold_s - HOLD_SLACK_S))
            if row >= len(path.time_s):
                return number + 1, len(path.time_s) - 1, most_m, f"its stay at {_item(number, targets)} was not over"
    return len(targets), row, most_m, ""


def _item(number: int, targets: Sequence[Target]) -> str:
    return f"item {number + 1} of {len(targets)} ({targets[number].text})"


def _missed(item: str, target: Target, flat: np.ndarray, high: np.ndarray, lies: np.ndarray) -> str:
    """Why an item does not count as reached."""
    if target.kind == "land":
        if lies[-1]:
            return f"it lies {flat[-1]:.1f} m from where it should land; {target.within_m:g} m are allowed"
        return "it has not landed"
    best = int(np.hypot(flat, np.where(np.isfinite(target.apart_m), high, 0.0)).argmin())
    if flat[best] <= target.within_m:
        return f"{item} was missed by {high[best]:.1f} m in height; {target.apart_m:g} m are allowed"
    return f"{item} was missed by {flat[best]:.1f} m; {target.within_m:g} m are allowed"


def _stays(targets: Sequence[Target], path: _Path, row: int, *, done: bool) -> tuple[str, bool]:
    """Why a flight that reached all items did not end as the last of them says, and whether it left that place."""
    if not targets:
        return "", False
    last = targets[-1]
    if last.kind == "land":
        return "" if path.lies[-1] else "it left the ground again after its landing", False
    if done:
        return "", False
    flat, high = (float(column[-1]) for column in path.apart(last, len(path.time_s) - 1))
    if last.hold_s >= FOR_EVER_S and (flat > last.within_m or high > last.apart_m):
        away = f"{math.hypot(flat, high):.1f} m"
        return f"it left {_item(len(targets) - 1, targets)}, where it should stay, and ended {away} away", True
    left_s = last.hold_s - float(path.time_s[-1] - path.time_s[row])
    if last.hold_s < FOR_EVER_S and left_s > HOLD_SLACK_S:
        return f"{left_s:.0f} s of its stay at {_item(len(targets) - 1, targets)} were left", False
    return "", False
