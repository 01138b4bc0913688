"""Linear models from exact derivatives of the block equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ironbird.analysis.operating_point import OperatingPoint, input_rows, operating_point, rows_in
from ironbird.compiler.compiled import CompiledModel
from ironbird.compiler.flatten import ARRAYS


@dataclass(frozen=True)
class LinearModel:
    """dx/dt = A dx + B du, dy = C dx + D du around an operating point; names have one entry per row."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    point: OperatingPoint

    def modes(self) -> np.ndarray:
        """Eigenvalues of A, slowest first."""
        values = np.linalg.eigvals(self.A)
        return np.asarray(values[np.argsort(np.abs(values))])


def linearize(
    model: CompiledModel,
    at: OperatingPoint | None = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] = (),
) -> LinearModel:
    """Linear model of the continuous part of a model at a point: A, B, C, D by exact derivatives.

    Parameters
    ----------
    model : CompiledModel
        The model.
    at : OperatingPoint, optional
        The point; time zero by default.
    inputs : sequence of str, optional
        External inputs, or outputs of sampled blocks; all external inputs by default.
    outputs : sequence of str, default ()
        Signals by path; the states by default.

    Returns
    -------
    LinearModel
        Matrices A, B, C, D with the names of states, inputs and outputs.

    Raises
    ------
    ModelError
        If a name is no input or output.

    Examples
    --------
    >>> vehicle = ib.load_vehicle("quad_f450", control="external")
    >>> linear = ib.linearize(ib.compile_model(vehicle.diagram))
    >>> linear.A.shape[0] == linear.A.shape[1] == len(linear.states)
    True
    """
    flat = model.flat
    point = at or operating_point(model)
    input_entries = input_rows(flat, list(flat.u.start) if inputs is None else inputs)
    symbols = flat.rates.sx_in()
    x = symbols[ARRAYS.index("x")]
    u = (
        ca.vertcat(*[symbols[ARRAYS.index(array)][row] for array, row, _ in input_entries])
        if input_entries
        else ca.SX(0, 1)
    )
    rates = flat.rates.call(symbols)[0]
    if outputs:
        everything = flat.outputs.call(symbols)[0]
        rows = [row for path in outputs for row in rows_in(flat.log.rows(path))]
        y, labels = everything[rows], [flat.log.labels()[row] for row in rows]
    else:
        y, labels = x, flat.x.labels()
    jacobians = [ca.jacobian(a, b) for a in (rates, y) for b in (x, u)]
    values = ca.Function("jacobians", symbols, [ca.densify(j) for j in jacobians])(*point.columns())
    A, B, C, D = (np.array(v).reshape(j.shape) for v, j in zip(values, jacobians, strict=True))
    return LinearModel(A, B, C, D, flat.x.labels(), [label for *_, label in input_entries], labels, point)
