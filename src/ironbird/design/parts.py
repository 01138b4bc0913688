"""The component database: motors, propellers, ESCs, batteries, frames, flight controllers; users add parts in TOML."""

from __future__ import annotations

import csv
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.problems import Problem, read_source

FOLDER = Path(__file__).parent / "parts"
CELL_V = 4.0  # mean voltage of a lithium cell over a flight, as in the printed example (12 V for three)
NO_LOAD_V = 10.0  # voltage at which no-load currents are usually given


# Evidence for a part's figures, from best to worst
STATUSES = ("measured", "published example", "not validated", "from memory, not validated", "assumed")


@dataclass(frozen=True)
class Part:
    """Fields that every part has; `status` is the validation status of its figures, one of `STATUSES`."""

    name: str
    maker: str = ""
    mass_kg: float = 0.0
    source: str = "published: PyProp components.db"
    licence: str = field(default="MIT (PyProp)", kw_only=True)
    status: str = field(default="not validated", kw_only=True)
    estimated: tuple[str, ...] = field(default=(), kw_only=True)  # keys of figures that follow a rule of `ESTIMATES`


@dataclass(frozen=True)
class MotorPart(Part):
    """A brushless motor: KV, resistance and no-load current as its data sheet gives them."""

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
    """An electronic speed controller (ESC) with its largest current and its resistance."""

    current_A: float = 0.0
    resistance_ohm: float = 0.0


@dataclass(frozen=True)
class BatteryPart(Part):
    """A lithium battery pack: cells in series, capacity, largest current, resistance, mean voltage."""

    cells: int = 0
    capacity_Ah: float = 0.0
    current_A: float = 0.0  # largest; 0: not known
    resistance_ohm: float = 0.0
    voltage_V: float = 0.0  # mean over a flight; 0: 4 V a cell

    def in_series(self, cells: int) -> BatteryPart:
        """As many of this battery in series as give this number of cells: mass, voltage and resistance add up."""
        count, rest = divmod(cells, self.cells)
        if rest or not count:
            raise RecordError(
                f"--cells {cells}: battery '{self.name}' has {self.cells}; give a multiple of {self.cells}"
            )
        if count == 1:
            return self
        return replace(
            self,
            name=f"{count} x {self.name}",
            source=f"derived: {count} in series, each {self.source}",
            cells=cells,
            mass_kg=count * self.mass_kg,
            resistance_ohm=count * self.resistance_ohm,
            voltage_V=count * self.voltage_V,
        )

    def named_cells(self) -> int:
        """Cells that the name says, as `3S` or `4s1p` do; 0 if it says none."""
        named = re.search(r"(?<![A-Za-z0-9])([1-9][0-9]?)[sS](?![A-Za-z])", self.name)
        return int(named[1]) if named else 0


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
class Estimate:
    """A rule for a figure that a part does not give: its key, the rule in words, its value (0 if there is none)."""

    key: str
    how: str
    value: Callable[[Any], float]


ESTIMATES = {
    "propeller": Estimate(
        "mass_kg", "10 g at 254 mm, with the square of the diameter", lambda p: 0.010 * (p.diameter_m / 0.254) ** 2
    ),
    "esc": Estimate(
        "resistance_ohm",
        "0.16 V at its largest current, the median of the shipped ones",
        lambda p: 0.16 / p.current_A if p.current_A else 0.0,
    ),
    "battery": Estimate(
        "resistance_ohm",
        "17 mΩ of a cell of 1 Ah, the median of the shipped ones",
        lambda p: 0.017 * p.cells / p.capacity_Ah,
    ),
}


def mass_of(kind: str, part: Part) -> float:
    """Mass of a part in kg where it counts; a part without one is refused."""
    if not part.mass_kg:
        raise RecordError(
            f"{kind} '{part.name}' has no mass: give mass_kg in the file of your part, or the mass of all with --mass"
        )
    return part.mass_kg


@dataclass(frozen=True)
class Database:
    """All parts of the component database, one dictionary by name for each kind."""

    motors: dict[str, MotorPart]
    propellers: dict[str, PropellerPart]
    escs: dict[str, EscPart]
    batteries: dict[str, BatteryPart]
    frames: dict[str, FramePart]
    flight_controllers: dict[str, FlightControllerPart]

    def motor(self, name: str) -> MotorPart:
        """The motor with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("motor", name, self.motors)

    def propeller(self, name: str) -> PropellerPart:
        """The propeller with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("propeller", name, self.propellers)

    def esc(self, name: str) -> EscPart:
        """The ESC with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("ESC", name, self.escs)

    def battery(self, name: str) -> BatteryPart:
        """The battery with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("battery", name, self.batteries)

    def frame(self, name: str) -> FramePart:
        """The frame with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("frame", name, self.frames)

    def flight_controller(self, name: str) -> FlightControllerPart:
        """The flight controller with this name; an unknown name is refused with the nearest known ones."""
        return _by_name("flight_controller", name, self.flight_controllers)

    def parts(self, kind: str) -> list[Part]:
        """All parts of a kind, sorted by name."""
        if kind not in KINDS:
            raise UnknownNameError("kind of part", kind, KINDS)
        parts: dict[str, Part] = getattr(self, "batteries" if kind == "battery" else f"{kind}s")
        return [parts[name] for name in sorted(parts)]


def _by_name(kind: str, name: str, parts: Mapping[str, Kind]) -> Kind:
    if name not in parts:
        listed_by = f"ironbird vehicle design parts {kind.lower()}"
        raise UnknownNameError(kind, name, parts, listed_by=listed_by, meant=_with_word(name, parts))
    return parts[name]


def _with_word(name: str, parts: Iterable[str]) -> list[str]:
    """Names that have a text as a word first, then those that contain it, the shortest first; none for one letter."""
    wanted = name.lower().strip()
    if len(wanted) < 2:
        return []
    found = [part for part in parts if wanted in part.lower()]
    return sorted(found, key=lambda part: (wanted not in part.lower().split(), len(part), part))


def load_database(*own: Path) -> Database:
    """The shipped parts, also of the printed example; parts of a user's files replace those of the same name."""
    parts_by_kind: dict[str, dict[str, Any]] = {kind: dict(_shipped(kind)) for kind in KINDS}
    for path in (FOLDER / "lesson.toml", *own):
        for kind, parts in _read_own(path).items():
            parts_by_kind[kind].update(parts)
    return Database(*(parts_by_kind[kind] for kind in KINDS))


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
    """A part from a row of a table; numbers must be finite and not negative, required ones positive."""
    values: dict[str, Any] = {}
    known = {entry.name: entry for entry in fields(cls) if entry.name != "estimated"}
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
    return _with_estimate(kind, part)


def _with_estimate(kind: str, part: Part) -> Part:
    """The part; a figure that it does not give and for which there is a rule is estimated."""
    rule = ESTIMATES.get(kind)
    if rule is None or getattr(part, rule.key) or not (value := rule.value(part)):
        return part
    return replace(part, **{rule.key: value, "estimated": (rule.key,)})  # type: ignore[arg-type]


def _status_of(source: str) -> str:
    """Validation status of a user's part that gives none: from the first word of its source."""
    word = source.split(":")[0].strip()
    return word if word in ("measured", "assumed") else "not validated"


def _read_own(path: Path) -> dict[str, dict[str, Part]]:
    source = read_source(path, "give the path of a TOML file of parts")
    if isinstance(source, Problem):
        raise RecordError(str(source))
    parts: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}
    for kind, rows in source.data.items():
        if kind not in KINDS or not isinstance(rows, list):
            raise UnknownNameError("kind of part", str(kind), KINDS, path.name)
        for row in rows:
            if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
                raise RecordError(f"{path.name}: a {kind} has no name")
            origin = str(row.get("source", "assumed: no source"))
            fields = {"source": origin, "licence": "", "status": _status_of(origin), **row}
            parts[kind][row["name"]] = _made(KINDS[kind][0], kind, fields, path.name)
    return parts


@functools.cache
def coefficient_table(path: str) -> np.ndarray:
    """Measured propeller table: rows of rpm, advance ratio, thrust and power coefficient; none at standstill."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return np.asarray(table[table[:, 0] > 0])
