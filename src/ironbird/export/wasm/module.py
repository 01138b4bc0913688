"""The kernel of a model as a WebAssembly module, and its description: what JavaScript needs to know of it.

The module is the kernel's own text for one lane: WebAssembly has no fused multiply-add, and its arithmetic is that of
IEEE 754, so that a run has the same bytes (docs/adr/0003). It imports nothing.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterable
from importlib import metadata
from typing import Any

import numpy as np

from ironbird.compiler import native
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ExportError, FaultError
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Fault, Injection
from ironbird.flight.prepare import targets_in
from ironbird.model.signal import Signal

MOST_MEMORY = 512 * 2**20  # bytes that a run may take
STACK = 2**20  # bytes of the module's own stack; what overflows it ends the run


@functools.lru_cache(maxsize=8)
def module_of(model: CompiledModel) -> bytes:
    """The module of a model, compiled or from the cache."""
    return native.build_wasm(model.source.text, stack=STACK, memory=MOST_MEMORY, what=f"the module of {model.name}")


def description_of(model: CompiledModel, faults: Iterable[Fault] = (), *, brief: bool = False) -> dict[str, Any]:
    """Names, rows, ranges and first values of a model, for `kernel.js`; `brief` without docstrings and frames.

    The faults are those that orders may name, besides all of the catalogue that the model can have.
    """
    flat = model.flat
    rows = {
        name: _rows(column, brief) for name, column in (("params", flat.p), ("inputs", flat.u), ("signals", flat.log))
    }
    for path, signal in flat.p.signals.items():
        rows["params"][path] |= _range(signal)
    known = {**FAULTS, **{fault.id: fault for fault in faults}}
    return {
        "ironbird": metadata.version("ironbird"),
        "name": model.name,
        "model_sha256": model.model_hash,
        "module_sha256": hashlib.sha256(module_of(model)).hexdigest(),
        "step_s": model.step_s,
        "method": model.method,
        "sizes": {name: getattr(flat, name).size for name in ("x", "xd", "held", "u", "p", "log")},
        **rows,
        "values": _numbers(flat.values),
        "initial": {"x": _numbers(flat.initial_x), "xd": _numbers(flat.initial_xd)},
        "inputs_held": _numbers(flat.inputs),
        "begins": _begins(model),
        "states": flat.x.labels() + flat.xd.labels(),
        "stops": list(flat.stop_names),
        "faults": {name: entry for name, fault in known.items() if (entry := _fault(fault, model, brief))},
    }  # fmt: skip


def _rows(column: Any, brief: bool) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path, signal in column.signals.items():
        found[path] = {"row": column.start[path], "size": signal.size, "unit": signal.unit}
        if not brief:
            found[path] |= {"frame": signal.frame or "", "doc": signal.doc}
    return found


def _range(signal: Signal) -> dict[str, Any]:
    """Range of a parameter, as far as it has one, and whether it may change in flight."""
    known: dict[str, Any] = {name: bound for name in ("low", "high") if math.isfinite(bound := getattr(signal, name))}
    return known | ({"tunable": True} if getattr(signal, "tunable", False) else {})


def _numbers(values: np.ndarray) -> list[float]:
    if not np.isfinite(values).all():
        raise ExportError("a model whose first values are not all finite cannot be written as JSON")
    return [float(value) for value in values]


def _begins(model: CompiledModel) -> dict[str, list[list[int]]]:
    """States whose first value is a parameter: row of the state, and row of the parameter."""
    flat = model.flat
    begins: dict[str, list[list[int]]] = {"x": [], "xd": []}
    for state, param in flat.initial_of.items():
        name, column = ("x", flat.x) if state in flat.x.start else ("xd", flat.xd)
        rows, values = column.rows(state), flat.p.rows(param)
        one = values.stop - values.start == 1
        begins[name] += [[rows.start + i, values.start + (0 if one else i)] for i in range(rows.stop - rows.start)]
    return begins


def _fault(fault: Fault, model: CompiledModel, brief: bool) -> dict[str, Any] | None:
    """What a fault changes in a model, for each part that can have it; None if the model can have it nowhere."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for part in fault.parts_in([*model.params(), *model.signals()]):
        try:
            injection = Injection(fault, int(part) if part.isdecimal() else part or 1)
            targets = targets_in(model, injection)
        except FaultError:  # it needs a link, a world or a block that this model has not
            continue
        known = model.params()
        changes = [(path.partition("[")[0], change) for path, change in targets]
        if not all(getattr(known[path], "tunable", False) for path, _ in changes):
            continue
        parts[part] = [
            {
                "rows": list(range(*model.flat.p.rows(path).indices(model.flat.p.size))),
                "effect": change.effect.effect,
                "at_0": change.effect.at_0,
                "at_1": change.effect.at_1,
            }
            for path, change in changes
        ]
    if not parts:
        return None
    words = {} if brief else {"summary": fault.summary, "severity": fault.severity}
    return {"axis": fault.axis, "witness": fault.witness, "parts": parts, **words}
