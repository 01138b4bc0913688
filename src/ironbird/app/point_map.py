"""A map of flights over two varied parameters: a point for each, coloured by its verdict, linked to its replay."""

from __future__ import annotations

import html
import itertools
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironbird.flight.words import FAIL, PASS

WIDTH, HEIGHT, MARGIN = 640, 420, 84
COLOURS = {"pass": "#059669", "fail": "#dc2626", "void": "#d97706", "error": "#7c3aed"}
TICKS = 5
RADIUS = 6


def point_map(campaign: str, points: Sequence[Mapping[str, Any]], across: str, along: str) -> str:
    """The map as SVG text; flights without both parameters are left out.

    The line is midway between neighbours of which one passed and one failed, at each value across.
    """
    shown = [point for point in points if across in point["values"] and along in point["values"]]
    if not shown:
        return ""
    x, y = ([float(point["values"][name]) for point in shown] for name in (across, along))
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="ib-points" role="img" aria-label="map of verdicts">']
    parts += _axes(x, y, across, along)
    turns = [f"{_place(a, x, MARGIN, WIDTH - 20):.1f},{_place(b, y, HEIGHT - MARGIN, 20):.1f}"
             for a, b in boundary(zip(x, y, (point["verdict"] for point in shown), strict=True))]  # fmt: skip
    if len(turns) > 1:
        parts.append(f'<polyline points="{" ".join(turns)}" fill="none" stroke="#0f172a" stroke-dasharray="5 4"/>')
    for point, a, b in zip(shown, x, y, strict=True):
        query = html.escape(urllib.parse.urlencode({"campaign": campaign, "flight": point["id"]}), quote=True)
        words = html.escape(f"{point['id']}: {point['verdict']}, margin {point['margin']:.3g}")
        parts.append(
            f'<a href="/replay?{query}"><circle cx="{_place(a, x, MARGIN, WIDTH - 20):.1f}" '
            f'cy="{_place(b, y, HEIGHT - MARGIN, 20):.1f}" r="{RADIUS}" '
            f'fill="{COLOURS.get(point["verdict"], "#475569")}"><title>{words}</title></circle></a>'
        )
    return "".join([*parts, "</svg>"])


def boundary(flights: Iterable[tuple[float, float, str]]) -> list[tuple[float, float]]:
    """Points where verdicts change along the second value, midway; the first change for each value of the first."""
    columns: dict[float, dict[float, str]] = {}
    for a, b, verdict in flights:
        # one failure among several flights at the same point counts
        if verdict in (PASS, FAIL) and columns.setdefault(a, {}).get(b) != FAIL:
            columns[a][b] = verdict
    points = []
    for a, column in sorted(columns.items()):
        rows = sorted(column.items())
        turn = next(((low + high) / 2 for (low, v), (high, w) in itertools.pairwise(rows) if v != w), None)
        points += [(a, turn)] if turn is not None else []
    return points


def _place(value: float, among: Sequence[float], begin: float, end: float) -> float:
    low, high = min(among), max(among)
    return begin + (end - begin) * ((value - low) / (high - low) if high > low else 0.5)


def _axes(x: Sequence[float], y: Sequence[float], across: str, along: str) -> list[str]:
    frame = f'<rect x="{MARGIN - 12}" y="8" width="{WIDTH - MARGIN}" height="{HEIGHT - MARGIN + 4}" fill="#f8fafc"/>'
    elements = [frame]
    for number in range(TICKS):
        share = number / (TICKS - 1)
        a, b = (min(v) + share * (max(v) - min(v)) for v in (x, y))
        left, low = _place(a, x, MARGIN, WIDTH - 20), _place(b, y, HEIGHT - MARGIN, 20)
        elements.append(f'<text x="{left:.1f}" y="{HEIGHT - 28}" text-anchor="middle">{a:.3g}</text>')
        elements.append(f'<text x="{MARGIN - 16}" y="{low + 4:.1f}" text-anchor="end">{b:.3g}</text>')
    elements.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(across)}</text>')
    turned = f'transform="rotate(-90 14 {HEIGHT / 2})"'
    elements.append(f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" {turned}>{html.escape(along)}</text>')
    return elements
