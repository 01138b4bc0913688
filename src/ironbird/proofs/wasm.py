"""Proof that WebAssembly modules give the kernel's bytes: flights of the catalogue with faults, in Node.js and here."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ExportError
from ironbird.export.wasm.exporter import INTERFACE, PACKAGE
from ironbird.export.wasm.flight import prepared
from ironbird.export.wasm.module import description_of, module_of
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import model_of
from ironbird.vehicles.load import load_spec, vehicle_ids

DRIVER = Path(__file__).parent / "wasm_flights.mjs"
PATIENCE_S = 1800.0  # for all flights of a vehicle in Node.js
WIND = Weather(4.0, 120.0, 3.0)


@dataclass(frozen=True)
class Compared:
    """One flight in the kernel and in the module."""

    fault: str  # id and part; empty for a flight without
    kernel: str  # SHA-256
    module: str
    outputs_equal: bool  # all outputs of all rows
    margins_equal: bool  # of all requirements that JavaScript judges
    speed: float  # times real time in Node.js


@dataclass(frozen=True)
class Row:
    """A vehicle of the catalogue."""

    vehicle: str
    kind: str
    module_bytes: int
    packed_bytes: int
    flights: tuple[Compared, ...]

    @property
    def equal(self) -> int:
        """Flights of which everything is equal."""
        return sum(f.kernel == f.module and f.outputs_equal and f.margins_equal for f in self.flights)

    def sentence(self) -> str:
        """The row in words."""
        speeds = [flight.speed for flight in self.flights]
        size = f"{self.module_bytes / 1000:.0f} kB ({self.packed_bytes / 1000:.0f} kB packed)"
        return (
            f"{self.equal} of {len(self.flights)} flights equal, {statistics.median(speeds):.0f} times real time "
            f"({min(speeds):.0f} to {max(speeds):.0f}), {size}"
        )


def compare(vehicles: Sequence[str] = (), *, faults: int = 5, seconds: float = 10.0) -> Iterator[Row]:
    """Fly vehicles (all of the catalogue by default) without a fault and with some, in the kernel and in Node.js."""
    if shutil.which("node") is None:
        raise ExportError("node is not on PATH: install Node.js 18 or later (Debian: apt-get install nodejs)")
    for vehicle in vehicles or vehicle_ids():
        model = model_of(make_order(vehicle, weather=WIND))
        chosen = _chosen(model, faults)
        flights = [_flown(vehicle, model, part, seconds) for part in ((), *((one,) for one in chosen))]
        module = module_of(model)
        yield Row(
            vehicle,
            load_spec(vehicle).template,
            len(module),
            len(gzip.compress(module, 9)),
            tuple(_in_node(model, module, flights)),
        )


def _chosen(model: CompiledModel, count: int) -> list[tuple[str, int | str]]:
    """Faults that a model can have, evenly over the catalogue, each on its last part."""
    possible = {name: list(fault["parts"])[-1] for name, fault in description_of(model, brief=True)["faults"].items()}
    names = list(possible)
    picked = [names[i * len(names) // count] for i in range(min(count, len(names)))]
    return [(name, int(part) if (part := possible[name]).isdecimal() else part or 1) for name in picked]


def _flown(vehicle: str, model: CompiledModel, chosen: tuple[tuple[str, int | str], ...], seconds: float) -> Flight:
    faults = [Injection(FAULTS[name], part, severity=_severity(name), start_s=seconds / 3) for name, part in chosen]
    requirements = ["always (tilt < 20 deg and speed < 6 m/s)", "eventually (height > 3 m)"]
    return fly(make_order(vehicle, weather=WIND, seed=11, until_s=seconds, faults=faults, requirements=requirements))


def _severity(name: str) -> float:
    return 0.6 if FAULTS[name].has_severity else 1.0


def _in_node(model: CompiledModel, module: bytes, flights: Sequence[Flight]) -> Iterator[Compared]:
    with tempfile.TemporaryDirectory(prefix="ironbird-") as temporary:
        folder = Path(temporary)
        for name in INTERFACE:
            shutil.copyfile(PACKAGE / name, folder / name)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "module.wasm").write_bytes(module)
        (folder / "model.json").write_text(json.dumps(description_of(model, brief=True), allow_nan=False))
        (folder / "flights.json").write_text(json.dumps([prepared(f.order, model) for f in flights], allow_nan=False))
        shutil.copyfile(DRIVER, folder / DRIVER.name)
        done = subprocess.run(
            ["node", DRIVER.name], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    if done.returncode:
        raise ExportError(f"Node.js cannot fly '{model.name}': {done.stderr.strip()[-500:]}")
    for flight, line in zip(flights, done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        ours = [_margin(j.margin) for j in flight.judged.judgements]
        theirs = [found["margins"][i] if found["margins"][i] is not None else own for i, own in enumerate(ours)]
        yield Compared(
            fault=flight.order.faults[0].fault.id if flight.order.faults else "",
            kernel=flight.sha256,
            module=found["sha256"],
            outputs_equal=found["outputs"] == flight.log.sha256(),
            margins_equal=ours == theirs,
            speed=found["speed"],
        )


def _margin(value: float) -> str:
    """A margin as text that has all its bits."""
    return value.hex() if value not in (float("inf"), float("-inf")) else str(value)
