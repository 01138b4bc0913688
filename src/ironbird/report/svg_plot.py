"""Small plots as SVG text: lines over time, points and bars of margins, a map of verdicts over two parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from ironbird.campaign.search import Map
from ironbird.files.whole import write_text

WIDTH, HEIGHT = 300, 150
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 20, 22
MOST_POINTS = 400
FEW_DECADES = 2.6  # numbers at 2 and 5 would touch with more
INK = {"pass": "var(--good)", "fail": "var(--bad)", "void": "var(--warn)", "error": "#7a3cff"}


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between two values, about `count` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 2.5, 5, 10) if scale * m >= raw)
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Curve:
    """One line of a plot: name, x and y values, colour."""

    name: str
    x: np.ndarray
    y: np.ndarray
    ink: str = "var(--c0)"


class _Frame:
    """Axes of a plot: maps values to pixels."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], width: int, height: int, decades: bool = False
    ) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height
        self.decades = decades  # x are logarithms

    def across(self, value: float) -> float:
        """Horizontal pixel position of a value."""
        return LEFT + (self.width - LEFT - RIGHT) * (value - self.x[0]) / max(self.x[1] - self.x[0], 1e-9)

    def up(self, value: float) -> float:
        """Vertical pixel position of a value, from the top."""
        room = self.height - TOP - BOTTOM
        return self.height - BOTTOM - room * (value - self.y[0]) / max(self.y[1] - self.y[0], 1e-9)

    def grid(self) -> list[str]:
        """SVG elements of grid lines and their numbers."""
        parts = []
        for tick in ticks(*self.y):
            y, right = self.up(tick), self.width - RIGHT
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(_text(LEFT - 4, y + 4, f"{tick:g}", "end"))
        marks = (
            [(math.log10(mark), mark) for mark in _marks(self.x)] if self.decades else [(t, t) for t in ticks(*self.x)]
        )
        parts += [_text(self.across(place), self.height - 7, f"{mark:g}", "middle") for place, mark in marks]
        return parts

    def line(self, curve: Curve) -> str:
        """SVG element of a curve, with its name as tooltip."""
        points = " ".join(f"{self.across(a):.1f},{self.up(b):.1f}" for a, b in zip(curve.x, curve.y, strict=True))
        style = f' style="stroke: {curve.ink}"'
        return f'<polyline class="line"{style} points="{points}"><title>{escape(curve.name)}</title></polyline>'

    def svg(self, parts: Sequence[str]) -> str:
        """The whole plot as SVG text."""
        return f'<svg viewBox="0 0 {self.width} {self.height}" role="img">{"".join(parts)}</svg>'


def _thinned(curve: Curve) -> Curve:
    """A curve with a limited number of points, without NaN."""
    every = max(1, -(-len(curve.x) // MOST_POINTS))
    x, y = np.asarray(curve.x, float)[::every], np.asarray(curve.y, float)[::every]
    finite = np.isfinite(x) & np.isfinite(y)
    return replace(curve, x=x[finite], y=y[finite])


def _span(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    return min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)


def _marks(span: tuple[float, float]) -> list[float]:
    """Tick values 1, 2 and 5 of every decade between two logarithms; only 1 if there are many decades."""
    of_each = (1, 2, 5) if span[1] - span[0] < FEW_DECADES else (1,)
    marks = [m * 10.0**e for e in range(math.floor(span[0]), math.ceil(span[1]) + 1) for m in of_each]
    return [mark for mark in marks if span[0] - 1e-9 <= math.log10(mark) <= span[1] + 1e-9]


def lines_plot(
    title: str,
    unit: str,
    curves: Sequence[Curve],
    events: Sequence[tuple[float, str]] = (),
    *,
    decades: bool = False,
) -> str:
    """Signals over time on the same axes; `events` are dashed lines at a time, with their colour.

    With `decades` the horizontal axis is logarithmic, as in a Bode plot.
    """
    if decades:
        curves = [replace(curve, x=np.log10(curve.x)) for curve in curves]
    shown = [curve for curve in map(_thinned, curves) if len(curve.x) > 1]
    if not shown:
        return ""
    low, high = _span([curve.y for curve in shown])
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    first, last = _span([curve.x for curve in shown])
    frame = _Frame((first, last), (low, high), WIDTH, HEIGHT, decades)
    parts = [_text(LEFT, 12, f"{title} ({unit})" if unit not in ("", "1") else title), *frame.grid()]
    for event, ink in events:
        if first <= event <= last:
            x, style = frame.across(event), f' style="stroke: {ink}"' if ink else ""
            parts.append(f'<line class="event"{style} x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    return frame.svg([*parts, *map(frame.line, shown)])


def line_plot(title: str, unit: str, time_s: np.ndarray, values: np.ndarray, events: Sequence[float] = ()) -> str:
    """One signal over time; `events` are dashed lines."""
    return lines_plot(title, unit, [Curve(title, time_s, values)], [(event, "") for event in events])


def track_plot(title: str, curves: Sequence[Curve]) -> str:
    """Paths seen from above, x east and y north in metres, with equal scales."""
    shown = [curve for curve in map(_thinned, curves) if len(curve.x) > 1]
    if not shown:
        return ""
    (left, right), (low, high) = _span([curve.x for curve in shown]), _span([curve.y for curve in shown])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    scale = 1.08 * max((right - left) / wide, (high - low) / tall, 1 / tall)  # metres per pixel
    east, north = (left + right) / 2, (low + high) / 2
    across, up = scale * wide / 2, scale * tall / 2
    frame = _Frame((east - across, east + across), (north - up, north + up), WIDTH, HEIGHT)
    return frame.svg([_text(LEFT, 12, title), *frame.grid(), *map(frame.line, shown)])


def bars_plot(title: str, unit: str, values: np.ndarray, edges: Sequence[float]) -> str:
    """Histogram of values between edges, on a logarithmic scale, which shows rare values."""
    counts, _ = np.histogram(np.asarray(values, float), np.asarray(edges, float))
    frame = _Frame((edges[0], edges[-1]), (0.0, max(1.0, math.log10(max(1, int(counts.max()))) * 1.05)), WIDTH, HEIGHT)
    parts = [_text(LEFT, 12, f"{title} ({unit})")]
    for power in range(math.floor(frame.y[1]) + 1):
        y = frame.up(power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{10**power}", "end"))
    parts += [_text(frame.across(tick), HEIGHT - 7, f"{tick:g}", "middle") for tick in ticks(*frame.x)]
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            x, top = frame.across(low), frame.up(max(math.log10(count), 0.05))
            wide, tall = max(1.0, frame.across(high) - x - 0.5), HEIGHT - BOTTOM - top
            text = f"{count} between {low:g} and {high:g} {unit}"
            parts.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="var(--c0)">'
                f"<title>{escape(text)}</title></rect>"
            )
    return frame.svg(parts)


SUFFIXES = {  # of names of parameters in case files, and their units
    "_mps2": "m/s²", "_mps": "m/s", "_radps": "rad/s", "_deg": "°", "_rad": "rad", "_kgm2": "kg m²", "_kg": "kg",
    "_hz": "Hz", "_ms": "ms", "_s": "s", "_m": "m", "severity": "0 to 1",
}  # fmt: skip
MOST_TICKS = 8  # numbers along an axis whose points are marked
WORDS = {"pass": "pass", "fail": "fail", "void": "void (nothing is verified)", "error": "error"}


def with_unit(name: str) -> str:
    """Name of a varied parameter with the unit that its suffix gives."""
    unit = next((unit for suffix, unit in SUFFIXES.items() if name.endswith(suffix)), "")
    return f"{name} ({unit})" if unit else name


def mark(verdict: str, x: float, y: float, text: str = "", size: float = 3.5) -> str:
    """A flight as a point: circle pass, cross fail, square void, triangle error; not by colour alone."""
    ink, s = INK.get(verdict, "var(--muted)"), size
    if verdict == "fail":
        shape = f'<path d="M{x - s:.1f},{y - s:.1f} l{2 * s},{2 * s} m0,{-2 * s} l{-2 * s},{2 * s}" fill="none" '
        shape += f'stroke="{ink}" stroke-width="1.8"'
    elif verdict == "void":
        shape = f'<rect x="{x - s:.1f}" y="{y - s:.1f}" width="{2 * s}" height="{2 * s}" fill="none" stroke="{ink}"'
    elif verdict == "error":
        shape = f'<path d="M{x:.1f},{y - s:.1f} l{s},{2 * s} l{-2 * s},0 z" fill="{ink}"'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{s}" fill="{ink}" fill-opacity="0.6"'
    tag = shape[1:].partition(" ")[0]
    return f"{shape}><title>{escape(text)}</title></{tag}>" if text else f"{shape}/>"


@dataclass(frozen=True)
class Point:
    """One flight in a plot of margins."""

    x: float | str
    y: float
    verdict: str
    text: str


def scatter_plot(title: str, across: str, points: Sequence[Point]) -> str:
    """Margins over one varied parameter, one point per flight; text values are in their order along the axis."""
    shown = [p for p in points if math.isfinite(p.y) and (isinstance(p.x, str) or math.isfinite(p.x))]
    if not shown:
        return ""
    words = sorted({str(p.x) for p in shown}) if any(isinstance(p.x, str) for p in shown) else []
    x = [float(words.index(str(p.x))) if words else float(p.x) for p in shown]
    span_x, span_y = _around(x), _around([0.0, *(p.y for p in shown)])
    frame = _Frame(span_x, span_y, WIDTH, HEIGHT)
    parts = [_text(4, 12, title)]
    for tick in ticks(*span_y):
        y = frame.up(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{tick:g}", "end"))
    zero = frame.up(0.0)
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}"/>')
    labels = [(float(i), word[:12]) for i, word in enumerate(words)] or [(t, f"{t:g}") for t in ticks(*span_x)]
    parts += [_text(frame.across(place), HEIGHT - 9, text, "middle") for place, text in labels]
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT + 8, with_unit(across), "middle"))
    parts += [mark(p.verdict, frame.across(v), frame.up(p.y), p.text) for v, p in zip(x, shown, strict=True)]
    return _with_name_below(parts)


def histogram_plot(title: str, unit: str, values: Sequence[tuple[float, str]], bins: int = 20) -> str:
    """Number of flights by margin and verdict; left of the line at 0 the requirement is broken."""
    finite = [(value, verdict) for value, verdict in values if math.isfinite(value)]
    if not finite:
        return ""
    low, high = _around([0.0, *(value for value, _ in finite)])
    edges = np.linspace(low, high, bins + 1)
    verdicts = [v for v in INK if any(verdict == v for _, verdict in finite)]
    counts = {v: np.histogram([value for value, verdict in finite if verdict == v], edges)[0] for v in verdicts}
    top = max(1, int(np.sum(list(counts.values()), axis=0).max()))
    frame = _Frame((low, high), (0.0, 1.05 * top), WIDTH, HEIGHT)
    parts = [_text(4, 12, title)]
    for tick in ticks(0, top, 3):
        if tick == round(tick):
            y = frame.up(tick)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(_text(LEFT - 4, y + 4, f"{tick:g}", "end"))
    for i, (a, b) in enumerate(itertools.pairwise(edges.tolist())):
        below = 0
        for verdict in verdicts:
            count = int(counts[verdict][i])
            if count:
                y, tall = frame.up(below + count), frame.up(below) - frame.up(below + count)
                x, wide = frame.across(a) + 0.5, frame.across(b) - frame.across(a) - 1
                text = f"{count} {verdict}, margin {a:.4g} to {b:.4g} {unit}"
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{INK[verdict]}" '
                    f'fill-opacity="0.75"><title>{escape(text)}</title></rect>'
                )
                below += count
    zero = frame.across(0.0)
    parts.append(f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    parts += [_text(frame.across(tick), HEIGHT - 9, f"{tick:g}", "middle") for tick in ticks(low, high)]
    name = f"margin ({unit})" if unit not in ("", "1") else "margin"
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT + 8, f"flights by {name}; below 0: broken", "middle"))
    return _with_name_below(parts)


def _with_name_below(parts: Sequence[str]) -> str:
    """A plot with room for the name of its axis."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 14}" role="img">{"".join(parts)}</svg>'


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range around values, with some room on both sides."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or max(0.1 * abs(high), 0.5)
    return low - room, high + room


def field_plot(
    title: str, across: str, along: str, x: Sequence[float], y: Sequence[float], values: np.ndarray, form: str = ".3g"
) -> str:
    """A number over two parameters, [y, x]: cells with their numbers, darker if larger; `-` is missing."""
    left, top, bottom = 60, 24, 40
    cell_x, cell_y = (WIDTH + 100 - left - 6) / len(x), 22
    height = top + bottom + cell_y * len(y)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    parts = [_text(4, 14, title), _text(WIDTH + 94, 14, f"upwards: {with_unit(along)}", "end")]
    for row, v in enumerate(y):
        upper = top + cell_y * (len(y) - 1 - row)
        parts.append(_text(left - 5, upper + 15, f"{v:.3g}", "end"))
        for column in range(len(x)):
            number, place = float(values[row, column]), left + cell_x * column
            dark = 0.08 + 0.5 * (number - low) / max(high - low, 1e-12) if math.isfinite(number) else 0.0
            parts.append(
                f'<rect x="{place:.1f}" y="{upper:.1f}" width="{cell_x - 1:.1f}" height="{cell_y - 1}" '
                f'fill="var(--c0)" fill-opacity="{dark:.2f}"/>'
            )
            words = f"{number:{form}}" if math.isfinite(number) else "-"
            parts.append(_text(place + cell_x / 2, upper + 15, words, "middle"))
    for column, v in enumerate(x):
        parts.append(_text(left + cell_x * (column + 0.5), height - bottom + 14, f"{v:.3g}", "middle"))
    parts.append(_text((left + WIDTH + 100) / 2, height - 8, with_unit(across), "middle"))
    return f'<svg viewBox="0 0 {WIDTH + 100} {height}" role="img">{"".join(parts)}</svg>'


def map_plot(map_: Map, title: str = "") -> str:
    """Verdicts over two parameters, with the line between survived and lost, a legend and units."""
    width, height, left, bottom, top = 560, 420, 64, 74, 34
    nx, ny = len(map_.x), len(map_.y)
    cell_x, cell_y = (width - left - 10) / nx, (height - bottom - top) / ny
    span_x, span_y = map_.x[-1] - map_.x[0], map_.y[-1] - map_.y[0]

    def across(value: float) -> float:
        return left + cell_x * (0.5 + (nx - 1) * (value - map_.x[0]) / span_x)

    def up(value: float) -> float:
        return height - bottom - cell_y * (0.5 + (ny - 1) * (value - map_.y[0]) / span_y)

    parts = [_text(4, 16, title or f"verdict over {map_.across} and {map_.along}")]
    for row, y in enumerate(map_.y):
        for column, x in enumerate(map_.x):
            verdict = str(map_.verdicts[row, column])
            text = f"{map_.across} = {x:.4g}, {map_.along} = {y:.4g}: {verdict}, margin {map_.margins[row, column]:.4g}"
            parts.append(
                f'<rect x="{across(x) - cell_x / 2:.1f}" y="{up(y) - cell_y / 2:.1f}" width="{cell_x:.1f}" '
                f'height="{cell_y:.1f}" fill="{INK[verdict]}" fill-opacity="0.3"><title>{escape(text)}</title></rect>'
            )
            parts.append(mark(verdict, across(x), up(y), size=min(3.0, 0.2 * min(cell_x, cell_y))))
    if len(map_.line) > 1:
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in map_.line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="var(--text)" stroke-width="2"/>')
    for tick in map_.x[:: -(-nx // MOST_TICKS)]:  # at the points that were flown
        parts.append(_text(across(tick), height - bottom + 16, f"{tick:.3g}", "middle"))
    for tick in map_.y[:: -(-ny // MOST_TICKS)]:
        parts.append(_text(left - 6, up(tick) + 4, f"{tick:.3g}", "end"))
    parts.append(_text(left + (width - left) / 2, height - bottom + 34, with_unit(map_.across), "middle"))
    parts.append(
        f'<text transform="translate(13 {(top + height - bottom) / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(with_unit(map_.along))}</text>"
    )
    x = 8.0
    for verdict in (v for v in WORDS if (map_.verdicts == v).any()):
        parts.append(mark(verdict, x + 4, height - 14, size=4))
        parts.append(_text(x + 13, height - 10, WORDS[verdict]))
        x += 30 + 6.2 * len(WORDS[verdict])
    if len(map_.line) > 1:
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="{height - 14}" y2="{height - 14}" stroke="var(--text)" '
                     'stroke-width="2"/>')  # fmt: skip
        parts.append(_text(x + 27, height - 10, "where it turns, found between the points"))
    return f'<svg viewBox="0 0 {width} {height}" role="img" style="max-width: {width}px">{"".join(parts)}</svg>'


def write_map(map_: Map, path: Path, title: str = "") -> None:
    """Write the map as a separate SVG file, with colours for white paper."""
    inks = {"--good": "#1d7f4b", "--bad": "#b3261e", "--warn": "#8a5a00", "--text": "#1b2430", "--muted": "#5f6b7a"}
    text = map_plot(map_, title)
    text = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
    for name, ink in inks.items():
        text = text.replace(f"var({name})", ink)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text.replace("<text ", '<text font-size="11" ') + "\n")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
