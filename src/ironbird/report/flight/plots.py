"""Figures of a flight as data: curves over time, bands of spans, small plots below each other.

`templates/plots.js` draws them on canvases. The keys are a small part of those of plotly's JSON, so that plotly can
draw a figure too. Colours are names that the page fills in for its theme.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ironbird.flight.derived import derived
from ironbird.flight.flight import Flight
from ironbird.report.flight.curves import MAX_POINTS, Json, break_turns, on_pieces, packed, thin
from ironbird.runtime.log import Log

INKS = 8  # colours of curves, defined in the template as --c0 … --c7
FLIGHT, TWIN = 0, 1  # whose values: those of the flight, or of its healthy twin
DASHES = {"": "solid", "set-point": "dot", "twin": "dash"}  # by the role of a curve
RANKS = {"set-point": 1001, "twin": 1002}  # in the legend, after the flight's own curves

Span = tuple[float, float, str, str]  # start, end, text, colour
Row = tuple[str, list[Span]]

AXIS: Json = {"zeroline": False}
ZERO_LINE: Json = {"zeroline": True}
_OVER_ALL: Json = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1}  # a shape from bottom to top


def ink(number: int) -> str:
    """Colour of the n-th curve."""
    return f"var(--c{number % INKS})"


def base_layout(**more: Any) -> Json:
    """The layout that all figures share."""
    return {"height": 234, "margin": {"l": 62, "r": 58, "t": 20, "b": 30}, **more}


def panels_of(made: Sequence[tuple[str, str, str]]) -> list[Json]:
    """Title, unit and figure of each plot that was made."""
    return [{"title": title, "unit": unit, "figure": key} for title, unit, key in made if key]


def matching(log: Log, pattern: str) -> list[tuple[str, str]]:
    """Scalar signals whose whole path matches, with the pattern's group."""
    found = [(signal, re.fullmatch(pattern, signal), declared.size) for signal, declared in log.signals.items()]
    return [(signal, match.group(1)) for signal, match, size in found if match and size == 1]


class TimePlots:
    """Figures over one time axis; each is kept under its name. What stands over all of them is added by subclasses."""

    def __init__(self, first_s: float, end_s: float) -> None:
        self.figures: dict[str, Json] = {}
        self.end = max(end_s, first_s + 1e-3)
        self.range = [first_s, self.end + 0.01 * (self.end - first_s)]

    def spans(self) -> list[Json]:
        """Shaded stretches and lines in all time plots."""
        return []

    def stop_line(self) -> list[Json]:
        """Vertical line where the flight stopped early, as plot shapes; none in this base class."""
        return []

    def labels(self) -> list[Json]:
        """Short texts above the time plots."""
        return []

    def line(
        self,
        time_s: np.ndarray,
        values: np.ndarray,
        name: str,
        ink: str,
        unit: str,
        *,
        role: str = "",
        turns: bool = False,
        limit: int = MAX_POINTS,
    ) -> Json:
        """One curve; a role (`set-point`, `twin`) gives its style and one entry in the legend for all."""
        time_s, values = thin(time_s, values, limit)
        if turns and len(values) > 1:
            time_s, values = break_turns(time_s, values)
        label = f"{name}, {role}" if role and name != role else name
        trace: Json = {
            "type": "scatter",
            "mode": "lines" if len(values) > 2 else "lines+markers",
            "x": packed(time_s),
            "y": packed(values),
            "name": role or name,
            "line": {"color": ink, "width": 1.3 if role else 1.8, "dash": DASHES[role]},
            "label": label,
            "unit": unit,
        }
        if role:  # below the flight's own curves, and after them in the legend
            trace |= {"legendgroup": role, "legendrank": RANKS[role], "zorder": -1}
        return trace

    def figure(self, key: str, curves: list[Json], lowest: str = "y", **layout: Any) -> str:
        """Store a time plot; each role gets one entry in the legend."""
        seen: set[str] = set()
        for curve in curves:
            group = curve.get("legendgroup", "")
            curve["showlegend"] = group not in seen
            if group:
                seen.add(group)
        usual = {
            **base_layout(),
            "xaxis": {**AXIS, "range": self.range, "anchor": lowest, "ticksuffix": " s"},
            "yaxis": {**AXIS, **ZERO_LINE},
            "shapes": self.spans() + self.stop_line(),
            "annotations": self.labels(),
        }
        self.figures[key] = {"kind": "time", "data": curves, "layout": usual | layout}
        return key

    def stack(self, key: str, rows: Sequence[tuple[str, list[Json]]], height: int = 118) -> str:
        """Small plots below each other on one time axis; curves of one name share an entry in the legend."""
        share, gap = 1 / len(rows), 0.14 / len(rows)
        layout: Json = {"height": 50 + height * len(rows)}
        data: list[Json] = []
        for i, (title, curves) in enumerate(rows):
            number = "" if i == 0 else str(i + 1)
            top = 1 - i * share
            bottom = max(top - share + gap, 0.0) if i < len(rows) - 1 else 0.0
            axis = {**AXIS, **ZERO_LINE, "domain": [round(bottom, 4), round(top, 4)], "title": {"text": title}}
            layout[f"yaxis{number}"] = axis
            data += [{**curve, "yaxis": f"y{number}", "legendgroup": curve["name"]} for curve in curves]
        return self.figure(key, data, lowest="y" if len(rows) == 1 else f"y{len(rows)}", **layout)

    def bands(self, key: str, rows: Sequence[Row]) -> str:
        """Rows of coloured spans over time, each below its name."""
        axis = {**AXIS, "range": [-len(rows) + 0.4, 0.45], "showgrid": False}
        return self.figure(
            key,
            [_bars(-place, name, spans) for place, (name, spans) in enumerate(rows)],
            height=36 * len(rows) + 60,
            margin={"l": 62, "r": 58, "t": 6, "b": 30},
            showlegend=False,
            yaxis={**axis, "showticklabels": False},
            shapes=self.stop_line(),
            annotations=[_row_name(-place, name) for place, (name, _) in enumerate(rows)],
        )


class Plots(TimePlots):
    """The figures of a flight."""

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.log: Log = flight.log
        self.faults = flight.order.faults
        self.triggered = flight.triggered_s
        self.twin = flight.twin is not None and flight.twin.rows() > 0
        time_s = self.time_s()
        first = float(time_s[0]) if len(time_s) else 0.0
        super().__init__(first, max(float(time_s[-1]) if len(time_s) else 0.0, flight.ended_s))

    # -------------------------------------------------------------- values

    def _of(self, lane: int) -> Log:
        twin = self.flight.twin
        return self.log if lane == FLIGHT or twin is None else twin

    def time_s(self, lane: int = FLIGHT) -> np.ndarray:
        """Times of the rows of the flight or of its twin."""
        return self._of(lane).time()

    def values(self, signal: str, lane: int = FLIGHT) -> np.ndarray:
        """A signal as [row, size]."""
        return self._of(lane)[signal].reshape(-1, self.log.signals[signal].size)

    def lanes(self) -> list[tuple[int, str]]:
        """The flight, then the twin if there is one, with the role of its curves."""
        return [(FLIGHT, ""), *([(TWIN, "twin")] if self.twin else [])]

    def set_point_distance(self, lane: int) -> np.ndarray:
        """Distance from the place where the vehicle should be."""
        return derived(self._of(lane), "position_error")

    # -------------------------------------------------------------- curves

    def curve(
        self,
        values: np.ndarray,
        name: str,
        ink: str,
        unit: str,
        *,
        lane: int = FLIGHT,
        role: str = "",
        turns: bool = False,
        limit: int = MAX_POINTS,
    ) -> Json:
        """One line over time; a role (`set-point`, `twin`) gives its style and one entry in the legend for all."""
        time_s = self.time_s(lane)[: len(values)]
        return self.line(time_s, values, name, ink, unit, role=role, turns=turns, limit=limit)

    def vector(
        self,
        signal: str,
        names: Sequence[str],
        unit: str,
        factor: float = 1.0,
        *,
        turns: bool = False,
        twin: bool = True,
    ) -> list[Json]:
        """Curves of the components of a signal."""
        return [
            self.curve(factor * column, name, ink(i), unit, lane=lane, role=role, turns=turns)
            for lane, role in (self.lanes() if twin else [(FLIGHT, "")])
            for i, (name, column) in enumerate(zip(names, self.values(signal, lane).T, strict=False))
        ]

    def truth(self, values: np.ndarray, unit: str, turns: bool = False) -> Json:
        """The curve of what was true."""
        return {**self.curve(values, "truth", "var(--text)", unit, turns=turns), "zorder": 1, "legendrank": 1}

    def estimate(self, values: np.ndarray, unit: str, turns: bool = False) -> Json:
        """The curve of what was estimated."""
        curve = self.curve(values, "estimate", ink(1), unit, turns=turns)
        return {**curve, "zorder": 2, "legendrank": 2, "line": {"color": ink(1), "width": 1.5}}

    def measured(self, values: np.ndarray, name: str, ink: str, unit: str, limit: int = MAX_POINTS) -> Json:
        """The faint curve of what was measured."""
        curve = self.curve(values, name, ink, unit, limit=limit)
        return {**curve, "opacity": 0.7, "zorder": 0, "legendrank": 3, "line": {"color": ink, "width": 1.1}}

    # -------------------------------------------------------------- faults and the end

    def on_pieces(self, number: int) -> list[tuple[float, float]]:
        """The stretches in which a fault is on; faults are numbered from 1."""
        return on_pieces(self.faults[number - 1], self.end, self.triggered[number - 1])

    def begins_s(self, number: int) -> float:
        """When a fault begins."""
        return self.faults[number - 1].start_s + self.triggered[number - 1]

    def fault_rows(self) -> list[Row]:
        """Bands of the faults."""
        rows: list[Row] = []
        for number, injection in enumerate(self.faults, start=1):
            part = f", instance {injection.instance}" if injection.fault.counts_instances else ""
            spans = [(start, end, "on", "var(--fault)") for start, end in self.on_pieces(number)]
            rows.append((f"Fault {number}: {injection.fault.id}{part}", spans))
        return rows

    def spans(self) -> list[Json]:
        """The stretches in which faults are on."""
        look = {"type": "rect", "fillcolor": "var(--fault-span)", "line": {"width": 0}, "layer": "below", **_OVER_ALL}
        return [
            {**look, "x0": start, "x1": end, "name": f"fault {number}"}
            for number in range(1, len(self.faults) + 1)
            for start, end in self.on_pieces(number)
        ]

    def stop_line(self) -> list[Json]:
        """The end before time: a crash, or the mission's end."""
        stop = self.flight.stop
        if stop is None:
            return []
        line = {"color": self._stop_ink(), "width": 1.6}
        return [{"type": "line", **_OVER_ALL, "x0": stop.time_s, "x1": stop.time_s, "line": line, "name": "stop"}]

    def _stop_ink(self) -> str:
        return "var(--muted)" if self.flight.survived else "var(--bad)"

    def labels(self) -> list[Json]:
        """Names of the spans and of the stop, above the plot; faults that begin at nearly the same time share one."""
        wide = self.range[1] - self.range[0]
        texts: dict[float, str] = {}
        for number in range(1, len(self.faults) + 1):
            if self.on_pieces(number):
                begin = self.begins_s(number)
                near = next((x for x in texts if abs(x - begin) < 0.06 * wide), begin)
                texts[near] = f"{texts[near]}, {number}" if near in texts else f"fault {number}"
        stop = self.flight.stop
        labels = []
        for x, text in texts.items():
            crowded = stop is not None and stop.time_s - x < 0.15 * wide
            labels.append(_label(x, text, "var(--fault)", "right" if crowded else "left"))
        if stop is not None:
            labels.append(_label(stop.time_s, stop.reason, self._stop_ink(), "right"))
        return labels


def _text(text: str, ink: str, anchor: str) -> Json:
    font = {"size": 11, "color": ink}
    return {"text": text, "font": font, "xanchor": anchor}


def _label(x: float, text: str, ink: str, anchor: str) -> Json:
    """A short text above a plot, beside a point in time."""
    return {**_text(text, ink, anchor), "x": x, "xref": "x", "y": 1, "yref": "paper"}


def _row_name(y: float, name: str) -> Json:
    return {**_text(name, "var(--muted)", "left"), "x": 0, "xref": "paper", "y": y + 0.06, "yref": "y"}


def _bars(y: float, name: str, spans: Sequence[Span]) -> Json:
    """One row of spans, below its name."""
    texts = [text for _, _, text, _ in spans]
    named = len(set(texts)) > 1  # else the row's name says it
    thick = 0.58 if named else 0.36
    return {
        "type": "bar",
        "orientation": "h",
        "width": thick,
        "y": [round(0.04 + y - thick / 2, 3)] * len(spans),
        "base": [round(start, 4) for start, _, _, _ in spans],
        "x": [round(end - start, 4) for start, end, _, _ in spans],
        "marker": {"color": [ink for _, _, _, ink in spans], "line": {"width": 0}},
        "text": texts,
        "textposition": "inside" if named else "none",
        "name": name,
        "customdata": [f"{start:.2f} s to {end:.2f} s" for start, end, _, _ in spans],
    }
