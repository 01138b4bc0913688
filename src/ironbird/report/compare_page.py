"""One case on several control systems, on one page without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ironbird.campaign.compare import Flown
from ironbird.campaign.external import reactions
from ironbird.report.svg_plot import line_plot

TEMPLATES = Path(__file__).parent / "templates"
MOST_SAID = 60


def write_compare_page(flown: Sequence[Flown], path: Path) -> None:
    """Outcomes side by side, then height, speed and tilt of each from take-off on, and what each said and did."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    first = next((f.flight for f in flown if f.flight is not None), None)
    content = {
        "title": f"{first.vehicle.spec.title}: {first.mission.title}" if first else "no flight",
        "faults": [injection.describe() for injection in first.injections] if first else [],
        "wind": first.wind.describe() if first else "",
        "systems": [_system(f) for f in flown],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(environment.get_template("compare.html.j2").render(**content), encoding="utf-8")


def _system(flown: Flown) -> dict[str, object]:
    flight = flown.flight
    if flight is None:
        return {"name": flown.name, "sentence": flown.error, "ok": False, "plots": [], "reactions": [], "said": []}
    log, off_s = flight.log, flown.off_s
    time_s = log.time() - off_s
    euler, velocity = log["body.euler"], log["body.v_NB_N"]
    tilt = np.degrees(np.arccos(np.clip(np.cos(euler[:, 0]) * np.cos(euler[:, 1]), -1, 1)))
    events = [witness.first_s - off_s for witness in flight.witnesses if witness.effective]
    plots = [
        line_plot("height", "m", time_s, -log["body.p_NB_N"][:, 2], events),
        line_plot("speed", "m/s", time_s, np.linalg.norm(velocity, axis=1), events),
        line_plot("tilt", "°", time_s, tilt, events),
    ]
    return {
        "name": flown.name, "sentence": flown.sentence(), "ok": flight.survived, "plots": [p for p in plots if p],
        "reactions": [f"{r.after_s:.2f} s: {r.happening.kind} {r.happening.text}" for r in reactions(flight)],
        "said": [f"{h.time_s - off_s:.2f} s: {h.kind} {h.text}" for h in flight.happenings[-MOST_SAID:]],
    }  # fmt: skip
