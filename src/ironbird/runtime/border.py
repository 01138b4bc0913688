"""Checks of numbers that are passed to native code, which checks nothing itself: their types and ranges."""

from __future__ import annotations

import math
import operator

import numpy as np

from ironbird.errors import RunError

MOST_TICKS = 2**53  # a tick is exact as a double; the noise counts up to 2**56
MOST_LANES = 2**24
MOST_SEED = 2**64 - 1
FLOAT, WHOLE, SEED = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint64)


def whole(value: object, what: str, low: int = 0, high: int = MOST_TICKS) -> int:
    """An integer (Python or NumPy) from `low` to `high`; raises an error that names `what`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise RunError(f"{what} = {value!r} is not a whole number") from None
    if not low <= number <= high:
        raise RunError(f"{what} = {number} is outside {low} .. {high}")
    return number


def real(value: object, what: str) -> float:
    """A finite float; raises an error that names `what`."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise RunError(f"{what} = {str(value)[:40]!r} is not a number that fits") from None
    if not math.isfinite(number):
        raise RunError(f"{what} = {number} is not finite")
    return number


def ticks_of(time_s: object, step_s: float, what: str) -> int:
    """A time in s as a number of ticks; may be negative."""
    number = real(time_s, what) / step_s
    if not abs(number) <= MOST_TICKS:
        raise RunError(f"{what} = {time_s} s is too long: the kernel counts {MOST_TICKS * step_s:g} s at this step")
    return round(number)
