"""Units: `m/s^2`, `deg/s`, `rad/s/sqrt(Hz)`."""

from __future__ import annotations

import math

from fuzz.target import Refused, attempt, text_of
from ironbird.conditions.quantity import HIGHEST_POWER, SYMBOLS, Unit, read_unit, si_text

WORDS = (*SYMBOLS, "^2", "^-1", "^99", "^-999999", "sqrt(", ")", "*", "/", "1")
MOST = 200
_read = read_unit.__wrapped__  # without its cache, which would grow with every input


def check(data: bytes) -> bool | None:
    """A unit has a size, and the SI text of its dimension reads back to that dimension."""
    unit = attempt(_read, text_of(data))
    if isinstance(unit, Refused):
        return "unknown unit" not in str(unit.error)
    assert isinstance(unit, Unit)
    assert math.isfinite(unit.size) and unit.size > 0, f"size {unit.size}"
    if all(power == int(power) and abs(power) <= HIGHEST_POWER for power in unit.dimension):  # no root, readable
        again = _read(si_text(unit.dimension))
        assert again.dimension == unit.dimension and again.size == 1.0
    return None
