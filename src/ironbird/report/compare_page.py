"""One case on several control systems, on one page without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ironbird.campaign.compare import Compared
from ironbird.errors import LinkError
from ironbird.flight.autopilot_estimate import AutopilotEstimate, own_figures
from ironbird.flight.derived import derived
from ironbird.flight.flight import Flight
from ironbird.flight.systems import is_outside
from ironbird.flight.witness import Witness
from ironbird.flight.words import ERROR
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot, track_plot
from ironbird.vehicles import places as at

MOST_SAID = 60
LEAD_S = 5.0  # shown before take-off
INKS = ("var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)")  # of the control systems, in their order


def write_compare_page(flown: Sequence[Compared], path: Path) -> None:
    """Write the page: outcomes in columns, all flights on the same axes from take-off on, then each system."""
    first = next((f.flight for f in flown if f.flight is not None), None)
    systems = [_system(f, INKS[i % len(INKS)], path.parent) for i, f in enumerate(flown)]
    content = {
        "title": f"{first.vehicle.spec.title}: {first.mission_title}" if first else "no flight",
        "faults": [injection.text() for injection in first.order.faults] if first else [],
        "wind": first.order.weather.describe() if first else "",
        "together": _together(flown),
        "systems": systems,
        "estimates": list(dict.fromkeys(name for system in systems for name in system["errors"])),
    }
    write_page(path, "compare.html.j2", content)


def _signals(flight: Flight) -> list[tuple[str, str, np.ndarray]]:
    """Signals that are compared over time: name, unit, values."""
    log = flight.log
    return [
        ("height", "m", -log[at.BODY.position][:, 2]),
        ("speed", "m/s", np.linalg.norm(log[at.BODY.velocity], axis=1)),
        ("tilt", "°", np.degrees(derived(log, "tilt"))),
    ]


def _together(flown: Sequence[Compared]) -> list[str]:
    """Plots of all flights on the same axes; a dashed line in the colour of a system marks the begin of a fault."""
    there = [(f, f.flight, INKS[i % len(INKS)]) for i, f in enumerate(flown) if f.flight is not None]
    events = [(witness.first_s - f.off_s, ink) for f, flight, ink in there for witness in _effective(flight)]
    tracks = [
        Curve(f.name, flight.log[at.BODY.position][:, 1], flight.log[at.BODY.position][:, 0], ink)
        for f, flight, ink in there
    ]
    plots = [track_plot("from above, east and north (m)", tracks)]
    for rows in zip(*(_signals(flight) for _, flight, _ in there), strict=True):
        curves = []
        for (f, flight, ink), (_, _, values) in zip(there, rows, strict=True):
            time_s = flight.log.time() - f.off_s
            shown = time_s >= -LEAD_S
            curves.append(Curve(f.name, time_s[shown], values[shown], ink))
        plots.append(lines_plot(rows[0][0], rows[0][1], curves, events))
    return [plot for plot in plots if plot]


def _effective(flight: Flight) -> list[Witness]:
    return [witness for witness in flight.witnesses if witness.effective]


def _system(flown: Compared, ink: str, folder: Path) -> dict[str, Any]:
    """Data of one control system: a column of the table, and its messages and actions."""
    flight = flown.flight
    page = f"{flown.name}/flight.html"
    there = (folder / page).is_file()
    content: dict[str, Any] = {"name": flown.name, "ink": ink, "verdict": ERROR, "page": quote(page) if there else ""}
    if flight is None:
        error = {"outcome": flown.error, "off": "-", "errors": {}, "clock": "-", "time": "-"}
        return content | error | {"witnesses": [], "reactions": [], "said": [], "caused": None, "steps": []}
    off_s = flown.off_s
    numbers = {id(injection): number for number, injection in enumerate(flight.order.faults, start=1)}
    errors, clock = _estimates(flight, flown.autopilot)
    return content | {
        "verdict": flight.verdict,
        "outcome": flown.result(),
        "time": flown.time(),
        "caused": flown.caused if flight.judged.healthy else None,
        "healthy": flight.judged.healthy,
        "steps": [f"{step['fault']} {step['sentence']}" for step in flight.judged.steps],
        "off": f"{off_s:.1f} s" if off_s else "never",
        "witnesses": [witness.effect() for witness in flight.witnesses],
        "errors": errors,
        "clock": clock,
        "reactions": [
            (numbers[id(r.injection)], f"{r.after_s:.2f} s", r.event.kind, r.event.text) for r in flight.reactions()
        ],
        "said": [(f"{h.time_s - off_s:.2f}", h.kind, h.text) for h in flight.autopilot_events[-MOST_SAID:]],
    }


def _estimates(flight: Flight, autopilot: AutopilotEstimate | LinkError | None) -> tuple[dict[str, str], str]:
    """Errors of the autopilot's estimates by its own log, and the offset of the clocks; or why there is no such log."""
    if isinstance(autopilot, LinkError):
        return {}, f"no log: {autopilot}"
    if autopilot is None and is_outside(flight.order.control):
        return {}, "none"
    errors, clock = (
        (own_figures(flight), "part of the log")
        if autopilot is None
        else (autopilot.errors(), autopilot.clock.sentence())
    )
    figures = {
        error.name: f"{error.rms:.3g} {error.unit} rms, {error.most:.3g} {error.unit} at most" for error in errors
    }
    return figures, clock
