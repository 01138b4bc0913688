"""The page of a link with a fault: packets sent, packets received, and their delay."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ironbird.flight.fault_bench import LinkRun
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot

BIN_S = 0.5


def write_link_page(run: LinkRun, path: Path) -> None:
    """Write the HTML page of a link; plots are plain SVG without scripts."""
    fault = run.witness.injection
    last_s = max(run.sent_s[-1], run.arrived_s[-1] if run.arrived_s.size else 0.0)
    edges = np.arange(0.0, last_s + 2 * BIN_S, BIN_S)
    middle = edges[:-1] + BIN_S / 2
    events = [(time_s, "var(--fault)") for time_s in (fault.start_s, fault.end_s) if np.isfinite(time_s)]

    def rate(times_s: np.ndarray) -> np.ndarray:
        return np.histogram(times_s, edges)[0] / BIN_S

    known = np.isfinite(run.late_s)
    plots = [
        lines_plot(
            "packets",
            "1/s",
            [
                Curve("sent", middle, rate(run.sent_s), "var(--c1)"),
                Curve("arrived", middle, rate(run.arrived_s), "var(--c0)"),
            ],
            events,
        ),
        lines_plot("on their way", "s", [Curve("late", run.arrived_s[known], run.late_s[known], "var(--c0)")], events),
    ]
    content = {"title": fault.fault.id, "about": fault.fault.summary, "said": run.witness.sentence(), "plots": plots}
    write_page(path, "link.html.j2", content)
