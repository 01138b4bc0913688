"""A planned case: the case of a file with the defaults of its suite, its varied parameters, and its flights."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ironbird.campaign import sampling
from ironbird.campaign.case import (
    ID_PATTERN,
    INTEGRATION_PATTERN,
    REFERENCE_PATTERN,
    FlightCase,
    PlanTable,
    SeedRange,
    Spread,
    is_spread,
)
from ironbird.campaign.expected import expected_text
from ironbird.campaign.scenarios import placeholders, scenario_in, scenario_text
from ironbird.errors import FaultError, IronbirdError, OrderError
from ironbird.faults.catalog import FAULTS, read_fault
from ironbird.files.problems import (
    Cut,
    Problem,
    Source,
    grammar_words,
    read_bytes,
)
from ironbird.files.toml_text import KeyPath
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import (
    LOG_S,
    SEVERITY,
    Order,
    Requirement,
    Weather,
    load_order,
    parse_order,
    planned_place,
)
from ironbird.protocols.plan_file import is_plan
from ironbird.requirements import library
from ironbird.vehicles.load import load_spec, usual_control
from ironbird.vehicles.spec import Home

PLAN_ENDINGS = (".plan", ".waypoints")  # missions of other programs
JOINED = ("faults_files", "fault", "require", "sight", "tags")  # lists of the defaults that a case's own follow
FIXED = (
    "id",
    "title",
    "note",
    "source",
    "seeds",
    "log_s",
    "ends",
    "may_crash",
    "integration",
    "expect",
    "tags",
    "vary",
    "plan",
    "world",
)  # no references inside
# Grammar errors of case files in words: a number may vary, a text in its place names a shared parameter
case_words = functools.partial(
    grammar_words,
    number="a number, or a table such as { grid = [0.1, 0.2] }",
    patterns={
        INTEGRATION_PATTERN: ("a method and a step", "write rk2@0.002 or rk4@0.001, for example"),
        REFERENCE_PATTERN: ("a number", 'write a number, a table such as { grid = [0.1, 0.2] }, or "$name"'),
        ID_PATTERN: ("an id", "use letters, digits, dot, hyphen and underscore; begin with a letter or digit"),
    },
)


@dataclass(frozen=True)
class Planned:
    """A case with the suite's defaults merged in, and the source of each of its keys."""

    data: dict[str, Any]
    source: Source
    number: int  # of the case in its file
    defaults: Source | None
    cut: Cut | None = None  # of the case, if its data are only a part of it

    @property
    def id(self) -> str:
        """The id of the case, unique in its suite."""
        return str(self.data["id"])

    @property
    def title(self) -> str:
        """What it is about, never empty: its title, or what its faults do, or what is flown."""
        if title := str(self.data.get("title") or ""):
            return title
        names = [str(table.get("id", "")) for table in self.data.get("fault", []) if isinstance(table, Mapping)]
        if names:
            return " ".join(FAULTS[name].summary if name in FAULTS else name for name in dict.fromkeys(names))
        what = self.data.get("scenario") or self.data.get("vehicle") or self.id
        name = self.id if "\n" in str(what) else Path(str(what)).stem
        mission = self.data.get("mission")
        return f"{name} flies {Path(mission).stem}" if isinstance(mission, str) and "\n" not in mission else name

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """A problem at a key of the case, located in the file that contains the key."""
        shared = self.defaults.data["suite"].get("defaults", {}) if self.defaults else {}
        path = self.cut.whole(path) if self.cut else path
        at = path
        if len(path) > 1 and path[0] in JOINED and isinstance(path[1], int):
            inherited = kept_defaults(shared, self.source.data["case"][self.number], path[0])
            if path[1] < len(inherited):
                assert self.defaults is not None
                at = ("suite", "defaults", path[0], inherited[path[1]], *path[2:])
                return self.defaults.problem(at, message, cure)
            at = (path[0], path[1] - len(inherited), *path[2:])
        own = ("case", self.number, *at)
        if self.defaults and own not in self.source.places and ("suite", "defaults", *path) in self.defaults.places:
            return self.defaults.problem(("suite", "defaults", *path), message, cure)
        return self.source.problem(own, message, cure)

    def refused(self) -> set[str | int]:
        """Keys of the case, or of the defaults, of which a part was left out because it cannot be read."""
        found = set(self.source.refused(("case", self.number)))
        if self.defaults is not None:
            found |= self.defaults.refused(("suite", "defaults"))
        return found

    def files(self, key: str) -> list[Path]:
        """The files that its `vehicle`, `mission`, `commands` or `world` may name."""
        value = self.data.get(key)
        if isinstance(value, str) and value.startswith("$"):
            value = self.data.get("vary", {}).get(value[1:])
        words = value.get("choice") or [] if isinstance(value, Mapping) else [value]
        return [Path(word) for word in words if isinstance(word, str) and word.endswith((".toml", *PLAN_ENDINGS))]

    # ------------------------------------------------------------------ what varies

    @functools.cached_property
    def placeholders(self) -> set[str]:
        """Shared parameters that the case's scenario requires."""
        name = self.data.get("scenario")
        if not name or "\n" in name:
            return set()
        try:
            return placeholders(name)
        except IronbirdError:  # reported by its own check
            return set()

    def quantities(self) -> Iterator[tuple[KeyPath, Any]]:
        """Every value of the case that may vary, with its key path."""
        for key, value in self.data.items():
            if key not in FIXED:
                yield from leaves(value, (key,))

    @functools.cached_property
    def variables(self) -> dict[str, Spread]:
        """The parameters that vary, by name: shared ones first, then in the order of the file."""
        used = {value[1:] for _, value in self.quantities() if isinstance(value, str) and value.startswith("$")}
        used |= self.placeholders
        shared = self.data.get("vary", {})
        spreads = {
            name: Spread.model_validate(shared[name]) for name in shared if name in used and is_spread(shared[name])
        }
        for path, value in self.quantities():
            if is_spread(value):
                spreads[variable_name(path)] = Spread.model_validate(value)
        return spreads

    @functools.cached_property
    def plan(self) -> PlanTable:
        """The plan of the case; by default every combination."""
        return PlanTable.model_validate(self.data.get("plan", {"kind": "grid"}))

    @functools.cached_property
    def points(self) -> list[dict[str, float | str]]:
        """Values of the varied parameters, point by point."""
        return self._points()

    def _points(self, most: int | None = None) -> list[dict[str, float | str]]:
        """All points, or the first `most` where these do not depend on the total number."""
        plan, spreads = self.plan, self.variables
        names = list(spreads)
        if plan.kind in sampling.SAMPLED:
            assert plan.samples is not None
            if plan.kind == "monte_carlo":
                count = plan.samples if most is None else min(most, plan.samples)
                shares = sampling.monte_carlo(count, names, plan.seed, self.id)
            else:
                shares = sampling.latin_hypercube(plan.samples, names, plan.seed, self.id)
            return [{name: spreads[name].at(share) for name, share in zip(names, row, strict=True)} for row in shares]
        levels = [spreads[name].levels() or [] for name in names]
        sizes = [len(values) for values in levels]
        if plan.kind == "grid":
            rows = sampling.full_grid(sizes)
        elif plan.kind == "pairwise":
            rows = sampling.covering_array(sizes, plan.strength)
        else:
            rows = sampling.one_by_one(sizes, [spreads[name].nominal() for name in names])
        return [
            {name: levels[i][level] for i, (name, level) in enumerate(zip(names, row, strict=True))} for row in rows
        ]

    def seeds_at(self, number: int) -> list[int]:
        """Seeds with which a point is flown; points count from 1."""
        seeds = self.data.get("seeds")
        if seeds is None:
            return [number if self.plan.kind in sampling.SAMPLED else 0]
        if isinstance(seeds, Mapping):
            spec = SeedRange.model_validate(seeds)
            return list(range(spec.first, spec.first + spec.count))
        return list(seeds) if isinstance(seeds, list) else [seeds]

    def at(self, values: Mapping[str, float | str]) -> dict[str, Any]:
        """The case with a value for everything that varies."""
        shared = {**self.data.get("vary", {}), **values}
        return {**self.data, **{key: fill(shared) for key, fill in self._varying.items()}}

    @functools.cached_property
    def _varying(self) -> dict[str, _Fill]:
        """Functions that fill in the keys that vary or name a shared parameter; other keys are constant."""
        fills = {key: _filled(value, (key,)) for key, value in self.data.items() if key not in FIXED}
        return {key: fill for key, fill in fills.items() if fill is not None}

    def flights(self, most: int | None = None) -> Iterator[FlightCase]:
        """All flights of the case; with `most`, at least so many of the first ones, if there are."""
        read = _Reader()
        for number, values in enumerate(self.points if most is None else self._points(most), start=1):
            data = self.at(values)
            for seed in self.seeds_at(number):
                yield _flight(data, values, number, seed, read)

    def flight(self, values: Mapping[str, float | str], number: int, seed: int) -> FlightCase:
        """One flight at given values of what varies."""
        return _flight(self.at(values), values, number, seed, _Reader())

    def count(self) -> int:
        """Number of flights of the case: points times seeds."""
        samples = self.plan.samples if self.plan.kind in sampling.SAMPLED else None
        return (len(self.points) if samples is None else samples) * len(self.seeds_at(1))


_Fill: TypeAlias = Callable[[Mapping[str, Any]], Any]  # from values of the varied parameters


def _filled(value: Any, path: KeyPath) -> _Fill | None:
    """Function that fills in a value of a file; None if nothing in it varies or names a shared parameter."""
    if is_spread(value):
        return operator.itemgetter(variable_name(path))
    if isinstance(value, str):
        return operator.itemgetter(value[1:]) if value.startswith("$") else None
    if not isinstance(value, Mapping | list):
        return None
    entries = list(value.items() if isinstance(value, Mapping) else enumerate(value))
    fills = {key: fill for key, entry in entries if (fill := _filled(entry, (*path, key))) is not None}
    if not fills:
        return None
    if isinstance(value, Mapping):
        return lambda values: {**value, **{key: fill(values) for key, fill in fills.items()}}
    return lambda values: [fills[i](values) if i in fills else entry for i, entry in entries]


def variable_name(path: KeyPath) -> str:
    """The name of a value that varies in its place: `wind.speed_mps`, `body.mass`, `fault.1.severity`."""
    if path[0] == "set":
        return ".".join(str(part) for part in path[1:])
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path if part != "params")


def leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Everything in a value that is no table or list, with its key path; a table of varied values is a leaf."""
    if isinstance(value, Mapping) and not is_spread(value):
        for key, entry in value.items():
            yield from leaves(entry, (*path, key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from leaves(entry, (*path, number))
    else:
        yield path, value


# ---------------------------------------------------------------------- one flight


def plan_in(mission: str) -> str:
    """The text of a plan of another program, which a case's `mission` names or contains; empty if it does not."""
    if is_plan(mission):
        return mission
    if not mission.endswith(PLAN_ENDINGS):
        return ""
    try:
        return read_bytes(Path(mission)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OrderError(f"the plan {mission} cannot be read: {error}") from None


class _Reader:
    """Reads each vehicle, mission and recorded flight once for all flights of a case."""

    def __init__(self) -> None:
        self.usual = functools.cache(usual_control)
        self.home_of = functools.cache(lambda vehicle: load_spec(vehicle).home)
        self.mission_of = functools.cache(lambda vehicle: load_spec(vehicle).mission)
        self.named = functools.cache(load_mission)
        self.plan = functools.cache(plan_in)
        self.commands = functools.cache(recorded_commands)
        self._required: tuple[Any, tuple[Requirement, ...]] = None, ()  # tables, and what they ask for

    def mission(self, data: Mapping[str, Any]) -> tuple[Mission | None, str, str]:
        """The mission of a case without ranges, its built-in name if it has one, and a plan's text instead."""
        text = data.get("mission")
        if isinstance(text, Mapping):
            return Mission.model_validate({"schema": 1, **text}), "", ""
        name = str(text if text is not None else self.mission_of(data["vehicle"]))
        if plan := self.plan(name):
            return None, "" if is_plan(name) else Path(name).name, plan
        return self.named(name), "" if name.endswith(".toml") else name, ""

    def requirements(self, data: Mapping[str, Any]) -> tuple[Requirement, ...]:
        """The requirements of a case without ranges; tables that are the same at all points are read once."""
        tables = data.get("require")
        if tables is not self._required[0]:
            self._required = tables, tuple(requirement(table) for table in tables or [])
        return self._required[1]


def _flight(
    data: Mapping[str, Any], values: Mapping[str, float | str], number: int, seed: int, read: _Reader
) -> FlightCase:
    if "scenario" in data:
        return _scenario_flight(data, values, number, seed)
    vehicle = str(data["vehicle"])
    mission, mission_name, plan = read.mission(data)
    recorded = read.commands(data["commands"]) if "commands" in data else None
    wind = data.get("wind", {})
    id = f"{data['id']}/{number:04d}/s{seed}"
    try:
        faults = tuple(read_fault(table) for table in data.get("fault", []))
    except FaultError as error:
        raise FaultError(f"flight {id}: {error}") from None
    return FlightCase(
        id=id,
        case_id=data["id"],
        title=data.get("title", ""),
        vehicle=vehicle,
        control=data.get("control") or read.usual(vehicle),
        mission=mission,
        mission_name=mission_name,
        script=recorded.script if recorded else plan,
        tunings=recorded.tunings if recorded else (),
        weather=Weather(**{key: float(value) for key, value in wind.items()}),
        place=Home(**data["place"])
        if "place" in data
        else planned_place(plan, read.home_of(vehicle))
        if plan
        else None,
        world=data.get("world", ""),
        sight=tuple(dict(table) for table in data.get("sight", [])),
        options=dict(data.get("options", {})),
        settings=dict(data.get("set", {})),
        faults=faults,
        requirements=read.requirements(data),
        seed=seed,
        ends=data.get("ends", ""),
        may_crash=data.get("may_crash", False),
        until_s=float(data["until_s"]) if "until_s" in data else None,
        log_s=float(data.get("log_s", LOG_S)),
        integration=data.get("integration", ""),
        expect=expected_text(data.get("expect")),
        tags=tuple(dict.fromkeys(data.get("tags", []))),
        values=dict(values),
    )


def _scenario_flight(data: Mapping[str, Any], values: Mapping[str, float | str], number: int, seed: int) -> FlightCase:
    """A flight of a case with a scenario: the scenario with the case's values, seed, wind and end."""
    changes: dict[str, Any] = {"seed": seed}
    changes |= {key: data[key] for key in ("until_s", "log_s", "wind") if data.get(key)}
    name = str(data["scenario"])
    text = name if "\n" in name else scenario_text(name, {**data.get("vary", {}), **values}, changes)
    first = scenario_in(text, data["id"]).members[0].order
    return FlightCase(
        id=f"{data['id']}/{number:04d}/s{seed}",
        case_id=data["id"],
        title=data.get("title", ""),
        vehicle=first.vehicle,
        control=first.control,
        requirements=tuple(requirement(table) for table in data.get("require", [])),
        seed=seed,
        until_s=first.until_s,
        log_s=first.log_s,
        expect=expected_text(data.get("expect")),
        tags=tuple(dict.fromkeys(data.get("tags", []))),
        values=dict(values),
        scenario=text,
    )


def recorded_commands(text: str) -> Order:
    """The order of a flight whose commands were recorded: its file, or its text; `OrderError` if it has none."""
    order = load_order(text) if text.endswith(".toml") else parse_order(text, "commands")
    if order.control != "commanded" or not order.script:
        raise OrderError(
            "it holds no recorded commands: give the order.toml of a flight of 'ironbird fly --control mavlink', or of "
            "another under control 'commanded'"
        )
    return order


def requirement(table: Mapping[str, Any]) -> Requirement:
    """A requirement from a table without ranges; a requirement of the library is written out."""
    covers = tuple(table.get("covers", ()))
    if "use" not in table:
        return Requirement(table["name"], table["formula"], table.get("severity", SEVERITY), covers=covers)
    params = {key: value if isinstance(value, str) else float(value) for key, value in table.get("params", {}).items()}
    known = library.get(table["use"], **params)
    name, severity = table.get("name", known.name), table.get("severity", known.severity)
    return Requirement(name, known.formula_text, severity, table["use"], params, covers)


def kept_defaults(defaults: Mapping[str, Any], case: Mapping[str, Any], key: str) -> list[int]:
    """Indices of a default list's entries that a case inherits: not requirements that it names itself."""
    entries = list(enumerate(defaults.get(key, [])))
    if key != "require":
        return [i for i, _ in entries]
    own = {table.get("name", table.get("use")) for table in case.get(key, [])}
    return [i for i, table in entries if table.get("name", table.get("use")) not in own]
