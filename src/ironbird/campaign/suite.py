"""Suites: case files in, concrete flights out, in an order and with random numbers that never change."""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ironbird.campaign import sampling
from ironbird.campaign.case import (
    SCHEMA,
    SPREADS,
    Case,
    CaseFile,
    Defaults,
    FaultTable,
    FlightCase,
    PlanTable,
    Requirement,
    RequireTable,
    SeedRange,
    Spread,
    SuiteTable,
    WindTable,
    injection,
    is_spread,
)
from ironbird.errors import CaseError, FaultError, UnknownNameError
from ironbird.files.toml_text import Path as KeyPath
from ironbird.files.toml_text import Place, locate, place_of
from ironbird.flight.flight import Wind
from ironbird.flight.mission import Item, Mission, load_mission
from ironbird.requirements import library
from ironbird.vehicles.load import load_spec, usual_control

BUILT_IN = Path(__file__).parent / "suites"
LOG_S = 0.02
SEVERITY = "major"  # of a formula that says nothing
MERGED = ("wind", "set", "vary")  # tables of the defaults that a case's own complete
JOINED = ("fault", "require", "tags")  # lists of the defaults that a case's own follow
_FIXED = ("id", "title", "note", "source", "seeds", "log_s", "expect", "tags", "vary", "plan")  # no references inside
_TABLES: dict[str, type[BaseModel]] = {
    "": CaseFile, "case": Case, "case.mission": Mission, "case.mission.item": Item,
    "suite": SuiteTable, "suite.defaults": Defaults,
    **{
        f"{head}.{key}": table
        for head in ("case", "suite.defaults")
        for key, table in (
            ("wind", WindTable), ("fault", FaultTable), ("require", RequireTable), ("plan", PlanTable),
            ("seeds", SeedRange),
        )
    },
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a file: where, what, and how to cure it."""

    file: str
    line: int
    column: int
    key: str
    message: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.key}: {self.message}; {self.cure}"


@dataclass(frozen=True)
class Source:
    """A file's content, with the place of every key."""

    path: Path
    data: dict[str, Any]
    places: dict[KeyPath, Place]

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """A problem at a key of this file."""
        line, column = place_of(self.places, path)
        return Problem(str(self.path), line, column, self._name(path), message, cure)

    def _name(self, path: KeyPath) -> str:
        """`case.motor-loss.fault.1.severity`: a case by its id, other elements by number from 1."""
        parts = [part + 1 if isinstance(part, int) else part for part in path]
        if len(path) > 1 and path[0] == "case" and isinstance(path[1], int):
            cases = self.data.get("case")
            case = cases[path[1]] if isinstance(cases, list) and path[1] < len(cases) else None
            if isinstance(case, Mapping) and isinstance(case.get("id"), str):
                parts[1] = case["id"]
        return ".".join(str(part) for part in parts) or "file"


@dataclass(frozen=True)
class Planned:
    """A case with the suite's defaults in it, and where each of its keys came from."""

    data: dict[str, Any]
    source: Source
    number: int  # of the case in its file
    defaults: Source | None

    @property
    def id(self) -> str:
        """The case's id."""
        return str(self.data["id"])

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """A problem at a key of the case, in the file that says it."""
        shared = self.defaults.data["suite"].get("defaults", {}) if self.defaults else {}
        at = path
        if len(path) > 1 and path[0] in JOINED and isinstance(path[1], int):
            kept = _kept(shared, self.source.data["case"][self.number], path[0])
            if path[1] < len(kept):
                assert self.defaults is not None
                at = ("suite", "defaults", path[0], kept[path[1]], *path[2:])
                return self.defaults.problem(at, message, cure)
            at = (path[0], path[1] - len(kept), *path[2:])
        own = ("case", self.number, *at)
        if self.defaults and own not in self.source.places and ("suite", "defaults", *path) in self.defaults.places:
            return self.defaults.problem(("suite", "defaults", *path), message, cure)
        return self.source.problem(own, message, cure)

    # ------------------------------------------------------------------ what varies

    def quantities(self) -> Iterator[tuple[KeyPath, Any]]:
        """Every value of the case that may vary, with its place."""
        for key, value in self.data.items():
            if key not in _FIXED:
                yield from _leaves(value, (key,))

    @functools.cached_property
    def variables(self) -> dict[str, Spread]:
        """The parameters that vary, by name: shared ones first, then in the order of the file."""
        used = {value[1:] for _, value in self.quantities() if isinstance(value, str) and value.startswith("$")}
        shared = self.data.get("vary", {})
        found = {
            name: Spread.model_validate(shared[name]) for name in shared if name in used and is_spread(shared[name])
        }
        for path, value in self.quantities():
            if is_spread(value):
                found[variable_name(path)] = Spread.model_validate(value)
        return found

    @property
    def plan(self) -> PlanTable:
        """The plan; without one every combination."""
        return PlanTable.model_validate(self.data.get("plan", {"kind": "grid"}))

    @functools.cached_property
    def points(self) -> list[dict[str, float | str]]:
        """Values of the varied parameters, point by point."""
        plan, spreads = self.plan, self.variables
        names = list(spreads)
        if plan.kind in sampling.SAMPLED:
            assert plan.samples is not None
            draw = sampling.monte_carlo if plan.kind == "monte_carlo" else sampling.latin_hypercube
            shares = draw(plan.samples, names, plan.seed, self.id)
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

        def fill(value: Any, path: KeyPath) -> Any:
            if is_spread(value):
                return values[variable_name(path)]
            if isinstance(value, str) and value.startswith("$"):
                return shared[value[1:]]
            if isinstance(value, Mapping):
                return {key: fill(entry, (*path, key)) for key, entry in value.items()}
            if isinstance(value, list):
                return [fill(entry, (*path, i)) for i, entry in enumerate(value)]
            return value

        return {key: value if key in _FIXED else fill(value, (key,)) for key, value in self.data.items()}

    def flights(self) -> Iterator[FlightCase]:
        """All flights of the case."""
        read = _Reader()
        for number, values in enumerate(self.points, start=1):
            data = self.at(values)
            for seed in self.seeds_at(number):
                yield _flight(data, values, number, seed, read)

    def flight(self, values: Mapping[str, float | str], number: int, seed: int) -> FlightCase:
        """One flight at given values of what varies."""
        return _flight(self.at(values), values, number, seed, _Reader())

    def count(self) -> int:
        """Number of flights."""
        return len(self.points) * len(self.seeds_at(1))


@dataclass(frozen=True)
class Suite:
    """Checked cases, ready to be flown."""

    id: str
    title: str
    path: Path
    cases: tuple[Planned, ...]

    def sources(self) -> dict[str, str]:
        """The text of all files, by their place relative to the suite's, which comes first."""
        paths = dict.fromkeys([self.path, *(case.source.path for case in self.cases)])
        return {os.path.relpath(path, self.path.parent): path.read_text() for path in paths}

    def flights(self) -> list[FlightCase]:
        """Every flight, in the order of the files; equal files give equal lists."""
        return [flight for case in self.cases for flight in case.flights()]

    def count(self) -> int:
        """Number of flights."""
        return sum(case.count() for case in self.cases)


def variable_name(path: KeyPath) -> str:
    """The name of a value that varies where it stands: `wind.speed_mps`, `body.mass`, `fault.1.severity`."""
    if path[0] == "set":
        return ".".join(str(part) for part in path[1:])
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path if part != "params")


def _leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, Mapping) and not is_spread(value):
        for key, entry in value.items():
            yield from _leaves(entry, (*path, key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _leaves(entry, (*path, number))
    else:
        yield path, value


# ---------------------------------------------------------------------- one flight


class _Reader:
    """Reads each vehicle and mission once for all flights of a case."""

    def __init__(self) -> None:
        self.usual = functools.cache(usual_control)
        self.mission_of = functools.cache(lambda vehicle: load_spec(vehicle).mission)
        self.named = functools.cache(load_mission)

    def mission(self, data: Mapping[str, Any]) -> tuple[Mission, str]:
        """The mission of a case without ranges, and its built-in name if it has one."""
        text = data.get("mission")
        if isinstance(text, Mapping):
            return Mission.model_validate({"schema": 1, **text}), ""
        name = str(text if text is not None else self.mission_of(data["vehicle"]))
        return self.named(name), "" if name.endswith(".toml") else name


def _flight(
    data: Mapping[str, Any], values: Mapping[str, float | str], number: int, seed: int, read: _Reader
) -> FlightCase:
    vehicle = str(data["vehicle"])
    mission, mission_name = read.mission(data)
    wind = data.get("wind", {})
    id = f"{data['id']}/{number:04d}/s{seed}"
    try:
        faults = tuple(injection(table) for table in data.get("fault", []))
    except FaultError as error:
        raise FaultError(f"flight {id}: {error}") from None
    return FlightCase(
        id=id, case_id=data["id"], title=data.get("title", ""), vehicle=vehicle,
        control=data.get("control") or read.usual(vehicle), mission=mission, mission_name=mission_name,
        wind=Wind(**{key: float(value) for key, value in wind.items()}),
        settings=dict(data.get("set", {})), faults=faults,
        requirements=tuple(requirement(table) for table in data.get("require", [])),
        seed=seed, until_s=float(data["until_s"]) if "until_s" in data else None,
        log_s=float(data.get("log_s", LOG_S)), expect=data.get("expect"),
        tags=tuple(dict.fromkeys(data.get("tags", []))), values=dict(values),
    )  # fmt: skip


def requirement(table: Mapping[str, Any]) -> Requirement:
    """A requirement table without ranges; what the library says is written out."""
    if "use" not in table:
        return Requirement(table["name"], table["formula"], table.get("severity", SEVERITY))
    params = {key: value if isinstance(value, str) else float(value) for key, value in table.get("params", {}).items()}
    known = library.get(table["use"], **params)
    name, severity = table.get("name", known.name), table.get("severity", known.severity)
    return Requirement(name, known.formula_text, severity, table["use"], params)


# ---------------------------------------------------------------------- reading files


def suite_names() -> list[str]:
    """Built-in suites."""
    return sorted(path.stem for path in BUILT_IN.glob("*.toml"))


def suite_path(name: str | Path) -> Path:
    """The file of a suite: a built-in name (`safety`), or a path to a TOML file."""
    if str(name).endswith(".toml"):
        return Path(name)
    if str(name) not in suite_names():
        raise UnknownNameError("suite", str(name), suite_names())
    return BUILT_IN / f"{name}.toml"


def load_suite(path: str | Path) -> Suite:
    """A suite or a case file, checked; raises `CaseError` with all problems."""
    suite, problems = read_suite(suite_path(path))
    if problems:
        raise CaseError(str(path), problems)
    assert suite is not None
    return suite


def check(path: str | Path) -> list[Problem]:
    """All problems of a suite or case file."""
    return read_suite(suite_path(path))[1]


def read_suite(path: Path) -> tuple[Suite | None, list[Problem]]:
    """A suite and its problems; with problems there may be no suite."""
    from ironbird.campaign.check import problems_of  # it reads vehicles and formulas, and needs this module

    source, problems = read_source(path)
    if source is None or problems:
        return None, problems
    head = source.data.get("suite")
    sources: list[Source] = []
    for number, pattern in enumerate((head or {}).get("include", [])):
        found, more = _included(source, pattern, ("suite", "include", number))
        sources += [s for s in found if s.path not in {known.path for known in sources}]
        problems += more
    sources.append(source)
    planned = [
        Planned(_merged(source, s, number), s, number, source if head else None)
        for s in sources
        for number in range(len(s.data.get("case", [])))
    ]
    if not planned and not problems:
        problems.append(source.problem(("suite",) if head else (), "there is no case", "add a [[case]] table"))
    ids: dict[str, Planned] = {}
    for case in planned:
        if case.id in ids:
            other = ids[case.id].problem(("id",), "", "")
            where = f"{other.file}:{other.line}"
            problems.append(case.problem(("id",), f"the id '{case.id}' is taken by {where}", "choose another"))
        ids.setdefault(case.id, case)
        problems += problems_of(case)
    title = (head or {}).get("title") or source.data.get("title", "")
    return Suite((head or {}).get("id", path.stem), title, path, tuple(planned)), problems


def _included(suite: Source, pattern: str, at: KeyPath) -> tuple[list[Source], list[Problem]]:
    files = sorted(suite.path.parent.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
    files = [file for file in files if file.resolve() != suite.path.resolve()]
    if not files or not all(file.is_file() for file in files):
        known = [str(p.relative_to(suite.path.parent)) for p in suite.path.parent.rglob("*.toml")]
        unknown = UnknownNameError("file", pattern, known)
        return [], [
            suite.problem(at, str(unknown).partition(";")[0], near_words(unknown, "write a path relative to this file"))
        ]
    sources, problems = [], []
    for file in files:
        source, more = read_source(file)
        problems += more
        if source is None or more:
            continue
        if "suite" in source.data:
            cure = f"include the case files of {file.name} instead"
            problems.append(suite.problem(at, f"{file.name} is a suite; suites do not include suites", cure))
            continue
        sources.append(source)
    return sources, problems


def read_source(path: Path) -> tuple[Source | None, list[Problem]]:
    """A file that keeps to the grammar, or its problems."""

    def refuse(line: int, column: int, key: str, message: str, cure: str) -> tuple[None, list[Problem]]:
        return None, [Problem(str(path), line, column, key, message, cure)]

    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return refuse(1, 1, "file", f"cannot read it: {why}", "give the path of a TOML file")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(r"\(at line (\d+), column (\d+)\)", message)
        line, column = (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)
        return refuse(line, column, "file", f"not valid TOML: {message.partition(' (at')[0]}", "correct this line")
    source = Source(path, data, locate(text))
    version = data.get("schema")
    if version is None:
        return None, [
            source.problem(("schema",), "the file does not say its schema", f"begin it with schema = {SCHEMA}")
        ]
    if version != SCHEMA or isinstance(version, bool):
        cure = f"write schema = {SCHEMA}, or use the version of Ironbird that the file was made for"
        return None, [
            source.problem(("schema",), f"schema {version!r} is not known; this version reads {SCHEMA}", cure)
        ]
    try:
        CaseFile.model_validate(data)
    except ValidationError as error:
        return source, [source.problem(*words) for words in grammar_words(data, error)]
    return source, []


def _merged(suite: Source, source: Source, number: int) -> dict[str, Any]:
    """A case with the defaults of its suite."""
    case = _with_paths(source.data["case"][number], source.path.parent)
    defaults = _with_paths(suite.data.get("suite", {}).get("defaults", {}), suite.path.parent)
    merged = {**defaults, **case}
    for key in MERGED:
        if key in defaults and key in case:
            merged[key] = {**defaults[key], **case[key]}
    for key in JOINED:
        if key in defaults and key in case:
            merged[key] = [*(defaults[key][i] for i in _kept(defaults, case, key)), *case[key]]
    return merged


def _kept(defaults: Mapping[str, Any], case: Mapping[str, Any], key: str) -> list[int]:
    """Which entries of a list of the defaults a case takes over: not requirements that it names itself."""
    entries = list(enumerate(defaults.get(key, [])))
    if key != "require":
        return [i for i, _ in entries]
    own = {table.get("name", table.get("use")) for table in case.get(key, [])}
    return [i for i, table in entries if table.get("name", table.get("use")) not in own]


def _with_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Vehicle and mission files by absolute path: a case file names them relative to itself."""

    def absolute(value: Any) -> Any:
        if isinstance(value, str):
            return str((folder / value).resolve()) if value.endswith(".toml") else value
        if is_spread(value) and isinstance(value.get("choice"), list):
            return {**value, "choice": [absolute(word) for word in value["choice"]]}
        return value

    result = dict(data)
    for key in ("vehicle", "mission"):
        if key in result:
            result[key] = absolute(result[key])
    if "vary" in result:
        result["vary"] = {name: absolute(value) for name, value in result["vary"].items()}
    return result


# ---------------------------------------------------------------------- grammar errors in words


def grammar_words(data: Any, error: ValidationError, head: KeyPath = ()) -> list[tuple[KeyPath, str, str]]:
    """Pydantic's errors as path in the data, message and cure; `head` is the path of the data in its file."""
    found = []
    for entry in error.errors():
        path, value = _data_path(data, entry["loc"], entry["type"])
        message, cure = _words((*head, *path), dict(entry), value)
        key = entry.get("ctx", {}).get("key")
        found.append(((*path, key) if key else path, message, cure))
    return found


def _data_path(data: Any, loc: tuple[int | str, ...], kind: str) -> tuple[KeyPath, Any]:
    """The part of a pydantic location that is in the data: union tags are left out."""
    path: KeyPath = ()
    for number, key in enumerate(loc):
        inside = (isinstance(data, Mapping) and key in data) or (
            isinstance(data, list) and isinstance(key, int) and key < len(data)
        )
        if inside:
            path, data = (*path, key), data[key]
        elif number == len(loc) - 1 and kind == "missing":
            path = (*path, key)
    return path, data


def _words(path: KeyPath, entry: dict[str, Any], value: Any) -> tuple[str, str]:
    """What is wrong and how to cure it."""
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "ironbird":
        return context["text"], context["cure"]
    if kind == "extra_forbidden":
        unknown = UnknownNameError("key", str(path[-1]), known_keys(path[:-1]))
        return str(unknown).partition(";")[0], near_words(unknown, "leave it out")
    if kind == "missing":
        return f"{path[-1]} is missing", f"add {path[-1]} = …"
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        return f"'{value}' is not known here", near_words(
            UnknownNameError("word", str(value), words), f"one of {', '.join(words)}"
        )
    if kind == "string_pattern_mismatch" and str(context.get("pattern", "")).startswith("^\\$"):
        return f"'{value}' is not a number", 'write a number, a table such as { grid = [0.1, 0.2] }, or "$name"'
    if kind == "string_pattern_mismatch":
        return (
            f"'{value}' is not an id",
            "use letters, digits, dot, hyphen and underscore; begin with a letter or digit",
        )
    needs = {
        "float_type": "a number, or a table such as { grid = [0.1, 0.2] }", "int_type": "a whole number",
        "string_type": "a text in quotes", "list_type": "a list such as [1, 2]", "dict_type": "a table",
        "model_type": "a table", "finite_number": "a finite number", "int_from_float": "a whole number",
    }  # fmt: skip
    if kind in needs:
        return f"{value!r} does not fit here", f"write {needs[kind]}"
    bounds = {
        "greater_than": "greater than {gt}",
        "greater_than_equal": "of at least {ge}",
        "less_than_equal": "of at most {le}",
    }
    if kind in bounds:
        return f"{value!r} is outside its bounds", "write a number " + bounds[kind].format(**context)
    if kind in ("too_short", "too_long"):
        least = context.get("min_length", context.get("max_length"))
        return (
            f"{len(value)} entries are {kind.replace('_', ' ').replace('short', 'few').replace('long', 'many')}",
            f"write {least}",
        )
    return str(entry["msg"]), "correct the value"


def near_words(unknown: UnknownNameError, otherwise: str) -> str:
    """A cure: the nearest known names, or something else."""
    return f"did you mean {' or '.join(repr(name) for name in unknown.near)}?" if unknown.near else otherwise


def known_keys(path: KeyPath) -> list[str]:
    """Keys that the table at a path may have."""
    name = ".".join(str(part) for part in path if not isinstance(part, int))
    table = _TABLES.get(name)
    if table is None:
        return [*SPREADS, "steps", "within"]
    return [info.alias or key for key, info in table.model_fields.items()]
