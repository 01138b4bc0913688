"""The few functions that chips may call; `c/ib_chips.h` has the same ones in C, bit for bit."""

from __future__ import annotations

import math

NEVER = 1 << 62  # a time that does not come, ns


def quantise(value: float, low: int, high: int) -> int:
    """The nearest whole number within bounds, halves upwards; not a number is zero."""
    if not value > low:  # a NaN too
        return low if value <= low else 0
    if value >= high:
        return high
    return math.floor(value + 0.5)


def root(value: float) -> float:
    """Square root; zero of what is negative."""
    return math.sqrt(value) if value > 0.0 else 0.0
