"""Scenario files: vehicles of any kind and control system in one world, and requirements between them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ironbird.errors import IronbirdError, MissionError, ScenarioError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.files.problems import Problem, Source, grammar_words, other_kind, read_source, schema_problems
from ironbird.flight.ends import TIME
from ironbird.flight.mission import SCHEMA as MISSION_SCHEMA
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Order, Weather, make_order, read_faults
from ironbird.flight.pose import start_settings
from ironbird.flight.prepare import fit
from ironbird.flight.worlds import ordered_world
from ironbird.scenario.between import Trigger, crosses
from ironbird.vehicles import places as at
from ironbird.world.vfh import AZIMUTHS

BUILT_IN = Path(__file__).parent / "scenarios"
SCHEMA = 1
MOST_VEHICLES = 1000
LONGEST_S = 86400.0
NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
REBOUND_MPS = 1e5  # beyond any contact speed: the vehicle bounces and flies on
LIDAR = "lidar"  # of vehicles that go round what they see: nine rings of beams, ten times a second
AVOIDERS_LIDAR: dict[str, Any] = {
    "kind": "scanning_lidar", "name": LIDAR, "rings": 9, "columns": AZIMUTHS, "low_deg": -40.0, "high_deg": 40.0,
    "rate_hz": 10.0, "max_m": 30.0,
}  # fmt: skip

Name = Annotated[str, Field(pattern=NAME, max_length=40)]
Metres = Annotated[float, Field(ge=-1e6, le=1e6)]
Offset = Annotated[list[Metres], Field(min_length=3, max_length=3)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)


class FollowTable(_Table):
    """Guidance: keep an offset (m north, east, down) to another vehicle, by its ADS-B reports."""

    vehicle: Name
    offset_m: Offset


class LandTable(_Table):
    """Guidance: land on the deck of another vehicle, or on a mover of the world, from a height above it."""

    on: Name
    height_m: Annotated[float, Field(gt=0.5, le=500)] = 5.0
    after_s: Annotated[float, Field(ge=0, le=LONGEST_S)] = 0.0


class AvoidTable(_Table):
    """Guidance: fly to a place around obstacles that a lidar measures (vector field histogram)."""

    north_m: Metres
    east_m: Metres
    height_m: Annotated[float, Field(gt=0.5, le=1e5)]
    speed_mps: Annotated[float, Field(gt=0, le=50)] = 3.0


class DeckTable(_Table):
    """A level box fixed to a vehicle on which others may land; its centre in body axes, its size."""

    centre_m: Offset = [0.0, 0.0, 0.0]
    size_m: Annotated[list[Annotated[float, Field(gt=0.01, le=1e3)]], Field(min_length=3, max_length=3)]


class VehicleTable(_Table):
    """One vehicle, or with `count` a start grid of them: NAME_1, NAME_2, … Missions count from each one's start."""

    name: Name
    vehicle: str
    control: str | None = None
    mission: str | dict[str, Any] | None = None  # a name, a file, or the table of a mission
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    height_m: Annotated[float, Field(ge=0, le=1e5)] = 0.0
    yaw_deg: Annotated[float, Field(ge=-360, le=360)] = 0.0
    count: Annotated[int, Field(ge=1, le=MOST_VEHICLES)] = 1
    columns: Annotated[int, Field(ge=1, le=MOST_VEHICLES)] | None = None
    spacing_m: Annotated[float, Field(gt=0, le=1e4)] = 3.0
    collision: Literal["stop", "rebound"] = "stop"
    adsb: bool = True
    set: dict[str, float | list[float]] = Field(default_factory=dict)
    options: dict[str, str | bool | int | float] = Field(default_factory=dict)
    fault: list[str] = Field(default_factory=list)
    require: list[str] = Field(default_factory=list)
    ends: str = ""  # how its flight may end; one that is guided in flight has no mission to complete: time
    may_crash: bool = False
    sight: list[dict[str, Any]] = Field(default_factory=list)
    follow: FollowTable | None = None
    land: LandTable | None = None
    avoid: AvoidTable | None = None
    deck: DeckTable | None = None

    @property
    def guided(self) -> bool:
        """Whether something in the scenario guides it in flight, in place of its mission."""
        return any(task is not None for task in (self.follow, self.land, self.avoid))

    @model_validator(mode="after")
    def _one_pilot(self) -> VehicleTable:
        if sum(task is not None for task in (self.follow, self.land, self.avoid)) > 1:
            raise ValueError("give one of follow, land and avoid")
        return self


class WindTable(_Table):
    """Wind and turbulence for all vehicles of a scenario."""

    speed_mps: Annotated[float, Field(ge=0, le=60)] = 0.0
    from_deg: Annotated[float, Field(ge=-360, le=360)] = 0.0
    turbulence_mps: Annotated[float, Field(ge=0, le=60)] = 0.0


class ScenarioTable(_Table):
    """The content of a scenario file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    title: str = ""
    world: str = "field"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    until_s: Annotated[float, Field(gt=0, le=LONGEST_S)]
    log_s: Annotated[float, Field(ge=1e-3, le=10)] = 0.02
    adsb_s: Annotated[float, Field(ge=0.05, le=60)] = 0.5
    adsb_range_m: Annotated[float, Field(gt=0, le=1e6)] = 1e5
    wind: WindTable = WindTable()
    wake: bool = False  # vehicles feel the wakes of each other's rotors
    vehicle: Annotated[list[VehicleTable], Field(min_length=1)]
    require: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Member:
    """One vehicle of a scenario: its order, and its guidance in addition to its own mission."""

    name: str
    order: Order
    table: VehicleTable
    across: tuple[Injection, ...] = ()  # faults whose triggers name other vehicles

    @property
    def faults(self) -> tuple[Injection, ...]:
        """All faults of the vehicle; those with triggers across vehicles are last."""
        return (*self.order.faults, *self.across)


@dataclass(frozen=True)
class Scenario:
    """Vehicles in one world on one clock; equal scenarios give equal flights."""

    name: str
    table: ScenarioTable
    world: str
    members: tuple[Member, ...]

    @property
    def title(self) -> str:
        """Title of the scenario, or its name if it has none."""
        return self.table.title or self.name

    def digest(self) -> str:
        """Hash of everything that influences the result."""
        content = self.table.model_dump(mode="json", exclude={"title"})
        for entry in content["vehicle"]:  # names and paths of files do not count: their content is in the orders
            del entry["vehicle"], entry["mission"]
        if not self.table.wake:
            del content["wake"]  # keeps the digests of earlier versions
        content["world"] = ordered_world(self.world).digest
        data = {"schema": SCHEMA, "scenario": content, "orders": [m.order.digest() for m in self.members]}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def scenario_names() -> list[str]:
    """Names of the built-in scenarios."""
    return sorted(path.stem for path in BUILT_IN.glob("*.toml"))


def load_scenario(name: str | Path) -> Scenario:
    """A scenario by name (`leader_follower`), or from a TOML file."""
    path = Path(name)
    if not str(name).endswith(".toml"):
        if str(name) not in scenario_names():
            raise UnknownNameError("scenario", str(name), scenario_names(), listed_by="ironbird scenario list")
        path = BUILT_IN / f"{name}.toml"
    source = read_source(path, f"give one of {', '.join(scenario_names())}, or the path of a TOML file")
    if isinstance(source, Problem):
        raise ScenarioError(source)
    return scenario_of(source)


def scenario_of(source: Source) -> Scenario:
    """The scenario of a parsed file; all problems of its grammar are in one error."""
    if problems := other_kind(source, "vehicle", "until_s") or schema_problems(source, SCHEMA):
        raise ScenarioError(*problems)
    try:
        table = ScenarioTable.model_validate(source.data)
    except ValidationError as error:
        details = grammar_words(ScenarioTable, source.data, error)
        raise ScenarioError(*(source.problem(*words) for words in details)) from None
    folder = source.path.parent
    inside = "\n" in table.world  # the text of a world file
    world = str(folder / table.world) if "." in table.world and not inside else table.world
    members: list[Member] = []
    names = [name for entry in table.vehicle for name in names_of(entry)]
    for number, entry in enumerate(table.vehicle):
        try:
            members += _members(entry, table, world, folder, len(members), names)
        except IronbirdError as error:
            words = str(error).partition("\n")[0]
            raise ScenarioError(source.problem(("vehicle", number), words, "correct this vehicle")) from None
    _check_names(source, members)
    return Scenario(source.path.stem, table, world, tuple(members))


def names_of(entry: VehicleTable) -> list[str]:
    """Names of the vehicles of one table."""
    return [entry.name] if entry.count == 1 else [f"{entry.name}_{number + 1}" for number in range(entry.count)]


def _members(
    entry: VehicleTable, table: ScenarioTable, world: str, folder: Path, first: int, names: Sequence[str]
) -> list[Member]:
    faults = read_faults(entry.fault)
    across = tuple(fault for fault in faults if crosses(fault.when, names))
    for fault in across:
        Trigger(fault.when, names)  # raises if it cannot be read
    vehicle = str(folder / entry.vehicle) if entry.vehicle.endswith(".toml") else entry.vehicle
    mission = mission_of(entry.mission, folder)
    columns = entry.columns or math.isqrt(entry.count - 1) + 1
    wind = Weather(table.wind.speed_mps, table.wind.from_deg, table.wind.turbulence_mps)
    base = make_order(
        vehicle,
        control=entry.control,
        mission=mission,
        weather=wind,
        faults=[fault for fault in faults if fault not in across],
        requirements=entry.require,
        ends=entry.ends or (TIME if entry.guided else ""),
        may_crash=entry.may_crash,
        options=entry.options,
        sight=[*entry.sight, *([AVOIDERS_LIDAR] if entry.avoid is not None else [])],
        until_s=table.until_s,
        log_s=table.log_s,
        world=world,
    )
    members = []
    for number, name in enumerate(names_of(entry)):
        row, column = divmod(number, columns)
        north = entry.north_m - row * entry.spacing_m
        east = entry.east_m + (column - (min(columns, entry.count) - 1) / 2) * entry.spacing_m
        settings: dict[str, Any] = start_settings(base, north, east, entry.yaw_deg)
        if entry.height_m:
            settings = _lifted(base, settings, entry.height_m)
        if entry.collision == "rebound":
            settings[at.CLEARANCE("stop_speed")] = REBOUND_MPS
        changed: dict[str, Any] = {"seed": table.seed + first + number, "settings": {**settings, **entry.set}}
        order = replace(base, **changed, **_from_start(base, north, east))
        members.append(Member(name, order, entry, across))
    return members


def mission_of(source: str | dict[str, Any] | None, folder: Path) -> Mission | str | None:
    """A vehicle's mission: by name, from a file next to the scenario's, or from its table; None is its own."""
    if isinstance(source, dict):
        try:
            return Mission.model_validate({"schema": MISSION_SCHEMA, **source})
        except ValidationError as error:
            problems = grammar_words(Mission, source, error)
            raise MissionError(*(f"mission: {'.'.join(map(str, p))}: {m}; {cure}" for p, m, cure in problems)) from None
    return load_mission(folder / source) if source and source.endswith(".toml") else source


def _from_start(order: Order, north_m: float, east_m: float) -> dict[str, Any]:
    """Settings that shift the order's mission to the vehicle's own start, so that a grid keeps its shape."""
    if order.mission is None or not (north_m or east_m):
        return {}
    items = [
        item.model_copy(update={"north_m": item.north_m + north_m, "east_m": item.east_m + east_m})
        for item in order.mission.item
    ]
    return {"mission": order.mission.model_copy(update={"item": items}), "mission_name": ""}


def _lifted(order: Order, settings: dict[str, Any], height_m: float) -> dict[str, Any]:
    """Settings for a start above the ground: on a roof, a deck or a launcher."""
    model = fit(order).model
    lifted = dict(settings)
    for path in at.STARTS:
        if path in model.params():
            value = [*lifted.get(path, model.flat.values[model.param_rows(path)].tolist())]
            lifted[path] = [value[0], value[1], value[2] - height_m]
    for path in model.params():
        if at.BARO_START.fullmatch(path):
            lifted[path] = float(model.flat.values[model.param_rows(path)][0]) + height_m
    return lifted


def _check_names(source: Source, members: list[Member]) -> None:
    names = [member.name for member in members]
    if len(members) > MOST_VEHICLES:
        cure = f"give at most {MOST_VEHICLES}"
        raise ScenarioError(source.problem(("vehicle",), f"there are {len(members)} vehicles", cure))
    for number, entry in enumerate(source.data["vehicle"]):
        own = [member for member in members if member.table.name == entry["name"]]
        if len(own) != entry.get("count", 1) or any(names.count(member.name) > 1 for member in own):
            cure = "give each its own name"
            raise ScenarioError(source.problem(("vehicle", number, "name"), f"'{entry['name']}' is there twice", cure))
        other = entry.get("follow", {}).get("vehicle")
        if other is not None and other not in names:
            cure = f"one of {', '.join(names)}"
            place = ("vehicle", number, "follow", "vehicle")
            raise ScenarioError(source.problem(place, f"there is no vehicle '{other}'", cure))
