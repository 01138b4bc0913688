"""Functions that chips may call; `c/ib_chips.h` has the same ones in C, bit for bit."""

from __future__ import annotations

import math

NEVER = 1 << 62  # ns, a time that is never reached


def quantise(value: float, low: int, high: int) -> int:
    """The nearest integer within bounds, halves rounded up; 0 for NaN."""
    if not value > low:  # also for NaN
        return low if value <= low else 0
    if value >= high:
        return high
    return math.floor(value + 0.5)


def root(value: float) -> float:
    """Square root; 0 for negative values."""
    return math.sqrt(value) if value > 0.0 else 0.0
