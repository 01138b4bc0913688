"""The evidence sheet of a vehicle: how far each module of its model was validated, after NASA-STD-7009.

The sheet is next to the vehicle's file, in the folder `evidence`. Levels of validation [NASA7009]: 0 nothing was
compared; 1 agrees with simple referents; 2 agrees with experiment, or another simulation, on unit problems; 3 agrees
with experiment on problems of interest; 4 agrees with real-world data. A level is computed from comparisons, never
claimed, and holds only for the vehicle's numbers at that time: after a change of the file an entry is stale and counts
as 0.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironbird.credibility.compare import Comparison
from ironbird.credibility.index import HIGH_MARK
from ironbird.credibility.modules import MODULES
from ironbird.errors import UnknownNameError, VehicleError
from ironbird.files.problems import Problem, grammar_words, read_source
from ironbird.files.toml_text import write_toml
from ironbird.files.whole import write_text
from ironbird.vehicles.load import read_tables, vehicle_path

MEANING = {
    0: "nothing was compared",
    1: "agrees with simple referents",
    2: "agrees with experiment or another simulation on unit problems",
    3: "agrees with experiment on problems of interest",
    4: "agrees with real-world data of several flights",
}


class Entry(BaseModel):
    """One comparison that supports the level of a module."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    module: Literal["body", "propulsion", "aerodynamics", "battery", "sensors", "ground", "vehicle"]
    level: Annotated[int, Field(ge=0, le=4)]
    record: str
    record_sha256: str
    window_s: Annotated[list[float], Field(min_length=2, max_length=2)]
    tests: int
    overall: float
    low: float
    high: float
    smallest: float
    smallest_test: str
    pass_mark: float
    numbers_sha256: str  # of the vehicle's numbers of this module
    remark: str = ""


class Sheet(BaseModel):
    """Content of the evidence sheet file of a vehicle."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    vehicle: str
    entry: list[Entry] = []


@dataclass(frozen=True)
class Standing:
    """The present level of one module, and the reason."""

    module: str
    level: int
    why: str


def sheet_path(vehicle: str | Path) -> Path:
    """Path of the evidence sheet of a vehicle."""
    path = vehicle_path(vehicle)
    return path.parent / "evidence" / path.name


def read_sheet(vehicle: str | Path) -> Sheet:
    """The sheet of a vehicle; an empty one if there is none."""
    path = sheet_path(vehicle)
    if not path.is_file():
        return Sheet(vehicle=vehicle_path(vehicle).stem)
    source = read_source(path)
    if isinstance(source, Problem):
        raise VehicleError(source)
    try:
        return Sheet.model_validate(source.data)
    except ValidationError as error:
        raise VehicleError(*(source.problem(*words) for words in grammar_words(Sheet, source.data, error))) from None


def numbers_sha256(vehicle: str | Path, module: str) -> str:
    """Hash of the numbers of a module, without texts about them."""
    tables = read_tables(vehicle_path(vehicle))
    words = ("title", "summary", "provenance", "id", "schema", "mission", "control")
    names = MODULES[module] or tuple(name for name in tables if name not in words)
    selected = {name: tables[name] for name in sorted(names) if name in tables}
    return hashlib.sha256(json.dumps(selected, sort_keys=True).encode()).hexdigest()


def supported_level(comparison: Comparison) -> int:
    """Level that one comparison with a record supports: all indices passed 3, the overall index passed 2, else 1."""
    if comparison.passed:
        return 3
    if comparison.worthless:
        return 1
    return 2 if comparison.overall[0] >= comparison.plan.pass_mark else 1


def standing(vehicle: str | Path) -> list[Standing]:
    """The level of every module by its best comparison; 4 needs two records, all above the mark of high credibility."""
    sheet = read_sheet(vehicle)
    levels = []
    for module in MODULES:
        entries = [entry for entry in sheet.entry if entry.module == module]
        now = numbers_sha256(vehicle, module)
        fresh = [entry for entry in entries if entry.numbers_sha256 == now]
        if not fresh:
            why = f"{len(entries)} comparisons, made with other numbers of this module" if entries else MEANING[0]
            levels.append(Standing(module, 0, why))
            continue
        best = max(fresh, key=lambda entry: (entry.level, entry.overall))
        level = best.level
        high = {e.record_sha256 for e in fresh if e.level >= 3 and e.smallest >= HIGH_MARK}
        if len(high) >= 2:
            level = 4
        why = (
            f"{best.record}, {best.window_s[0]:.1f} to {best.window_s[1]:.1f} s: index {best.overall:.3f} "
            f"({best.low:.3f} to "
            f"{best.high:.3f}), smallest {best.smallest:.3f} ({best.smallest_test})"
        )
        levels.append(Standing(module, level, f"{MEANING[level]}: {why}"))
    return levels


def level_of(vehicle: str | Path, module: str) -> Standing:
    """The level of one module; evidence for the whole vehicle counts for each of its modules."""
    if module not in MODULES:
        raise UnknownNameError("module", module, MODULES)
    levels = {one.module: one for one in standing(vehicle)}
    return max(levels[module], levels["vehicle"], key=lambda one: one.level)


def add_entry(comparison: Comparison, vehicle: str | Path, module: str, remark: str = "") -> Entry:
    """Write a comparison into the sheet; an entry of the same record and window is replaced."""
    if module not in MODULES:
        raise UnknownNameError("module", module, MODULES)
    sheet, smallest = read_sheet(vehicle), comparison.smallest
    entry = Entry(
        module=module,  # type: ignore[arg-type]
        level=supported_level(comparison),
        record=comparison.real.path.name,
        record_sha256=hashlib.sha256(comparison.real.path.read_bytes()).hexdigest(),
        window_s=[round(value, 3) for value in comparison.window_s],
        tests=len(comparison.indices),
        overall=round(comparison.overall[0], 4),
        low=round(comparison.overall[1], 4),
        high=round(comparison.overall[2], 4),
        smallest=round(smallest.least, 4),
        smallest_test=smallest.test.name,
        pass_mark=comparison.plan.pass_mark,
        numbers_sha256=numbers_sha256(vehicle, module),
        remark=remark,
    )
    same = (entry.module, entry.record_sha256, entry.window_s)
    others = [old for old in sheet.entry if (old.module, old.record_sha256, old.window_s) != same]
    path = sheet_path(vehicle)
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = Sheet(vehicle=sheet.vehicle, entry=[*others, entry]).model_dump(by_alias=True)
    write_text(path, write_toml(tables, {"entry"}))
    return entry
