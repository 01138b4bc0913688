"""Numbers with units for people: angles in degrees."""

from __future__ import annotations

import math

DEGREES = {  # unit -> how it is shown, and by which factor
    unit: (shown, math.degrees(1.0)) for unit, shown in (("rad", "°"), ("rad/s", "°/s"), ("rad/s^2", "°/s²"))
}


def amount(value: float, unit: str, digits: int = 3) -> str:
    """A number with its unit; angles in degrees."""
    shown, factor = DEGREES.get(unit, ("" if unit == "1" else unit, 1.0))
    return f"{value * factor:.{digits}g} {shown}".rstrip()
