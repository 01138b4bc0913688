"""Groups of HIL_SENSOR: bits of `fields_updated` of the values that PX4 takes together [PX4Sim], and their unit."""

from __future__ import annotations

from ironbird.protocols.mavlink import numbers

GAUSS_T = 1e-4
ACCEL, GYRO, MAG, BARO, DIFF_PRESSURE = (
    numbers.bits_of("HIL_SENSOR_UPDATED", *names.split())
    for names in (
        "XACC YACC ZACC", "XGYRO YGYRO ZGYRO", "XMAG YMAG ZMAG", "ABS_PRESSURE PRESSURE_ALT TEMPERATURE",
        "DIFF_PRESSURE",
    )
)  # fmt: skip
