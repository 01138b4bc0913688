"""`ironbird export library`: the C of a part as shared libraries, with its source, header and test."""

from __future__ import annotations

from pathlib import Path

from ironbird.export.c_code.exporter import write_source
from ironbird.export.job import Exporter, Job
from ironbird.export.targets import build_library, targets_of


class LibraryExporter(Exporter):
    """Exporter of shared libraries with the functions of the header."""

    name = "library"
    summary = "Shared libraries: .so for Linux on x86-64 and aarch64, .dll for Windows, with header and source."
    precisions = ("double", "single")

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write the source and build a library for each platform; returns rows for the summary."""
        rows = write_source(job, folder)
        name = job.cut.name
        for target in targets_of(job.targets):
            result = folder / "lib" / target.name / f"{name}{target.ending}"
            build_library(
                [folder / f"src/{name}.c"], target, result, include=[folder / "include"], defines=["IB_LIBRARY"]
            )
            rows[target.name] = f"{result.relative_to(folder)}, {result.stat().st_size / 1000:.0f} kB"
        return rows


LIBRARY = LibraryExporter()
