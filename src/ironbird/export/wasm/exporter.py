"""`ironbird export wasm`: a vehicle or a part of it as a WebAssembly module, as a package for Node.js and browsers."""

from __future__ import annotations

import gzip
import json
import re
from importlib import metadata
from pathlib import Path

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ExportError
from ironbird.export.c_code.exporter import origin
from ironbird.export.job import Exporter, Job, filled
from ironbird.export.record import order_of, record
from ironbird.export.wasm.flight import prepared
from ironbird.export.wasm.module import MOST_MEMORY, description_of, module_of
from ironbird.files.json_text import json_text
from ironbird.flight.flight import fly
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import fit
from ironbird.vehicles.load import Vehicle

HERE = Path(__file__).parent
PACKAGE = HERE / "package"
INTERFACE = ("index.js", "kernel.js", "index.d.ts")
WHOLE = "whole"
RATE_HZ = 1000.0  # of a job that says nothing


class Wasm(Exporter):
    """Exporter of a part of a vehicle as a WebAssembly module with a JavaScript interface."""

    name = "wasm"
    summary = (
        "WebAssembly module with a JavaScript interface (npm package): flies in Node.js and in pages, bit for bit."
    )
    default_part = WHOLE

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write module, interface, examples and back-to-back test into a folder; returns rows for the summary."""
        if job.targets:
            raise ExportError("a WebAssembly module runs on every platform: leave --target out")
        order = _whole_flight(job) if job.part == WHOLE else order_of(job)
        fitted = fit(order) if job.part == WHOLE else job.cut
        vehicle, model = fitted.vehicle, fitted.model
        proof, row = _flown(order, model) if job.part == WHOLE else _recorded(job)
        module = module_of(model)
        files = proof | {
            "module.wasm": module,
            "model.json": json_text(description_of(model, [i.fault for i in order.faults]), indent=1).encode(),
            "PROVENANCE.json": origin(job, vehicle, model, order).encode(),
            "test/back_to_back.mjs": (PACKAGE / "back_to_back.mjs").read_bytes(),
            **{name: (PACKAGE / name).read_bytes() for name in INTERFACE},
            **_documents(job, vehicle, model, module),
        }
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        flat = model.flat
        return {
            "model": model.model_hash,
            "interface": f"{flat.u.size} inputs, {flat.log.size} outputs, {flat.p.size} parameters",
            "module": f"{len(module) / 1000:.0f} kB, {_packed_kb(module)} kB compressed",
            "back to back": row,
        }


def _whole_flight(job: Job) -> Order:
    """The flight of a whole vehicle: as `ironbird fly` flies it, with the steps of the vehicle."""
    if job.rate_hz != RATE_HZ:
        raise ExportError("a whole vehicle flies with the steps of its file here: leave --rate out")
    return make_order(job.vehicle, control=job.control, faults=job.faults, seed=job.seed, until_s=job.seconds)


def _flown(order: Order, model: CompiledModel) -> tuple[dict[str, bytes], str]:
    """The prepared flight of a whole vehicle, with the hashes of the kernel, and words about it."""
    table, flight = prepared(order, model), fly(order)
    table |= {"sha256": flight.sha256, "sha256_of_outputs": flight.log.sha256()}
    return {"flight.json": json.dumps(table, allow_nan=False).encode()}, f"{flight.ended_s:g} s, sha256 {flight.sha256}"


def _recorded(job: Job) -> tuple[dict[str, bytes], str]:
    """Inputs, parameter changes and sums of outputs of a part in a flight, and words about them."""
    recording = record(job)
    words = f"{recording.ticks} steps, {len(recording.params)} changes of parameters"
    return {"test/vectors.bin": recording.data()}, words


def _packed_kb(module: bytes) -> str:
    return f"{len(gzip.compress(module, 9)) / 1000:.0f}"


def _documents(job: Job, vehicle: Vehicle, model: CompiledModel, module: bytes) -> dict[str, bytes]:
    """Package file, README and example."""
    whole, version, title = job.part == WHOLE, metadata.version("ironbird"), f"{vehicle.spec.title}: {job.part}"
    example = filled(HERE, f"example_{'whole' if whole else 'part'}.mjs.j2", {})
    package = {
        "name": "ironbird-" + re.sub(r"[^a-z0-9]+", "-", f"{vehicle.id}-{job.part}".lower()),
        "version": version.partition("+")[0],
        "description": f"{title}, as WebAssembly, written by Ironbird",
        "type": "module",
        "main": "./index.js",
        "types": "./index.d.ts",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}, "./kernel.js": "./kernel.js"},
        "files": ["*.js", "*.mjs", "*.d.ts", "*.json", "*.wasm", "test"],
        "scripts": {"test": "node test/back_to_back.mjs"},
        "engines": {"node": ">=18"},
    }
    values = {
        "title": title,
        "part": job.part,
        "vehicle": vehicle.id,
        "control": vehicle.control,
        "step_s": model.step_s,
        "version": version,
        "hash": model.model_hash,
        "size": f"{len(module) / 1000:.0f}",
        "packed": _packed_kb(module),
        "whole": whole,
        "example": example,
        "memory": MOST_MEMORY // 2**20,
    }
    return {
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
        "README.md": filled(HERE, "README.md.j2", values).encode(),
        "example.mjs": example.encode(),
    }


WASM = Wasm()
