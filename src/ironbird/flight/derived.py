"""Signals that requirements speak of: those of the model, and those derived from a flight as a whole.

Derived signals exist for every vehicle: `height`, `depth`, `distance` (horizontal, from the start), `speed`, `climb`,
`tilt`, `rate`, `position_error` (to the navigator's set-point, if it has one), `time`, and what became of the flight:
`crashed` and `completed` (1 in the last row of a flight that ended so), `fault_active` (1 from the first fault's start
on). Angles are in rad.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.flight.flight import ALIASES, COMPLETED, HARMLESS
from ironbird.requirements.trace import RUN_UNITS, Trace
from ironbird.runtime.record import Log

Arrays = Mapping[str, np.ndarray]
ALWAYS = (
    "body.p_NB_N", "body.v_NB_N", "body.euler", "body.w_NB_B", "navigator.mode", "navigator.position_set",
    "navigator.velocity_set",
)  # fmt: skip


def _length(vector: np.ndarray) -> np.ndarray:
    """Of vectors [lane, row, 3]; entry by entry, which is several times faster than a sum over three."""
    x, y, z = (vector[:, :, i] for i in range(3))
    return np.sqrt(x * x + y * y + z * z)


def _position_error(signals: Arrays) -> np.ndarray:
    return _length(signals["body.p_NB_N"] - signals["navigator.position_set"])


def _tilt(signals: Arrays) -> np.ndarray:
    """Angle between the body's down axis and the vertical."""
    euler = signals["body.euler"]
    return np.arccos(np.clip(np.cos(euler[:, :, 0]) * np.cos(euler[:, :, 1]), -1.0, 1.0))


@dataclass(frozen=True)
class Derived:
    """A signal computed from logged ones, for all lanes at once."""

    unit: str
    sources: tuple[str, ...]
    make: Callable[[Arrays], np.ndarray]


DERIVED: dict[str, Derived] = {
    "height": Derived("m", ("body.p_NB_N",), lambda s: -s["body.p_NB_N"][:, :, 2]),
    "depth": Derived("m", ("body.p_NB_N",), lambda s: s["body.p_NB_N"][:, :, 2]),
    "distance": Derived(
        "m", ("body.p_NB_N",), lambda s: np.hypot(s["body.p_NB_N"][:, :, 0], s["body.p_NB_N"][:, :, 1])
    ),
    "speed": Derived("m/s", ("body.v_NB_N",), lambda s: _length(s["body.v_NB_N"])),
    "climb": Derived("m/s", ("body.v_NB_N",), lambda s: -s["body.v_NB_N"][:, :, 2]),
    "tilt": Derived("rad", ("body.euler",), _tilt),
    "rate": Derived("rad/s", ("body.w_NB_B",), lambda s: _length(s["body.w_NB_B"])),
    "position_error": Derived("m", ("body.p_NB_N", "navigator.position_set"), _position_error),
}


def known_units(model: CompiledModel) -> dict[str, str]:
    """Every name that a requirement may use on this model, with its unit; entries of vectors as `path[i]`."""
    units: dict[str, str] = {}
    for path, signal in model.signals().items():
        if signal.size == 1:
            units[path] = signal.unit
        else:
            units |= {f"{path}[{i}]": signal.unit for i in range(signal.size)}
    units |= {name: d.unit for name, d in DERIVED.items() if all(source in model.signals() for source in d.sources)}
    return units | RUN_UNITS


def known_aliases(model: CompiledModel) -> dict[str, str]:
    """Short names that hold on this model."""
    found = {short: path for short, path in ALIASES.items() if path in model.signals()}
    return found if "altitude" in found else found | {"altitude": "height"}


def paths_to_log(names: Iterable[str], model: CompiledModel) -> list[str]:
    """Signal paths from which all the named signals can be had, with those that every flight keeps."""
    paths = [path for path in ALWAYS if path in model.signals()]
    for name in names:
        if name in DERIVED:
            paths += DERIVED[name].sources
        elif name not in RUN_UNITS:
            paths.append(re.sub(r"\[\d+\]$", "", name))
    order = {path: i for i, path in enumerate(model.signals())}
    return sorted(set(paths), key=order.__getitem__)


def make_trace(log: Log, names: Iterable[str], fault_starts_s: Sequence[float]) -> Trace:
    """What the formulas need, for all lanes; each lane's first fault began at its `fault_starts_s` (infinite: none)."""
    rows = np.array([log.rows(lane) for lane in range(log.lanes)])
    whole: dict[str, np.ndarray] = {}

    def logged(path: str) -> np.ndarray:
        if path not in whole:
            whole[path] = log.all_lanes(path)
        return whole[path]

    values: dict[str, np.ndarray] = {}
    for name in names:
        if name in DERIVED:
            values[name] = DERIVED[name].make({path: logged(path) for path in DERIVED[name].sources})
        elif name in RUN_UNITS:
            values[name] = _fate(name, log, rows, fault_starts_s)
        elif name in log:
            values[name] = logged(name)
        else:
            path, _, index = name.partition("[")
            values[name] = logged(path)[:, :, int(index.rstrip("]"))]
    return Trace(log.time_s, values, rows)


def _fate(name: str, log: Log, rows: np.ndarray, fault_starts_s: Sequence[float]) -> np.ndarray:
    shape = (log.lanes, len(log.time_s))
    if name == "time":
        return np.broadcast_to(log.time_s, shape)
    if name == "fault_active":
        return (log.time_s[None, :] >= np.asarray(fault_starts_s)[:, None]).astype(float)
    values = np.zeros(shape)
    for lane, stop in enumerate(log.stops):
        if stop is not None and rows[lane] > 0:
            hit = stop.reason == COMPLETED if name == "completed" else stop.reason not in HARMLESS
            values[lane, rows[lane] - 1] = float(hit)
    return values
