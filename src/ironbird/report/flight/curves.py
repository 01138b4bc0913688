"""Curves for the screen: thinned with their peaks kept, packed as base64, cut into time intervals."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from ironbird.faults.spec import Injection

MAX_POINTS = 2000  # of one curve on the screen
FAINT_POINTS = 1000  # of one curve of a measurement
MAX_SPANS = 60  # shaded pieces of one intermittent fault; with more, the whole window is shaded
SHOWN = 1e30  # larger numbers (a diverged run) are left out of plots

Json = dict[str, Any]


def thin(time_s: np.ndarray, values: np.ndarray, limit: int = MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `limit` points of a curve: the minimum and maximum of each short interval, the first and the last."""
    if len(time_s) <= limit:
        return time_s, values
    stretch = math.ceil(len(time_s) / (limit // 2 - 1))
    count = math.ceil(len(time_s) / stretch)
    padded = np.full(count * stretch, np.nan)
    padded[: len(values)] = values
    table = padded.reshape(count, stretch)
    first = stretch * np.arange(count)
    lowest = first + np.where(np.isnan(table), np.inf, table).argmin(axis=1)
    highest = first + np.where(np.isnan(table), -np.inf, table).argmax(axis=1)
    rows = np.unique(np.concatenate([[0], lowest, highest, [len(time_s) - 1]]))
    return time_s[rows], values[rows]


def break_turns(time_s: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An angle in degrees with gaps in place of jumps from +180 to -180."""
    jumps = np.flatnonzero(np.abs(np.diff(degrees)) > 180.0) + 1
    return np.insert(time_s, jumps, time_s[jumps]), np.insert(degrees, jumps, np.nan)


def packed(values: np.ndarray) -> Json:
    """Numbers as base64 of single precision, which is enough for a screen."""
    shown = np.where(np.abs(values) < SHOWN, values, np.nan).astype("<f4")
    return {"dtype": "f4", "bdata": base64.b64encode(shown.tobytes()).decode()}


def runs(time_s: np.ndarray, values: np.ndarray, end_s: float) -> list[tuple[float, float, float]]:
    """Intervals of equal value: start, end, value. The last one lasts until `end_s`; NaN is shown as -1."""
    if not len(values):
        return []
    values = np.where(np.isfinite(values), values, -1.0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(values) != 0) + 1])
    starts = time_s[first].tolist()
    return list(zip(starts, [*starts[1:], max(end_s, starts[-1])], values[first].tolist(), strict=True))


def flag_pieces(time_s: np.ndarray, flags: np.ndarray, end_s: float, gap_s: float = 0.0) -> list[tuple[float, float]]:
    """Intervals in which a flag is set; gaps shorter than `gap_s` are closed."""
    pieces: list[tuple[float, float]] = []
    for start, end, up in runs(time_s, (flags > 0.5).astype(float), end_s):
        if up and pieces and start - pieces[-1][1] < gap_s:
            pieces[-1] = (pieces[-1][0], end)
        elif up:
            pieces.append((start, end))
    return pieces


def on_pieces(injection: Injection, until_s: float, triggered_s: float = 0.0) -> list[tuple[float, float]]:
    """The time intervals in which a fault is on; the whole window if there are very many."""
    start, end = injection.start_s + triggered_s, min(injection.end_s + triggered_s, until_s)
    if start >= end:
        return []
    if injection.shape == "intermittent" and 0 < (end - start) / injection.period_s <= MAX_SPANS:
        count = math.ceil((end - start) / injection.period_s)
        begins = [start + i * injection.period_s for i in range(count)]
        return [(b, min(b + injection.duty * injection.period_s, end)) for b in begins]
    return [(start, end)]
