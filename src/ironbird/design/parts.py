"""The component database: motors, propellers, ESCs, batteries, frames, flight controllers; own parts as TOML."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.problems import Problem, read_source

FOLDER = Path(__file__).parent / "parts"
CELL_V = 4.0  # mean of a lithium cell over a flight, as the printed example takes it (12 V of three)
NO_LOAD_V = 10.0  # at which no-load currents are usually given


# What a part's figures have behind them, from best to worst
STATUSES = ("measured", "published example", "not validated", "from memory, not validated", "assumed")


@dataclass(frozen=True)
class Part:
    """What every part says: `status` is the validation status of its figures, one of `STATUSES`."""

    name: str
    maker: str = ""
    mass_kg: float = 0.0
    source: str = "published: PyProp components.db"
    licence: str = field(default="MIT (PyProp)", kw_only=True)
    status: str = field(default="not validated", kw_only=True)


@dataclass(frozen=True)
class MotorPart(Part):
    """A brushless motor."""

    kv_rpmpV: float = 0.0
    resistance_ohm: float = 0.0
    no_load_current_A: float = 0.0
    no_load_voltage_V: float = NO_LOAD_V
    current_A: float = 0.0  # largest; 0: not known


@dataclass(frozen=True)
class PropellerPart(Part):
    """A propeller by its size, or with a measured table over speed and advance ratio."""

    diameter_m: float = 0.0
    pitch_m: float = 0.0
    blades: int = 2
    table: str = ""


@dataclass(frozen=True)
class EscPart(Part):
    """A speed controller."""

    current_A: float = 0.0
    resistance_ohm: float = 0.0


@dataclass(frozen=True)
class BatteryPart(Part):
    """A lithium battery."""

    cells: int = 0
    capacity_Ah: float = 0.0
    current_A: float = 0.0  # largest; 0: not known
    resistance_ohm: float = 0.0
    voltage_V: float = 0.0  # mean over a flight; 0: 4 V a cell


@dataclass(frozen=True)
class FramePart(Part):
    """A frame with its landing gear."""

    diagonal_m: float = 0.0  # between opposite motors
    rotors: int = 4


@dataclass(frozen=True)
class FlightControllerPart(Part):
    """A flight controller; `current_A` is what it and its sensors draw from the battery."""

    current_A: float = 0.0


Kind = TypeVar("Kind", bound=Part)
KINDS: dict[str, tuple[type[Part], str]] = {
    "motor": (MotorPart, "motors.csv"),
    "propeller": (PropellerPart, "propellers.csv"),
    "esc": (EscPart, "escs.csv"),
    "battery": (BatteryPart, "batteries.csv"),
    "frame": (FramePart, "frames.csv"),
    "flight_controller": (FlightControllerPart, "flight_controllers.csv"),
}
POSITIVE = {
    "motor": ("kv_rpmpV", "resistance_ohm"),
    "propeller": ("diameter_m", "pitch_m"),
    "esc": (),
    "battery": ("cells", "capacity_Ah"),
    "frame": ("diagonal_m", "rotors", "mass_kg"),
    "flight_controller": ("mass_kg",),
}


@dataclass(frozen=True)
class Database:
    """All parts by kind and name."""

    motors: dict[str, MotorPart]
    propellers: dict[str, PropellerPart]
    escs: dict[str, EscPart]
    batteries: dict[str, BatteryPart]
    frames: dict[str, FramePart]
    flight_controllers: dict[str, FlightControllerPart]

    def motor(self, name: str) -> MotorPart:
        """A motor by name."""
        return _by_name("motor", name, self.motors)

    def propeller(self, name: str) -> PropellerPart:
        """A propeller by name."""
        return _by_name("propeller", name, self.propellers)

    def esc(self, name: str) -> EscPart:
        """A speed controller by name."""
        return _by_name("ESC", name, self.escs)

    def battery(self, name: str) -> BatteryPart:
        """A battery by name."""
        return _by_name("battery", name, self.batteries)

    def frame(self, name: str) -> FramePart:
        """A frame by name."""
        return _by_name("frame", name, self.frames)

    def flight_controller(self, name: str) -> FlightControllerPart:
        """A flight controller by name."""
        return _by_name("flight_controller", name, self.flight_controllers)

    def parts(self, kind: str) -> list[Part]:
        """All parts of a kind, by name."""
        if kind not in KINDS:
            raise UnknownNameError("kind of part", kind, KINDS)
        parts: dict[str, Part] = getattr(self, "batteries" if kind == "battery" else f"{kind}s")
        return [parts[name] for name in sorted(parts)]


def _by_name(kind: str, name: str, parts: Mapping[str, Kind]) -> Kind:
    if name not in parts:
        raise UnknownNameError(kind, name, parts, listed_by=f"ironbird vehicle design parts {kind.lower()}")
    return parts[name]


def load_database(*own: Path) -> Database:
    """The shipped parts, the printed example's, and those of a user's files, which go first."""
    found: dict[str, dict[str, Any]] = {kind: dict(_shipped(kind)) for kind in KINDS}
    for path in (FOLDER / "lesson.toml", *own):
        for kind, parts in _read_own(path).items():
            found[kind].update(parts)
    return Database(*(found[kind] for kind in KINDS))


@functools.cache
def _shipped(kind: str) -> dict[str, Part]:
    cls, file = KINDS[kind]
    with (FOLDER / file).open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    parts = {row["name"]: _made(cls, kind, row, file) for row in rows}
    if kind == "propeller":
        for path in sorted((FOLDER / "propellers").glob("*.csv")):
            if path.stem in parts:
                measured = "measured: UIUC wind tunnel (Brandt, Deters, Ananda, Selig)"
                facts = {"table": str(path), "source": measured, "status": "measured", "licence": "MIT; cite UIUC"}
                parts[path.stem] = replace(parts[path.stem], **facts)  # type: ignore[arg-type]
    return parts


def _made(cls: type[Part], kind: str, row: Mapping[str, Any], where: str) -> Part:
    """A part of a row; every number is finite and not negative, the needed ones positive."""
    values: dict[str, Any] = {}
    known = {entry.name: entry for entry in fields(cls)}
    for key, value in row.items():
        if key not in known:
            raise UnknownNameError(f"key of a {kind}", str(key), known, where)
        if known[key].type in ("float", "int"):
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise RecordError(f"{where}: {kind} '{row.get('name')}': {key} = {value!r} is no number") from None
            if not (math.isfinite(number) and number >= 0):
                raise RecordError(f"{where}: {kind} '{row.get('name')}': {key} = {value!r} is not finite and positive")
            values[key] = int(number) if known[key].type == "int" else number
        else:
            values[key] = str(value)
    part = cls(**values)
    if part.status not in STATUSES:
        raise UnknownNameError(f"status of {kind} '{part.name}'", part.status, STATUSES, where)
    missing = [key for key in POSITIVE[kind] if not getattr(part, key) > 0]
    if missing:
        raise RecordError(f"{where}: {kind} '{part.name}' has no {', '.join(missing)}")
    return part


def _status_of(source: str) -> str:
    """The status of an own part that gives none: by the first word of its source."""
    word = source.split(":")[0].strip()
    return word if word in ("measured", "assumed") else "not validated"


def _read_own(path: Path) -> dict[str, dict[str, Part]]:
    source = read_source(path, "give the path of a TOML file of parts")
    if isinstance(source, Problem):
        raise RecordError(str(source))
    found: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}
    for kind, rows in source.data.items():
        if kind not in KINDS or not isinstance(rows, list):
            raise UnknownNameError("kind of part", str(kind), KINDS, path.name)
        for row in rows:
            if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
                raise RecordError(f"{path.name}: a {kind} has no name")
            said = str(row.get("source", "assumed: no source"))
            given = {"source": said, "licence": "", "status": _status_of(said), **row}
            found[kind][row["name"]] = _made(KINDS[kind][0], kind, given, path.name)
    return found


@functools.cache
def coefficient_table(path: str) -> np.ndarray:
    """A measured table: rows of rpm, advance ratio, thrust and power coefficient; rows at rest are left out."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return np.asarray(table[table[:, 0] > 0])
