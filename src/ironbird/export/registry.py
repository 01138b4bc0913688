"""Exporters by name: each a folder and one line here."""

from __future__ import annotations

import importlib
from pathlib import Path

from ironbird.errors import ExportError, UnknownNameError
from ironbird.export.job import Exporter, Job, emptied, zipped

EXPORTERS = {  # name -> module and object
    "c": "ironbird.export.c_code.exporter:C",
    "library": "ironbird.export.library.exporter:LIBRARY",
    "fmu2": "ironbird.export.fmu.exporter:FMU2",
    "fmu3": "ironbird.export.fmu.exporter:FMU3",
    "rflysim": "ironbird.export.rflysim.exporter:RFLYSIM",
    "cortex-m": "ironbird.export.cortex_m.exporter:CORTEX_M",
    "realtime": "ironbird.export.realtime.exporter:REALTIME",
}


def exporter_of(name: str) -> Exporter:
    """An exporter by its name."""
    if name not in EXPORTERS:
        raise UnknownNameError("exporter", name, EXPORTERS)
    module, _, thing = EXPORTERS[name].partition(":")
    found: Exporter = getattr(importlib.import_module(module), thing)
    return found


def export(name: str, job: Job, folder: Path) -> dict[str, str]:
    """Write a product into a folder and a zip beside it; returns rows for the summary."""
    exporter = exporter_of(name)
    if job.precision not in exporter.precisions:
        raise ExportError(f"'{name}' has no {job.precision} precision; it offers {', '.join(exporter.precisions)}")
    made = exporter.write(job, emptied(folder))
    archive = zipped(folder, folder.with_name(folder.name + ".zip"))
    return {**made, "folder": str(folder), "archive": str(archive)}
