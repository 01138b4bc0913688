"""The time line: modes, failsafes, faults, sensors excluded by voters, and estimator states, as bands."""

from __future__ import annotations

import re

import numpy as np

from ironbird.blocks.controllers.mission_table import FAILSAFES, MODES
from ironbird.report.flight.curves import flag_pieces, runs
from ironbird.report.flight.plots import Plots, Row, Span
from ironbird.report.flight.tuning import limit_spans
from ironbird.vehicles import places as at

START_UP_S = 1.0  # a sensor may be left out for so long after the start: it has not measured yet
CLOSED_GAP = 1 / 400  # of the time axis: shorter gaps between two pieces of one span would not be seen
_MODE_COLOURS = "idle c6 c5 c0 c3 c2 c7 c1 bad c5 c4 c0 c4 idle c7 c6 c4 c3"  # of MODES, in their order
MODE_INKS = tuple(f"var(--{name})" for name in _MODE_COLOURS.split())
SENSORS = {"imu": "IMU", "mag": "magnetometer", "baro": "barometer", "gnss": "GNSS receiver"}
REJECTED = ("GNSS position", "GNSS velocity", "magnetic field", "barometer")  # of the port `estimator.rejected`


def timeline(plots: Plots) -> str:
    """Store the rows of coloured spans; returns nothing if there is no span at all."""
    if not plots.log.rows():
        return ""
    rows = [*mode_rows(plots), *_failsafe_rows(plots), *plots.fault_rows(), *_voter_rows(plots)]
    if spans := limit_spans(plots):
        rows.append(("Any actuator at a limit of its command", spans))
    rows += _estimator_rows(plots)
    return plots.bands("timeline", rows) if any(spans for _, spans in rows) else ""


def _flags(plots: Plots, values: np.ndarray, text: str, ink: str, lead_s: float = 0.0) -> list[Span]:
    """Spans in which a flag is set; one that begins with the log and ends within `lead_s` is left out."""
    first, last = plots.range
    pieces = flag_pieces(plots.time_s(), values, plots.end, CLOSED_GAP * (last - first))
    return [(start, end, text, ink) for start, end in pieces if not (start == first and end - first <= lead_s)]


def mode_rows(plots: Plots) -> list[Row]:
    """Bands of the flight modes and of the items of the mission."""
    rows: list[Row] = []
    if at.NAVIGATOR.mode in plots.log:
        spans: list[Span] = []
        for start, end, value in runs(plots.time_s(), plots.log[at.NAVIGATOR.mode], plots.end):
            known = 0 <= value < len(MODES)
            name, ink = (MODES[int(value)], MODE_INKS[int(value)]) if known else ("unknown", "var(--idle)")
            spans.append((start, end, name, ink))
        rows.append(("Mode", spans))
    if at.NAVIGATOR.item in plots.log and len(plots.flight.order.items()) > 1:
        items = runs(plots.time_s(), plots.log[at.NAVIGATOR.item], plots.end)
        shown = [(a, b, f"{n + 1:.0f}", "var(--c0)" if i % 2 else "var(--c6)") for i, (a, b, n) in enumerate(items)]
        rows.append(("Mission item", shown))
    return rows


def _failsafe_rows(plots: Plots) -> list[Row]:
    if at.NAVIGATOR.failsafe not in plots.log:
        return []
    columns = plots.values(at.NAVIGATOR.failsafe).T
    made = [
        (f"Failsafe: {name}", _flags(plots, column, "active", "var(--bad)"))
        for name, column in zip(FAILSAFES, columns, strict=False)
    ]
    return [row for row in made if row[1]]


def _voter_rows(plots: Plots) -> list[Row]:
    rows: list[Row] = []
    for signal in plots.log.signals:
        match = re.fullmatch(r"vote/(\w+)\.faulty_(\d+)", signal)
        if match:
            spans = _flags(plots, plots.log[signal], "left out", "var(--c4)", START_UP_S)
            name = SENSORS.get(match.group(1), match.group(1))
            rows.append((f"Voter: {name} {match.group(2)} left out", spans))
    return [row for row in rows if row[1]]


def _estimator_rows(plots: Plots) -> list[Row]:
    rows: list[Row] = []
    if at.ESTIMATOR.healthy in plots.log:
        ill = 1 - plots.log[at.ESTIMATOR.healthy]
        spans: list[Span] = []
        if at.ESTIMATOR.aligned in plots.log:
            waiting = 1 - plots.log[at.ESTIMATOR.aligned]
            spans = _flags(plots, waiting, "aligning", "var(--idle)")
            ill = ill * (waiting < 0.5)
        rows.append(("Estimator not healthy", spans + _flags(plots, ill, "not healthy", "var(--bad)")))
    if at.ESTIMATOR.rejected in plots.log:
        for name, column in zip(REJECTED, plots.values(at.ESTIMATOR.rejected).T, strict=False):
            rows.append((f"Estimator rejects: {name}", _flags(plots, column, "rejected", "var(--c4)")))
    return [row for row in rows if row[1]]
