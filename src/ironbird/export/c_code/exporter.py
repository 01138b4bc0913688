"""`ironbird export c`: a folder and a zip with the C99 of a part, its tests, and its provenance."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from ironbird.compiler.compiled import CompiledModel
from ironbird.export.c_code.code import HERE, files_of, param_table, signal_table, values_of
from ironbird.export.job import Exporter, Job, filled
from ironbird.export.record import order_of, record
from ironbird.files.json_text import json_text
from ironbird.flight.order import Order
from ironbird.model.signal import entry_names
from ironbird.vehicles.load import Vehicle

# Accepted deviations from MISRA C:2012 that cppcheck reports for the code: rule -> reason.
DEVIATIONS = {
    "2.4": "enumerations of the interface are for the user",
    "2.5": "macros of the interface are for the user; the headers are shared by all parts",
    "7.2": "unsigned constants are given by the macros of stdint.h",
    "8.7": "the functions of the interface are called by the user, not here",
    "8.9": "tables of parameters and initial values stand together, before the functions that use them",
    "10.1": "in single precision a float's sign bit becomes a mask",
    "10.4": "sign bits move between masks and bit patterns, which is how numbers are selected without a branch",
    "10.5": "a comparison becomes a mask",
    "10.8": "in single precision bits become a signed exponent",
    "12.1": "sums of products carry no more brackets than C needs",
    "12.3": "pairs of results are declared in one line",
    "14.4": "masks are tested as truth values",
    "15.5": "set_param returns early on a bad row",
    "17.8": "an argument is used as a working copy in the elementary functions",
    "19.2": "a union reads the bits of a number",
    "20.1": "ib_integrate.h needs the functions of the model before it",
}


class CExporter(Exporter):
    """Exporter of a part of a vehicle as C99 source code."""

    name = "c"
    summary = "C99 source with header, parameter table, CMake file, example, S-function and back-to-back test."
    precisions = ("double", "single")

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write all files into a folder; returns rows for the summary."""
        return write_source(job, folder)


def write_source(job: Job, folder: Path) -> dict[str, str]:
    """Write the C source, its back-to-back test and its documents; returns rows for the summary."""
    part = job.cut
    recording = record(job)
    values = source_values(job) | {"ticks": recording.ticks}
    files = files_of(job) | {
        "parameters.csv": param_table(part),
        "signals.csv": signal_table(part),
        "CMakeLists.txt": filled(HERE, "CMakeLists.txt.j2", values),
        "example/main.c": filled(HERE, "main.c.j2", values),
        f"simulink/{part.name}_sfun.c": filled(HERE, "sfunction.c.j2", values),
        "test/back_to_back.c": filled(HERE, "back_to_back.c.j2", values),
        "README.md": filled(HERE, "README.md.j2", values),
        "PROVENANCE.json": provenance(job),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "test/vectors.bin").write_bytes(recording.data())
    size = sum(len(text) for name, text in files.items() if name.startswith(("src/", "include/")))
    return {
        "model": part.model.model_hash,
        "interface": f"{len(part.inputs)} inputs, {len(part.outputs)} outputs, {part.model.flat.p.size} parameters",
        "source": f"{size / 1000:.0f} kB of C",
        "back to back": f"{recording.ticks} steps, {len(recording.params)} changes of parameters",
    }


def source_values(job: Job) -> dict[str, Any]:
    """Values for the templates of the files around the code (CMake, example, README)."""
    fields = [name for field in job.cut.inputs for name in entry_names(field.name, field.signal.size)]
    return values_of(job) | {
        "version": metadata.version("ironbird"),
        "in_width": len(fields),
        "flat_inputs": fields,
        "deviations": ", ".join(sorted(DEVIATIONS, key=lambda rule: [int(n) for n in rule.split(".")])),
    }


def provenance(job: Job) -> str:
    """Origin of an export as JSON text: vehicle, part, versions, hashes."""
    return origin(job, job.cut.vehicle, job.cut.model, order_of(job))


def origin(job: Job, vehicle: Vehicle, model: CompiledModel, order: Order) -> str:
    """Origin of a model of a vehicle as JSON text, with the order that it was recorded with."""
    spec = vehicle.spec
    return json_text(
        {
            "ironbird": metadata.version("ironbird"),
            "vehicle": vehicle.id,
            "title": spec.title,
            "part": job.part,
            "control": vehicle.control,
            "precision": job.precision,
            "model_sha256": model.model_hash,
            "step_s": model.step_s,
            "method": model.method,
            "order_sha256": order.digest(),
            "order": order.text(),
            "sources": dict(spec.provenance),
            "assumed": spec.assumed(),
        },
        "ironbird/export-provenance/1",
    )


C = CExporter()
