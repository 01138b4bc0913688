"""The values of a vehicle file with their sources, and those that were set for one flight."""

from __future__ import annotations

from typing import Any

import numpy as np

from ironbird.flight.flight import Flight
from ironbird.report.flight.curves import Json
from ironbird.units import exact
from ironbird.vehicles.spec import VehicleSpec, leaves


def parameter_groups(spec: VehicleSpec) -> list[tuple[str, list[Json]]]:
    """The vehicle file's values by table, each with its source."""
    head = {"schema_version", "id", "title", "template", "summary", "provenance"}
    written = {key for key, _ in leaves(spec.model_dump(exclude=head, exclude_unset=True))}
    groups: dict[str, list[Json]] = {}
    for key, value in leaves(spec.model_dump(exclude=head)):
        kind, detail = (part.strip() for part in spec.source_of(key).partition(":")[::2])
        if key not in written and key not in spec.provenance:  # a pattern applies to values that are in the file
            kind, detail = "default", "not in the vehicle file"
        elif not kind and isinstance(value, str):
            kind = "choice"
        row = {"key": key, "value": _show(value), "kind": kind or "not stated", "detail": detail}
        groups.setdefault(key.partition(".")[0], []).append(row)
    return sorted(groups.items(), key=lambda group: group[0] in ("home", "environment"))  # the surroundings last


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return exact(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    return str(value)


def overrides(flight: Flight) -> list[Json]:
    """Parameters that were set for this flight only."""
    rows = []
    known = flight.model.params()
    for path, value in flight.order.settings.items():
        name, _, index = path.partition("[")
        signal = known.get(name)
        base = "unknown"
        if signal is not None:
            column = flight.vehicle.diagram.value(name)
            if index:
                column = column[[int(index.rstrip("]"))]]
            base = _show(column.tolist() if column.size > 1 else float(column[0]))
        unit = signal.unit if signal is not None and signal.unit != "1" else ""
        rows.append({"path": path, "base": base, "value": _show(np.asarray(value, float).tolist()), "unit": unit})
    return rows
