"""Figures for control tuning: how well set-points were followed, steps, limits, vibration.

Steps are found in the set-points themselves; a mission that moves its set-points smoothly has none. Spectra are those
of the log: frequencies above half its rate are aliased, as in every log that is not filtered before.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ironbird.analysis.spectra import window_spectra
from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.flight.flight import flying
from ironbird.flight.set_points import attitude_set, rate_set, velocity_set
from ironbird.report.flight.curves import Json, flag_pieces, packed
from ironbird.report.flight.plots import AXIS, Plots, Span, TimePlots, base_layout, ink, panels_of
from ironbird.tuning.steps import Answer
from ironbird.vehicles import places as at

COMMAND = re.compile(r"(.+)/command_fault\.value")
FULL = 0.999  # of a command: at its limit
WINDOW_ROWS = 256  # of a spectrum
LEAST_ROWS = 128
VIBRATION_HZ = 5.0  # faster motion counts as vibration
MOST_STEPS = 12
FLAT = 0.02  # of the step: by which a set-point may change after it
BEFORE_S = 0.2  # s before a step in which the set-point must be constant


@dataclass(frozen=True)
class Pair:
    """A set-point and its response, in the unit that is shown."""

    loop: str
    name: str
    unit: str
    asked: np.ndarray
    true: np.ndarray
    least: float  # size of a step that counts
    lasts_s: float  # s that the set-point must hold after a step


@functools.lru_cache(maxsize=2)  # of the flight that is being shown
def pairs(plots: Plots) -> tuple[Pair, ...]:
    """All set-points of a flight with the true values."""
    return tuple(_pairs(plots))


def _pairs(plots: Plots) -> Iterator[Pair]:
    log, flight, degrees = plots.log, plots.flight, math.degrees(1)
    where = log[at.NAVIGATOR.position_set] if at.NAVIGATOR.position_set in log.signals else None
    rows: list[tuple[str, tuple[str, ...], str, float, np.ndarray | None, str, float, float]] = [
        ("position", ("north", "east", "down"), "m", 1.0, where, at.BODY.position, 0.5, 2.0),
        ("velocity", ("north", "east", "down"), "m/s", 1.0, velocity_set(flight), at.BODY.velocity, 0.3, 1.0),
        ("attitude", ("roll", "pitch", "yaw"), "°", degrees, attitude_set(flight), at.BODY.euler, 3.0, 0.5),
        ("rate", ("roll", "pitch", "yaw"), "°/s", degrees, rate_set(flight), at.BODY.rates, 10.0, 0.2),
    ]  # fmt: skip
    for loop, names, unit, factor, set_points, path, least, lasts_s in rows:
        if set_points is None or path not in log:
            continue
        true = log[path]
        for i, name in enumerate(names):
            set_point, response = factor * set_points[:, i], factor * true[:, i]
            if loop == "attitude":  # the shorter way round
                response = set_point + (response - set_point + 180.0) % 360.0 - 180.0
            if np.isfinite(set_point).any():
                yield Pair(loop, name, unit, set_point, response, least, lasts_s)


def followed_rows(plots: Plots) -> list[list[str]]:
    """Loop, quantity, rms and greatest difference between set-point and truth, without the start of the flight."""
    rows = []
    for pair in pairs(plots):
        error = flying(plots.time_s(), pair.true - pair.asked)
        error = error[np.isfinite(error)]
        if error.size:
            rms, most = math.sqrt(float(np.mean(error**2))), float(np.abs(error).max())
            rows.append([pair.loop, pair.name, f"{rms:.3g} {pair.unit}", f"{most:.3g} {pair.unit}"])
    return rows


def step_rows(plots: Plots) -> list[list[str]]:
    """Steps of set-points: time, quantity, size; rise, overshoot, settling; the first few of them."""
    steps = []
    for pair in pairs(plots):
        for first, last in steps_in(plots.time_s(), pair):
            size, time_s = float(pair.asked[first] - pair.asked[first - 1]), plots.time_s()
            moved = pair.true[first - 1 : last] - pair.true[first - 1]
            answer = Answer(time_s[first - 1 : last] - time_s[first - 1], moved, size, "", math.nan)
            steps.append((float(time_s[first]), pair, size, answer))
    steps.sort(key=lambda row: row[0])

    def seconds(value: float) -> str:
        return "-" if math.isnan(value) else f"{value:.2f} s"

    return [
        [f"{when:.2f} s", f"{pair.loop}, {pair.name}", f"{size:+.3g} {pair.unit}", seconds(answer.rise_s),
         f"{100 * answer.overshoot:.1f} %", seconds(answer.settling_s), f"{answer.time_s[-1]:.1f} s"]
        for when, pair, size, answer in steps[:MOST_STEPS]
    ]  # fmt: skip


def steps_in(time_s: np.ndarray, pair: Pair) -> list[tuple[int, int]]:
    """Rows [first, last) of each step: the set-point was constant, jumped at `first`, and was constant until `last`."""
    set_point = pair.asked
    change = np.abs(np.diff(set_point, prepend=set_point[:1]))
    change = np.where(np.isfinite(change), change, np.inf)
    steps: list[tuple[int, int]] = []
    for first in np.flatnonzero((change >= pair.least) & np.isfinite(change)):
        if steps and first < steps[-1][1]:
            continue
        size = change[first]
        moving = np.flatnonzero(np.abs(set_point[first:] - set_point[first]) > FLAT * size)
        unknown = np.flatnonzero(~np.isfinite(set_point[first:]))
        last = first + min([len(set_point) - first, *moving[:1], *unknown[:1]])
        still = (time_s >= time_s[first] - BEFORE_S) & (time_s < time_s[first])
        before = np.abs(set_point[still] - set_point[first - 1]) <= FLAT * size
        if time_s[last - 1] - time_s[first] >= pair.lasts_s and before.all():
            steps.append((int(first), int(last)))
    return steps


# ---------------------------------------------------------------------- actuators


def _commands(plots: Plots) -> dict[str, np.ndarray]:
    matches = {path: COMMAND.fullmatch(path) for path in plots.log.signals}
    return {match[1].replace("/", " "): plots.log[path] for path, match in matches.items() if match}


def _limits(name: str, command: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows at the upper and at the lower limit; a motor that is off (0) is at none."""
    if name.startswith("rotor") or (command >= 0).all():
        return command >= FULL, (command > 0) & (command <= IDLE_THROTTLE * 1.01)
    return command >= FULL, command <= -FULL


def limit_rows(plots: Plots) -> list[list[str]]:
    """For each actuator: mean command, and how long it was at its limits."""
    time_s, rows = plots.time_s(), []
    for name, command in _commands(plots).items():
        if not len(command) or not np.isfinite(command).any():
            continue
        upper, lower = _limits(name, command)
        longest = max((b - a for a, b in flag_pieces(time_s, (upper | lower).astype(float), plots.end)), default=0.0)
        row = [name, f"{float(np.nanmean(command)):.3f}", f"{float(np.nanmax(command)):.3f}"]
        rows.append([*row, f"{100 * upper.mean():.1f} %", f"{100 * lower.mean():.1f} %", f"{longest:.2f} s"])
    return rows


def limit_spans(plots: Plots) -> list[Span]:
    """Spans in which any actuator was at a limit, for the time line."""
    either = np.zeros(plots.log.rows())
    for name, command in _commands(plots).items():
        upper, lower = _limits(name, command)
        either = np.maximum(either, (upper | lower).astype(float))
    wide = plots.range[1] - plots.range[0]
    pieces = flag_pieces(plots.time_s(), either, plots.end, wide / 400)
    return [(start, end, "at a limit", "var(--c4)") for start, end in pieces]


# ---------------------------------------------------------------------- vibration


def spectrum_panels(plots: Plots) -> list[Json]:
    """Spectra of gyroscope and accelerometer, as measured by the first unit, or true if there is none."""
    if plots.log.rows() < LEAST_ROWS:
        return []
    made = []
    for title, tap, true, unit, factor in (
        ("Gyroscope", at.imu(1).gyro.value, at.BODY.rates, "°/s", math.degrees(1)),
        ("Accelerometer", at.imu(1).accel.value, at.BODY.specific_force, "m/s²", 1.0),
    ):
        path = tap if tap in plots.log else true
        if path in plots.log:
            whose = "IMU 1" if path == tap else "true motion"
            step_s = float(np.median(np.diff(plots.time_s())))
            key = spectrum_figure(plots, f"spectrum-{title.lower()}", factor * plots.values(path), step_s, unit)
            made.append((f"{title} spectrum", f"{unit} per √Hz over Hz, {whose}", key))
    return panels_of(made)


def amplitude_density(values: np.ndarray, step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in Hz, and the amplitude density of a signal: mean power of Hann windows with half overlap."""
    rows = min(WINDOW_ROWS, len(values))
    hertz = np.arange(1, rows // 2) / (rows * step_s)
    spectra = window_spectra(values, values, step_s, rows * step_s, 2 * math.pi * hertz)
    return hertz, np.sqrt(spectra.gxx.mean(axis=0))


def spectrum_figure(plots: TimePlots, key: str, values: np.ndarray, step_s: float, unit: str) -> str:
    """The amplitude density of three axes over the frequency; nothing if a value is missing."""
    data = []
    for i, axis in enumerate(("x", "y", "z")):
        column = values[:, i]
        if not np.isfinite(column).all() or np.abs(column).max() > 1e12:
            return ""
        hertz, density = amplitude_density(column, step_s)
        fast = hertz >= VIBRATION_HZ
        rms = math.sqrt(float(np.sum(density[fast] ** 2) * (hertz[1] - hertz[0]))) if fast.any() else 0.0
        data.append({
            "type": "scatter", "mode": "lines", "x": packed(hertz), "y": packed(density),
            "name": f"{axis}: {rms:.3g} {unit} rms above {VIBRATION_HZ:g} Hz",
            "label": axis, "unit": f"{unit}/√Hz", "line": {"color": ink(i), "width": 1.4, "dash": "solid"},
        })  # fmt: skip
    layout = {
        **base_layout(height=234, margin={"l": 62, "r": 58, "t": 16, "b": 30}),
        "xaxis": {**AXIS, "type": "log", "ticksuffix": " Hz"},
        "yaxis": {**AXIS, "type": "log"},
    }
    plots.figures[key] = {"kind": "spectrum", "data": data, "layout": layout}
    return key
