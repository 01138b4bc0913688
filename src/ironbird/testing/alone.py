"""A block by itself: the smallest diagram around it, and its outputs for many inputs at once.

    model = alone(Motor(), slope=640.0, idle_speed=160.0, time_constant=0.02)
    result = outputs_at(model, {"throttle": [0.1, 0.5, 0.9]})   # result["speed"] has three rows

Each row is a lane of the native kernel, so that a test checks the code of a flight. `numeric` does the same for the
plain functions of `ironbird.symbolic`, which have no kernel of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import RunError
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.step import run

PLACE = "block"  # the block's path in its diagram


def alone(block: Block, *, step_s: float = 1e-3, method: str = "rk4", **params: Number) -> CompiledModel:
    """A compiled model of one block, placed at `PLACE`, with all its inputs as inputs of the model."""
    diagram = Diagram(f"alone_{type(block).__name__}")
    handle = diagram.add(PLACE, block, **params)
    for name in block.inputs:
        diagram.export(handle[name])
    return compile_model(diagram, step_s=step_s, method=method)


def outputs_at(
    model: CompiledModel, inputs: Mapping[str, ArrayLike], params: Mapping[str, ArrayLike] | None = None
) -> dict[str, np.ndarray]:
    """All outputs of the block at time zero: [row] or [row, size], one row per row of the inputs.

    A value with one row too few dimensions (one number, one vector) is used for all rows.
    """
    values = {name: np.asarray(value, float) for name, value in inputs.items()}
    changed = {f"{PLACE}.{name}": np.asarray(value, float) for name, value in (params or {}).items()}
    sizes = {name: model.inputs()[name].size for name in values}
    sizes |= {path: model.params()[path].size for path in changed}
    tables = {name: _rows(name, value, sizes[name]) for name, value in {**values, **changed}.items()}
    lengths = {len(table) for table in tables.values()} - {1}
    if len(lengths) > 1:
        raise RunError(f"inputs of different length: {', '.join(f'{n} {len(t)}' for n, t in tables.items())}")
    lanes = max(lengths, default=1)
    state = start(model, lanes=lanes)
    for name, table in tables.items():
        put = state.set_input if name in values else state.set_param
        for lane in range(lanes):
            put(name, table[lane if len(table) > 1 else 0], lane)
    log = run(state, model.step_s, log_s=model.step_s)
    return {path.partition(".")[2]: log.all_lanes(path)[:, 0] for path in model.signals()}


def _rows(name: str, value: np.ndarray, size: int) -> np.ndarray:
    """A value as a table with one row per lane; a scalar or single vector is repeated for all lanes."""
    if value.ndim == 0 or (value.ndim == 1 and size > 1):
        value = value[None]
    table = value.reshape(len(value), -1) if value.ndim < 3 else value.transpose(0, 2, 1).reshape(len(value), -1)
    if table.shape[1] == 1 and size > 1:
        table = np.repeat(table, size, axis=1)
    if table.shape[1] != size:
        raise RunError(f"{name} needs {size} value(s) per row, got {table.shape[1]}")
    return table


def numeric(function: Callable[..., Any], *sizes: int) -> Callable[..., np.ndarray]:
    """A function of `ironbird.symbolic` on numbers: its arguments are columns of the given sizes.

    Several results are stacked; a matrix keeps its shape, a column becomes one row of numbers.
    """
    symbols = [ca.SX.sym(f"a{i}", size) for i, size in enumerate(sizes)]
    result = function(*symbols)
    if isinstance(result, Sequence):
        result = ca.vertcat(*result)
    compiled = ca.Function("numeric", symbols, [ca.densify(result)])

    def call(*values: ArrayLike) -> np.ndarray:
        values_out = np.array(compiled(*[np.asarray(value, float) for value in values]))
        return values_out[:, 0] if values_out.shape[1] == 1 else values_out

    return call
