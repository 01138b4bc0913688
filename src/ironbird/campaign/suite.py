"""Suites: from case files to concrete flights, always in the same order and with the same random numbers."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ironbird.campaign.case import (
    CaseFile,
    FlightCase,
    is_spread,
)
from ironbird.campaign.check import condition_problems, problems_of
from ironbird.campaign.planned import JOINED, PLAN_ENDINGS, Planned, case_words, kept_defaults
from ironbird.campaign.suite_path import SCHEMA, suite_path
from ironbird.errors import MOST_LISTED, CaseError, FaultError, OrderError, UnknownNameError
from ironbird.faults.file import definitions_text, read_faults_file
from ironbird.faults.spec import Fault
from ironbird.files.problems import (
    Problem,
    Rest,
    Source,
    near_words,
    other_kind,
    read_source,
    schema_problems,
)
from ironbird.files.toml_text import KeyPath
from ironbird.protocols.param_files import ENDINGS as PARAM_ENDINGS
from ironbird.protocols.param_files import params_text, read_param_file
from ironbird.vehicles.load import read_layers
from ironbird.vehicles.names import CATALOG

FILE_ENDINGS = (".toml", *PLAN_ENDINGS, ".sdf", ".world", ".yaml", ".yml")  # the last four of worlds alone
MERGED = ("wind", "place", "options", "set", "vary")  # tables of the defaults that a case's own complete


@dataclass(frozen=True)
class Suite:
    """Checked cases, ready to be flown.

    Attributes
    ----------
    id : str
        Name of the suite, or of its file.
    title : str
        One line; may be empty.
    path : Path
        Its file.
    cases : tuple of Planned
        The cases with what varies in them.
    """

    id: str
    title: str
    path: Path
    cases: tuple[Planned, ...]

    def sources(self) -> dict[str, str]:
        """Texts of all files, by path relative to the suite's file, which comes first.

        Vehicles, missions, commands and worlds of the project are among them, with their base files; the catalogue's
        are not, nor are meshes and elevation tiles that a world uses.
        """
        paths = dict.fromkeys([self.path.resolve(), *(case.source.path.resolve() for case in self.cases)])
        for case in self.cases:
            layers = [layer.path for file in case.files("vehicle") for layer in read_layers(file).sources]
            paths.update(dict.fromkeys(layer.resolve() for layer in layers if layer.parent != CATALOG))
            paths.update(dict.fromkeys(file.resolve() for key in ("mission", "commands") for file in case.files(key)))
            worlds = [file for file in case.files("world") if "\n" not in str(file)]
            paths.update(dict.fromkeys(file.resolve() for file in worlds))
            scenarios = [file for file in case.files("scenario") if "\n" not in str(file)]
            paths.update(dict.fromkeys(file.resolve() for file in scenarios))
        return {os.path.relpath(path, self.path.resolve().parent): path.read_text(encoding="utf-8") for path in paths}

    def flights(self) -> list[FlightCase]:
        """Every flight, in the order of the files; equal files give equal lists."""
        return [flight for case in self.cases for flight in case.flights()]

    def first_flights(self, count: int) -> list[FlightCase]:
        """The first `count` of the flights, in the order of `flights`."""
        return list(itertools.islice((flight for case in self.cases for flight in case.flights(count)), count))

    def samples(self, most: int | None = 2) -> list[FlightCase]:
        """The first flight of each of the largest cases, which take most of the time; with None, of all cases."""
        largest = sorted(self.cases, key=lambda case: -case.count())[:most]
        return [next(case.flights(1)) for case in largest]

    def warnings(self) -> list[Problem]:
        """What is right but may not mean what its writer thinks: `seeds = 3` is one seed."""
        found = [
            case.problem(
                ("seeds",),
                f"seeds = {seed} is one flight of each point, with seed {seed}",
                f"write {{ first = 1, count = {seed} }} for {seed} seeds, or [{seed}] for this one",
            )
            for case in self.cases
            if isinstance(seed := case.data.get("seeds"), int) and seed > 1
        ]
        return list(dict.fromkeys(found))

    def count(self) -> int:
        """Number of flights of the suite."""
        return sum(case.count() for case in self.cases)


def load_suite(path: str | Path) -> Suite:
    """Load and check a suite or case file.

    Parameters
    ----------
    path : str or Path
        A TOML file, or the name of a built-in suite.

    Returns
    -------
    Suite
        Its cases; `suite.flights()` are all flights.

    Raises
    ------
    CaseError
        If it has problems: all of them.
    UnknownNameError
        If there is no such built-in suite.

    Examples
    --------
    >>> suite = ib.load_suite("regression")
    >>> suite.count() == len(suite.flights())
    True
    """
    suite, problems = read_suite(suite_path(path))
    if problems:
        raise CaseError(str(path), problems)
    assert suite is not None
    return suite


def planned_case(path: str | Path, case: str | None = None) -> Planned:
    """One case of a suite or case file by its id; without an id the only one that there is."""
    cases = {planned.id: planned for planned in load_suite(path).cases}
    if case is None and len(cases) == 1:
        return next(iter(cases.values()))
    if case is None:
        names = ", ".join(list(cases)[:MOST_LISTED]) + (", …" if len(cases) > MOST_LISTED else "")
        raise OrderError(f"{path} has {len(cases)} cases and none is named: name one of {names}")
    if case not in cases:
        raise UnknownNameError("case", str(case), cases, str(path))
    return cases[case]


def check(path: str | Path) -> list[Problem]:
    """All problems of a suite or case file."""
    return read_suite(suite_path(path))[1]


def read_suite(path: Path) -> tuple[Suite | None, list[Problem]]:
    """A suite and its problems; with problems there may be no suite."""
    source = read_source(path)
    return (None, [source]) if isinstance(source, Problem) else suite_of(source)


def suite_of(file: Source) -> tuple[Suite | None, list[Problem]]:
    """The suite of a parsed TOML file, and its problems; files that it includes are read here."""
    source, problems = cases_of(file)
    if source is None:
        return None, problems
    if problems:
        rest = Rest.of(source, CaseFile)
        further = _suite_of(rest)[1] if rest else []
        known = {problem.key for problem in [*problems, *further]}
        further += [problem for problem in condition_problems(source) if problem.key not in known]
        return None, _in_order([*problems, *further])
    suite, problems = _suite_of(source)
    return suite, _in_order(problems)


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """Problems in the order of their files, each once: a wrong default concerns every case."""
    files = list(dict.fromkeys(problem.file for problem in problems))
    return sorted(dict.fromkeys(problems), key=lambda p: (files.index(p.file), p.line, p.column))


def _suite_of(source: Source) -> tuple[Suite, list[Problem]]:
    """The suite of a file whose grammar is correct, and its problems."""
    problems: list[Problem] = []
    head = source.data.get("suite")
    sources: list[Source] = []
    for number, pattern in enumerate((head or {}).get("include", [])):
        included, more = _included(source, pattern, ("suite", "include", number))
        sources += [s for s in included if s.path not in {known.path for known in sources}]
        problems += more
    sources.append(source)
    planned = [
        Planned(_merged(source, s, number), s, number, source if head else None)
        for s in sources
        for number in range(len(s.data.get("case", [])))
    ]
    if not planned and not problems and not source.refused(()):
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
    if not title and planned:
        others = len(planned) - 1
        title = planned[0].title.rstrip(".") + (f" (and {others} more case{'s' * (others > 1)})" if others else "")
    return Suite((head or {}).get("id", source.path.stem), title, source.path, tuple(planned)), problems


def _included(suite: Source, pattern: str, at: KeyPath) -> tuple[list[Source], list[Problem]]:
    try:
        files = sorted(suite.path.parent.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
    except (ValueError, NotImplementedError, IndexError):  # an empty pattern, or one with ** in a name
        files = []
    files = [file for file in files if file.resolve() != suite.path.resolve()]
    if not files or not all(file.is_file() for file in files):
        known = [str(p.relative_to(suite.path.parent)) for p in suite.path.parent.rglob("*.toml")]
        unknown = UnknownNameError("file", pattern, known)
        return [], [
            suite.problem(at, str(unknown).partition(";")[0], near_words(unknown, "write a path relative to this file"))
        ]
    sources, problems = [], []
    for file in files:
        source, more = read_cases(file)
        problems += more
        if source is None or more:
            continue
        if "suite" in source.data:
            cure = f"include the case files of {file.name} instead"
            problems.append(suite.problem(at, f"{file.name} is a suite; suites do not include suites", cure))
            continue
        sources.append(source)
    return sources, problems


def read_cases(path: Path) -> tuple[Source | None, list[Problem]]:
    """A case file whose grammar is correct, or its problems."""
    source = read_source(path)
    return (None, [source]) if isinstance(source, Problem) else cases_of(source)


def cases_of(source: Source) -> tuple[Source | None, list[Problem]]:
    """A parsed TOML file if it has the head of a case file, and problems of its grammar."""
    if problems := other_kind(source, "case", "suite") or schema_problems(source, SCHEMA):
        return None, problems
    try:
        CaseFile.model_validate(source.data)
    except ValidationError as error:
        return source, [source.problem(*words) for words in case_words(CaseFile, source.data, error)]
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
            merged[key] = [*(defaults[key][i] for i in kept_defaults(defaults, case, key)), *case[key]]
    if merged.get("faults_files") and "fault" in merged:
        merged["fault"] = with_definitions(merged["fault"], merged["faults_files"])
    return {key: _without_minus_zero(value) for key, value in merged.items()}


def with_definitions(tables: Sequence[Mapping[str, Any]], files: Sequence[str]) -> list[dict[str, Any]]:
    """Tables of faults with the definitions of fault files inserted, so that a flight does not depend on them.

    A file that cannot be read defines nothing; `check` reports it.
    """
    known: dict[str, Fault] = {}
    for file in files:
        with contextlib.suppress(FaultError):
            known |= read_faults_file(Path(file))
    result = []
    for table in tables:
        ids = table["id"].get("choice", []) if isinstance(table["id"], Mapping) else [table["id"]]
        own = [known[id] for id in ids if id in known]
        if any(id.startswith("$") for id in ids):  # a shared value, which may be any of them
            own = list(known.values())
        result.append({**table, "definition": definitions_text(own)} if own else dict(table))
    return result


def _without_minus_zero(value: Any) -> Any:
    """-0.0 as 0.0: the text of a flight omits default values, and must read back as the same flight."""
    if isinstance(value, dict):
        return {key: _without_minus_zero(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_minus_zero(entry) for entry in value]
    return value + 0.0 if isinstance(value, float) else value


def _with_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Files of vehicles, missions, commands and worlds by absolute path: a case file names them relative to itself.

    A file of an autopilot's parameters is replaced by its values, so that a flight does not depend on it.
    """

    def absolute(value: Any) -> Any:
        if isinstance(value, str):
            is_file = value.endswith(FILE_ENDINGS) and not {"\n", "\0"} & set(value)
            return str((folder / value).resolve()) if is_file else value
        if is_spread(value) and isinstance(value.get("choice"), list):
            return {**value, "choice": [absolute(word) for word in value["choice"]]}
        return value

    result = dict(data)
    for key in ("vehicle", "mission", "commands", "world", "scenario"):
        if key in result:
            result[key] = absolute(result[key])
    options = result.get("options")
    if isinstance(options, Mapping):
        params = options.get("params")
        if isinstance(params, str) and params.endswith(PARAM_ENDINGS) and not {"=", "\n"} & set(params):
            result["options"] = {**options, "params": params_text(read_param_file(folder / params))}
    if "faults_files" in result:
        names = result["faults_files"]
        result["faults_files"] = [name if "\0" in name else str((folder / name).resolve()) for name in names]
    if "vary" in result:
        result["vary"] = {name: absolute(value) for name, value in result["vary"].items()}
    return result
