"""Signals that conditions can use: those of the model, and those derived from them.

Derived signals exist for every vehicle whose model has their sources: `height`, `depth`, `distance` (horizontal, from
the start), `speed`, `climb`, `tilt` (between the body's down axis and the vertical), `rate`, `position_error` (to the
navigator's set-point). Requirements can also use `time` and the result of the flight: `crashed`, `completed` and
`landed` (1 in the last row of a flight that ended so, in truth), `fault_active` (1 from the first fault's start on).
Angles are in rad.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ironbird.conditions import evaluate
from ironbird.conditions.formula import Term, parse_number
from ironbird.conditions.names import RUN_UNITS, Derived, HasSignals, Names
from ironbird.errors import UnknownNameError
from ironbird.flight.words import ALIASES, HARMLESS, WORDS
from ironbird.requirements.trace import LogColumns, Trace
from ironbird.runtime.log import Log, Short
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
    "tilt": Derived("rad", "acos(cos(body.euler[0]) * cos(body.euler[1]))", quick="acos(body.R_NB[8])"),
    "rate": Derived("rad/s", "norm(body.w_NB_B[0], body.w_NB_B[1], body.w_NB_B[2])"),
    "position_error": Derived(
        "m",
        "norm(body.p_NB_N[0] - navigator.position_set[0], body.p_NB_N[1] - navigator.position_set[1],"
        " body.p_NB_N[2] - navigator.position_set[2])",
    ),
}


def names_of(model: HasSignals) -> Names:
    """All names that conditions may use on a model; without terrain, `altitude` is the height above the start."""
    aliases = ALIASES if ALIASES["altitude"] in model.signals() else {**ALIASES, "altitude": "height"}
    return Names.of(model, aliases=aliases, words=WORDS, derived=DERIVED)


def derived(log: Log, name: str, lane: int = 0) -> np.ndarray:
    """A derived signal of one lane of a log over time, [row]."""
    if name not in DERIVED:
        raise UnknownNameError("derived signal", name, DERIVED)
    return _derived(name, lambda path: log.lane(path, lane))


def short_names(log: Log) -> dict[str, Short]:
    """The short names of conditions that follow from the signals of a log: derived signals, and aliases."""
    made: dict[str, Short] = {
        name: functools.partial(_derived, name)
        for name, definition in DERIVED.items()
        if all(source.partition("[")[0] in log for source in definition.sources)
    }
    if "height" in made:  # without terrain
        made["altitude"] = made["height"]
    return made | {alias: functools.partial(_entry, path) for alias, path in ALIASES.items() if path in log}


def derived_at_end(log: Log, name: str, lane: int = 0) -> float:
    """A derived signal in the last row of a lane."""
    return float(_derived(name, lambda path: log.lane(path, lane)[-1:])[-1])


def derived_from(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """A derived signal from the columns of a trace's file (`body.euler[0]`); None if they lack a source."""
    if any(source not in columns for source in DERIVED[name].sources):
        return None
    return evaluate.values(_term(name), lambda entry: columns[entry])


def paths_to_log(names: Iterable[str], model: HasSignals) -> list[str]:
    """Signal paths from which all the named signals can be computed, with those that every flight logs."""
    signals = model.signals()
    entries: list[str] = []
    for name in names:
        entries += DERIVED[name].sources if name in DERIVED else [name] if name not in RUN_UNITS else []
    paths = {path for path in ALWAYS if path in signals} | {entry.partition("[")[0] for entry in entries}
    order = {path: i for i, path in enumerate(signals)}
    return sorted(paths, key=order.__getitem__)


def make_trace(
    log: Log, names: Iterable[str], fault_starts_s: Sequence[float], ends: Mapping[str, Sequence[bool]]
) -> Trace:
    """The signals that formulas need, for all lanes; `fault_starts_s` is each lane's first fault (infinite: none).

    `ends` has for `completed` and `landed` whether each lane ended in this way. Columns are computed on demand.
    """
    rows = np.array([log.rows(lane) for lane in range(log.lanes)])
    crashed = [stop is not None and stop.reason not in HARMLESS for stop in log.stops]
    flags = {name: np.array(values, np.float64) for name, values in {**ends, "crashed": crashed}.items()}
    return Trace(log.time_s, _Columns(log, tuple(names), rows, np.asarray(fault_starts_s, np.float64), flags), rows)


class _Columns(LogColumns):
    """Columns of the lanes of a log, or of one of them."""

    def __init__(
        self,
        log: Log,
        names: tuple[str, ...],
        rows: np.ndarray,
        starts_s: np.ndarray,
        flags: Mapping[str, np.ndarray],
        only: int | None = None,
    ) -> None:
        self.log, self.names, self.rows, self.starts_s, self.flags, self.only = log, names, rows, starts_s, flags, only
        self.data, self.whole = log.data, only is None
        self._made: dict[str, np.ndarray] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise KeyError(name)
        if name not in self._made:
            if name in DERIVED:
                self._made[name] = _derived(name, self._logged)
            else:
                self._made[name] = self._fate(name) if name in RUN_UNITS else _entry(name, self._logged)
        return self._made[name]

    def lane(self, lane: int) -> _Columns:
        """The columns of one lane only."""
        if self.only is not None:
            return self
        one = slice(lane, lane + 1)
        flags = {name: values[one] for name, values in self.flags.items()}
        return _Columns(self.log, self.names, self.rows[one], self.starts_s[one], flags, only=lane)

    def _logged(self, path: str) -> np.ndarray:
        if path not in self._made:
            one = self.only
            self._made[path] = self.log.all_lanes(path) if one is None else self.log.all_rows(path, one)[None]
        return self._made[path]

    def _fate(self, name: str) -> np.ndarray:
        time_s, shape = self.log.time_s, (len(self.rows), len(self.log.time_s))
        if name == "time":
            return np.broadcast_to(time_s, shape)
        if name == "fault_active":
            return (time_s[None, :] >= self.starts_s[:, None]).astype(float)
        values, last = np.zeros(shape), self.in_last_row(name)
        assert last is not None
        there = np.flatnonzero(self.rows > 0)
        values[there, self.rows[there] - 1] = last[there]
        return values

    # Interface for native code

    def column_in_log(self, name: str) -> int | None:
        """The index of a name's column in `data`; None if it is derived from others."""
        path, _, index = name.partition("[")
        start = self.log.plan.start.get(path)
        return None if start is None else start + (int(index[:-1]) if index else 0)

    def term(self, name: str) -> Term | None:
        """The expression by which a name is derived from others; None if it is not."""
        return _term(name) if name in DERIVED else None

    def in_last_row(self, name: str) -> np.ndarray | None:
        """Whether each lane ended so: `crashed`, `completed`, `landed`; None for other names."""
        return self.flags.get(name)

    def fault_starts_s(self) -> np.ndarray:
        """Time at which the first fault of each lane starts, s."""
        return self.starts_s


@functools.cache
def _term(name: str) -> Term:
    return parse_number(DERIVED[name].text, Names(SOURCES))


def _derived(name: str, whole: Callable[[str], np.ndarray]) -> np.ndarray:
    return evaluate.values(_term(name), lambda entry: _entry(entry, whole))


def _entry(name: str, whole: Callable[[str], np.ndarray]) -> np.ndarray:
    """A scalar signal, or one entry of a vector (its last axis)."""
    path, bracket, index = name.partition("[")
    return whole(path)[..., int(index[:-1])] if bracket else whole(path)
