"""Equation error method: compares forces and angular accelerations of the equations with those of a record.

Only the motors are integrated, so nothing diverges, and slowly logged commands do less harm: the residuals and their
derivatives pass through the same moving mean first. Trim (rotors that differ, a mass off the centre) is an unknown
constant of each angular acceleration. Not modelled: noise of the recorded motion, which biases the estimates to zero
where it is strong [Klein]; how motors turn up between two rows (it biases the inertia about z by some percent); the
lever arm of the accelerometers; wind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ironbird.credibility.plan import DriveTable
from ironbird.credibility.readers import ATTITUDE, FORCE, RATES, VELOCITY
from ironbird.credibility.record import Record
from ironbird.errors import RecordError
from ironbird.identification.output_error import (
    CONVERGED,
    ITERATIONS,
    OUTPUTS,
    PIECE_S,
    PRIOR,
    Data,
    Fit,
    Problem,
    estimates_of,
    gathered,
    height_of,
    not_converged,
)
from ironbird.identification.residuals import coloured_deviations, look_at
from ironbird.model.signal import Number
from ironbird.rotations import conjugate, from_euler, rotate

TURNING = ("roll_acceleration", "pitch_acceleration", "yaw_acceleration")
SMOOTH_S = 0.1


def equation_error(
    record: Record,
    name: str | Path,
    words: Sequence[str],
    *,
    how: DriveTable | None = None,
    signals: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    smooth_s: float = SMOOTH_S,
    params: Mapping[str, Number] | None = None,
) -> Fit:
    """Identify parameters of a vehicle from specific forces and angular accelerations of a record."""
    if not words:
        raise RecordError("nothing is free: name what to identify, for example mass,inertia")
    problem = Problem(name, words, params, height_of(record))
    known = [*FORCE, *TURNING]
    used = list(signals) if signals else [n for n in known if n in TURNING or n in record.tracks]
    for signal in used:
        if signal not in known:
            raise RecordError(f"'{signal}' is no signal of equation error; one of {', '.join(known)}")
    motion = [*VELOCITY, *ATTITUDE, *RATES, *(n for n in used if n in FORCE)]
    data = gathered(record, problem, how or DriveTable(), motion, window_s, PIECE_S)
    rows = data.time_s.size
    z = data.z.reshape(rows, -1)
    turning = np.gradient(z[:, 6:9], data.step_s, axis=0)
    measured = np.column_stack([turning[:, TURNING.index(n)] if n in TURNING else z[:, motion.index(n)] for n in used])
    size = max(1, round(smooth_s / data.step_s))
    return _fitted(record, problem, data, z, measured, used, size)


def _fitted(
    record: Record, problem: Problem, data: Data, z: np.ndarray, measured: np.ndarray, used: Sequence[str], size: int
) -> Fit:
    k = len(problem.free)
    biased = [place for place, n in enumerate(used) if n in TURNING]
    theta, bias = np.ones(k), np.zeros(len(biased))
    weight = 1 / np.maximum(np.std(measured, axis=0), 1e-6)
    modelled, residual = measured, np.zeros_like(measured)
    hessian = inverse = np.eye(k + len(biased))
    jacobian = np.zeros((*measured.shape, k + len(biased)))
    iterations, most = 0, np.inf
    while iterations < ITERATIONS and not (iterations > 3 and most < CONVERGED):
        iterations += 1
        modelled, by_theta = _modelled(problem, data, z, theta, used)
        plain = modelled.copy()
        modelled[:, biased] += bias
        by_bias = np.zeros((*measured.shape, len(biased)))
        by_bias[:, biased, range(len(biased))] = 1.0
        jacobian = _smoothed(np.concatenate([by_theta, by_bias], axis=2), size)
        residual = _smoothed(measured - modelled, size)
        if iterations > 1:
            weight = 1 / np.maximum(np.std(residual, axis=0), 1e-9)
        scaled = (jacobian * weight[None, :, None]).reshape(-1, k + len(biased))
        hessian = scaled.T @ scaled
        hessian[:k, :k] += np.eye(k) / PRIOR**2
        gradient = scaled.T @ (residual * weight).ravel()
        gradient[:k] += (1 - theta) / PRIOR**2
        inverse = np.linalg.pinv(hessian)
        step = inverse @ gradient
        before, theta = theta, np.clip(theta + np.clip(step[:k], -0.3, 0.3), 0.05, 20.0)
        bias = bias + step[k:]
        most = float(np.max(np.abs(theta - before)))
    if most > 0.05:
        raise not_converged(problem, iterations, most)
    deviations, alone = np.sqrt(np.diag(inverse)[:k]), 1 / np.sqrt(np.diag(hessian)[:k])
    covariance = inverse[:k, :k]
    pull = (jacobian * weight[None, :, None] ** 2) @ inverse[:, :k]
    widened = coloured_deviations(pull, residual, deviations)  # the moving mean makes the residuals coloured
    if data.unknown:
        u = data.u.copy()
        u[..., : len(problem.inputs)] += data.unknown
        more = _modelled(problem, replace(data, u=u), z, before, used)[0] - plain
        widened = np.hypot(widened, np.einsum("isk,is->k", pull, _smoothed(more, size)))
    return Fit(
        record.path.name,
        problem.vehicle.id,
        "equation error",
        problem.free,
        estimates_of(problem, theta, widened, deviations, alone),
        theta,
        covariance / np.outer(deviations, deviations),
        list(used),
        {n: float(np.std(residual[:, place])) for place, n in enumerate(used)},
        [look_at(n, residual[:, place]) for place, n in enumerate(used)],
        data.time_s.ravel(),
        _smoothed(measured, size),
        _smoothed(modelled, size),
        iterations,
        data.notes,
    )


def _modelled(
    problem: Problem, data: Data, z: np.ndarray, theta: np.ndarray, used: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of the equations for the recorded motion, and their derivatives by the factors [row, signal, factor]."""
    rows, k, count = len(z), len(theta), len(problem.motors)
    q = from_euler(z[:, 3:6])
    x = np.concatenate([rotate(conjugate(q), z[:, :3]), q, z[:, 6:9], np.zeros((rows, count))], axis=1)
    u = data.u.reshape(rows, data.u.shape[2], -1)
    speeds, slopes = problem.speeds(u[:1, 0], theta)[0], np.zeros((count, k))
    by_motor = np.zeros((rows, count, k))
    motors = slice(x.shape[1] - count, x.shape[1])
    h = data.step_s / u.shape[1]
    for row in range(rows):
        x[row, motors], by_motor[row] = speeds, slopes
        one = x[row : row + 1].copy()
        for part in range(u.shape[1]):  # midpoint rule
            one[0, motors] = speeds
            f, fx, ft = problem.rates(one, theta, u[row : row + 1, part])
            half = slopes + h / 2 * (fx[0, motors, motors] @ slopes + ft[0, motors])
            one[0, motors] = speeds + h / 2 * f[0, motors]
            f, fx, ft = problem.rates(one, theta, u[row : row + 1, part])
            speeds = speeds + h * f[0, motors]
            slopes = slopes + h * (fx[0, motors, motors] @ half + ft[0, motors])
    force, force_x, force_t = problem.outputs(x, theta, u[:, 0])
    turn, turn_x, turn_t = problem.rates(x, theta, u[:, 0])
    names = [n for group in OUTPUTS.values() for n in group]
    values, derivatives = [], []
    for name in used:
        f, fx, ft, place = (
            (turn, turn_x, turn_t, 7 + TURNING.index(name))
            if name in TURNING
            else (force, force_x, force_t, names.index(name))
        )
        one, by = f[:, place], ft[:, place] + np.einsum("rm,rmk->rk", fx[:, place, motors], by_motor)
        if name in TURNING:  # central differences of the record are means over two steps
            one, by = _over_two_steps(one), _over_two_steps(by)
        values.append(one)
        derivatives.append(by)
    return np.column_stack(values), np.stack(derivatives, axis=1)


def _over_two_steps(values: np.ndarray) -> np.ndarray:
    """Mean from the previous to the next row, by the trapezoidal rule."""
    inside = (values[:-2] + 2 * values[1:-1] + values[2:]) / 4
    return np.concatenate([values[:1], inside, values[-1:]])


def _smoothed(values: np.ndarray, size: int) -> np.ndarray:
    """Moving mean over `size` rows, of the same length."""
    if size < 2:
        return values
    padded = np.concatenate([np.repeat(values[:1], size // 2, axis=0), values])
    padded = np.concatenate([padded, np.repeat(values[-1:], size - 1 - size // 2, axis=0)])
    total = np.cumsum(np.concatenate([np.zeros_like(padded[:1]), padded]), axis=0)
    return np.asarray((total[size:] - total[:-size]) / size)
