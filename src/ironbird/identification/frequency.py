"""Models of frequency responses: transfer functions with delay, and state-space models with given parameters.

CIFER's cost of one response, weighted by coherence, is minimised by Levenberg and Marquardt; the bounds and
insensitivities are those of its Hessian [Tischler]. Not modelled: bounds for what the chosen form leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.analysis.spectra import GOOD_COHERENCE, FrequencyResponse, local_response, log_frequencies
from ironbird.credibility.record import Record
from ironbird.errors import RecordError

PHASE_WEIGHT = 0.01745  # 7.57 degrees count as one decibel [Tischler]
COUNTED = 20.0  # points that the cost is for
ITERATIONS, STARTS = 200, 12
GOOD_BOUND, GOOD_INSENSITIVITY = 0.2, 0.1  # shares of a parameter that are wanted [Tischler]
GOOD_COST = 50.0  # hardly identifiable from the record [Tischler]
Model = Callable[[np.ndarray], Sequence[np.ndarray]]


@dataclass(frozen=True)
class ResponseFit:
    """Fitted parameters with bounds, and the cost of each response."""

    names: list[str]
    values: np.ndarray
    bounds: np.ndarray  # after Cramér and Rao, 2 / sqrt of the Hessian's inverse
    insensitivities: np.ndarray
    costs: list[float]
    modelled: list[np.ndarray]

    @property
    def cost(self) -> float:
        """Mean cost J of all responses."""
        return float(np.mean(self.costs))

    def doubts(self) -> list[str]:
        """Parameters that the responses hardly identify: drop or fix them, and fit again."""
        size = np.maximum(np.abs(self.values), 1e-300)
        bad = (self.bounds > GOOD_BOUND * size) | (self.insensitivities > GOOD_INSENSITIVITY * size)
        return [name for name, is_bad in zip(self.names, bad, strict=True) if is_bad]


def recorded_response(
    record: Record, input_: str, output: str, band_radps: tuple[float, float], points: int = 20
) -> FrequencyResponse:
    """Frequency response between two recorded signals, on the finer of their two time grids."""
    x, y = record.track(input_), record.track(output)
    step_s = min(x.step_s, y.step_s)
    time_s = np.arange(max(x.time_s[0], y.time_s[0]), min(x.time_s[-1], y.time_s[-1]), step_s)
    return local_response(x.at(time_s), y.at(time_s), step_s, log_frequencies(band_radps, points))


def _errors(modelled: np.ndarray, measured: FrequencyResponse) -> np.ndarray:
    """Rows whose squares sum up to CIFER's J: decibels, and degrees with their weight."""
    # W = [1.58 (1 - exp(-coherence))]^2 [Tischler]
    weight = 1.58 * (1 - np.exp(-measured.coherence)) * np.sqrt(COUNTED / len(measured.response))
    ratio = modelled / measured.response
    decibels = 20 * np.log10(np.maximum(np.abs(ratio), 1e-12))
    degrees = np.degrees(np.angle(ratio))
    return np.concatenate([weight * decibels, weight * np.sqrt(PHASE_WEIGHT) * degrees])


def fit_responses(
    model: Model, names: Sequence[str], start: np.ndarray, measured: Sequence[FrequencyResponse]
) -> ResponseFit:
    """Fit parameters to measured responses; `model` returns the responses for given parameters."""
    for one in measured:
        if int(np.sum(one.coherence > GOOD_COHERENCE)) < len(names):
            raise RecordError(
                f"{int(np.sum(one.coherence > GOOD_COHERENCE))} points have a coherence above {GOOD_COHERENCE:g}, and "
                f"{len(names)} parameters are asked for: sweep longer or stronger"
            )

    def rows(theta: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            parts = [_errors(m, one) for m, one in zip(model(theta), measured, strict=True)]
        return np.nan_to_num(np.concatenate(parts), nan=1e6, posinf=1e6, neginf=-1e6)

    def slopes(theta: np.ndarray) -> np.ndarray:
        steps = 1e-6 * np.maximum(np.abs(theta), 1e-6)
        columns = [(rows(theta + d) - rows(theta - d)) / (2 * h) for d, h in zip(np.diag(steps), steps, strict=True)]
        return np.column_stack(columns)

    theta, damping = np.asarray(start, float), 1e-3
    cost = float(np.sum(rows(theta) ** 2))
    for _ in range(ITERATIONS):
        jacobian, residual = slopes(theta), rows(theta)
        hessian = jacobian.T @ jacobian
        scale = np.maximum(np.diag(hessian), 1e-12)
        step = np.linalg.solve(hessian + damping * np.diag(scale), -jacobian.T @ residual)
        tried = float(np.sum(rows(theta + step) ** 2))
        if tried < cost:
            gained, theta, cost, damping = cost - tried, theta + step, tried, max(damping / 5, 1e-12)
            if gained < 1e-10 * (cost + 1e-12):
                break
        else:
            damping *= 4
            if damping > 1e12:
                break
    hessian = 2 * slopes(theta).T @ slopes(theta)
    inverse = np.linalg.pinv(hessian)
    modelled = [np.asarray(m) for m in model(theta)]
    return ResponseFit(
        list(names),
        theta,
        2 * np.sqrt(np.maximum(np.diag(inverse), 0.0)),
        1 / np.sqrt(np.maximum(np.diag(hessian), 1e-300)),
        [float(np.sum(_errors(m, one) ** 2)) for m, one in zip(modelled, measured, strict=True)],
        modelled,
    )


def transfer_function(measured: FrequencyResponse, zeros: int, poles: int, *, delay: bool = True) -> ResponseFit:
    """Fit (b0 + b1 s + …) / (a0 + a1 s + … + s^poles) exp(-delay s); starts by the method of Sanathanan and Koerner."""
    if not 0 <= zeros <= poles <= 8 or poles < 1:
        raise RecordError(f"{zeros} zeros and {poles} poles: give 1 to 8 poles, and no more zeros than poles")
    s = 1j * measured.frequency_radps
    middle = float(np.exp(np.mean(np.log(measured.frequency_radps))))

    def value(theta: np.ndarray) -> list[np.ndarray]:
        top = sum(theta[i] * (s / middle) ** i for i in range(zeros + 1))
        below = sum(theta[zeros + 1 + i] * (s / middle) ** i for i in range(poles)) + (s / middle) ** poles
        return [np.asarray(top / below * np.exp(-s * (theta[-1] if delay else 0.0)))]

    names = [f"b{i}" for i in range(zeros + 1)] + [f"a{i}" for i in range(poles)] + (["delay"] if delay else [])
    best: ResponseFit | None = None
    highest = float(measured.frequency_radps[-1])
    for late in np.linspace(0.0, 2.0 / highest, STARTS) if delay else [0.0]:
        begin = _linear_start(measured.response * np.exp(s * late), s / middle, measured.coherence, zeros, poles)
        fit = fit_responses(value, names, np.append(begin, late) if delay else begin, [measured])
        if best is None or fit.cost < best.cost:
            best = fit
    assert best is not None
    # back from the scaled s: b_i / middle^i over a_j / middle^j, with 1 before s^poles
    powers = [poles - i for i in range(zeros + 1)] + [poles - i for i in range(poles)] + ([0] if delay else [])
    scale = np.array([middle**power for power in powers])
    return ResponseFit(
        best.names, best.values * scale, best.bounds * scale, best.insensitivities * scale, best.costs, best.modelled
    )


def _linear_start(response: np.ndarray, s: np.ndarray, coherence: np.ndarray, zeros: int, poles: int) -> np.ndarray:
    """Least squares of top - H bottom = 0, weighted by the bottom polynomial of the previous round."""
    below = np.ones_like(s)
    solution = np.zeros(zeros + 1 + poles)
    for _ in range(10):
        weight = coherence / np.maximum(np.abs(below) * np.abs(response), 1e-300)
        matrix = np.column_stack(
            [s**i for i in range(zeros + 1)] + [-response * s**i for i in range(poles)]
        ) * weight[:, None]  # fmt: skip
        right = response * s**poles * weight
        solution, *_ = np.linalg.lstsq(
            np.concatenate([matrix.real, matrix.imag]), np.concatenate([right.real, right.imag]), rcond=None
        )
        below = sum(solution[zeros + 1 + i] * s**i for i in range(poles)) + s**poles
    return np.asarray(solution)


def state_space(
    matrices: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]],
    names: Sequence[str],
    start: np.ndarray,
    measured: Sequence[tuple[int, int, FrequencyResponse]],
) -> ResponseFit:
    """Parameters of A, B, C, D and a delay from several responses (input, output, response) at once."""

    def value(theta: np.ndarray) -> list[np.ndarray]:
        a, b, c, d, late = matrices(theta)
        responses = []
        for input_, output, one in measured:
            s = 1j * one.frequency_radps
            inside = np.linalg.solve(
                s[:, None, None] * np.eye(len(a)) - a, np.broadcast_to(b[:, [input_]], (len(s), len(a), 1))
            )
            responses.append((c[output] @ inside[:, :, 0].T + d[output, input_]) * np.exp(-s * late))
        return responses

    return fit_responses(value, names, start, [one for _, _, one in measured])
