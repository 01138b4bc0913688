"""Small pages of plots that a notebook shows in place, drawn by the plot engine of all pages; they need no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ironbird.files.whole import write_text
from ironbird.report.flight.curves import SHOWN, Json, packed
from ironbird.report.flight.paths import equal_ranges
from ironbird.report.flight.replay import MOST_FRAMES, UP
from ironbird.report.page import hash_source, page_text, script_text

REPLAY_PX = 470


@dataclass(frozen=True)
class Picture:
    """Plots with a title: a notebook shows them in place, `save` writes them as a page of their own.

    Attributes
    ----------
    html : str
        The page.
    height_px : int
        Height of its frame in a notebook.
    """

    html: str = field(repr=False)
    height_px: int
    title: str = ""

    def _repr_html_(self) -> str:
        look = f'sandbox="allow-scripts" style="width: 100%; height: {self.height_px}px; border: 0"'
        return f'<iframe {look} title="{escape(self.title)}" srcdoc="{escape(self.html)}"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; returns its path.

        Examples
        --------
        >>> flight.plot("body.euler").save("attitude.html")  # doctest: +SKIP
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.html)
        return path


def picture(
    title: str,
    figures: dict[str, Json],
    panels: Sequence[Json] = (),
    *,
    time_range: Sequence[float] = (0.0, 1.0),
    lead: str = "",
    drawings: Sequence[str] = (),
) -> Picture:
    """Plots as a page; `figures` are those of `TimePlots`, a figure `replay` comes first, `drawings` are SVG."""
    scripts = script_text("plots.js"), script_text("scene.js", "replay.js", "flight.js")
    shown = "replay" in figures
    content: dict[str, Any] = {
        "title": title, "lead": lead, "has_replay": shown, "panels": list(panels), "figures": figures,
        "drawings": [Markup(svg) for svg in drawings], "time_range": list(time_range),
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(map(hash_source, scripts))),
    }  # fmt: skip
    height = 80 + (REPLAY_PX if shown else 0) + 360 * len(drawings)
    height += sum(70 + int(figures[panel["figure"]]["layout"].get("height", 234)) for panel in panels)
    return Picture(page_text("picture.html.j2", content), height, title)


def replay_figure(
    time_s: np.ndarray, place_N_m: np.ndarray, q_NB: np.ndarray, shape: Json, marks: Sequence[Json] = (), *,
    set_point_N_m: np.ndarray | None = None, crashed: bool = False,
) -> Json:  # fmt: skip
    """The figure `replay` of one path: rows of positions and attitudes in N; marks as the flight page has them."""
    rows = np.arange(0, len(time_s), math.ceil(len(time_s) / MOST_FRAMES) or 1)
    rows = np.append(rows, len(time_s) - 1) if rows[-1] != len(time_s) - 1 else rows
    place = np.where(np.abs(place_N_m[rows]) < SHOWN, place_N_m[rows] * UP, np.nan)
    frames = {"time_s": packed(time_s[rows]), "place": packed(place.ravel()), "attitude": packed(q_NB[rows].ravel())}
    if set_point_N_m is not None:
        frames["set_point"] = packed((set_point_N_m[rows] * UP).ravel())
    return {
        "kind": "replay", "frames": frames, "others": {}, "modes": [], "marks": list(marks), "waypoints": [],
        "numbers": [], "ranges": equal_ranges(place),
        "shape": {key: shape[key] for key in ("drawing", "parts", "joints", "signals")}, "world": None, "hit": None,
        "broken": [], "bands": [], "events": [], "crashed": crashed,
    }  # fmt: skip
