"""The page of an identification: which parameters the data identify, and how well the model follows them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ironbird.identification.output_error import Fit
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot

DEGREES = {"_rate": "°/s", "_acceleration": "°/s²", "": "°"}


def write_identification_page(fit: Fit, path: Path, *, written: str = "") -> None:
    """Write the HTML page of an identification; `written` names the vehicle file that was written."""
    write_page(path, "identification.html.j2", _content(fit, written))


def _shown(name: str) -> tuple[float, str]:
    """Factor and unit of a signal on the page."""
    axis, _, rest = name.partition("_")
    if axis in ("roll", "pitch", "yaw"):
        return math.degrees(1.0), DEGREES[f"_{rest}" if rest else ""]
    return 1.0, "m/s²" if name.startswith("specific_force") else "m/s"


def _content(fit: Fit, written: str) -> dict[str, Any]:
    plots = []
    for place, name in enumerate(fit.signals):
        factor, unit = _shown(name)
        plots.append(
            lines_plot(
                name.replace("_", " "),
                unit,
                [
                    Curve("measured", fit.time_s, fit.measured[:, place] * factor, "var(--text)"),
                    Curve("model", fit.time_s, fit.modelled[:, place] * factor, "var(--c1)"),
                ],
            )
        )
    return {
        "title": f"{fit.vehicle} from {fit.record}",
        "method": fit.method,
        "iterations": fit.iterations,
        "written": written,
        "notes": [
            f"used: {fit.time_s[0]:.2f} to {fit.time_s[-1]:.2f} s of the record",
            *fit.notes,
        ],
        "estimates": [
            {
                "name": e.name,
                "unit": e.unit,
                "before": f"{e.before:.5g}",
                "value": f"{e.value:.5g}",
                "sigma": f"{e.sigma:.2g}",
                "share": f"{100 * e.relative:.2g} %",
                "alone": f"{100 * e.insensitivity / abs(e.value):.2g} %",
                "interval": f"{e.interval()[0]:.5g} to {e.interval()[1]:.5g}",
                "identified": e.identified,
            }
            for e in fit.estimates
        ],
        "correlated": [f"{a} and {b} (correlation {r:+.3f})" for a, b, r in fit.correlated()],
        "residuals": [
            {
                "signal": r.signal,
                "sigma": f"{r.sigma:.3g}",
                "mean": f"{r.mean_sigmas:+.1f}",
                "outside": f"{100 * r.outside:.0f} %",
                "inflation": f"{r.inflation:.2f}",
                "white": r.white,
            }
            for r in fit.residuals
        ],
        "plots": plots,
    }
