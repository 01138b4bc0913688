"""Uncertainty of an index: block bootstrap over the record.

Samples of a record depend on their neighbours, so whole blocks are drawn, as long as the residual is correlated
[Kunsch]. Not included: another day, another battery, another wind. Repeated runs show more.
"""

from __future__ import annotations

import math

import numpy as np

DRAWS = 200
LEVEL = 0.95
MOST_SHARE = 5  # at least so many blocks in a record


def block_length(residual: np.ndarray) -> int:
    """Number of samples over which a residual is correlated: twice the first zero of its autocorrelation."""
    centred = residual - residual.mean()
    size = len(centred)
    variance = float(centred @ centred)
    if variance <= 0 or size < 4:
        return 1
    transform = np.fft.rfft(centred, 2 * size)
    correlation = np.fft.irfft(np.abs(transform) ** 2)[:size] / variance
    below = np.flatnonzero(correlation <= 0)
    first = int(below[0]) if len(below) else size
    return max(1, min(2 * first, size // MOST_SHARE))


def drawn_rows(size: int, block: int, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Rows of a record drawn in blocks, with wrap-around: [draw, row]."""
    random = np.random.default_rng(seed)
    blocks = math.ceil(size / block)
    starts = random.integers(0, size, (draws, blocks))
    rows = (starts[:, :, None] + np.arange(block)[None, None, :]) % size
    return np.asarray(rows.reshape(draws, -1)[:, :size])


def interval(draws: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Interval that contains the middle share `level` of the draws."""
    tail = 50 * (1 - level)
    return float(np.percentile(draws, tail)), float(np.percentile(draws, 100 - tail))
