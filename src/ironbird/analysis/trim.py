"""Trim: states and inputs at which a model is in steady state, from exact derivatives of the block equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from ironbird.analysis.operating_point import OperatingPoint, input_rows, operating_point, rows_in
from ironbird.compiler.compiled import CompiledModel
from ironbird.compiler.flatten import ARRAYS, Flat
from ironbird.errors import ModelError
from ironbird.model.signal import Number, Signal

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # unknowns -> residuals and their derivatives

REFRESHES = 3  # how often a trim updates slow sampled outputs with its solution
TOLERANCE = 1e-8  # largest residual of a trim, in SI units
ITERATIONS = 200
INSIDE = 1e-3  # share of its range by which an input that starts at a limit is moved inside
# search for the smallest inputs: number of steps, smallest step and gain
LEAST_STEPS, LEAST_STEP, LEAST_GAIN = 20, 1e-6, 1e-10


def trim(
    model: CompiledModel,
    *,
    inputs: Sequence[str],
    hold: Mapping[str, Number] | None = None,
    moving: Sequence[str] = (),
    require: Mapping[str, Number] | None = None,
    guess: Mapping[str, Number] | None = None,
    params: Mapping[str, Number] | None = None,
    tolerance: float = TOLERANCE,
    least: bool = False,
) -> OperatingPoint:
    """Find states and inputs at which the continuous states of a model stand still.

    Solved by bounded Levenberg-Marquardt on exact derivatives; where several points do, the one near the guess is
    found.

    Parameters
    ----------
    model : CompiledModel
        The model.
    inputs : sequence of str
        Inputs that are free to choose within their declared range.
    hold : mapping, optional
        States and sampled outputs that are fixed, by path.
    moving : sequence of str, default ()
        States that may change steadily.
    require : mapping, optional
        Signals (`body.euler`) that must have values; NaN entries are free.
    guess : mapping, optional
        States and inputs to begin with, by path.
    params : mapping, optional
        Parameters by path.
    tolerance : float, default 1e-8
        Largest residual; infinite: the nearest miss is taken.
    least : bool, default False
        Of several points, take the one with the smallest inputs.

    Returns
    -------
    OperatingPoint
        States, inputs and parameters, in SI units.

    Raises
    ------
    ModelError
        If there is no such point.
    """
    flat = model.flat
    point = operating_point(model, params)
    for path, value in {**(guess or {}), **(hold or {})}.items():
        point.set(path, value)
    free = input_rows(flat, inputs)
    free_rows = {row for path in moving for row in rows_in(flat.x.rows(path))}
    held_rows = {row for path in (hold or {}) if path in flat.x.start for row in rows_in(flat.x.rows(path))}
    symbols = flat.rates.sx_in()
    x = symbols[ARRAYS.index("x")]
    places = [("x", row) for row in range(flat.x.size) if row not in held_rows]
    places += [(array, row) for array, row, _ in free]
    unknown = ca.vertcat(*[symbols[ARRAYS.index(array)][row] for array, row in places])
    still = [row for row in range(flat.x.size) if row not in free_rows]
    states = flat.x.labels()
    residuals = [flat.rates.call(symbols)[0][still]]
    residuals.append(flat.project.call(symbols)[0] - x)  # projection to the manifold: quaternions of unit length
    names = [f"the rate of {states[row]}" for row in still] + [f"the norm of the vector of {state}" for state in states]
    everything = flat.outputs.call(symbols)[0]
    for path, value in (require or {}).items():
        rows = flat.log.rows(path)
        targets = np.broadcast_to(np.asarray(value, float), (rows.stop - rows.start,))
        for row, target in zip(rows_in(rows), targets, strict=True):
            if not np.isnan(target):
                residuals.append(everything[row] - float(target))
                names.append(f"{flat.log.labels()[row]} against the required {target:g}")
    g = ca.densify(ca.vertcat(*residuals))
    function = ca.Function("trim", symbols, [g, ca.densify(ca.jacobian(g, unknown))])
    low, high = _bounds(flat, places)

    def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for (array, row), value in zip(places, z, strict=True):
            getattr(point, array)[row] = value
        values, jacobian = function(*point.columns())
        return np.array(values).ravel(), np.array(jacobian)

    first = len(places) - len(free)
    start = np.array([getattr(point, array)[row] for array, row in places])
    # At its limit an input may have no effect (a motor stops at a command of 0): the search begins inside
    inside = INSIDE * np.where(np.isfinite(high - low), high - low, 0.0)[first:]
    start[first:] = np.clip(start[first:], low[first:] + inside, high[first:] - inside)
    for (array, row), value in zip(places, start, strict=True):
        getattr(point, array)[row] = value
    for _ in range(REFRESHES):
        z = np.clip(np.array([getattr(point, array)[row] for array, row in places]), low, high)
        z, worst = _levenberg_marquardt(evaluate, z, low, high)
        if least and worst < tolerance:
            z = _least(evaluate, z, low, high, first)
        if not worst < tolerance:
            left = np.nan_to_num(np.abs(evaluate(z)[0]), nan=np.inf)
            raise ModelError(
                f"no trim found for model '{model.name}': the largest residual left is {worst:.3g}, "
                f"{names[int(np.argmax(left))]}; free more inputs or states, or give a better guess"
            )
        evaluate(z)  # leaves the solution in the point
        point.refresh(keep=[*inputs, *(hold or {})])
    return point


def _bounds(flat: Flat, places: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Declared ranges of the unknowns; an output is also limited to the ranges of the inputs it feeds."""
    low, high = [], []
    columns = {"x": flat.x, "u": flat.u, "held": flat.held}
    for array, row in places:
        column = columns[array]
        path, signal = next((p, s) for p, s in column.signals.items() if row in rows_in(column.rows(p)))
        signals = [signal, *(_readers(flat, path) if array == "held" else [])]
        low.append(max(s.low for s in signals))
        high.append(min(s.high for s in signals))
    return np.array(low), np.array(high)


def _readers(flat: Flat, output: str) -> list[Signal]:
    """Declarations of the inputs that an output feeds."""
    targets = [target.rpartition(".") for target, sources in flat.diagram.links.items() if output in sources]
    return [flat.diagram.blocks[block].inputs[port] for block, _, port in targets]


def _levenberg_marquardt(
    evaluate: Evaluate, z: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, float]:
    """Least squares within bounds; returns the best point and its largest residual."""
    residual, jacobian = evaluate(z)
    damping = 1e-3
    for _ in range(ITERATIONS):
        if not np.isfinite(residual).all() or not np.isfinite(jacobian).all():
            return z, float("inf")
        if np.abs(residual).max() < 1e-3 * TOLERANCE:
            break
        scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-12)
        gradient = jacobian.T @ residual
        free = ~(((z <= low) & (gradient > 0)) | ((z >= high) & (gradient < 0)))
        if not free.any():
            break
        rows = np.vstack([jacobian[:, free] / scale[free], np.sqrt(damping) * np.eye(int(free.sum()))])
        step = np.zeros_like(z)
        step[free] = np.linalg.lstsq(rows, -np.concatenate([residual, np.zeros(int(free.sum()))]), rcond=None)[0]
        step[free] /= scale[free]
        trial = np.clip(z + step, low, high)
        new_residual, new_jacobian = evaluate(trial)
        if np.isfinite(new_residual).all() and new_residual @ new_residual < residual @ residual:
            z, residual, jacobian = trial, new_residual, new_jacobian
            damping = max(damping * 0.1, 1e-15)
        else:
            damping *= 10.0
            if damping > 1e12:
                break
    return z, float(np.abs(residual).max())


def _least(evaluate: Evaluate, z: np.ndarray, low: np.ndarray, high: np.ndarray, first: int) -> np.ndarray:
    """From a solution along all solutions to the one with the smallest inputs, which are z[first:].

    The measure is the sum of u^2 + 10 u^4: thrust grows with the square of a command, and is to be shared evenly.
    """

    def measure(u: np.ndarray) -> float:
        return float(np.sum(u**2 + 10 * u**4))

    for _ in range(LEAST_STEPS):
        _, sizes, directions = np.linalg.svd(evaluate(z)[1])
        # directions along which all points are solutions
        along = directions[int((sizes > 1e-9 * sizes.max()).sum()) :].T
        u = z[first:]
        weight = np.sqrt(2 + 120 * u**2)  # Newton step of the measure
        # directions that move only states (the position) are left out
        rows = np.vstack([weight[:, None] * along[first:], 1e-4 * np.eye(along.shape[1])])
        goal = np.concatenate([-(2 * u + 40 * u**3) / weight, np.zeros(along.shape[1])])
        step = along @ np.linalg.lstsq(rows, goal, rcond=None)[0]
        if np.abs(step[first:]).max(initial=0.0) < LEAST_STEP:
            break
        for share in (1.0, 0.3, 0.1):
            trial, worst = _levenberg_marquardt(evaluate, np.clip(z + share * step, low, high), low, high)
            if worst < TOLERANCE and measure(trial[first:]) < measure(u) - LEAST_GAIN:
                z = trial
                break
        else:
            break
    return z
