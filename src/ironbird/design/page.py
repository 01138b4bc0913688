"""The page of a design: figures with their uncertainty, warnings, the front of a search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ironbird.design.evaluate import Evaluation
from ironbird.design.parts import Part
from ironbird.design.search import Found
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot

FRONT_SHOWN = 40


def write_design_page(evaluation: Evaluation, path: Path, *, found: Found | None = None, files: list[str]) -> None:
    """Write the HTML page of a design; `found` is the result of a search, `files` the names of other files written."""
    write_page(path, "design.html.j2", _content(evaluation, found, files))


def _content(evaluation: Evaluation, found: Found | None, files: list[str]) -> dict[str, Any]:
    craft = evaluation.craft
    chain = craft.chain()
    duties = np.linspace(0.2, 1.0, 41)
    states = [chain.at_duty(float(duty)) for duty in duties]
    lift = np.array([craft.rotors * float(np.ravel(chain.thrust(s.rpm))[0]) for s in states])
    amps = np.array([float(np.ravel(s.battery_A)[0]) for s in states])
    plots = [
        lines_plot("lift over throttle", "N", [Curve("lift", duties, lift)]),
        lines_plot("battery current over throttle", "A", [Curve("current", duties, amps)]),
    ]
    front = []
    if found is not None and found.front:
        kg = np.array([choice.mass_kg for choice in found.front])
        minutes = np.array([choice.minutes for choice in found.front])
        plots.insert(0, lines_plot("front: hover time (min) over mass (kg)", "", [Curve("front", kg, minutes)]))
        front = [
            {
                "motor": c.motor.name,
                "propeller": c.propeller.name,
                "mass": f"{c.mass_kg:.2f}",
                "minutes": f"{c.minutes:.1f}",
                "duty": f"{100 * c.duty:.0f} %",
                "spare": f"{c.spare_kg:.2f}",
            }
            for c in found.front[:FRONT_SHOWN]
        ]
    parts = [
        {
            "kind": kind,
            "name": part.name,
            "source": part.source,
            "status": part.status,
            "licence": part.licence or "not given",
            "mass": _mass(part),
        }
        for kind, part in craft.parts()
    ]
    return {
        "title": f"{craft.mass_kg:.2f} kg, {craft.rotors} rotors, {1e3 * craft.frame_m:.0f} mm",
        "parts": parts,
        "figures": [{"name": name, "value": str(value)} for name, value in evaluation.figures.items()],
        "warnings": evaluation.warnings,
        "front": front,
        "tried": f"{found.tried:,} pairs tried, {found.possible:,} meet what is wanted" if found else "",
        "plots": plots,
        "files": files,
    }


def _mass(part: Part) -> str:
    about = "about " if "mass_kg" in part.estimated else ""
    return f"{about}{1e3 * part.mass_kg:.0f} g" if part.mass_kg else "not known"
