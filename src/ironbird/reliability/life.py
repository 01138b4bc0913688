"""Life distributions of parts: Weibull and constant rates, their fit from failures and survivors, wear.

A shape of 1 is a constant rate (MTBF = scale); above 1 parts wear out, below 1 they fail early. Not modelled: repair,
common causes, the weather.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.errors import RecordError

ITERATIONS = 100


@dataclass(frozen=True)
class Life:
    """Weibull distribution of a part's life: R(t) = exp(-(t / scale)^shape), t in hours of operation."""

    shape: float
    scale_h: float
    source: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.shape) and math.isfinite(self.scale_h) and self.shape > 0 and self.scale_h > 0):
            raise RecordError(f"a life of shape {self.shape:g} and scale {self.scale_h:g} h: both are positive")

    def survives(self, hours: float) -> float:
        """Probability that a new part lives longer than `hours`."""
        return math.exp(-((hours / self.scale_h) ** self.shape))

    def fails_in(self, age_h: float, hours: float) -> float:
        """Probability that a part of age `age_h` fails within the next `hours`."""
        worn = ((age_h + hours) / self.scale_h) ** self.shape - (age_h / self.scale_h) ** self.shape
        return -math.expm1(-worn)

    def mean_h(self) -> float:
        """Mean time to failure of a new part."""
        return self.scale_h * math.gamma(1 + 1 / self.shape)

    def drawn(self, age_h: float, uniform: np.ndarray) -> np.ndarray:
        """Hours from now until failure of a part of age `age_h`, one for each uniform number between 0 and 1."""
        worn = (age_h / self.scale_h) ** self.shape - np.log1p(-uniform)
        return np.asarray(self.scale_h * worn ** (1 / self.shape) - age_h)


def constant(mtbf_h: float, source: str = "") -> Life:
    """A life with a constant failure rate of 1 / `mtbf_h`."""
    return Life(1.0, mtbf_h, source)


@dataclass(frozen=True)
class WeibullFit:
    """Shape and scale by maximum likelihood, with standard deviations."""

    shape: float
    scale_h: float
    shape_sigma: float
    scale_sigma_h: float
    failures: int


def fit_weibull(hours: np.ndarray, failed: np.ndarray) -> WeibullFit:
    """Fit a life to parts that ran `hours` each and then failed, or still worked (`failed` is False: censored)."""
    t, d = np.asarray(hours, float), np.asarray(failed, bool)
    if len(t) != len(d) or len(t) < 3 or int(d.sum()) < 2 or not (np.isfinite(t).all() and (t > 0).all()):
        raise RecordError(f"{int(d.sum())} failures of {len(t)} parts; a fit needs two, and positive hours")
    logs, count = np.log(t), int(d.sum())
    mean_log = float(logs[d].mean())
    shape = 1.2 / max(float(np.std(logs[d])), 1e-3)
    for _ in range(ITERATIONS):
        # d logL / d shape = 0: sum t^k ln t / sum t^k - 1/k - mean(ln t of failures) = 0
        power = np.exp(shape * (logs - logs.max()))
        s0, s1, s2 = float(power.sum()), float(power @ logs), float(power @ logs**2)
        value = s1 / s0 - 1 / shape - mean_log
        slope = (s2 * s0 - s1 * s1) / s0**2 + 1 / shape**2
        new = shape - value / slope
        shape, before = max(new, 0.2 * shape), shape
        if abs(shape - before) < 1e-12 * shape:
            break
    scale = float((np.sum(t**shape) / count) ** (1 / shape))
    # observed information in (shape, scale)
    z, ln = (t / scale) ** shape, np.log(t / scale)
    i_kk = count / shape**2 + float(np.sum(z * ln**2))
    i_ss = shape / scale**2 * (-count + (shape + 1) * float(np.sum(z)))
    i_ks = (count - float(np.sum(z)) - shape * float(np.sum(z * ln))) / scale
    information = np.array([[i_kk, i_ks], [i_ks, i_ss]])
    covariance = np.linalg.inv(information)
    return WeibullFit(shape, scale, math.sqrt(covariance[0, 0]), math.sqrt(covariance[1, 1]), count)


@dataclass(frozen=True)
class Wear:
    """Wear of a part: which share it loses per hour and per charge cycle, for example of a battery's capacity."""

    per_hour: float = 0.0
    per_cycle: float = 0.0
    source: str = ""

    def left(self, hours: float, cycles: float) -> float:
        """Share (0 to 1) that is left after hours of operation and charge cycles."""
        return max(0.0, 1 - self.per_hour * hours - self.per_cycle * cycles)
