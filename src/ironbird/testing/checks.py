"""Checks that the author of a block or a vehicle runs; Ironbird's tests run them on everything that is shipped.

    from ironbird.testing import check_block, check_vehicle
    check_block(MyBlock(), params={"gain": 2.0})
    check_vehicle("my_quad.toml")

Each raises `AssertionError` with all findings, or passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ironbird.compiler.compiled import compile_model
from ironbird.errors import IronbirdError, ModelError
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram
from ironbird.model.equations import equations_of
from ironbird.model.signal import In, Noise, Number, Out, Param
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle, read_layers

_NAME = re.compile(r"^[a-zA-Z][A-Za-z0-9_]*$")
_CITATION = re.compile(r"\[[A-Za-z0-9]+\]|of this project")


def _report(what: str, findings: list[str]) -> None:
    if findings:
        raise AssertionError(f"{what} fails {len(findings)} check(s):\n" + "\n".join(f"  - {f}" for f in findings))


def declaration_findings(block: Block) -> list[str]:
    """Problems in a block's declarations and docstring: missing texts, units, frames or citation."""
    name = type(block).__name__
    findings = []
    if not (type(block).__doc__ or "").strip():
        findings.append(f"{name} has no docstring")
    if not _CITATION.search(block.source):
        findings.append(f"{name}.source names no reference ([Key] of docs/references.bib, or 'of this project')")
    for port, signal in block.signals.items():
        if not _NAME.match(port):
            findings.append(f"{port} is not a plain name")
        if not signal.doc and not isinstance(signal, Noise):
            findings.append(f"{port} has no doc")
        vector = isinstance(signal, In | Out) and signal.shape == 3
        if vector and signal.frame is None and port.endswith(("_N", "_B", "_E", "_I")):
            findings.append(f"{port} names a frame but does not declare it")
        if (
            isinstance(signal, In | Out)
            and signal.frame
            and port[-2:] in ("_N", "_B", "_E")
            and port[-1] != signal.frame
        ):
            findings.append(f"{port} is declared in frame {signal.frame}")
    return findings


def check_block(
    block: Block,
    *,
    params: Mapping[str, Number] | None = None,
    inputs: Mapping[str, Number] | None = None,
    until_s: float = 0.05,
    step_s: float = 1e-3,
) -> None:
    """Check the declarations, the equations and a short run of one block by itself.

    Checked: docs, citation, frames; shapes of all equations; finite outputs for the given (or middle-of-range) inputs;
    the kernel agrees with CasADi's own evaluation; one lane and many lanes give the same bytes; two runs do too.
    """
    findings = declaration_findings(block)
    diagram = Diagram("check")
    try:
        handle = diagram.add("part", block, **dict(params or {}))
        for name in block.inputs:
            diagram.export(handle[name])
        equations_of("part", block)
        model = compile_model(diagram, step_s=step_s)
    except ModelError as error:
        findings.append(str(error))
        _report(type(block).__name__, findings)
        return
    values = {name: _middle(signal) for name, signal in block.inputs.items()} | dict(inputs or {})
    logs = []
    for lanes in (1, 3, 3):
        state = start(model, lanes=lanes, seed=[5] * lanes)
        for name, value in values.items():
            state.set_input(name, value)
        logs.append(run(state, until_s, log_s=step_s, threads=1))
    hashes = {logs[0].sha256(0), logs[1].sha256(0), logs[1].sha256(2), logs[2].sha256(1)}
    if len(hashes) != 1:
        findings.append("lanes or repeated runs give different bytes")
    if logs[0].stops[0] is not None:
        findings.append(f"the run stopped: {logs[0].stops[0].reason}")
    for path in logs[0].signals:
        if not np.isfinite(logs[0][path]).all():
            findings.append(f"output {path} is not finite for inputs {values}")
    findings += _against_casadi(model, values, logs[0])
    _report(type(block).__name__, findings)


def _middle(signal: In) -> Number:
    if signal.default is not None:
        return signal.default
    if np.isfinite(signal.low) and np.isfinite(signal.high):
        return 0.5 * (signal.low + signal.high)
    if (signal.rows, signal.columns) == (3, 3):
        return np.eye(3).tolist()
    return 1.0


def _against_casadi(model: object, values: Mapping[str, Number], log: object) -> list[str]:
    """Differences between the kernel's outputs in the first row and CasADi's evaluation of the same expressions."""
    from ironbird.analysis.operating_point import operating_point
    from ironbird.compiler.compiled import CompiledModel
    from ironbird.runtime.log import Log

    assert isinstance(model, CompiledModel) and isinstance(log, Log)
    if model.flat.noise.size:
        return []  # random numbers exist only in the kernel
    point = operating_point(model)
    for name, value in values.items():
        point.set(name, value)
    point.refresh()
    findings = []
    for path in log.signals:
        ours, theirs = np.atleast_1d(log[path][0]), point[path]
        if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-12):
            findings.append(f"output {path}: the kernel gives {ours}, CasADi {theirs}")
    return findings


def check_vehicle(name: str | Path, *, until_s: float = 2.0) -> None:
    """Check a vehicle's file, its diagram and the first seconds of its run.

    Checked: the file's grammar and provenance (every table of numbers has a source); the diagram validates; it stands
    on its gear for a moment without diverging; one lane and many give the same bytes.
    """
    findings: list[str] = []
    try:
        vehicle = load_vehicle(name, control="truth")
        model = compile_model(vehicle.diagram)
    except IronbirdError as error:
        raise AssertionError(f"vehicle {name}: {error}") from error
    findings += _provenance_findings(
        vehicle.spec.model_dump(by_alias=True, exclude_unset=True), vehicle.spec.provenance
    )
    own = read_layers(vehicle.path).sources[0].data
    if "base" in own:  # numbers that the file overrides need a source of their own, not that of the base vehicle
        findings += _provenance_findings(own, own.get("provenance", {}))
    findings += [
        f"parameter {path} is outside its declared range"
        for path, signal in model.params().items()
        if isinstance(signal, Param) and not (model.flat.values[model.param_rows(path)] >= signal.low).all()
    ]
    logs = [run(start(model, lanes=lanes, seed=[3] * lanes), until_s, threads=1) for lanes in (1, 3)]
    if logs[0].stops[0] is not None:
        findings.append(f"the vehicle does not survive {until_s} s: {logs[0].stops[0].reason}")
    if len({logs[0].sha256(0), logs[1].sha256(0), logs[1].sha256(2)}) != 1:
        findings.append("one lane and several lanes give different bytes")
    _report(f"vehicle {vehicle.id}", findings)


def _provenance_findings(data: dict[str, object], provenance: Mapping[str, str]) -> list[str]:
    """Numbers without a source, except home, environment and limits, which are choices."""
    patterns = [re.compile("^" + re.escape(key).replace(r"\*", ".*") + "$") for key in provenance]
    findings = []
    for key in _number_keys(data):
        choice = key.split(".")[0] in ("schema", "home", "environment", "limits", "provenance")
        if not choice and not any(pattern.match(key) for pattern in patterns):
            findings.append(f"'{key}' has no entry in [provenance]")
    return findings


def _number_keys(data: object, prefix: str = "") -> list[str]:
    if isinstance(data, dict):
        return [key for name, value in data.items() for key in _number_keys(value, f"{prefix}{name}.")]
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return [key for i, value in enumerate(data) for key in _number_keys(value, f"{prefix}{i}.")]
    number = isinstance(data, int | float) and not isinstance(data, bool)
    numbers = isinstance(data, list) and bool(data) and not isinstance(data[0], str)
    return [prefix.rstrip(".")] if number or numbers else []
