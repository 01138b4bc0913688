"""Trim and linear models from exact derivatives of the block equations.

Both work on the continuous part of a model. What sampled blocks put out (commands, and slow things such as
gravity) is an input there: chosen ones are inputs of the linear model or unknowns of the trim, the others are
held at their values at the operating point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ironbird.compiler.flatten import ARRAYS, Column, Flat
from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.diagram import as_column
from ironbird.model.signal import Number, Signal

if TYPE_CHECKING:
    from ironbird.compiler.compiled import CompiledModel

REFRESHES = 3  # how often a trim brings slow sampled outputs up to date with its solution
TOLERANCE = 1e-8  # largest residual of a trim, in SI units
ITERATIONS = 200
LEAST_STEPS, LEAST_STEP, LEAST_GAIN = 20, 1e-6, 1e-10  # towards the smallest inputs: how many, and how small


@dataclass
class OperatingPoint:
    """Values of everything at one instant; read and changed by name."""

    flat: Flat
    t: float
    x: np.ndarray
    xd: np.ndarray
    held: np.ndarray
    u: np.ndarray
    p: np.ndarray

    def columns(self) -> list[np.ndarray | float]:
        """Arguments of the flat functions, in their order."""
        return [self.t, self.x, self.xd, self.held, self.u, self.p, np.zeros(self.flat.noise.size)]

    def _place(self, path: str) -> tuple[np.ndarray, Column]:
        flat = self.flat
        pairs = (
            (self.x, flat.x), (self.xd, flat.xd), (self.held, flat.held), (self.u, flat.u), (self.p, flat.p),
        )  # fmt: skip
        for array, column in pairs:
            if path in column.start:
                return array, column
        known = [name for _, column in pairs for name in column.start]
        raise UnknownNameError("state, input, output or parameter", path, [*known, *flat.log.start])

    def __getitem__(self, path: str) -> np.ndarray:
        """A state, input, parameter or any logged signal, as a column."""
        if path in self.flat.log.start and path not in self.flat.held.start:
            values = np.array(self.flat.outputs(*self.columns())).ravel()
            return values[self.flat.log.rows(path)]
        array, column = self._place(path)
        return array[column.rows(path)].copy()

    def set(self, path: str, value: Number | np.ndarray) -> None:
        """Change a state, input, held output or parameter."""
        array, column = self._place(path)
        array[column.rows(path)] = as_column(value, column.signals[path], path)

    def rates(self) -> np.ndarray:
        """Derivatives of the continuous states."""
        return np.array(self.flat.rates(*self.columns())).ravel()

    def refresh(self, keep: Sequence[str] = ()) -> None:
        """Bring the held outputs of sampled blocks up to date, except those of the outputs in `keep`."""
        kept = {row for path in keep if path in self.flat.held.start for row in _range(self.flat.held.rows(path))}
        for group in self.flat.groups:
            values = np.array(group.function(*self.columns())).ravel()
            for (array, row, _), value in zip(group.targets, values, strict=True):
                if array == "held" and row not in kept:
                    self.held[row] = value


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


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)


def operating_point(model: CompiledModel, params: Mapping[str, Number] | None = None) -> OperatingPoint:
    """The point at time zero: initial states, parameters as set, sampled outputs up to date."""
    flat = model.flat
    point = OperatingPoint(
        flat, 0.0, flat.initial_x.copy(), flat.initial_xd.copy(), np.zeros(flat.held.size), flat.inputs.copy(),
        flat.values.copy(),
    )  # fmt: skip
    for path, value in (params or {}).items():
        point.set(path, value)
    point.refresh()
    return point


def _select(flat: Flat, paths: Sequence[str]) -> list[tuple[str, int, str]]:
    """(array, row, label) of each scalar of inputs: external ones or outputs of sampled blocks."""
    chosen: list[tuple[str, int, str]] = []
    for path in paths:
        for array, column in (("u", flat.u), ("held", flat.held)):
            if path in column.start:
                rows = column.rows(path)
                labels = column.labels()
                chosen += [(array, row, labels[row]) for row in _range(rows)]
                break
        else:
            raise UnknownNameError("input", path, [*flat.u.start, *flat.held.start])
    return chosen


def linearize(
    model: CompiledModel,
    at: OperatingPoint | None = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] = (),
) -> LinearModel:
    """A, B, C, D of the continuous part at a point (default: time zero).

    `inputs` are external inputs or outputs of sampled blocks (default: all external inputs); `outputs` are
    signals by path (default: the states).
    """
    flat = model.flat
    point = at or operating_point(model)
    chosen = _select(flat, list(flat.u.start) if inputs is None else inputs)
    symbols = flat.rates.sx_in()
    x = symbols[ARRAYS.index("x")]
    u = ca.vertcat(*[symbols[ARRAYS.index(array)][row] for array, row, _ in chosen]) if chosen else ca.SX(0, 1)
    rates = flat.rates.call(symbols)[0]
    if outputs:
        everything = flat.outputs.call(symbols)[0]
        rows = [row for path in outputs for row in _range(flat.log.rows(path))]
        y, labels = everything[rows], [flat.log.labels()[row] for row in rows]
    else:
        y, labels = x, flat.x.labels()
    jacobians = [ca.jacobian(a, b) for a in (rates, y) for b in (x, u)]
    values = ca.Function("jacobians", symbols, [ca.densify(j) for j in jacobians])(*point.columns())
    A, B, C, D = (np.array(v).reshape(j.shape) for v, j in zip(values, jacobians, strict=True))
    return LinearModel(A, B, C, D, flat.x.labels(), [label for *_, label in chosen], labels, point)


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
    """Find states and inputs at which the continuous states stand still.

    `inputs` are free to choose within their declared range; `hold` fixes states and sampled outputs; states in
    `moving` may change steadily; `require` asks signals (`body.euler`) to have values; NaN entries there are free.
    Solved by bounded Levenberg-Marquardt on exact derivatives; where several points do, the one near the guess is
    found, or with `least` that with the smallest inputs. Raises `ModelError` if there is none: if a
    residual is greater than `tolerance` (infinite: the nearest miss is taken).
    """
    flat = model.flat
    point = operating_point(model, params)
    for path, value in {**(guess or {}), **(hold or {})}.items():
        point.set(path, value)
    chosen = _select(flat, inputs)
    free_rows = {row for path in moving for row in _range(flat.x.rows(path))}
    held_rows = {row for path in (hold or {}) if path in flat.x.start for row in _range(flat.x.rows(path))}
    symbols = flat.rates.sx_in()
    x = symbols[ARRAYS.index("x")]
    places = [("x", row) for row in range(flat.x.size) if row not in held_rows]
    places += [(array, row) for array, row, _ in chosen]
    unknown = ca.vertcat(*[symbols[ARRAYS.index(array)][row] for array, row in places])
    residuals = [flat.rates.call(symbols)[0][[row for row in range(flat.x.size) if row not in free_rows]]]
    residuals.append(flat.project.call(symbols)[0] - x)  # on the manifold: quaternions of unit length
    everything = flat.outputs.call(symbols)[0]
    for path, value in (require or {}).items():
        rows = flat.log.rows(path)
        wanted = np.broadcast_to(np.asarray(value, float), (rows.stop - rows.start,))
        residuals += [
            everything[row] - float(target)
            for row, target in zip(_range(rows), wanted, strict=True) if not np.isnan(target)
        ]  # fmt: skip
    g = ca.densify(ca.vertcat(*residuals))
    function = ca.Function("trim", symbols, [g, ca.densify(ca.jacobian(g, unknown))])
    low, high = _bounds(flat, places)

    def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for (array, row), value in zip(places, z, strict=True):
            getattr(point, array)[row] = value
        values, jacobian = function(*point.columns())
        return np.array(values).ravel(), np.array(jacobian)

    for _ in range(REFRESHES):
        z = np.clip(np.array([getattr(point, array)[row] for array, row in places]), low, high)
        z, worst = _levenberg_marquardt(evaluate, z, low, high)
        if least and worst < tolerance:
            z = _least(evaluate, z, low, high, len(places) - len(chosen))
        if not worst < tolerance:
            raise ModelError(
                f"no trim found for model '{model.name}': the largest residual left is {worst:.3g}; "
                "free more inputs or states, or give a better guess"
            )
        evaluate(z)  # leaves the solution in the point
        point.refresh(keep=[*inputs, *(hold or {})])
    return point


def _bounds(flat: Flat, places: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Declared ranges of the unknowns; an output also keeps to the ranges of the inputs that it feeds."""
    low, high = [], []
    columns = {"x": flat.x, "u": flat.u, "held": flat.held}
    for array, row in places:
        column = columns[array]
        path, signal = next((p, s) for p, s in column.signals.items() if row in _range(column.rows(p)))
        signals = [signal, *(_readers(flat, path) if array == "held" else [])]
        low.append(max(s.low for s in signals))
        high.append(min(s.high for s in signals))
    return np.array(low), np.array(high)


def _readers(flat: Flat, output: str) -> list[Signal]:
    """Inputs that an output feeds."""
    targets = [target.rpartition(".") for target, sources in flat.diagram.links.items() if output in sources]
    return [flat.diagram.blocks[block].inputs[port] for block, _, port in targets]


def _levenberg_marquardt(
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], z: np.ndarray, low: np.ndarray, high: np.ndarray
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


def _least(
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], z: np.ndarray, low: np.ndarray, high: np.ndarray,
    first: int,
) -> np.ndarray:  # fmt: skip
    """From a solution along all solutions to the one with the smallest inputs, which are z[first:].

    The measure is the sum of u^2 + 10 u^4: thrusts go with the square of a command, and are to be shared evenly.
    """

    def measure(u: np.ndarray) -> float:
        return float(np.sum(u**2 + 10 * u**4))

    for _ in range(LEAST_STEPS):
        _, sizes, directions = np.linalg.svd(evaluate(z)[1])
        along = directions[int((sizes > 1e-9 * sizes.max()).sum()) :].T  # solutions lie this way
        u = z[first:]
        weight = np.sqrt(2 + 120 * u**2)  # Newton's step of the measure
        # what moves states alone (the place) is left as it is
        rows = np.vstack([weight[:, None] * along[first:], 1e-4 * np.eye(along.shape[1])])
        wanted = np.concatenate([-(2 * u + 40 * u**3) / weight, np.zeros(along.shape[1])])
        step = along @ np.linalg.lstsq(rows, wanted, rcond=None)[0]
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
