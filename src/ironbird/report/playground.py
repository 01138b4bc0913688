"""One page with several vehicles that fly in the reader's browser, with any fault of the catalogue and any wind."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from markupsafe import Markup

from ironbird.export.wasm.module import description_of
from ironbird.faults.catalog import FAULTS
from ironbird.flight.flight import fly
from ironbird.report.flight.again import flown_table, groups_of, part_of, shared_values
from ironbird.report.flight.curves import Json
from ironbird.report.page import hash_source, script_text, write_page

VEHICLES = ("quad_f450", "aerosonde", "rover_differential", "boat_otter")
LABEL = "the healthy flight"
START_S = 10.0  # of a fault, if the reader moves nothing


def write_playground(path: str | Path, vehicles: Sequence[str] = VEHICLES) -> None:
    """Write the page; each vehicle flies its own mission, under the control system that it usually has."""
    parts, several = [], {}
    for name in vehicles:
        flight = fly(name)
        order, table, description = flight.order, flown_table(flight, LABEL), description_of(flight.model, brief=True)
        known = flight.vehicle.id
        parts.append(part_of(flight, description, table, f"-{known}"))
        several[known] = {
            "title": flight.vehicle.spec.title or known,
            "groups": [_fault_group(table["end_s"]), *groups_of(order, table["end_s"])],
            "faults": {fault: _fault(fault, entry) for fault, entry in description["faults"].items()},
        }
    scripts = script_text("plots.js"), script_text("again.js")
    content = shared_values(LABEL) | {
        "several": True,
        "parts": parts,
        "left": "mission",
        "controls": {"vehicles": several, "first": next(iter(several))},
    }
    write_page(
        Path(path),
        "playground.html.j2",
        {
            "again": content,
            "version": metadata.version("ironbird"),
            "scripts": [Markup(script) for script in scripts],
            "script_hashes": Markup(" ".join(map(hash_source, scripts))),
        },
    )


def _fault_group(end_s: float) -> Json:
    rows = [
        ["also.severity", "severity", "#", 0.5, 0, 1, 0.005],
        ["also.start_s", "start", "# s", min(START_S, end_s), 0, round(end_s, 1), 0.1],
    ]
    return {"title": "How much, and when", "rows": rows}


def _fault(name: str, entry: Json) -> Json:
    """What the list of faults says of one."""
    fault = FAULTS[name]
    return {
        "summary": fault.summary,
        "severity": fault.severity,
        "parts": list(entry["parts"]),
        "has_severity": fault.has_severity,
    }
