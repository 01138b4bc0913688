"""Exporters by name: one line each; packages (`ironbird.exporters`) and users add more."""

from __future__ import annotations

from pathlib import Path

from ironbird.errors import ExportError
from ironbird.export.job import Exporter, Job, emptied, zipped
from ironbird.files.registry import Registry
from ironbird.files.whole import without_empty

EXPORTERS: Registry[Exporter] = Registry(
    "exporters",
    {
        "c": "ironbird.export.c_code.exporter:C",
        "library": "ironbird.export.library.exporter:LIBRARY",
        "fmu2": "ironbird.export.fmu.exporter:FMU2",
        "fmu3": "ironbird.export.fmu.exporter:FMU3",
        "cortex-m": "ironbird.export.cortex_m.exporter:CORTEX_M",
        "realtime": "ironbird.export.realtime.exporter:REALTIME",
        "policy": "ironbird.export.policy.exporter:POLICY",
        "wasm": "ironbird.export.wasm.exporter:WASM",
    },
    Exporter,
    what="exporter",
    listed_by="ironbird export --list",
    error=ExportError,
)


def exporter_of(name: str) -> Exporter:
    """The exporter with this name; an unknown name is refused."""
    return EXPORTERS.load(name)


def export(name: str, job: Job, folder: Path) -> dict[str, str]:
    """Write a product into a folder and a zip next to it; returns rows for the summary."""
    exporter = exporter_of(name)
    if job.precision not in exporter.precisions:
        raise ExportError(f"'{name}' has no {job.precision} precision; it offers {', '.join(exporter.precisions)}")
    with without_empty(folder):
        made = exporter.write(job, emptied(folder))
    archive = zipped(folder, folder.with_name(folder.name + ".zip"))
    return {**made, "folder": str(folder), "archive": str(archive)}
