"""Wear in flights: how age changes a vehicle's parameters, and test cases that fly it at several ages.

Wear is linear in hours and cycles. Not modelled: that worn parts fail sooner than their life distribution says, scatter
between parts of one vehicle, storage without use.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RecordError, UnknownNameError
from ironbird.faults.catalog import FAULTS
from ironbird.files.problems import Problem, read_source
from ironbird.files.toml_text import write_toml
from ironbird.model.diagram import Diagram
from ironbird.reliability.life import Wear
from ironbird.reliability.tree import Kind
from ironbird.vehicles.load import load_vehicle, vehicle_path

FILE = Path(__file__).parent / "wear.toml"
EFFECTS = ("less", "more", "off")
LEAST_LEFT = 0.05  # least share left: no part is worn to zero at take-off
FAULT_AT_S = 15.0


@dataclass(frozen=True)
class Ageing:
    """A parameter that changes with age: its path, how wear acts on it, and the wear per hour and cycle."""

    name: str
    parameter: str  # with * for every instance
    effect: str
    wear: Wear

    def aged(self, value: np.ndarray, hours: float, cycles: float, signs: np.ndarray) -> np.ndarray:
        """The parameter's value for a part that has run so many hours and charge cycles; `signs` orients offsets."""
        if self.effect == "off":
            return np.asarray(value + signs * (self.wear.per_hour * hours + self.wear.per_cycle * cycles))
        left = max(self.wear.left(hours, cycles), LEAST_LEFT)
        return np.asarray(value * left if self.effect == "less" else value * (2 - left))


def load_wear(path: Path | None = None) -> dict[str, Ageing]:
    """Parameters that age, by name: the shipped entries; those of the file at `path` replace or extend them."""
    entries: dict[str, Ageing] = {}
    for file in (FILE, *([path] if path else [])):
        source = read_source(file, "give the path of a TOML file of wear")
        if isinstance(source, Problem):
            raise RecordError(str(source))
        for name, table in source.data.items():
            entries[name] = _ageing(name, table, file.name)
    return entries


def _ageing(name: str, table: Any, where: str) -> Ageing:
    if not isinstance(table, Mapping):
        raise RecordError(f"{where}: [{name}] is no table")
    known = ("parameter", "effect", "per_hour", "per_cycle", "source")
    for key in table:
        if key not in known:
            raise UnknownNameError(f"key of [{name}]", str(key), known, where)
    effect = str(table.get("effect", ""))
    if effect not in EFFECTS:
        raise UnknownNameError(f"effect of [{name}]", effect, EFFECTS, where)
    try:
        rates = [float(table.get(key, 0.0)) for key in ("per_hour", "per_cycle")]
        parameter = str(table["parameter"])
    except (KeyError, TypeError, ValueError):
        raise RecordError(f"{where}: [{name}] needs a parameter, and numbers per_hour or per_cycle") from None
    if min(rates) < 0 or max(rates) <= 0 or not np.isfinite(rates).all():
        raise RecordError(
            f"{where}: [{name}] wears by {rates[0]:g} an hour and {rates[1]:g} a cycle: give positive rates"
        )
    return Ageing(name, parameter, effect, Wear(rates[0], rates[1], str(table.get("source", "assumed: no source"))))


def worn(
    diagram: Diagram, hours: float, cycles: float, wear: Mapping[str, Ageing] | None = None, seed: int = 0
) -> dict[str, float | list[float]]:
    """Parameters of a vehicle after hours of operation and charge cycles, as settings of a flight."""
    if not (np.isfinite([hours, cycles]).all() and hours >= 0 and cycles >= 0):
        raise RecordError(f"an age of {hours:g} h and {cycles:g} cycles: both are zero or more")
    random = np.random.default_rng(seed)
    settings: dict[str, float | list[float]] = {}
    for ageing in (wear if wear is not None else load_wear()).values():
        for path in fnmatch.filter(diagram.param_paths(), ageing.parameter):
            value = np.asarray(diagram.value(path), float)
            signs = random.choice([-1.0, 1.0], size=value.shape)
            aged = ageing.aged(value, hours, cycles, signs).ravel()
            settings[path] = float(f"{aged[0]:.6g}") if aged.size == 1 else [float(f"{v:.6g}") for v in aged]
    return settings


def _acts(fault: str, paths: Sequence[str]) -> bool:
    """Whether a fault acts on a vehicle with these parameter paths (checked for the first part)."""
    if fault not in FAULTS:
        raise UnknownNameError("fault of a life", fault, FAULTS)
    targets = [change.target.replace("{instance}", "1").partition("[")[0] for change in FAULTS[fault].changes]
    return all(fnmatch.filter(paths, target) for target in targets)


def life_cases(
    name: str | Path,
    ages_h: Sequence[float],
    cycles_per_hour: float,
    kinds: Mapping[str, Kind],
    *,
    wear: Mapping[str, Ageing] | None = None,
    seeds: int = 1,
) -> str:
    """Text of a case file: at each age the worn vehicle without a fault, and with the fault of each kind of part."""
    diagram = load_vehicle(name, control="reference").diagram
    paths = diagram.param_paths()
    cases: list[dict[str, Any]] = []
    vehicle = str(vehicle_path(name).resolve()) if str(name).endswith(".toml") else str(name)
    for age in ages_h:
        settings = worn(diagram, age, age * cycles_per_hour, wear)
        stem = f"age-{age:05.0f}h"
        common = {"vehicle": vehicle, "seeds": list(range(1, seeds + 1)), "tags": ["life", stem], "set": settings}
        cases.append({"id": stem, "title": f"Worn by {age:g} h, nothing fails", **common})
        for kind in kinds.values():
            if kind.fault and _acts(f"{kind.fault}@1", paths):
                fault = {"id": f"{kind.fault}@1", "severity": 1.0, "start_s": FAULT_AT_S}
                title = f"Worn by {age:g} h, {kind.name}: {kind.mode}"
                cases.append({"id": f"{stem}-{kind.name}", "title": title, **common, "fault": [fault]})
    head = {"schema": 1, "title": f"{Path(name).stem} over its life", "case": cases}
    return write_toml(head, {"case", "fault", "set"})
