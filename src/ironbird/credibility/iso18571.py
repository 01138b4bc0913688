"""The rating of ISO/TS 18571 for two curves of equal sampling: corridor, phase, magnitude, slope.

Written from the constants of the standard; the tests compare it with the PyPI package objective-rating-metrics (TU
Graz). The standard is defined for crash signals at 10 kHz; all of it but the smoothing of slopes (nine samples) is free
of the sample rate. Long records are thinned by the caller: warping takes time with the square of the length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MOST_SHIFT = 0.2  # of the length
WARP = 0.1  # half width of the warping window, of the length
INNER, OUTER = 0.05, 0.5  # corridors, of the largest value of the reference
MAGNITUDE_LIMIT, SLOPE_LIMIT = 0.5, 2.0
WEIGHTS = (0.4, 0.2, 0.2, 0.2)  # corridor, phase, magnitude, slope
LEAST = 20  # samples
MOST = 600


@dataclass(frozen=True)
class Rating:
    """The rating R and its parts, each between 0 and 1."""

    corridor: float
    phase: float
    magnitude: float
    slope: float

    @property
    def value(self) -> float:
        """The overall rating R: the weighted sum of the parts."""
        parts = (self.corridor, self.phase, self.magnitude, self.slope)
        return sum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True))

    @property
    def word(self) -> str:
        """The rating as a word on the sliding scale of the standard."""
        words = ((0.94, "excellent"), (0.80, "good"), (0.58, "fair"))
        return next((word for bound, word in words if self.value > bound), "poor")


def rating(real: np.ndarray, simulated: np.ndarray) -> Rating:
    """Rate a simulated curve against the real one."""
    error = np.abs(real - simulated)
    norm = float(np.max(np.abs(real)))
    inner, outer = INNER * norm, OUTER * norm
    between = ((outer - error) / (outer - inner)) ** 2
    corridor = float(np.mean(np.where(error < inner, 1.0, np.where(error > outer, 0.0, between))))
    shift, real_cut, simulated_cut = _shifted(real, simulated)
    most = MOST_SHIFT * len(real)
    phase = 1.0 if shift == 0 else max(0.0, (most - shift) / most)
    rows, columns = _warped(simulated_cut, real_cut)
    off = float(np.abs(simulated_cut[rows] - real_cut[columns]).sum() / np.abs(real_cut[columns]).sum())
    slope_real, slope_simulated = _slope(real_cut), _slope(simulated_cut)
    slope_off = float(np.abs(slope_simulated - slope_real).sum() / np.abs(slope_real).sum())
    return Rating(
        corridor,
        phase,
        max(0.0, (MAGNITUDE_LIMIT - off) / MAGNITUDE_LIMIT),
        max(0.0, (SLOPE_LIMIT - slope_off) / SLOPE_LIMIT),
    )


def _shifted(real: np.ndarray, simulated: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The smallest shift with the highest correlation, to the left first, and both curves cut to their overlap."""
    best, shift, pair = _correlation(real, simulated), 0, (real, simulated)
    for count in range(1, math.floor(len(simulated) * MOST_SHIFT) + 1):
        for trial in ((real[:-count], simulated[count:]), (real[count:], simulated[:-count])):
            value = _correlation(*trial)
            if value > best:
                best, shift, pair = value, count, trial
    return shift, pair[0], pair[1]


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    below = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / below if below > 0 else -1.0


def _warped(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dynamic time warping with squared distances, unit steps and a band; returns the path's rows of x and y."""
    size = len(x)
    width = math.ceil(WARP * size) - 1
    cost = np.full((size + 1, size + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, size + 1):
        first, last = max(1, i - width), min(size, i + width)
        local = ((x[i - 1] - y[first - 1 : last]) ** 2).tolist()
        above, diagonal = cost[i - 1, first : last + 1].tolist(), cost[i - 1, first - 1 : last].tolist()
        left = cost[i, first - 1]
        row = []
        for distance, up, corner in zip(local, above, diagonal, strict=True):
            left = distance + min(left, up, corner)
            row.append(left)
        cost[i, first : last + 1] = row
    i = j = size
    path = [(i - 1, j - 1)]
    while i > 1 or j > 1:
        steps = ((cost[i - 1, j], i - 1, j), (cost[i, j - 1], i, j - 1), (cost[i - 1, j - 1], i - 1, j - 1))
        _, i, j = min(steps, key=lambda step: step[0])
        path.append((i - 1, j - 1))
    places = np.array(path[::-1])
    return places[:, 0], places[:, 1]


def _slope(values: np.ndarray) -> np.ndarray:
    """Central differences, smoothed over nine samples, fewer at the ends."""
    raw = np.gradient(values)
    smooth = np.empty_like(raw)
    for place, count in enumerate((1, 3, 5, 7)):
        smooth[place], smooth[-1 - place] = raw[:count].mean(), raw[-count:].mean()
    smooth[4:-4] = np.convolve(raw, np.ones(9) / 9, mode="valid")
    return smooth
