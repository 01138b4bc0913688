"""The unit strings that declarations may use, other units in SI, and numbers as text.

Inside Ironbird everything is SI and radians.
"""

from __future__ import annotations

UNITS: frozenset[str] = frozenset(
    {
        "1",  # dimensionless: ratios, quaternions, rotation matrices, flags
        "m", "m/s", "m/s^2", "1/m", "m^2", "m^3",
        "rad", "rad/s", "rad/s^2", "1/rad",
        "s", "1/s", "Hz",
        "kg", "kg/s", "kg*m^2", "kg/m^3",
        "N", "N*m", "N/m", "N*s/m", "N*s^2", "N*m*s^2", "N*s^2/m^2", "N*m*s^2/rad^2", "N*m*s",
        "N*m*s/rad", "N*m/rad", "N*s",
        "Pa", "K", "K/m", "K/W",
        "V", "A", "ohm", "W", "A*s", "W*s^2", "V/K",
        "T", "T/m",
        "m/s/m", "m^2/s^2", "m^3/s^2",
        "rad/s/V",
        "s/m", "N*s^2/m", "N*s^3/m^3",  # hydrodynamic derivatives
        "m/s^2/sqrt(Hz)", "rad/s/sqrt(Hz)", "m/s^2/sqrt(s)", "rad/s/sqrt(s)",  # noise densities, random walks
        "m/s^3", "T/s", "Pa/s", "V/s", "A/s", "K/s", "T/A",  # drifts; field per current
    }
)  # fmt: skip

FOOT_M = 0.3048
KNOT_MPS = 1852.0 / 3600.0


def exact(value: float) -> str:
    """A number in its shortest form that reads back to the same bits."""
    short = f"{value:g}"
    return short if float(short) == float(value) else repr(float(value))
