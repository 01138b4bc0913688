"""Barometer: the standard law and its inverse against ambiance, errors in closed form."""

from __future__ import annotations

import functools
import math

import ambiance
import numpy as np
import pytest
from sensing import follow, outputs_at, sample, sensor

from ironbird.blocks.sensors.barometer import Barometer, PressureAltitude
from ironbird.blocks.sensors.products import barometer_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block


@functools.cache
def baro() -> CompiledModel:
    return sensor(Barometer, sample_s=0.02)


def test_passes_the_public_check() -> None:
    check_block(Barometer(), params=barometer_params("ms5611"), inputs={"pressure_air": 1e5})
    check_block(PressureAltitude(), inputs={"pressure": 9e4})


def test_altitude_inverts_the_standard_atmosphere() -> None:
    height = np.array([0.0, 123.4, 1500.0, 5000.0, 10900.0])
    air = ambiance.Atmosphere(height)

    found = outputs_at(baro(), {"pressure_air": air.pressure})
    after = outputs_at(sensor(PressureAltitude, sample_s=0.02), {"pressure": air.pressure, "stamp_in": 0.0})

    np.testing.assert_allclose(found["altitude"], air.H, rtol=0, atol=1e-6)  # geopotential height
    np.testing.assert_allclose(after["value"], found["altitude"], rtol=0, atol=1e-12)


def test_moving_air_raises_the_pressure_and_lowers_the_altitude_as_in_equation_15() -> None:
    pressure, density, speed = 95000.0, 1.16, 15.0
    found = outputs_at(
        baro(), {"pressure_air": pressure, "density": density, "v_air_B": [9.0, 12.0, 0.0]}, {"wind_share": 1.0}
    )

    T0, beta, P0, R, g = 288.15, -0.0065, 101325.0, 287.05287, 9.80665
    seen = pressure + 0.5 * density * speed**2  # P'_s
    error = T0 / beta * ((seen / P0) ** (-beta * R / g) - ((seen - 0.5 * density * speed**2) / P0) ** (-beta * R / g))
    assert found["pressure"][0] == pytest.approx(seen, rel=1e-14)
    assert found["altitude"][0] - found["altitude_truth"][0] == pytest.approx(error, rel=1e-9)
    assert -12.0 < error < -11.0  # metres: as much as 130 Pa are


def test_pressure_follows_the_height_between_slow_samples_of_the_air() -> None:
    time = np.arange(50) * 0.02
    height = 100.0 + 5.0 * time
    exact = ambiance.Atmosphere(height)
    slow = np.arange(50) // 5 * 5  # the air is sampled every 0.1 s

    found = follow(baro(), {"pressure_air": exact.pressure[slow], "density": exact.density[slow], "height": height})

    np.testing.assert_allclose(
        found["pressure_truth"], exact.pressure, rtol=0, atol=0.005
    )  # 0.4 mm: curvature over 0.4 m
    held = np.abs(exact.pressure[slow] - exact.pressure).max()
    assert held > 4.0  # what holding would have given


def test_noise_drift_offset_range_and_resolution() -> None:
    noisy = sample(baro(), 10_000, {"pressure_air": 1e5}, {"noise": 2.7})
    drifting = sample(baro(), 200, {"pressure_air": 1e5}, {"drift": 10.0, "correlation_time": 2.0}, lanes=1600)
    coarse = outputs_at(
        baro(), {"pressure_air": [99999.6, 130000.0, 500.0]}, {"resolution": 1.0, "low": 1e3, "high": 1.2e5}
    )
    shifted = outputs_at(baro(), {"pressure_air": 1e5}, {"offset": 25.0})

    assert noisy["block.pressure"].std() == pytest.approx(2.7, rel=0.03)
    error = drifting.all_lanes("block.pressure") - 1e5
    np.testing.assert_allclose(error[:, [0, 1, 199]].std(axis=0), 10.0, rtol=0.08)  # 1.8 % one deviation
    assert abs(np.mean(error[:, 10] * error[:, 110]) / 100.0 - math.exp(-1.0)) < 0.1
    np.testing.assert_array_equal(coarse["pressure"], [100000.0, 120000.0, 1000.0])
    assert shifted["pressure"][0] == 100025.0
