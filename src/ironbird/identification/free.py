"""Parameters that can be identified: their places in the model and in a vehicle file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import RecordError, UnknownNameError

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Free:
    """One unknown: a factor on some rows of the model's parameters, and on some numbers of the vehicle's file."""

    name: str
    unit: str
    rows: tuple[int, ...]  # of the parameter column
    value: float  # of the first row, before
    keys: tuple[tuple[str, int | None], ...]  # dotted keys of the vehicle's file, and the place in a list


# word: pattern of the model's parameter, its entries, key of the vehicle's file, unit
_WORDS: dict[str, tuple[str, tuple[tuple[str, int], ...], str, str]] = {
    "mass": ("body.mass", (("", 0),), "body.mass_kg", "kg"),
    "inertia": (
        "body.inertia",
        (("_x", 0), ("_y", 4), ("_z", 8)),
        "body.inertia_diag_kgm2",
        "kg*m^2",
    ),
    "thrust": ("propeller.thrust_coefficient", (("", 0),), "propeller.*.thrust_coefficient_Ns2", "N*s^2"),
    "torque": ("propeller.torque_coefficient", (("", 0),), "propeller.*.torque_coefficient_Nms2", "N*m*s^2"),
    "rotor_drag": ("propeller.rotor_drag", (("", 0),), "propeller.*.rotor_drag_Ns2pm", "N*s^2/m"),
    "motor_time": ("motor.time_constant", (("", 0),), "motor.*.time_constant_s", "s"),
    "motor_slope": ("motor.slope", (("", 0),), "motor.*.slope_radps", "rad/s"),
    "drag": ("airframe.drag", (("_x", 0), ("_y", 1), ("_z", 2)), "airframe.drag_Ns2pm2", "N*s^2/m^2"),
    "damping": ("airframe.damping", (("_x", 0), ("_y", 1), ("_z", 2)), "airframe.damping_Nms2prad2", "N*m*s^2/rad^2"),
}
WORDS = tuple(_WORDS)


def free_parameters(
    model: CompiledModel, tables: Mapping[str, Any], words: Sequence[str], params: Mapping[str, Any] | None = None
) -> list[Free]:
    """The unknowns for words such as `mass` or `inertia`; one axis alone is `inertia_z`."""
    unknowns: list[Free] = []
    for word in words:
        stem, ending = next(
            (
                (stem, ending)
                for stem, spec in _WORDS.items()
                for ending in ("", *(e for e, _ in spec[1]))
                if stem + ending == word
            ),
            ("", ""),
        )
        if not stem:
            raise UnknownNameError("parameter to identify", word, [s + e for s, w in _WORDS.items() for e, _ in w[1]])
        pattern, entries, key, unit = _WORDS[stem]
        flat = model.flat
        paths = [path for path in flat.p.start if path == pattern or path.endswith(f"/{pattern}")]
        if not paths:
            raise RecordError(f"vehicle '{model.name}' has no {pattern}; '{word}' cannot be identified")
        for suffix, place in entries:
            if ending and suffix != ending:
                continue
            rows = tuple(int(flat.p.rows(path).start) + place for path in paths)
            value = float(flat.values[rows[0]])
            if value == 0:
                raise RecordError(
                    f"{word}: {paths[0]} is 0, and a factor on it stays 0; give the vehicle a first guess"
                )
            keys = _keys(tables, key, place if len(entries) > 1 else None)
            unknowns.append(Free(stem + suffix, unit, rows, value, keys))
    if len({free.name for free in unknowns}) != len(unknowns):
        raise RecordError(f"a parameter is named twice: {', '.join(words)}")
    return unknowns


def _keys(tables: Mapping[str, Any], key: str, place: int | None) -> tuple[tuple[str, int | None], ...]:
    table, _, rest = key.partition(".")
    if rest.startswith("*."):
        return tuple((f"{table}.{name}.{rest[2:]}", place) for name in tables.get(table, {}))
    return ((key, None if place is None else place // 4 if "inertia" in key else place),)


def changed_tables(
    tables: Mapping[str, Any], unknowns: Sequence[Free], factors: np.ndarray, sources: Sequence[str]
) -> dict[str, Any]:
    """Tables of a vehicle file that override its base: new numbers, and their sources."""
    new: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    for free, factor, source in zip(unknowns, factors, sources, strict=True):
        for key, place in free.keys:
            *above, last = key.split(".")
            there: Any = tables
            into = new
            for name in above:
                there = there[name]
                into = into.setdefault(name, {})
            if place is None:
                into[last] = _rounded(there[last] * factor)
            else:
                row = into.setdefault(last, list(there[last]))
                row[place] = _rounded(there[last][place] * factor)
            provenance[key] = f"{provenance[key]}; {source}" if key in provenance else f"identified: {source}"
    return {**new, "provenance": provenance}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
