"""Small pictures as SVG text: a line over time, and a map of verdicts over two parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from ironbird.campaign.search import Map

WIDTH, HEIGHT = 300, 150
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 20, 22
MOST_POINTS = 400
INK = {"pass": "var(--good)", "fail": "var(--bad)", "void": "var(--warn)", "error": "#7a3cff"}


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between two values."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 2.5, 5, 10) if scale * m >= raw)
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def line_plot(title: str, unit: str, time_s: np.ndarray, values: np.ndarray, events: Sequence[float] = ()) -> str:
    """One signal over time; `events` are dashed lines."""
    every = max(1, -(-len(time_s) // MOST_POINTS))
    t, y = np.asarray(time_s, float)[::every], np.asarray(values, float)[::every]
    finite = np.isfinite(y)
    t, y = t[finite], y[finite]
    if len(t) < 2:
        return ""
    low, high = float(y.min()), float(y.max())
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    first, last = float(t[0]), float(t[-1])

    def across(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / max(last - first, 1e-9)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    parts = [_text(LEFT, 12, f"{title} ({unit})" if unit not in ("", "1") else title)]
    for tick in ticks(low, high):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>')
        parts.append(_text(LEFT - 4, up(tick) + 4, f"{tick:g}", "end"))
    for tick in ticks(first, last):
        parts.append(_text(across(tick), HEIGHT - 7, f"{tick:g}", "middle"))
    for event in events:
        if first <= event <= last:
            x = across(event)
            parts.append(f'<line class="event" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(t, y, strict=True))
    parts.append(f'<polyline class="line" points="{points}"/>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def map_plot(found: Map) -> str:
    """Verdicts over two parameters, with the line between survived and lost."""
    width, height, left, bottom = 560, 360, 70, 44
    nx, ny = len(found.x), len(found.y)
    cell_x, cell_y = (width - left - 10) / nx, (height - bottom - 10) / ny
    span_x, span_y = found.x[-1] - found.x[0], found.y[-1] - found.y[0]

    def across(value: float) -> float:
        return left + cell_x * (0.5 + (nx - 1) * (value - found.x[0]) / span_x)

    def up(value: float) -> float:
        return height - bottom - cell_y * (0.5 + (ny - 1) * (value - found.y[0]) / span_y)

    parts = []
    for row, y in enumerate(found.y):
        for column, x in enumerate(found.x):
            verdict = str(found.verdicts[row, column])
            said = (
                f"{found.across} = {x:.4g}, {found.along} = {y:.4g}: {verdict}, margin {found.margins[row, column]:.4g}"
            )
            parts.append(
                f'<rect x="{across(x) - cell_x / 2:.1f}" y="{up(y) - cell_y / 2:.1f}" width="{cell_x:.1f}" '
                f'height="{cell_y:.1f}" fill="{INK[verdict]}" fill-opacity="0.35"><title>{escape(said)}</title></rect>'
            )
    if len(found.line) > 1:
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in found.line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="var(--text)" stroke-width="2"/>')
    for tick in ticks(found.x[0], found.x[-1]):
        parts.append(_text(across(tick), height - bottom + 16, f"{tick:g}", "middle"))
    for tick in ticks(found.y[0], found.y[-1]):
        parts.append(_text(left - 6, up(tick) + 4, f"{tick:g}", "end"))
    parts.append(_text(left + (width - left) / 2, height - 8, found.across, "middle"))
    parts.append(
        f'<text transform="translate(14 {(height - bottom) / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(found.along)}</text>"
    )
    return f'<svg viewBox="0 0 {width} {height}" role="img" style="max-width: {width}px">{"".join(parts)}</svg>'


def write_map(found: Map, path: Path) -> None:
    """The map as a picture of its own, with ink for white paper."""
    inks = {"--good": "#1d7f4b", "--bad": "#b3261e", "--warn": "#8a5a00", "--text": "#1b2430"}
    text = map_plot(found).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
    for name, ink in inks.items():
        text = text.replace(f"var({name})", ink)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("<text ", '<text font-size="11" ') + "\n")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
