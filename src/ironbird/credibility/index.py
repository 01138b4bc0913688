"""The credibility index of Dai, Ke, Quan and Cai, IEEE TIE 68(4):3282-3291 (2021) [DaiCred].

An error e becomes an index eta between 0 and 1 by a tolerable error eps: 1 without error, the pass mark at e = eps. The
pass mark, the tolerances and the weights are choices, not physics: each is an argument and is written down with the
result. An index states agreement in the tests that were made and nothing about other tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ironbird.analysis.spectra import FrequencyResponse
from ironbird.errors import RequirementError

PASS_MARK = 0.6  # eta at e = eps [DaiCred]
HIGH_MARK = 0.9  # "high-credibility model" [DaiCred]
TOLERANCE = 0.05  # Kp of high precision [DaiCred]; its noise test uses 0.10
WEIGHTS = {"performance": 0.3, "time": 0.3, "frequency": 0.4}  # example of [DaiCred]
Mean = Literal["rms", "arithmetic"]
MEANS: tuple[Mean, ...] = ("rms", "arithmetic")


def normalised(error: float, tolerance: float, pass_mark: float = PASS_MARK) -> float:
    """eta = Ke eps / sqrt((Ke eps)^2 + e^2), Ke = mark / sqrt(1 - mark^2) [DaiCred] eq. 1-2."""
    if not (math.isfinite(error) and error >= 0):
        raise RequirementError(f"an error of {error:g} has no index; it must be finite and not negative")
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise RequirementError(
            f"a tolerable error of {tolerance:g} has no index: the reference is zero or does not move; "
            "give a limit of your own"
        )
    if not 0 < pass_mark < 1:
        raise RequirementError(f"pass mark {pass_mark:g} is outside 0 to 1")
    width = pass_mark / math.sqrt(1 - pass_mark**2) * tolerance
    return width / math.hypot(width, error)


def error_of(index: float, pass_mark: float = PASS_MARK) -> float:
    """The error that belongs to an index, in units of the tolerable error: the inverse of `normalised`."""
    if not 0 < index <= 1:
        raise RequirementError(f"index {index:g} is outside 0 to 1")
    return pass_mark / math.sqrt(1 - pass_mark**2) * math.sqrt(1 / index**2 - 1)


def performance_errors(real: float, simulated: float, tolerance: float, limit: float | None) -> tuple[float, float]:
    """Error and tolerable error of a figure [DaiCred] eq. 3-4; a limit is in the figure's own unit."""
    return abs(real - simulated), limit if limit is not None else tolerance * abs(real)


def time_errors(real: np.ndarray, simulated: np.ndarray, tolerance: float, limit: float | None) -> tuple[float, float]:
    """Error and tolerable error of curves [DaiCred] eq. 6-7: root mean square against a share of the span."""
    error = float(np.sqrt(np.mean((real - simulated) ** 2)))
    return error, limit if limit is not None else tolerance * float(np.ptp(real))


def coherence_weight(coherence: np.ndarray) -> np.ndarray:
    """Weight of a frequency by its coherence: [1.58 (1 - exp(-gamma^2))]^2 [Tischler]."""
    return np.asarray((1.58 * (1 - np.exp(-coherence))) ** 2)


def frequency_errors(
    real: FrequencyResponse, simulated: FrequencyResponse, tolerance: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Errors and tolerable errors of magnitude (dB) and phase (degrees) [DaiCred] eq. 9-13.

    The paper does not print its coherence weight: CIFER's is taken, inside the mean and not normalised, with the
    smaller of the two coherences.
    """
    weight = coherence_weight(np.minimum(real.coherence, simulated.coherence))
    phase = np.angle(real.response / simulated.response, deg=True)  # the short way round
    errors = []
    for difference, curve in (
        (real.magnitude_dB - simulated.magnitude_dB, real.magnitude_dB),
        (phase, real.phase_deg),
    ):
        errors.append((float(np.sqrt(np.mean(weight * difference**2))), tolerance * float(np.ptp(curve))))
    return errors[0], errors[1]


def mean_index(values: Sequence[float], mean: Mean = "rms") -> float:
    """Mean of the indices of one class [DaiCred] eq. 15; the arithmetic mean is that of RflySim's model paper."""
    if not len(values):
        raise RequirementError("no index to take the mean of")
    array = np.asarray(values, float)
    return float(np.sqrt(np.mean(array**2)) if mean == "rms" else np.mean(array))


def combined(classes: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS, mean: Mean = "rms") -> float:
    """The overall index of all classes [DaiCred] eq. 16; weights of classes without a test go to the others."""
    used = {name: float(weights.get(name, 0.0)) for name in classes}
    total = sum(used.values())
    if not (total > 0 and all(math.isfinite(weight) and weight >= 0 for weight in used.values())):
        raise RequirementError(f"weights {dict(weights)} give no part to {', '.join(classes) or 'any class'}")
    if mean == "rms":
        return math.sqrt(sum(used[name] / total * value**2 for name, value in classes.items()))
    return sum(used[name] / total * value for name, value in classes.items())
