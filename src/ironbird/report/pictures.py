"""Pictures of flights, logs and campaigns for notebooks: `flight.plot(…)`, `log.plot(…)`, `campaign.plot(…)`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ironbird.campaign.result import FlightResult
from ironbird.errors import RunError, UnknownNameError
from ironbird.flight.flight import Flight
from ironbird.flight.words import VERDICTS
from ironbird.model.signal import entry_names
from ironbird.report.campaign_page import margin_plots
from ironbird.report.flight.curves import Json
from ironbird.report.flight.paths import path_figures
from ironbird.report.flight.plots import INKS, Plots, TimePlots, ink, panels_of
from ironbird.report.flight.signals import signal_panels
from ironbird.report.picture import Picture, picture
from ironbird.runtime.log import Log

SHOWN_FIRST = 3  # plots of a flight that shows itself
MOST_LANES = INKS
DEGREES = {"rad": "°", "rad/s": "°/s"}


def flight_picture(flight: Flight, *signals: str) -> Picture:
    """Replay and first plots of a flight, or plots of signals, with its faults shaded."""
    plots = Plots(flight)
    lead = f"{flight.verdict}: {flight.judged.sentence}"
    title = f"{flight.order.vehicle}, {flight.mission_title}"
    if signals:
        panels = panels_of([_panel(plots, flight.log, signal, (0,), number) for number, signal in enumerate(signals)])
    else:
        path_figures(plots)
        panels = signal_panels(plots)[:SHOWN_FIRST]
        kept = {"replay", *(panel["figure"] for panel in panels)}
        plots.figures = {key: figure for key, figure in plots.figures.items() if key in kept}
    return picture(title, plots.figures, panels, time_range=plots.range, lead=lead)


def log_picture(log: Log, *signals: str, lanes: Sequence[int] = ()) -> Picture:
    """Plots of signals of a log: entries of one lane, or several lanes side by side."""
    shown = tuple(lanes) or tuple(range(min(log.lanes, MOST_LANES)))
    if not log.rows(shown[0]):
        raise RunError("the log has no rows: nothing to plot")
    time_s = log.time(shown[0])
    plots = TimePlots(float(time_s[0]), max(float(log.time(lane)[-1]) for lane in shown if log.rows(lane)))
    chosen = signals or tuple(log.signals)[:SHOWN_FIRST]
    panels = panels_of([_panel(plots, log, signal, shown, number) for number, signal in enumerate(chosen)])
    many = f", {len(shown)} of {log.lanes} lanes" if log.lanes > 1 else ""
    return picture(", ".join(chosen) + many, plots.figures, panels, time_range=plots.range)


def _panel(plots: TimePlots, log: Log, signal: str, lanes: Sequence[int], number: int) -> tuple[str, str, str]:
    """Title, unit and figure of the plot of a signal."""
    if signal not in log and signal not in log.short:
        raise UnknownNameError("signal", signal, [*log.signals, *log.short])
    declared = log.signals.get(signal)
    size = declared.size if declared is not None else 1
    unit = declared.unit if declared is not None else ""
    factor = 180.0 / math.pi if unit in DEGREES else 1.0
    shown = DEGREES.get(unit, unit)
    curves: list[Json] = []
    for lane in lanes:
        values = factor * np.asarray(log.lane(signal, lane), float).reshape(log.rows(lane), -1)
        for i, name in enumerate(entry_names(signal, size)):
            words = f"{name}, lane {lane}" if len(lanes) > 1 else name
            curves.append(plots.line(log.time(lane), values[:, i], words, ink(len(curves)), shown))
    return signal, shown, plots.figure(f"plot-{number}", curves)


def campaign_picture(
    name: str, results: Sequence[FlightResult], *across: str, requirement: str = "", least: int = 3
) -> Picture:
    """Margins of a campaign's flights: their histogram, and over varied parameters, a point for each flight."""
    if not results:
        raise RunError(f"campaign '{name}' has no judged flights yet: nothing to plot")
    varied = [key for key in dict.fromkeys(key for r in results for key in r.values)]
    named = list(dict.fromkeys(judgement.name for r in results for judgement in r.judgements))
    for key in across:
        if key not in varied:
            raise UnknownNameError("varied parameter", key, varied)
    if requirement and requirement not in named:
        raise UnknownNameError("requirement", requirement, named)
    shown = across or [key for key in varied if len({r.values.get(key) for r in results}) > 1][:least]
    drawings: list[str] = []
    for one in [requirement] if requirement else named:
        drawings = [svg for svg in margin_plots(one, results, shown) if svg]
        if drawings:
            break
    counts = {v: sum(r.verdict == v for r in results) for v in VERDICTS}
    lead = f"{len(results)} flights: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    if not drawings:
        lead += "; no requirement has margins with more than two values"
    return picture(f"Campaign {name}", {}, lead=lead, drawings=drawings)


def lines_picture(title: str, unit: str, time_s: np.ndarray, curves: Mapping[str, np.ndarray]) -> Picture:
    """A plot of your own numbers over time, a curve for each name.

    Examples
    --------
    >>> lines_picture("height", "m", np.arange(3.0), {"one": np.zeros(3)}).save("out/height.html")  # doctest: +SKIP
    """
    plots = TimePlots(float(time_s[0]), float(time_s[-1]))
    lines = [plots.line(time_s, np.asarray(y, float), name, ink(n), unit) for n, (name, y) in enumerate(curves.items())]
    return picture(
        title, plots.figures, panels_of([(title, unit, plots.figure("lines", lines))]), time_range=plots.range
    )
