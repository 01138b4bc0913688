"""Tests of the residuals of a fit: mean, whiteness, and how far coloured residuals widen the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LAGS = 50


@dataclass(frozen=True)
class Residuals:
    """Statistics of the residuals of one signal."""

    signal: str
    sigma: float
    mean_sigmas: float  # mean over its own standard error, by the effective number of samples
    outside: float  # share of autocorrelations outside the 95 % band of white noise; 0.05 is expected
    inflation: float  # variance of a mean over that of white noise

    @property
    def white(self) -> bool:
        """Whether the residuals are white noise."""
        return self.outside < 0.15


def look_at(signal: str, values: np.ndarray) -> Residuals:
    """Test the residuals of one signal."""
    centred = values - values.mean()
    size, power = len(values), float(centred @ centred)
    if power <= 0 or size < 8:
        return Residuals(signal, 0.0, 0.0, 0.0, 1.0)
    lags = min(LAGS, size // 4)
    transform = np.fft.rfft(centred, 2 * size)
    correlation = np.fft.irfft(np.abs(transform) ** 2)[1 : lags + 1] / power
    negative = np.flatnonzero(correlation <= 0)
    until = int(negative[0]) if len(negative) else lags
    # integrated autocorrelation, to its first zero
    inflation = max(1.0, 1 + 2 * float(np.sum(correlation[:until])))
    sigma = math.sqrt(power / size)
    mean = float(values.mean()) / (sigma * math.sqrt(inflation / size))
    outside = float(np.mean(np.abs(correlation) > 1.96 / math.sqrt(size)))
    return Residuals(signal, sigma, mean, outside, inflation)


def coloured_variance(pull: np.ndarray, left: np.ndarray, count: int) -> np.ndarray:
    """Variances of estimates that each sample moves by `pull` [sample, estimate], for coloured residuals `left`.

    [Klein]: Cov = M^-1 [sum_i sum_j S_i' R^-1 Rvv(i - j) R^-1 S_j] M^-1 with Rvv by the residuals' autocorrelation,
    tapered to `LAGS` samples; M^-1 S_i' R^-1 is `pull`, and `count` is the number of samples.
    """
    lags = min(LAGS, len(left) // 4)
    variance = np.zeros(pull.shape[1])
    for lag in range(lags + 1):
        last = len(left) - lag
        shared = float(left[:last] @ left[lag:]) / max(count, 1)
        taper = (1 if lag == 0 else 2) * (1 - lag / (lags + 1))
        variance += taper * shared * np.sum(pull[:last] * pull[lag:], axis=0)
    return variance
