"""The C files of a part: from the same value graph and emitter as the kernel, with a step function around it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ironbird.compiler import native
from ironbird.compiler.emit import identifier, remark
from ironbird.compiler.flatten import Column
from ironbird.compiler.generate import Reader, translate
from ironbird.export.job import PRECISIONS, Job, filled
from ironbird.export.parts import Field, Part
from ironbird.model.signal import Signal, entry_names

HERE = Path(__file__).parent
_LANES = re.compile(r"^#(if|elif|else|endif)\b(.*)$")


def one_lane(text: str) -> str:
    """A header of the kernel without its code for several lanes (preprocessor branches on IB_W)."""
    result: list[str] = []
    stack: list[tuple[bool, bool]] = []  # whether the branch depends on lanes, and whether it is kept
    for line in text.splitlines():
        match = _LANES.match(line)
        word = match.group(1) if match else ""
        condition = match.group(2).strip() if match else ""
        if word == "if" or line.startswith(("#ifdef", "#ifndef")):
            about = condition == "IB_W == 1"
            stack.append((about, True))
            if about:
                continue
        elif word in ("else", "elif") and stack and stack[-1][0]:
            stack[-1] = (True, False)
            continue
        elif word == "endif" and stack.pop()[0]:
            continue
        if all(kept for _, kept in stack):
            result.append(line)
    return "\n".join(result) + "\n"


def files_of(job: Job, exchange: object = None) -> dict[str, str]:
    """Header and sources of a part by their paths; with `exchange` also for hosts that integrate themselves (FMI)."""
    part = job.cut
    values = values_of(job) | {"exchange": exchange}
    single = job.precision == "single"
    files = {
        f"include/{part.name}.h": filled(HERE, "model.h.j2", values),
        f"src/{part.name}.c": filled(HERE, "model.c.j2", values),
        "src/ib_integrate.h": (native.HEADERS / "ib_integrate.h").read_text(),
    }
    if single:
        files["src/ib_math_single.h"] = (native.HEADERS / "ib_math_single.h").read_text()
    else:
        for name in ("ib_math.h", "ib_noise.h"):
            files[f"src/{name}"] = one_lane((native.HEADERS / name).read_text())
    return files


def values_of(job: Job) -> dict[str, Any]:
    """Values for the templates of the C files."""
    part = job.cut
    flat = part.model.flat
    made = translate(flat, part.model.method, Reader(f"{part.name}_outputs", _places(part)))
    units = {path: signal.unit for path, signal in flat.p.signals.items()}
    return {
        "name": part.name,
        "NAME": part.name.upper(),
        "title": f"{part.vehicle.spec.title}: {part.kind}",
        "vehicle": part.vehicle.id,
        "part": part.kind,
        "control": part.vehicle.control,
        "real": PRECISIONS[job.precision],
        "single": job.precision == "single",
        "hash": part.model.model_hash,
        "step_s": flat.step_s,
        "inputs": part.inputs,
        "outputs": part.outputs,
        "assigned": _assigned(part),
        "places": _places(part),
        "defaults": _defaults(part),
        "params": list(params_of(part)),
        "sizes": {key: max(1, value) for key, value in made.sizes.items()},
        "counts": made.sizes,
        "head": made.head(flat.step_s),
        "functions": made.functions,
        "stops": flat.stop_names,
        "initial_x": [literal(v) for v in flat.initial_x],
        "initial_xd": [literal(v) for v in flat.initial_xd],
        "started": _started(part),
        "units": units,
        "remark": remark,
        "inf": float("inf"),
        "lit": literal,
    }


def literal(value: float) -> str:
    """A number as C literal without loss, decimal if that is short, else hexadecimal."""
    text = repr(float(value))
    return text if len(text) <= 12 else float(value).hex()


def _places(part: Part) -> list[str]:
    """Destination in C of each scalar that can be logged."""
    return [f"out->{name}" for field in part.outputs for name in entry_names(field.name, field.signal.size)]


def _assigned(part: Part) -> list[tuple[int, str]]:
    """Row of the model's inputs and the C expression that it is taken from."""
    rows = []
    for field in part.inputs:
        for i, value in enumerate(entry_names(field.name, field.signal.size)):
            rows += [(row + i, value) for row in field.rows]
    return sorted(rows)


def _defaults(part: Part) -> list[tuple[str, str]]:
    """Fields of the input structure and their values at the start."""
    return [
        (name, literal(part.model.flat.inputs[field.rows[0] + i]))
        for field in part.inputs
        for i, name in enumerate(entry_names(field.name, field.signal.size))
    ]


def params_of(part: Part) -> Iterator[dict[str, Any]]:
    """All parameters, one dictionary per scalar: row, path, name, unit, value, bounds."""
    flat = part.model.flat
    taken: set[str] = set()
    for path, row, index, signal in _scalars(flat.p):
        label = entry_names(path, signal.size)[index]
        name = identifier(label).upper()
        while name in taken:
            name += "_"
        taken.add(name)
        yield {
            "row": row, "path": label, "name": name, "unit": signal.unit, "low": signal.low, "high": signal.high,
            "tunable": bool(getattr(signal, "tunable", False)), "value": float(flat.values[row]),
            "literal": literal(flat.values[row]), "doc": signal.doc,
        }  # fmt: skip


def _scalars(column: Column) -> Iterator[tuple[str, int, int, Signal]]:
    for path, signal in column.signals.items():
        for index in range(signal.size):
            yield path, column.start[path] + index, index, signal


def _started(part: Part) -> list[tuple[str, int, int]]:
    """States whose initial value is a parameter: array, row, row of the parameter."""
    flat = part.model.flat
    started = []
    for state, param in flat.initial_of.items():
        array, column = ("x", flat.x) if state in flat.x.start else ("xd", flat.xd)
        rows, values = column.rows(state), flat.p.rows(param)
        size = rows.stop - rows.start
        one = values.stop - values.start == 1
        started += [(array, rows.start + i, values.start + (0 if one else i)) for i in range(size)]
    return started


def param_table(part: Part) -> str:
    """All parameters of a part as CSV text, one row per scalar."""
    text = io.StringIO()
    keys = ["row", "path", "name", "unit", "value", "low", "high", "tunable", "doc"]
    table = csv.DictWriter(text, keys, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows({**entry, "value": repr(entry["value"])} for entry in params_of(part))
    return text.getvalue()


def signal_table(part: Part) -> str:
    """Inputs and outputs of a part as CSV text: direction, field, size, path, unit, frame, meaning."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["direction", "field", "size", "path", "unit", "frame", "doc"])
    rows: list[tuple[str, Field]] = [*(("in", f) for f in part.inputs), *(("out", f) for f in part.outputs)]
    for direction, f in rows:
        table.writerow([direction, f.name, f.signal.size, f.path, f.signal.unit, f.signal.frame or "", f.signal.doc])
    return text.getvalue()
