"""Noises of the filter that follow from the products: against samples that are drawn as the sensors draw them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from ironbird.blocks.sensors import products as catalogue
from ironbird.vehicles.templates import estimator_noise as trust
from ironbird.vehicles.templates.sensors import IMU_SAMPLE_S, Products, Suite

FIELD_N = (2.1e-5, 1.5e-6, 4.3e-5)
RATE_HZ = 1 / IMU_SAMPLE_S


def suite(**changes: object) -> Suite:
    return dataclasses.replace(Suite(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("off_hz", [0.0, 8.0, 14.0])
def test_folded_harmonics_are_as_strong_near_zero_as_sines_of_random_frequency(off_hz: float) -> None:
    """Means over a second of second harmonics of amplitude 1/2, as a chip that is read at 250 Hz shows them."""
    spread = 0.03
    hover_radps = math.pi * (RATE_HZ + off_hz) / trust.ROTOR_MEAN
    rng = np.random.default_rng(1)
    turns_hz = (hover_radps / math.pi) * (trust.ROTOR_MEAN + spread * rng.standard_normal(20_000))
    time_s = np.arange(250) * IMU_SAMPLE_S
    sines = 0.5 * np.sin(2 * np.pi * (turns_hz[:, None] * time_s + rng.random((turns_hz.size, 1))))
    expected = sines.mean(axis=1).std() * math.sqrt(time_s.size)

    found = trust._folded(suite(rotor_radps=hover_radps, rotor_spread=spread), 1.0)

    assert found == pytest.approx(expected, rel=0.06)  # 20,000 sines


def test_harmonics_far_from_the_rate_of_sampling_add_nothing() -> None:
    assert trust._folded(suite(rotor_radps=600.0), 1.0) < 1e-3
    assert trust._folded(suite(), 1.0) == 0.0


def test_noise_of_three_units_is_that_of_their_median() -> None:
    names = Products().imu
    own = {"accel": 0.3, "gyro": 0.005}  # random vibration, of `VIBRATION`
    rng = np.random.default_rng(2)
    noise = trust.filter_noise(suite(), FIELD_N, shakes=True)
    for kind, shaking in own.items():
        units = []
        for name in names:
            chip = catalogue.imu_params(name)
            deviation = float(np.mean(chip[f"{kind}_noise"])) * math.sqrt(0.5 / IMU_SAMPLE_S) + shaking
            step = float(np.mean(chip[f"{kind}_resolution"]))
            units.append(np.round(deviation * rng.standard_normal(200_000) / step) * step)
        assert noise[f"{kind}_noise"] == pytest.approx(np.median(units, axis=0).std(), rel=0.02)


def test_a_cold_chip_has_its_drift_at_the_start() -> None:
    """A single ICM-20689 is calibrated at 25 degrees Celsius and starts at 15: its own cubic drift over ten kelvin."""
    alone = suite(imus=1, products=dataclasses.replace(Products(), imu=("icm20689",)))
    chip = catalogue.imu_params("icm20689")
    drift = np.array(chip["accel_temperature_drift"]) @ 15.0 ** np.arange(4)
    np.testing.assert_allclose(np.array(chip["accel_temperature_drift"]) @ 25.0 ** np.arange(4), 0.0, atol=1e-12)

    found = trust.filter_noise(alone, FIELD_N, shakes=False)

    assert found["std_accel_bias_0"] == pytest.approx(math.sqrt(0.05**2 + np.mean(drift**2)), rel=1e-9)
    assert found["std_gyro_bias_0"] == pytest.approx(math.radians(0.1), rel=1e-9)
