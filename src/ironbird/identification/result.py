"""Result of an identification: a vehicle file that overrides its base, with the record as source of each value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ironbird.credibility.record import Record
from ironbird.errors import RecordError
from ironbird.files.toml_text import write_toml
from ironbird.files.whole import write_text
from ironbird.identification.free import changed_tables
from ironbird.identification.output_error import Fit
from ironbird.vehicles.load import load_spec, read_tables, vehicle_path


def identified_vehicle(fit: Fit, base: str | Path, path: Path) -> Path:
    """Write the vehicle with identified parameters; those that are not identified keep the base's value."""
    chosen = [i for i, estimate in enumerate(fit.estimates) if estimate.identified]
    if not chosen:
        raise RecordError(
            f"{fit.record} identifies none of {', '.join(e.name for e in fit.estimates)}: every deviation is above "
            f"half of the "
            "value; fly with more excitation (ironbird model excite)"
        )
    tables = read_tables(vehicle_path(base))
    free, factors = [fit.free[i] for i in chosen], fit.factors[chosen]
    sources = [
        f"{fit.record}, {e.name} {e.value:.5g} ± {e.sigma:.2g} {e.unit}" for e in (fit.estimates[i] for i in chosen)
    ]
    title = f"{tables.get('title', path.stem)}, identified from {fit.record}"
    return _on_top(base, path, title, changed_tables(tables, free, factors, sources))


def vehicle_with_noise(record: Record, table: Mapping[str, float], base: str | Path, path: Path) -> Path:
    """Write the vehicle with the inertial noise of a record at rest."""
    title = f"{read_tables(vehicle_path(base)).get('title', path.stem)}, noise of {record.path.name}"
    source = f"identified: {record.path.name}, Allan deviation at rest; densities one-sided"
    data = {"sensors": {"imu_noise": dict(table)}, "provenance": {"sensors.imu_noise.*": source}}
    return _on_top(base, path, title, data)


def _on_top(base: str | Path, path: Path, title: str, tables: Mapping[str, Any]) -> Path:
    """Write a vehicle file with the differences from its base."""
    source = vehicle_path(base).resolve() if str(base).endswith(".toml") else base
    data: dict[str, Any] = {"schema": 1, "id": path.stem, "base": str(source), "title": title, **tables}
    headed = {"provenance", *(key for key, value in data.items() if isinstance(value, dict))}
    headed |= {
        name for value in data.values() if isinstance(value, dict) for name, v in value.items() if isinstance(v, dict)
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, write_toml(data, headed))
    load_spec(path)  # it must be a vehicle
    return path
