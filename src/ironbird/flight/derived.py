"""Signals that conditions speak of: those of the model, and those derived from them.

Derived signals exist for every vehicle whose model has their sources: `height`, `depth`, `distance` (horizontal, from
the start), `speed`, `climb`, `tilt` (between the body's down axis and the vertical), `rate`, `position_error` (to the
navigator's set-point). Requirements know moreover `time` and what became of the flight: `crashed` and `completed` (1 in
the last row of a flight that ended so), `fault_active` (1 from the first fault's start on). Angles are in rad.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ironbird.conditions import evaluate
from ironbird.conditions.formula import Term, parse_number
from ironbird.conditions.names import RUN_UNITS, Derived, HasSignals, Names
from ironbird.errors import UnknownNameError
from ironbird.flight.words import ALIASES, COMPLETED, HARMLESS, WORDS
from ironbird.requirements.trace import Trace
from ironbird.runtime.record import Log
from ironbird.vehicles import places as at

ALWAYS = (
    at.BODY.position,
    at.BODY.velocity,
    at.BODY.euler,
    at.BODY.rates,
    at.NAVIGATOR.mode,
    at.NAVIGATOR.position_set,
    at.NAVIGATOR.velocity_set,
)
SOURCES = {  # units of the signals from which others are derived
    at.BODY.position: "m",
    at.BODY.velocity: "m/s",
    at.BODY.euler: "rad",
    at.BODY.rates: "rad/s",
    at.NAVIGATOR.position_set: "m",
}
DERIVED = {
    "height": Derived("m", "-body.p_NB_N[2]"),
    "depth": Derived("m", "body.p_NB_N[2]"),
    "distance": Derived("m", "hypot(body.p_NB_N[0], body.p_NB_N[1])"),
    "speed": Derived("m/s", "norm(body.v_NB_N[0], body.v_NB_N[1], body.v_NB_N[2])"),
    "climb": Derived("m/s", "-body.v_NB_N[2]"),
    "tilt": Derived("rad", "acos(cos(body.euler[0]) * cos(body.euler[1]))"),
    "rate": Derived("rad/s", "norm(body.w_NB_B[0], body.w_NB_B[1], body.w_NB_B[2])"),
    "position_error": Derived(
        "m",
        "norm(body.p_NB_N[0] - navigator.position_set[0], body.p_NB_N[1] - navigator.position_set[1],"
        " body.p_NB_N[2] - navigator.position_set[2])",
    ),
}


def names_of(model: HasSignals) -> Names:
    """All that conditions may name on a model; without terrain, `altitude` is the height above the start."""
    aliases = ALIASES if ALIASES["altitude"] in model.signals() else {**ALIASES, "altitude": "height"}
    return Names.of(model, aliases=aliases, words=WORDS, derived=DERIVED)


def derived(log: Log, name: str, lane: int = 0) -> np.ndarray:
    """A derived signal of one lane of a log over time, [row]."""
    if name not in DERIVED:
        raise UnknownNameError("derived signal", name, DERIVED)
    return _derived(name, lambda path: log.lane(path, lane))


def derived_from(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """A derived signal from the columns of a trace's file (`body.euler[0]`); None if they lack a source."""
    if any(source not in columns for source in DERIVED[name].sources):
        return None
    return evaluate.values(_term(name), lambda entry: columns[entry])


def paths_to_log(names: Iterable[str], model: HasSignals) -> list[str]:
    """Signal paths from which all the named signals can be had, with those that every flight keeps."""
    signals = model.signals()
    entries: list[str] = []
    for name in names:
        entries += DERIVED[name].sources if name in DERIVED else [name] if name not in RUN_UNITS else []
    paths = {path for path in ALWAYS if path in signals} | {entry.partition("[")[0] for entry in entries}
    order = {path: i for i, path in enumerate(signals)}
    return sorted(paths, key=order.__getitem__)


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
            values[name] = _derived(name, logged)
        elif name in RUN_UNITS:
            values[name] = _fate(name, log, rows, fault_starts_s)
        else:
            values[name] = _entry(name, logged)
    return Trace(log.time_s, values, rows)


@functools.cache
def _term(name: str) -> Term:
    return parse_number(DERIVED[name].text, Names(SOURCES))


def _derived(name: str, whole: Callable[[str], np.ndarray]) -> np.ndarray:
    return evaluate.values(_term(name), lambda entry: _entry(entry, whole))


def _entry(name: str, whole: Callable[[str], np.ndarray]) -> np.ndarray:
    """A scalar signal, or one entry of a vector (its last axis)."""
    path, bracket, index = name.partition("[")
    return whole(path)[..., int(index[:-1])] if bracket else whole(path)


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
