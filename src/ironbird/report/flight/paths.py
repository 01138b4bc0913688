"""The way flown: in space, and seen from above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ironbird.report.flight.curves import MAX_POINTS, SHOWN, Json, packed
from ironbird.report.flight.plots import AXIS, FLIGHT, TWIN, Plots, base_layout, ink
from ironbird.vehicles import places as at

UP = (1.0, 1.0, -1.0)  # north, east, down to north, east, height
_PLACE_2D = "{name}<br>%{{y:.2f}} m north, %{{x:.2f}} m east<extra></extra>"
_PLACE_3D = "{name}<br>%{{y:.2f}} m north, %{{x:.2f}} m east, %{{z:.2f}} m high<extra></extra>"
_SPACE_AXIS: Json = dict.fromkeys(("gridcolor", "zerolinecolor", "linecolor"), "var(--grid-strong)")
_SPACE_AXIS |= {"showbackground": False, "showspikes": False, "tickfont": {"size": 10}}


def path_figures(plots: Plots) -> list[str]:
    """Both figures, if the log has the position."""
    if at.BODY.position not in plots.log or not plots.log.rows():
        return []
    plots.figures["path-3d"] = _in_space(plots)
    plots.figures["path-plan"] = _from_above(plots)
    return ["path-3d", "path-plan"]


def _way(plots: Plots, signal: str, lane: int = FLIGHT) -> np.ndarray:
    """North, east and height along the way, in steps wide enough for the screen."""
    values = plots.values(signal, lane) * UP
    values = np.where(np.abs(values) < SHOWN, values, np.nan)
    step = math.ceil(len(values) / MAX_POINTS) or 1
    return np.vstack([values[::step], values[-1:]])


def _marks(plots: Plots) -> list[tuple[str, str, str, np.ndarray]]:
    """Name, symbol, colour and place of the start, of each fault's beginning and of the end."""
    way, time_s = plots.values(at.BODY.position) * UP, plots.time_s()
    crashed = plots.flight.stop is not None and not plots.flight.survived
    marks = [("start", "circle", "var(--good)", way[0])]
    for number in range(1, len(plots.faults) + 1):
        row = int(np.searchsorted(time_s, plots.begins_s(number)))
        if row < len(way):
            marks.append((f"fault {number} begins", "diamond", "var(--fault)", way[row]))
    return [*marks, ("end", "x" if crashed else "square", "var(--bad)" if crashed else "var(--text)", way[-1])]


def _waypoints(plots: Plots) -> np.ndarray:
    """North, east, height of the mission's waypoints; a landing is below the one before."""
    here = np.zeros(3)
    places = []
    for item in plots.flight.order.items():
        if item.kind == "land":
            here = np.array([here[0], here[1], 0.0])
        else:
            here = np.array([item.north_m, item.east_m, item.height_m])
        places.append(here)
    return np.array(places).reshape(-1, 3)  # none: a control system that is told nothing


def _trace(points: np.ndarray, name: str, mode: str, *, space: bool, **more: Any) -> Json:
    """North, east, height on the axes of a map: x east, y north, z up."""
    trace: Json = {"type": "scatter", "mode": mode, "name": name, "x": packed(points[:, 1]), "y": packed(points[:, 0])}
    if space:
        trace |= {"type": "scatter3d", "z": packed(points[:, 2])}
    place = _PLACE_3D if space else _PLACE_2D
    return trace | {"hovertemplate": place.format(name=name), "showlegend": space} | more


def _waypoint_trace(plots: Plots, *, space: bool) -> Json:
    points = _waypoints(plots)
    look = {"symbol": "circle-open", "size": 6 if space else 9, "color": "var(--muted)"}
    place = (_PLACE_3D if space else _PLACE_2D).format(name="waypoint %{text}")
    return {
        **_trace(points, "waypoints", "markers+text", space=space, marker=look, hovertemplate=place),
        "text": _numbers(points if space else points[:, :2]),
        "textposition": "top center" if space else "top right",
        "textfont": {"color": "var(--muted)", "size": 11},
        **({} if space else {"cliponaxis": False}),
    }


def _mark_traces(plots: Plots, *, space: bool) -> list[Json]:
    more: Json = {} if space else {"cliponaxis": False}
    size = 5 if space else 9
    return [
        _trace(
            place[None, :], name, "markers", space=space, marker={"symbol": symbol, "size": size, "color": ink}, **more
        )
        for name, symbol, ink, place in _marks(plots)
    ]


def _in_space(plots: Plots) -> Json:
    way = _way(plots, at.BODY.position)
    everything = [way, _waypoints(plots)]
    data: list[Json] = []

    def line(points: np.ndarray, name: str, ink: str, width: float, **more: Any) -> None:
        data.append(_trace(points, name, "lines", space=True, line={"color": ink, "width": width}, **more))

    if plots.twin:
        everything.append(_way(plots, at.BODY.position, TWIN))
        line(everything[-1], "healthy twin", ink(2), 2.5)
    line(way, "flight", ink(0), 5)
    unnamed: Json = {"hoverinfo": "skip", "hovertemplate": "", "showlegend": False}
    line(way * [1.0, 1.0, 0.0], "shadow on the ground", "var(--grid-strong)", 2, **unnamed)
    data += [_waypoint_trace(plots, space=True), *_mark_traces(plots, space=True)]
    layout = {
        **base_layout(height=470, margin={"l": 0, "r": 0, "t": 0, "b": 0}),
        "scene": _scene(equal_ranges(np.vstack(everything))),
        "legend": {"orientation": "h", "x": 0, "y": 0, "yanchor": "top"},
    }
    return {"kind": "path", "data": data, "layout": layout}


def _scene(ranges: Sequence[list[float]]) -> Json:
    """Axes of equal scale; east to the right, north away: as on a map."""
    wide = [high - low for low, high in ranges]
    axes = (("x", "east, m", 1), ("y", "north, m", 0), ("z", "height, m", 2))
    scene: Json = {f"{x}axis": {**_SPACE_AXIS, "title": {"text": text}, "range": ranges[i]} for x, text, i in axes}
    return scene | {
        "aspectmode": "manual",
        "aspectratio": {x: 1.15 * wide[i] / max(wide) for x, _, i in axes},
        "camera": {"eye": {"x": 0.75, "y": -1.55, "z": 0.85}, "center": {"x": 0, "y": 0, "z": -0.17}},
    }


def _from_above(plots: Plots) -> Json:
    data: list[Json] = []

    def line(points: np.ndarray, name: str, ink: str, width: float, dash: str) -> None:
        look = {"color": ink, "width": width, "dash": dash}
        data.append(_trace(points, name, "lines", space=False, line=look))

    if at.NAVIGATOR.position_set in plots.log:
        line(_way(plots, at.NAVIGATOR.position_set), "set-point", ink(1), 1.2, "dot")
    if plots.twin:
        line(_way(plots, at.BODY.position, TWIN), "healthy twin", ink(2), 1.3, "dash")
    line(_way(plots, at.BODY.position), "flight", ink(0), 2.2, "solid")
    data += [_waypoint_trace(plots, space=False), *_mark_traces(plots, space=False)]
    layout = {
        **base_layout(height=470, margin={"l": 52, "r": 16, "t": 16, "b": 46}),
        "hovermode": "closest",
        "xaxis": {**AXIS, "title": {"text": "east, m"}, "scaleanchor": "y", "constrain": "domain"},
        "yaxis": {**AXIS, "title": {"text": "north, m"}, "constrain": "domain"},
    }
    return {"kind": "path", "data": data, "layout": layout}


def _numbers(waypoints: np.ndarray) -> list[str]:
    """Numbers of the waypoints; those at one place share a label."""
    texts: list[str] = []
    first: dict[tuple[float, ...], int] = {}
    for number, place in enumerate(waypoints, start=1):
        key = tuple(place.tolist())
        texts.append("" if key in first else str(number))
        if key in first:
            texts[first[key]] += f", {number}"
        first.setdefault(key, number - 1)
    return texts


def equal_ranges(points: np.ndarray) -> list[list[float]]:
    """Ranges of three axes around points; none is narrower than a quarter of the widest, all have a margin."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return [[-1.0, 1.0]] * 3
    low, high = points.min(axis=0), points.max(axis=0)
    widest = max(float((high - low).max()), 1.0)
    half = np.maximum(high - low, 0.25 * widest) / 2 + 0.06 * widest
    middle = (low + high) / 2
    return [[float(m - h), float(m + h)] for m, h in zip(middle, half, strict=True)]
