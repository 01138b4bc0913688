"""Where suites are, and what is in one at a glance: without the grammar of cases, which takes long to load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import CaseError, UnknownNameError
from ironbird.files.problems import Problem, other_kind, read_source, schema_problems

SCHEMA = 1  # of case files
BUILT_IN = Path(__file__).parent / "suites"


def suite_names() -> list[str]:
    """Built-in suites."""
    return sorted(path.stem for path in BUILT_IN.glob("*.toml"))


def suite_path(name: str | Path) -> Path:
    """The file of a suite: a built-in name (`safety`), or a path to a TOML file."""
    if str(name).endswith(".toml"):
        return Path(name)
    if str(name) not in suite_names():
        raise UnknownNameError("suite", str(name), suite_names(), listed_by="ironbird case list")
    return BUILT_IN / f"{name}.toml"


@dataclass(frozen=True)
class Glance:
    """The ids of a suite's cases, and their tags; not checked for anything else."""

    cases: tuple[str, ...]
    tags: frozenset[str]


def glance_at(name: str | Path) -> Glance:
    """The cases and tags of a suite; raises `CaseError` if its file cannot be read as TOML."""
    path = suite_path(name)
    source = read_source(path)
    if isinstance(source, Problem):
        raise CaseError(str(name), [source])
    if problems := other_kind(source, "case", "suite") or schema_problems(source, SCHEMA):
        raise CaseError(str(name), problems)
    head = source.data.get("suite")
    head = head if isinstance(head, Mapping) else {}
    tables = [source.data, *_included(path, head.get("include", []))]
    cases = [case for table in tables for case in _list(table.get("case")) if isinstance(case, Mapping)]
    defaults = head.get("defaults")
    tags = [*_list(defaults.get("tags") if isinstance(defaults, Mapping) else None)]
    tags += [tag for case in cases for tag in _list(case.get("tags"))]
    return Glance(tuple(str(case["id"]) for case in cases if "id" in case), frozenset(map(str, tags)))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _included(path: Path, patterns: Any) -> Iterator[Mapping[str, Any]]:
    """The files that a suite includes, as far as they can be read: the check of the suite names the others."""
    for pattern in _list(patterns):
        try:
            files = sorted(path.parent.glob(pattern))
        except (ValueError, NotImplementedError, IndexError, TypeError):
            continue
        for file in files:
            source = read_source(file)
            if not isinstance(source, Problem):
                yield source.data
