"""The log of a flight as a person wants to see it, whatever program wrote it: quantities, modes, messages, parameters.

Times count in seconds from the beginning of the log. Values are in SI units; frames are N (north, east, down of the
place where the log's position begins to count) and B. A sample that is not valid is NaN, so that a curve is interrupted
there. What a log does not hold is not there; a part of a form that is not known is a note, never an error.

Quantities of `series` (columns, unit):

    position, position_set          north, east, down, m          gnss_position   the same, of the receiver
    velocity, velocity_set          north, east, down, m/s        gnss_place      latitude, longitude in degrees, m
    attitude, attitude_set          roll, pitch, yaw, rad         satellites, fix, hdop
    rates, rates_set                about x, y, z, rad/s          gnss_accuracy   horizontal, vertical, m
    acceleration                    x, y, z, m/s^2                test_ratio      see `names`: above 1 is rejected
    output                          see `names`, 1 or s           innovation_velocity, _position, _height, _heading
    battery_voltage, _current       V, A                          vibration       see `names`, m/s^2
    battery_used, _remaining        A*s, share                    clipping        counts
    airspeed, range, baro_height    m/s, m, m                     sticks, load    see `names`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from ironbird.protocols.autopilot_log import LONGEST_S, OTHER_FORM, Series
from ironbird.protocols.own_states import Change

ERROR, WARNING, INFO = "error", "warning", "info"
LEVELS = (ERROR, WARNING, INFO)  # the worst first
LATEST_S = 4 * LONGEST_S  # a later time is no time but damage
LONGEST_GAP_S, GAP_STEPS = 0.5, 20.0  # a hole in the samples that is longer than both is a gap of the log


@dataclass(frozen=True)
class Message:
    """A text that the autopilot sent or logged."""

    time_s: float
    level: str  # of LEVELS
    text: str


@dataclass(frozen=True)
class ParamChange:
    """A parameter that got another value while the log was written."""

    time_s: float
    name: str
    before: float | None  # None: not known
    after: float


@dataclass(frozen=True)
class Topic:
    """One kind of sample as the file has it, with all its fields: [row] or [row, size]."""

    name: str
    time_s: np.ndarray
    fields: dict[str, np.ndarray]

    @property
    def rate_hz(self) -> float:
        """Samples in a second, by the usual distance of two; 0 for fewer than two."""
        steps = np.diff(self.time_s)
        steps = steps[steps > 0]
        return 1 / float(np.median(steps)) if len(steps) else 0.0


@dataclass
class FlightLog:
    """What a log of a flight holds; see the module for the quantities."""

    path: Path
    kind: str  # ulog, dataflash, parquet or csv
    what: str  # in words: "ULog of PX4"
    facts: dict[str, str] = field(default_factory=dict)  # vehicle, firmware, hardware …
    length_s: float = 0.0
    started: datetime | None = None  # UTC, by the clock of the GNSS receiver
    series: dict[str, Series] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)  # of the columns, where they differ from log to log
    sources: dict[str, str] = field(default_factory=dict)  # quantity: topic or record that it was read from
    topics: list[Topic] = field(default_factory=list)
    modes: list[tuple[float, str]] = field(default_factory=list)
    armed: list[tuple[float, str]] = field(default_factory=list)  # "armed", "disarmed"
    landed: list[tuple[float, str]] = field(default_factory=list)  # "landed", "in the air"
    failsafe: list[tuple[float, str]] = field(default_factory=list)  # "failsafe", ""
    messages: list[Message] = field(default_factory=list)
    states: list[Change] = field(default_factory=list)  # of estimator, sensors, failsafes, outputs
    parameters: dict[str, float] = field(default_factory=dict)  # at the beginning
    defaults: dict[str, float] | None = None  # None: the log has none
    changed: list[ParamChange] = field(default_factory=list)
    dropouts: list[tuple[float, float]] = field(default_factory=list)  # when, for how long, s
    notes: list[str] = field(default_factory=list)  # what is wrong with the file
    rotors: int = 0  # motors that lift it, as far as the log shows; 0: not known
    is_simulated: bool = False

    def add(
        self,
        name: str,
        source: str,
        time_s: np.ndarray,
        columns: Sequence[np.ndarray],
        unit: str,
        *,
        keep: np.ndarray | None = None,
        names: Sequence[str] = (),
        hold: bool = False,
    ) -> None:
        """Add a quantity, unless it is there or has no valid sample; rows outside `keep` become NaN."""
        if name in self.series:
            return
        found = series_with_gaps(time_s, columns, unit, keep=keep, hold=hold)
        if len(found) and np.isfinite(found.values).any():
            self.series[name] = found
            self.sources[name] = source
            if names:
                self.names[name] = list(names)

    def non_default(self) -> list[tuple[str, float, float]]:
        """Name, value and default of the parameters that differ from the log's own defaults."""
        defaults = self.defaults or {}
        rows = ((name, value, defaults.get(name, value)) for name, value in sorted(self.parameters.items()))
        return [row for row in rows if not math.isclose(row[1], row[2], rel_tol=1e-6, abs_tol=1e-9)]


def series_with_gaps(
    time_s: np.ndarray, columns: Sequence[np.ndarray], unit: str, *, keep: np.ndarray | None = None, hold: bool = False
) -> Series:
    """Samples in the order of time, each time once, none before the log; what is not valid is NaN."""
    times = np.asarray(time_s, float)
    values = np.column_stack([np.asarray(column, float) for column in columns])
    if keep is not None:
        values[~np.asarray(keep, bool)] = np.nan
    values[~(np.abs(values) < 1e30)] = np.nan
    good = (times >= 0) & (times < LATEST_S)
    times, values = times[good], values[good]
    if not (times[1:] > times[:-1]).all():
        _, first = np.unique(times, return_index=True)
        times, values = times[first], values[first]
    return Series(times, values, unit, hold)


def run_parts(log: FlightLog, parts: Iterable[tuple[str, Callable[[], None]]]) -> None:
    """Read each quantity apart, so that one of another version does not lose the others; failures are notes."""
    for name, part in parts:
        try:
            part()
        except (*OTHER_FORM, OverflowError) as error:
            log.notes.append(f"{name}: not in a form that is known ({type(error).__name__}: {error})")


def length_of(log: FlightLog) -> float:
    """The last time of the quantities, or of the topics if there are none; single samples far behind do not count."""
    found = [float(series.time_s[-1]) for series in log.series.values()]
    found = found or [float(topic.time_s[-1]) for topic in log.topics if len(topic.time_s) > 1]
    return max(found, default=0.0)


def gaps(time_s: np.ndarray) -> list[tuple[float, float]]:
    """Holes in samples: where each begins and how long it is, in s."""
    steps = np.diff(time_s)
    usual = float(np.median(steps)) if len(steps) else 0.0
    rows = np.flatnonzero(steps > max(LONGEST_GAP_S, GAP_STEPS * usual))
    return [(float(time_s[row]), float(steps[row])) for row in rows]


def spans(changes: Sequence[tuple[float, str]], end_s: float) -> list[tuple[float, float, str]]:
    """Stretches between changes of a state: start, end, name."""
    starts = [start for start, _ in changes]
    ends = [*starts[1:], max(end_s, starts[-1])] if starts else []
    return [(start, end, name) for (start, name), end in zip(changes, ends, strict=True)]


def grouped(fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields `name[0]`, `name[1]`, … joined to one array [row, size]; others as they are."""
    found: dict[str, list[np.ndarray]] = {}
    for name, values in fields.items():
        stem, bracket, rest = name.rpartition("[")
        index = rest.removesuffix("]")
        joins = bracket and rest.endswith("]") and index.isdecimal() and int(index) == len(found.get(stem, ()))
        found.setdefault(stem if joins else name, []).append(np.asarray(values))
    return {name: np.column_stack(parts) if len(parts) > 1 else parts[0] for name, parts in found.items()}
