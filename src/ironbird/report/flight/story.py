"""What happened, as a chain of sentences in the order of time: what acted, was estimated, saturated, broke."""

from __future__ import annotations

import math

import numpy as np

from ironbird.report.flight.curves import SHOWN
from ironbird.report.flight.plots import Plots
from ironbird.report.flight.replay import COLLISION, flight_events, hit
from ironbird.report.flight.tuning import limit_spans
from ironbird.vehicles import places as at

Moment = tuple[float, str, str]  # time in s, kind, sentence

MOST = 9  # sentences
WRONG_M = 1.0  # an estimate that is never farther from the truth is not mentioned
GROWN = 2.0  # nor one whose error does not grow by this factor after the first fault
LEAST_LIMIT_S = 0.1  # shorter times at a limit are not mentioned


def story(plots: Plots) -> list[Moment]:
    """The moments that explain how a flight ended; only of flights with a fault or a broken requirement."""
    if not plots.log.rows():
        return []
    events = flight_events(plots)
    if not any(kind in ("fault", "broken") for _, kind, _ in events):
        return []
    found = [_sentence(plots, event) for event in events if event[1] != "end"]
    found += [*_misled(plots), *_limited(plots), *_struck(plots)]
    return sorted(found)[:MOST]


def _sentence(plots: Plots, event: Moment) -> Moment:
    time_s, kind, text = event
    if kind == "fault" and text.endswith(" begins"):
        for number, injection in enumerate(plots.faults, start=1):
            pieces = plots.on_pieces(number)
            if pieces and pieces[0][0] == time_s and text.startswith(injection.fault.id.partition("@")[0]):
                witnesses = plots.flight.witnesses
                effect = witnesses[number - 1].effect() if number <= len(witnesses) else ""
                return time_s, kind, f"{injection.fault.summary.rstrip('.')}{f': {effect}' if effect else ''}"
    return time_s, kind, text[:1].upper() + text[1:]


def _first_s(plots: Plots) -> float:
    """When the first fault begins; the start of the flight without one."""
    begins = [plots.begins_s(number) for number in range(1, len(plots.faults) + 1)]
    return min(begins, default=-math.inf)


def _misled(plots: Plots) -> list[Moment]:
    """When the estimate was farthest from the truth."""
    if at.ESTIMATOR.position not in plots.log or at.BODY.position not in plots.log:
        return []
    gap = np.linalg.norm(plots.values(at.ESTIMATOR.position) - plots.values(at.BODY.position), axis=1)
    gap = np.where(gap < SHOWN, gap, 0.0)
    time_s, begin = plots.time_s(), _first_s(plots)
    after, before = time_s >= begin, time_s < begin
    if not after.any():
        return []
    row = int(np.argmax(np.where(after, gap, -1.0)))
    usual = float(gap[before].max()) if before.any() else 0.0
    if gap[row] < max(WRONG_M, GROWN * usual):
        return []
    text = f"The estimated position was {gap[row]:.3g} m from the true one"
    return [(float(time_s[row]), "estimate", text + (f", before the fault {usual:.2g} m at most" if usual else ""))]


def _limited(plots: Plots) -> list[Moment]:
    """The first and the longest time at the limit of an actuator, after the first fault."""
    begin = _first_s(plots)
    spans = [(a, b) for a, b, *_ in limit_spans(plots) if a >= begin and b - a >= LEAST_LIMIT_S]
    if not spans:
        return []
    chosen = {spans[0], max(spans, key=lambda span: span[1] - span[0])}
    return [(a, "limit", f"An actuator was at the limit of its command for {b - a:.3g} s") for a, b in chosen]


def _struck(plots: Plots) -> list[Moment]:
    """What was hit, and how fast."""
    found = hit(plots.flight)
    if found is None:
        return []
    row = max(int(np.searchsorted(plots.time_s(), found["time_s"])) - 1, 0)
    speed = float(np.linalg.norm(plots.values(at.BODY.velocity)[row])) if at.BODY.velocity in plots.log else math.nan
    how = f" at {speed:.3g} m/s" if math.isfinite(speed) else ""
    return [(found["time_s"], COLLISION, f"It hit {found['name']}{how}")]
