"""Tests of the residuals of a fit: mean, whiteness, and how far coloured residuals widen the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

LAGS = 50
BLOCKS = (20, 8)  # of a record: short ones for white residuals, long ones where the model is wrong for seconds
LEAST_ROWS = 4  # of a block
Z95 = 1.959964


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


def coloured_deviations(pull: np.ndarray, left: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Standard deviations of estimates that each sample moves by `pull` [sample, signal, estimate] times `left`.

    [Klein]: Cov = M^-1 [sum_i sum_j S_i' R^-1 Rvv(i - j) R^-1 S_j] M^-1, where M^-1 S_i' R^-1 is `pull`. The inner sum
    is taken over blocks of the record (batch means): within a block residuals of all signals may go together, as they
    do where the model is wrong in a manoeuvre; blocks are independent. Not less than `bounds`, those of white
    residuals, and times Student's factor for the number of blocks, so that 1.96 deviations are 95 %.
    """
    moved = np.einsum("isk,is->ik", pull, left)
    found = bounds
    for blocks in BLOCKS:
        if len(moved) < blocks * LEAST_ROWS:
            continue
        edges = np.linspace(0, len(moved), blocks + 1).astype(int)
        sums = np.add.reduceat(moved, edges[:-1], axis=0)
        sums -= sums.mean(axis=0)
        deviations = np.sqrt(np.sum(sums**2, axis=0) * blocks / (blocks - 1))
        found = np.maximum(found, deviations * float(student.ppf(0.975, blocks - 1)) / Z95)
    return found
