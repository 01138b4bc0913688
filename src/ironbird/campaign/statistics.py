"""What a number of flights proves: failure probability with its interval, number of flights needed, flakiness.

Intervals are exact for independent flights drawn from the distribution that the case states ([ClopperPearson]): a grid
or a search is no such draw, and the probability then describes the plan, not the world.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.errors import IronbirdError


@dataclass(frozen=True)
class Probability:
    """Share of failures among trials, with a two-sided confidence interval."""

    failures: int
    trials: int
    confidence: float
    low: float
    high: float

    @property
    def estimate(self) -> float:
        """Share of failures: failures over trials, NaN without trials."""
        return self.failures / self.trials if self.trials else math.nan

    def sentence(self) -> str:
        """The probability and its interval as text."""
        if not self.trials:
            return "no flight was judged"
        return (
            f"{self.failures} of {self.trials} failed: {100 * self.estimate:.3g} %, "
            f"with {100 * self.confidence:g} % confidence between {100 * self.low:.3g} and {100 * self.high:.3g} %"
        )


def failure_probability(failures: int, trials: int, confidence: float = 0.95) -> Probability:
    """Failure probability with the exact interval of [ClopperPearson], which is never too narrow."""
    if not (0 <= failures <= trials and 0.0 < confidence < 1.0):
        raise IronbirdError(f"{failures} failures in {trials} trials at confidence {confidence}: impossible")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if failures == 0 else beta_quantile(tail, failures, trials - failures + 1)
    high = 1.0 if failures == trials else beta_quantile(1.0 - tail, failures + 1, trials - failures)
    return Probability(failures, trials, confidence, low, high)


def flights_needed(probability: float, confidence: float = 0.95, failures: int = 0) -> int:
    """Flights after which, with at most this many failures, the failure probability is below `probability`.

    One-sided. Without failures it is the rule ln(1 - confidence) / ln(1 - probability), about 3 / p at 95 %.
    """
    if not (0.0 < probability < 1.0 and 0.0 < confidence < 1.0 and failures >= 0):
        raise IronbirdError(
            f"probability {probability} and confidence {confidence} must lie between 0 and 1, "
            f"failures ({failures}) must not be negative"
        )

    def proved(flights: int) -> bool:  # chance of so few failures if the probability were as large
        return 1.0 - beta_share(probability, failures + 1, flights - failures) <= 1.0 - confidence

    high = failures + 1
    while not proved(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle > failures and proved(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Flakiness:
    """Whether reruns of one case agree; only an external control system can give different verdicts."""

    verdicts: dict[str, int]

    @property
    def flaky(self) -> bool:
        """Whether there is more than one verdict."""
        return len(self.verdicts) > 1

    def sentence(self) -> str:
        """The counts of verdicts as text."""
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
        return f"{'flaky' if self.flaky else 'stable'} over {sum(self.verdicts.values())} reruns: {counts}"


def flakiness(verdicts: Sequence[str]) -> Flakiness:
    """Compare the verdicts of reruns."""
    return Flakiness(dict(Counter(verdicts)))


# ---------------------------------------------------------------------- the beta distribution


def beta_share(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction [NumericalRecipes] 6.4."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    total = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            total *= d * c
        if abs(d * c - 1.0) < 1e-15:
            return total
    raise IronbirdError(f"the incomplete beta function of {x}, {a}, {b} does not converge")


def beta_quantile(share: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = share, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-15 * max(high, 1e-300) and (middle := (low + high) / 2.0) not in (low, high):
        low, high = (middle, high) if beta_share(middle, a, b) < share else (low, middle)
    return (low + high) / 2.0
