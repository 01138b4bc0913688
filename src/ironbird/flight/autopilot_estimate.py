"""The autopilot's estimate compared with the true state: its own log on the simulation's clock, and its errors.

The two clocks are not assumed to be the same: the autopilot logs the motion that it was sent, and the time shift at
which that motion fits the truth best gives the offset. The same fit by sections shows whether its clock runs equally
fast, and gives the residual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from ironbird.errors import LinkError
from ironbird.flight.duration import OBJECT
from ironbird.flight.flight import Flight
from ironbird.flight.reached import AIRBORNE_M
from ironbird.flight.reactions import Reaction, possible_reactions, reactions_of
from ironbird.flight.systems import is_outside, kind_of
from ironbird.model.signal import entry_names
from ironbird.protocols.autopilot_log import RATIOS as RATIOS
from ironbird.protocols.autopilot_log import AutopilotLog, Series
from ironbird.rig.system import AutopilotEvent
from ironbird.rotations import conjugate, euler, multiply
from ironbird.vehicles import places as at

COARSE_S = 0.1  # grid of the first search for the offset
MOST_OFFSET_S = 5.0  # the link sets the autopilot's clock: a larger offset belongs to another part of the flight
GAP_S = 1.0  # by which a log may end before the flight, as it is written in pieces
STRETCHES = 8  # pieces of the flight that are fitted apart
LEAST_DRIFT_S = 1e-3  # over the log: a smaller one is left out
LEAST_CHANGE = {"velocity": 0.1, "rates": 0.1}  # least rms of the derivative for a valid fit: m/s², rad/s²
WORST_FIT = 0.3  # share of the signal's spread: a worse fit is rejected
STALE_S = 1.0  # over longer gaps the autopilot's estimate is unknown
TRUTH = {
    "position": at.BODY.position,
    "velocity": at.BODY.velocity,
    "attitude": at.BODY.quaternion,
    "rates": at.BODY.rates,
}
COLUMNS = {  # in autopilot.parquet: name, frame, what it is
    "position": ("p_NB_N", "N", "estimated position about home"),
    "velocity": ("v_NB_N", "N", "estimated velocity"),
    "attitude": ("q_NB", "N", "estimated attitude, w x y z"),
    "output": ("output", "", "actuator outputs as logged: share of full range (PX4) or pulse width (ArduPilot)"),
    "battery": ("battery", "", "battery voltage as the autopilot has it"),
    "test_ratio": ("test_ratio", "", f"test ratios of the estimator: {', '.join(RATIOS)}; above 1 it rejects"),
    "estimator": ("estimator", "", "number of the estimator in charge"),
    "gnss": ("gnss_p_N", "N", "GNSS position about home, as the autopilot got it"),
    "baro": ("baro_height", "", "height by the barometer, as the autopilot got it"),
}


@dataclass(frozen=True)
class Clock:
    """The autopilot's clock: simulation time is its time t plus `offset_s` + `drift` (t - `middle_s`)."""

    offset_s: float = 0.0  # in the middle of the log
    drift: float = 0.0  # seconds per second that its clock falls behind
    middle_s: float = 0.0
    residual_s: float = math.nan  # rms of the sections' offsets about the fit above
    by: str = ""  # what was compared; empty: nothing could be
    why: str = ""  # why nothing could be

    @property
    def verified(self) -> bool:
        """Whether the offset was measured."""
        return bool(self.by)

    def simulated(self, time_s: np.ndarray) -> np.ndarray:
        """Simulation times for times of the autopilot."""
        return time_s + self.offset_s + self.drift * (time_s - self.middle_s)

    def sentence(self) -> str:
        """Offset, drift and residual of the clock as text."""
        if not self.verified:
            return f"clock offset not verified: {self.why}; the link sets the autopilot's clock, so 0 s is assumed"
        way = "falling behind" if self.drift > 0 else "gaining"
        pace = f", {way} by {1e3 * abs(self.drift):.2f} ms a second" if self.drift else ""
        offset = f"{self.offset_s:.4f}".replace("-0.0000", "0.0000")
        residual = (
            f"residual {1e3 * self.residual_s:.2f} ms" if math.isfinite(self.residual_s) else "residual not known"
        )
        return f"clock offset {offset} s{pace}, {residual}, by {self.by}"


def _at(time_s: np.ndarray, values: np.ndarray, asked_s: np.ndarray) -> np.ndarray:
    """Linear interpolation of each column."""
    return np.column_stack([np.interp(asked_s, time_s, column) for column in values.T])


def _coarse(series: Series, time_s: np.ndarray, values: np.ndarray) -> float:
    """The offset on a coarse grid with the least mean square difference, over at least half of the series.

    Sums over all offsets at once are products of Fourier transforms.
    """
    times = np.arange(series.time_s[0], series.time_s[-1], COARSE_S)
    ours = np.arange(time_s[0], time_s[-1], COARSE_S)
    a, b = _at(series.time_s, series.values, times), _at(time_s, values, ours)
    size = len(a) + len(b)

    def summed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sum over k of left[k] right[k + lag], for lag = -len(a) + 1 … len(b) - 1."""
        product = np.conj(np.fft.rfft(left, size)) * np.fft.rfft(right, size)
        return np.roll(np.fft.irfft(product, size), len(a) - 1)

    count = summed(np.ones(len(a)), np.ones(len(b)))
    square = sum(
        summed(x * x, np.ones(len(b))) + summed(np.ones(len(a)), y * y) - 2 * summed(x, y)
        for x, y in zip(a.T, b.T, strict=True)
    )
    offsets = ours[0] - times[0] + COARSE_S * (np.arange(size) - len(a) + 1)
    enough = (count >= 0.5 * min(len(a), len(b))) & (np.abs(offsets) <= MOST_OFFSET_S)
    if not enough.any():
        return 0.0
    best = int(np.argmin(np.where(enough, square / np.maximum(count, 1), np.inf)))
    return float(offsets[best])


def _fit(
    series: Series, time_s: np.ndarray, values: np.ndarray, offset_s: float, rounds: int
) -> tuple[float, float, float]:
    """Offset by Gauss-Newton, rms of the residual, rms of the true derivative."""
    slope = np.gradient(values, time_s, axis=0)
    error = gain = np.zeros((0, values.shape[1]))
    for _ in range(rounds):
        times = series.time_s + offset_s
        inside = (times >= time_s[0]) & (times <= time_s[-1])
        gain = _at(time_s, slope, times[inside])
        error = series.values[inside] - _at(time_s, values, times[inside])
        power = float((gain * gain).sum())
        if not inside.any() or power == 0.0:
            return offset_s, math.inf, 0.0
        offset_s += float(np.clip((error * gain).sum() / power, -COARSE_S, COARSE_S))
    return offset_s, float(np.sqrt((error**2).mean())), float(np.sqrt((gain**2).mean()))


def align(log: AutopilotLog, time_s: np.ndarray, truth: dict[str, np.ndarray]) -> Clock:
    """The offset of the clocks, from the motion that the autopilot received; else from the motion that it estimated."""
    sources = [
        (log.received, "velocity", "the true velocity that it was sent and logged"),
        (log.received, "rates", "the true rates that it was sent and logged"),
        (log.estimated, "velocity", "its estimated velocity, which may lag behind the true one"),
    ]
    why = "its log holds no motion"
    for series_of, name, words in sources:
        series = series_of.get(name)
        if series is None or len(series) < 10 or len(time_s) < 10 or name not in truth:
            continue
        values = truth[name]
        moved = np.gradient(values, time_s, axis=0)
        if float(np.sqrt((moved**2).mean())) < LEAST_CHANGE[name]:
            why = "the vehicle hardly moved"
            continue
        offset, left, _ = _fit(series, time_s, values, _coarse(series, time_s, values), 8)
        spread = float(np.sqrt(((values - values.mean(axis=0)) ** 2).mean()))
        if not left < WORST_FIT * spread or abs(offset) > MOST_OFFSET_S:
            why = f"{words} does not fit the simulation's"
            continue
        return _paced(offset, _stretches(series, time_s, values, offset, LEAST_CHANGE[name]), words)
    return Clock(why=why)


def _stretches(
    series: Series, time_s: np.ndarray, values: np.ndarray, offset_s: float, least: float
) -> list[tuple[float, float]]:
    """Middle time and offset of each section with enough motion."""
    edges = np.linspace(series.time_s[0], series.time_s[-1], STRETCHES + 1)
    sections = []
    for first, last in pairwise(edges):
        inside = (series.time_s >= first) & (series.time_s <= last)
        piece = Series(series.time_s[inside], series.values[inside], series.unit)
        if len(piece) < 10:
            continue
        offset, _, moved = _fit(piece, time_s, values, offset_s, 3)
        if moved >= least:
            sections.append((float(first + last) / 2, offset))
    return sections


def _paced(offset_s: float, stretches: Sequence[tuple[float, float]], by: str) -> Clock:
    """The clock from all sections: one offset, and a drift if they show one."""
    if not stretches:
        return Clock(offset_s, by=by)
    middles, offsets = np.array(stretches).T
    middle, drift, level = float(middles.mean()), 0.0, offset_s
    if len(stretches) > 2:
        slope = float(np.polyfit(middles - middle, offsets, 1)[0])
        if abs(slope) * (middles[-1] - middles[0]) > LEAST_DRIFT_S:
            drift, level = slope, float(offsets.mean())
    left = offsets - level - drift * (middles - middle)
    return Clock(level, drift, middle, float(np.sqrt(np.mean(left**2))), by)


@dataclass(frozen=True)
class ErrorFigure:
    """Error of an estimate: over the log, and before and after the begin of the first fault (NaN: no rows)."""

    name: str
    unit: str
    rms: float
    most: float
    at_s: float
    rms_before: float
    rms_after: float

    def sentence(self) -> str:
        """The error as text: rms and maximum with the unit."""
        return f"{self.name} off by {self.rms:.3g} {self.unit} rms, {self.most:.3g} {self.unit} at most"

    @staticmethod
    def of(name: str, unit: str, time_s: np.ndarray, sizes: np.ndarray, begin_s: float) -> ErrorFigure:
        """Figures of the sizes of an error over time; rows that are NaN do not count."""

        def rms(values: np.ndarray) -> float:
            values = values[np.isfinite(values)]
            return float(np.sqrt(np.mean(values**2))) if len(values) else math.nan

        top = int(np.nanargmax(sizes))
        late = time_s >= begin_s
        return ErrorFigure(
            name, unit, rms(sizes), float(sizes[top]), float(time_s[top]), rms(sizes[~late]), rms(sizes[late])
        )


def _begins_s(flight: Flight) -> list[float]:
    return [witness.first_s for witness in flight.witnesses if witness.effective]


def error_figures(
    flight: Flight, position: np.ndarray | None, velocity: np.ndarray | None, angles: np.ndarray | None
) -> list[ErrorFigure]:
    """Errors of a flight's estimates, [row, 3] each, as far as they exist."""
    degrees = math.degrees(1)
    made: list[tuple[str, str, np.ndarray]] = []
    if position is not None:
        made.append(("horizontal position", "m", np.linalg.norm(position[:, :2], axis=1)))
        made.append(("height", "m", position[:, 2]))
    if velocity is not None:
        made.append(("horizontal velocity", "m/s", np.linalg.norm(velocity[:, :2], axis=1)))
        made.append(("vertical velocity", "m/s", velocity[:, 2]))
    if angles is not None:
        made.append(("roll and pitch", "°", degrees * np.linalg.norm(angles[:, :2], axis=1)))
        made.append(("heading", "°", degrees * angles[:, 2]))
    begin_s, time_s = min(_begins_s(flight), default=math.inf), flight.log.time()
    return [
        ErrorFigure.of(name, unit, time_s, np.abs(values), begin_s)
        for name, unit, values in made
        if np.isfinite(values).any()
    ]


def own_figures(flight: Flight) -> list[ErrorFigure]:
    """Errors of the reference autopilot, whose estimator is in Ironbird's log."""
    log = flight.log
    signals = ("p_NB_N", "v_NB_N", "euler")
    if any(f"{part}.{name}" not in log for part in ("estimator", "body") for name in signals):
        return []
    position, velocity, angles = (log[f"estimator.{name}"] - log[f"body.{name}"] for name in signals)
    return error_figures(flight, position, velocity, _wrapped(angles))


def _wrapped(angles: np.ndarray) -> np.ndarray:
    """Angles in rad, wrapped to -pi to pi."""
    return (angles + np.pi) % (2 * np.pi) - np.pi


@dataclass
class AutopilotEstimate:
    """An autopilot's log, aligned with the flight that it flew."""

    flight: Flight
    log: AutopilotLog
    clock: Clock
    turn: np.ndarray | None  # q_BH: the autopilot's body axes are not Ironbird's (a tail-sitter's stand level in hover)

    def __str__(self) -> str:
        """Text: the clocks, and the errors of the estimates."""
        parts = [self.uncovered(), self.clock.sentence(), *(error.sentence() for error in self.errors())]
        return "; ".join(filter(None, parts))

    def uncovered(self) -> str:
        """The part of the flight that the log does not cover, as text; empty from take-off to the end."""
        first, last = self.clock.simulated(np.array(self.log.span_s)).tolist()
        height = -self.truth("position")[:, 2]
        up = np.flatnonzero(height > height[0] + AIRBORNE_M)
        begin_s = float(self.time_s[up[0]]) if len(up) else float(self.time_s[0]) + GAP_S
        if first <= begin_s and last >= self.flight.ended_s - GAP_S:
            return ""
        began = f"left the ground at {begin_s:.1f} s" if len(up) else "did not leave the ground"
        return (
            f"its log covers {first:.1f} to {last:.1f} s only, of a flight that {began} and "
            f"ended at {self.flight.ended_s:.1f} s: nothing is known of the rest"
        )

    def autopilot_events(self) -> list[AutopilotEvent]:
        """Changes of the autopilot's own state, on the simulation's clock."""
        times = self.clock.simulated(np.array([change.time_s for change in self.log.states], float)).tolist()
        return [AutopilotEvent(at_s, c.kind, c.text) for at_s, c in zip(times, self.log.states, strict=True)]

    def reactions(self) -> list[Reaction]:
        """The first event of each kind after each fault began: received messages and entries of its log."""
        flight = self.flight
        events = sorted([*flight.autopilot_events, *self.autopilot_events()], key=lambda event: event.time_s)
        return reactions_of(flight.order.faults, flight.witnesses, possible_reactions(events, flight.log))

    @cached_property
    def time_s(self) -> np.ndarray:
        """Times of the simulation's log rows, s."""
        return self.flight.log.time()

    def truth(self, name: str) -> np.ndarray:
        """The true position, velocity, attitude or rates: [row, size]."""
        return self.flight.log[TRUTH[name]]

    def estimated(self, name: str) -> np.ndarray | None:
        """A quantity of the autopilot's log at the simulation's times; NaN where it has none."""
        series = self.log.estimated.get(name)
        if series is None or not len(series):
            return None
        values = series.values
        if name == "attitude":
            values = self._to_body_axes(values)
        return _resampled(self.clock.simulated(series.time_s), values, self.time_s, series.hold)

    def _to_body_axes(self, attitude: np.ndarray) -> np.ndarray:
        attitude = attitude / np.linalg.norm(attitude, axis=1, keepdims=True)
        if self.turn is not None:
            attitude = multiply(attitude, conjugate(self.turn))
        flips = np.cumprod(np.where((attitude[1:] * attitude[:-1]).sum(axis=1) < 0, -1.0, 1.0))
        return attitude * np.concatenate([[1.0], flips])[:, None]  # q and -q are one attitude

    def modes(self) -> list[tuple[float, str]]:
        """Times on the simulation's clock from which on each mode was in force."""
        return self._on_our_clock(self.log.modes)

    def leaders(self) -> list[tuple[float, str]]:
        """Times on the simulation's clock from which on each estimator was active."""
        series = self.log.estimated.get("estimator")
        if series is None or not len(series):
            return []
        first = np.concatenate([[0], np.flatnonzero(np.diff(series.values[:, 0])) + 1])
        return self._on_our_clock([(float(series.time_s[i]), f"estimator {series.values[i, 0]:.0f}") for i in first])

    def _on_our_clock(self, changes: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
        times = self.clock.simulated(np.array([time_s for time_s, _ in changes], float))
        return [(time_s, name) for time_s, (_, name) in zip(times.tolist(), changes, strict=True)]

    @property
    def begins_s(self) -> list[float]:
        """Times at which the faults began to act, s."""
        return _begins_s(self.flight)

    def errors(self) -> list[ErrorFigure]:
        """Errors of all estimates that the log has."""
        return error_figures(self.flight, *(self.error(name) for name in ("position", "velocity", "attitude")))

    def error(self, name: str) -> np.ndarray | None:
        """Estimate minus truth: metres, m/s, or, of the attitude, roll, pitch and yaw in radians."""
        estimate = self.estimated(name)
        if estimate is None:
            return None
        if name != "attitude":
            return estimate - self.truth(name)
        return _wrapped(euler(estimate) - euler(self.truth(name)))

    def table(self) -> dict[str, tuple[np.ndarray, str, str, str]]:
        """Columns of `autopilot.parquet` by name: values, unit, frame, meaning. Truth first, then the estimate."""
        columns = {"time_s": (self.time_s, "s", "", "simulation time")}
        for name in ("position", "velocity", "attitude"):
            declared = self.flight.log.signals[TRUTH[name]]
            for place, column in zip(entry_names(TRUTH[name], declared.size), self.truth(name).T, strict=True):
                columns[place] = (column, declared.unit, declared.frame or "", f"true {name}")
        for name, (short, frame, doc) in COLUMNS.items():
            values = self.estimated(name)
            if values is None:
                continue
            unit = self.log.estimated[name].unit
            for i, place in enumerate(entry_names(f"autopilot.{short}", values.shape[1])):
                more = f": {self.log.outputs[i]}" if name == "output" else ""
                columns[place] = (values[:, i], unit, frame, doc + more)
        return columns

    def write(self, path: Path) -> None:
        """Write truth and autopilot as one Parquet table, with units, frames and meanings in the fields' metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = self.table()
        fields = [
            pa.field(name, pa.float64(), metadata={"unit": unit, "frame": frame, "doc": doc})
            for name, (_, unit, frame, doc) in table.items()
        ]
        arrays = [pa.array(values) for values, *_ in table.values()]
        modes = self.modes()
        if modes:
            row = np.searchsorted([time_s for time_s, _ in modes], self.time_s, side="right") - 1
            fields.append(pa.field("autopilot.mode", pa.string(), metadata={"unit": "", "frame": "", "doc": "mode"}))
            arrays.append(pa.array([modes[i][1] if i >= 0 else None for i in row]))
        meta = {
            "ironbird.autopilot": self.log.kind, "ironbird.autopilot_log": self.log.path.name,
            "ironbird.clock": self.clock.sentence(), "ironbird.clock_offset_s": repr(self.clock.offset_s),
            "ironbird.notes": "; ".join(self.log.notes),
        }  # fmt: skip
        pq.write_table(pa.table(arrays, schema=pa.schema(fields, metadata=meta)), path)


def beside(flight: Flight) -> AutopilotEstimate | LinkError | None:
    """The autopilot's log aligned with its flight, or the error if it cannot be read; the flight is valid all the same.

    None for a control system that leaves no log, such as a flight controller on a cable.
    """
    control = flight.order.control
    if not is_outside(control) or control.startswith(OBJECT):
        return None
    try:
        log = kind_of(control).read_log(flight.logs, flight.vehicle.spec.home)
        return believe(flight, log) if log is not None else None
    except LinkError as error:
        return error


def believe(flight: Flight, log: AutopilotLog) -> AutopilotEstimate:
    """An autopilot's log aligned with the flight; `LinkError` if there is nothing to compare."""
    ours = flight.log
    if any(path not in ours for path in TRUTH.values()) or ours.rows() < 2:
        raise LinkError("the flight's log lacks the true motion, so there is nothing to compare with")
    clock = align(log, ours.time(), {name: ours[path] for name, path in TRUTH.items()})
    return AutopilotEstimate(flight, log, clock, _turn(log, clock, ours.time(), ours[TRUTH["attitude"]]))


def _turn(log: AutopilotLog, clock: Clock, time_s: np.ndarray, attitude: np.ndarray) -> np.ndarray | None:
    """Fixed rotation between the body axes of the attitude that was sent and Ironbird's; None if they agree."""
    sent = log.received.get("attitude")
    if sent is None or not len(sent):
        return None
    row = np.clip(np.searchsorted(time_s, clock.simulated(sent.time_s)), 0, len(time_s) - 1)
    between = multiply(conjugate(attitude[row]), sent.values)
    between *= np.where((between * between[0]).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    mean = between.mean(axis=0)
    mean /= np.linalg.norm(mean)
    return mean if 2 * math.acos(min(abs(mean[0]), 1.0)) > LEAST_TURN else None


LEAST_TURN = math.radians(10)  # less is due to a time difference, not to different axes


def _resampled(time_s: np.ndarray, values: np.ndarray, asked_s: np.ndarray, hold: bool) -> np.ndarray:
    """Values at other times: held for `STALE_S` at most, or interpolated in gaps no longer than that; else NaN."""
    last = np.searchsorted(time_s, asked_s, side="right") - 1
    row = np.clip(last, 0, None)
    if hold:
        result, known = values[row].astype(float), asked_s - time_s[row] <= STALE_S
    else:
        following = np.clip(np.searchsorted(time_s, asked_s), None, len(time_s) - 1)
        result, known = _at(time_s, values, asked_s), time_s[following] - time_s[row] <= STALE_S
        known &= asked_s <= time_s[-1]
    result[~known | (last < 0)] = np.nan
    return result
