"""Missions: a list of waypoints from a TOML file or by a built-in name."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ironbird.blocks.controllers.mission_table import FLY, LAND, LOITER_ITEM, RETURN_ITEM, ROWS, SPIRAL, TAKE_OFF_ITEM
from ironbird.errors import MissionError, UnknownNameError
from ironbird.files.problems import Problem, Source, grammar_words, other_kind, read_source, schema_problems
from ironbird.vehicles import places as at

BUILT_IN = Path(__file__).parent / "missions"
SCHEMA = 1  # of mission files
LONGEST_S = 1e7  # of a flight: 116 days
LONGEST_HOLD_S = 1e9  # of a stay: for ever
FARTHEST_M = 1e8  # from the take-off point: farther than any place on the earth
FASTEST_MPS = 1e5
Plain = Annotated[float, AfterValidator(lambda value: value + 0.0)]  # -0.0 as 0.0: a text omits default values
Metres = Annotated[Plain, Field(ge=-FARTHEST_M, le=FARTHEST_M)]
KINDS = {
    "waypoint": FLY, "land": LAND, "spiral": SPIRAL, "takeoff": TAKE_OFF_ITEM, "loiter": LOITER_ITEM,
    "return": RETURN_ITEM,
}  # fmt: skip


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)


class Item(_Table):
    """One mission item: fly to a place and stay, land below the present place, or fly a spiral from a place.

    A spiral takes `hold_s`; its size is the vehicle's, and a vehicle without one stays at the place. For wings:
    `takeoff` climbs to `height_m`; `loiter` circles a place for `hold_s`; `return` circles the take-off point; `land`
    touches down at its place with `yaw_deg` as the course. Other vehicles take the first three as waypoints.
    """

    kind: Literal["waypoint", "land", "spiral", "takeoff", "loiter", "return"]
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    height_m: Metres = 0.0
    yaw_deg: Plain = 0.0
    hold_s: Annotated[Plain, Field(ge=0, le=LONGEST_HOLD_S)] = 0.0

    def column(self) -> list[float]:
        """The item in the navigator's form: north, east, down, yaw, hold, kind."""
        yaw = math.radians(self.yaw_deg)
        return [self.north_m, self.east_m, -self.height_m, yaw, self.hold_s, KINDS[self.kind]]


class Mission(_Table):
    """A mission: items in order. Without `duration_s` a flight ends when the last item is done.

    Parameters
    ----------
    schema : int
        1.
    title : str, default ""
        One line for reports.
    duration_s : float, optional
        Length of the flight in s; by default until the last item is done.
    cruise_speed_mps : float, optional
        Speed between items in m/s; by default the vehicle's own.
    item : list of Item
        Waypoints and other items, at least one: `ib.load_mission` reads them from a file.
    """

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    title: str = ""
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)] | None = None
    cruise_speed_mps: Annotated[float, Field(gt=0, le=FASTEST_MPS)] | None = None
    item: Annotated[list[Item], Field(min_length=1)]

    def params(self, places: int) -> dict[str, Any]:
        """Parameters of a navigator that has room for `places` items."""
        if len(self.item) > places:
            raise MissionError(f"the mission has {len(self.item)} items; this vehicle's navigator takes {places}")
        table = np.zeros((ROWS, places))
        for number, item in enumerate(self.item):
            table[:, number] = item.column()
        values: dict[str, Any] = {at.NAVIGATOR.table: table, at.NAVIGATOR.count: float(len(self.item))}
        if self.cruise_speed_mps is not None:
            values[at.NAVIGATOR.cruise_speed] = self.cruise_speed_mps
        return values

    def longest_s(self, cruise_speed_mps: float) -> float:
        """Time in s by which the mission should be over: three times the path at cruise speed, and the holds."""
        here = np.zeros(3)
        total = 30.0
        for item in self.item:
            there = np.array([item.north_m, item.east_m, -item.height_m])
            if item.kind == "land":
                there = np.array([here[0], here[1], 0.0])
                total += 3.0 * abs(here[2]) / 0.5
            total += 3.0 * float(np.linalg.norm(there - here)) / cruise_speed_mps + item.hold_s
            here = there
        return min(total, LONGEST_S)


def mission_names() -> list[str]:
    """Names of the built-in missions."""
    return sorted(name.removesuffix(".toml") for name in os.listdir(BUILT_IN) if name.endswith(".toml"))


def load_mission(name: str | Path) -> Mission:
    """Load a mission.

    Parameters
    ----------
    name : str or Path
        Built-in name (`square`, `hover`; `ironbird mission list` lists them), or a TOML file.

    Returns
    -------
    Mission
        Its items, title and speed.

    Raises
    ------
    UnknownNameError
        If there is no such mission.

    Examples
    --------
    >>> ib.load_mission("hover").title
    'hover at 10 m height'
    """
    if str(name).endswith(".toml"):
        return _read(Path(name))
    path = BUILT_IN / f"{name}.toml"
    if path.parent != BUILT_IN or not os.path.isfile(path):
        raise UnknownNameError("mission", str(name), mission_names())
    return _built_in(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _built_in(path: Path, changed_ns: int) -> Mission:
    """A built-in mission, read once."""
    return _read(path)


def _read(path: Path) -> Mission:
    source = read_source(path, f"give one of {', '.join(mission_names())}, or the path of a TOML file")
    if isinstance(source, Problem):
        raise MissionError(source)
    return mission_of(source)


def mission_of(source: Source) -> Mission:
    """The mission of a parsed TOML file; all problems of its grammar are in one error."""
    if problems := other_kind(source, "item") or schema_problems(source, SCHEMA):
        raise MissionError(*problems)
    try:
        return Mission.model_validate(source.data)
    except ValidationError as error:
        details = grammar_words(Mission, source.data, error)
        raise MissionError(*(source.problem(*words) for words in details)) from None


def mission_table(mission: Mission) -> dict[str, Any]:
    """The mission as a table of another file, without default values."""
    table = mission.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    table.pop("schema_version", None)
    return {key: value for key, value in table.items() if key != "item"} | {
        "item": [{"kind": item.kind, **item.model_dump(mode="json", exclude_defaults=True)} for item in mission.item]
    }
