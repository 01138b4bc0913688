"""The page of a vehicle's reliability: probability of loss, contributors, FMEA, life."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ironbird.reliability.sampling import Sampled
from ironbird.reliability.tree import Tree
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot


def write_reliability_page(
    tree: Tree, sampled: Sampled, losses: np.ndarray, path: Path, *, age_h: float, hours: float
) -> None:
    """Write the HTML page of a vehicle's reliability: probability of loss over age, contributors, FMEA.

    `losses` is the share of vehicles lost by the end of each flight; `hours` is the length of a flight.
    """
    ages = np.linspace(0.0, max(2 * age_h, 500.0), 60)
    rates = np.array([tree.probability(float(age), hours) for age in ages])
    low, high = sampled.interval
    content = {
        "title": f"Reliability of {tree.vehicle}",
        "exact": f"{tree.probability(age_h, hours):.3e}",
        "sampled": f"{sampled.value:.3e} ({low:.2e} to {high:.2e}, {sampled.draws:,} draws)",
        "flight": f"a flight of {60 * hours:.0f} min with parts that have run {age_h:g} h",
        "fmea": tree.fmea(age_h, hours),
        "plots": [
            lines_plot("loss in one flight over the age of the parts (h)", "", [Curve("loss", ages, rates)]),
            lines_plot(
                "share lost over flights, no repair",
                "",
                [Curve("lost", np.arange(1, len(losses) + 1), losses)],
            ),
        ],
    }
    write_page(path, "reliability.html.j2", content)
