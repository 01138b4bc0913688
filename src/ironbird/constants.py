"""Physical constants, once. Constants that belong to a published model stay with that model."""

from __future__ import annotations

STANDARD_GRAVITY_MPS2 = 9.80665  # [ICAO7488]

# Standard atmosphere [ICAO7488]
GAS_CONSTANT_JPKGK = 287.05287
SEA_LEVEL_TEMPERATURE_K = 288.15
SEA_LEVEL_PRESSURE_PA = 101325.0
SEA_LEVEL_DENSITY_KGPM3 = 1.225
TROPOSPHERE_LAPSE_KPM = 0.0065

# WGS-84 ellipsoid [NIMA8350]
WGS84_SEMI_MAJOR_M = 6378137.0
WGS84_FLATTENING = 1 / 298.257223563
WGS84_GM_M3PS2 = 3.986004418e14  # with the atmosphere
WGS84_ROTATION_RADPS = 7.292115e-5
