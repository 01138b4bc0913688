"""The flown path: a replay in space, and the track seen from above."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ironbird.report.flight.curves import MAX_POINTS, SHOWN, Json, packed
from ironbird.report.flight.plots import AXIS, FLIGHT, TWIN, Plots, base_layout, ink
from ironbird.report.flight.replay import UP, bounded, replay
from ironbird.vehicles import places as at


def path_figures(plots: Plots) -> list[str]:
    """Both figures, if the log has the position."""
    if at.BODY.position not in plots.log or not plots.log.rows():
        return []
    plots.figures["replay"] = _replay(plots)
    plots.figures["path-plan"] = _from_above(plots)
    return ["replay", "path-plan"]


def _way(plots: Plots, signal: str, lane: int = FLIGHT, most: int = MAX_POINTS) -> np.ndarray:
    """North, east and height along the path, in steps wide enough for the screen."""
    values = plots.values(signal, lane) * UP
    values = np.where(np.abs(values) < SHOWN, values, np.nan)
    step = math.ceil(len(values) / most) or 1
    return np.vstack([values[::step], values[-1:]])


def _marks(plots: Plots) -> list[tuple[str, str, str, np.ndarray]]:
    """Name, symbol, colour and position of the start, of the beginning of each fault and of the end."""
    way, time_s = plots.values(at.BODY.position) * UP, plots.time_s()
    crashed = plots.flight.stop is not None and not plots.flight.survived
    marks = [("start", "circle", "var(--good)", way[0])]
    for number in range(1, len(plots.faults) + 1):
        row = int(np.searchsorted(time_s, plots.begins_s(number)))
        if row < len(way):
            marks.append((f"fault {number} begins", "diamond", "var(--fault)", way[row]))
    return [*marks, ("end", "x" if crashed else "square", "var(--bad)" if crashed else "var(--text)", way[-1])]


def _waypoints(plots: Plots) -> np.ndarray:
    """North, east, height of the mission's waypoints; a landing is below the previous one."""
    if plots.flight.order.has_plan_file:
        from ironbird.flight.given_plan import given_plan, waypoints_of

        plan = given_plan(plots.flight.order)
        assert plan is not None
        return np.array(waypoints_of(plan, plots.flight.vehicle.spec.home)).reshape(-1, 3)
    here = np.zeros(3)
    places = []
    for item in plots.flight.order.items():
        if item.kind == "land":
            here = np.array([here[0], here[1], 0.0])
        else:
            here = np.array([item.north_m, item.east_m, item.height_m])
        places.append(here)
    return np.array(places).reshape(-1, 3)  # none: a control system without a mission


# ---------------------------------------------------------------------- replay


def _replay(plots: Plots) -> Json:
    """The flight in space, which `templates/replay.js` plays."""
    waypoints = _waypoints(plots)
    marks = [
        {"name": name, "symbol": symbol, "ink": colour, "place": _round(place)}
        for name, symbol, colour, place in _marks(plots)
    ]
    flown = bounded(plots.values(at.BODY.position) * UP)
    return replay(plots, waypoints, _numbers(waypoints), marks, equal_ranges(np.vstack([flown, waypoints])))


def _round(place: np.ndarray) -> list[float | None]:
    return [round(float(x), 3) if abs(x) < SHOWN else None for x in place]


# ---------------------------------------------------------------------- from above


def _trace(points: np.ndarray, name: str, mode: str, **more: Any) -> Json:
    """Curve of a path on the axes of a map: x east, y north."""
    trace: Json = {"type": "scatter", "mode": mode, "name": name, "x": packed(points[:, 1]), "y": packed(points[:, 0])}
    return trace | {"label": name, "unit": "m", "showlegend": True} | more


def _from_above(plots: Plots) -> Json:
    data: list[Json] = []

    def line(points: np.ndarray, name: str, ink: str, width: float, dash: str) -> None:
        data.append(_trace(points, name, "lines", line={"color": ink, "width": width, "dash": dash}))

    if plots.flight.order.has_plan_file:
        from ironbird.flight.given_plan import fences_of, given_plan, rally_points_of

        plan, home = given_plan(plots.flight.order), plots.flight.vehicle.spec.home
        assert plan is not None
        for number, corners in enumerate(fences_of(plan, home), start=1):
            line(np.array(corners), f"fence {number}", "var(--bad)", 1.2, "dash")
        if plan.rally:
            look = {"symbol": "diamond-open", "size": 9, "color": "var(--good)"}
            data.append(_trace(np.array(rally_points_of(plan, home)), "rally points", "markers", marker=look))
    if at.NAVIGATOR.position_set in plots.log:
        line(_way(plots, at.NAVIGATOR.position_set), "set-point", ink(1), 1.2, "dot")
    if plots.twin:
        line(_way(plots, at.BODY.position, TWIN), "healthy twin", ink(2), 1.3, "dash")
    line(_way(plots, at.BODY.position), "flight", ink(0), 2.2, "solid")
    points = _waypoints(plots)
    if len(points):
        look = {"symbol": "circle-open", "size": 9, "color": "var(--muted)"}
        data.append(_trace(points, "waypoints", "markers+text", marker=look, text=_numbers(points[:, :2])))
    data += [
        _trace(place[None, :], name, "markers", marker={"symbol": symbol, "size": 9, "color": colour})
        for name, symbol, colour, place in _marks(plots)
    ]
    layout = {
        **base_layout(height=420, margin={"l": 52, "r": 16, "t": 12, "b": 40}),
        "xaxis": {**AXIS, "title": {"text": "east, m"}, "scaleanchor": "y"},
        "yaxis": {**AXIS, "title": {"text": "north, m"}},
    }
    return {"kind": "path", "data": data, "layout": layout}


def _numbers(waypoints: np.ndarray) -> list[str]:
    """Labels of the waypoints by number; those at one position share a label."""
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
    """Ranges of three axes around points, with margins; none is narrower than a quarter of the widest."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return [[-1.0, 1.0]] * 3
    low, high = points.min(axis=0), points.max(axis=0)
    widest = max(float((high - low).max()), 1.0)
    half = np.maximum(high - low, 0.25 * widest) / 2 + 0.06 * widest
    middle = (low + high) / 2
    return [[float(m - h), float(m + h)] for m, h in zip(middle, half, strict=True)]
