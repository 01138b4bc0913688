"""Pressure and height in the first layer of the standard atmosphere [ICAO7488]."""

from __future__ import annotations

from ironbird.constants import (
    GAS_CONSTANT_JPKGK,
    SEA_LEVEL_PRESSURE_PA,
    SEA_LEVEL_TEMPERATURE_K,
    STANDARD_GRAVITY_MPS2,
    TROPOSPHERE_LAPSE_KPM,
)

EXPONENT = GAS_CONSTANT_JPKGK * TROPOSPHERE_LAPSE_KPM / STANDARD_GRAVITY_MPS2
# m, height at which the pressure of this layer's formula reaches zero
SCALE_M = SEA_LEVEL_TEMPERATURE_K / TROPOSPHERE_LAPSE_KPM
SEA_LEVEL_C = SEA_LEVEL_TEMPERATURE_K - 273.15


def pressure_height_m(pressure_Pa: float) -> float:
    """Height in m above sea level of a pressure in Pa."""
    return SCALE_M * (1.0 - float(pressure_Pa / SEA_LEVEL_PRESSURE_PA) ** EXPONENT)


def pressure_at_Pa(height_m: float) -> float:
    """Pressure in Pa at a height in m above sea level."""
    return SEA_LEVEL_PRESSURE_PA * float(1.0 - height_m / SCALE_M) ** (1.0 / EXPONENT)
