"""Battery monitor: scale, offset, noise, and the charge that it counts."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sensing import follow, outputs_at, sample, sensor

from ironbird.blocks.sensors.battery_monitor import BatteryMonitor
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block


@functools.cache
def monitor() -> CompiledModel:
    return sensor(BatteryMonitor, sample_s=0.05)


def test_passes_the_public_check() -> None:
    check_block(BatteryMonitor(), params={"voltage_noise": 0.02, "current_noise": 0.1, "current_resolution": 0.1})


def test_ideal_monitor_shows_the_truth_and_counts_the_charge() -> None:
    current = np.abs(np.random.default_rng(2).normal(10, 5, 100))
    found = follow(monitor(), {"voltage_battery": np.full(100, 12.3), "current_battery": current})

    np.testing.assert_array_equal(found["voltage"], 12.3)
    np.testing.assert_array_equal(found["current"], current)
    np.testing.assert_allclose(found["charge"], np.r_[0.0, np.cumsum(current)[:-1] * 0.05], rtol=1e-12)


def test_scale_offset_resolution_and_no_negative_current() -> None:
    inputs = {"voltage_battery": 12.34, "current_battery": [10.0, 0.0]}
    params = {
        "voltage_scale": 1.02, "voltage_offset": -0.1, "voltage_resolution": 0.01, "current_scale": 0.9,
        "current_offset": -0.33, "current_resolution": 0.1,
    }  # fmt: skip

    found = outputs_at(monitor(), inputs, params)

    np.testing.assert_allclose(found["voltage"], 12.49, rtol=1e-12)
    np.testing.assert_allclose(found["current"], [8.7, 0.0], rtol=1e-12)
    np.testing.assert_array_equal(found["current_truth"], [10.0, 0.0])


def test_noise_has_its_deviation() -> None:
    log = sample(
        monitor(),
        10_000,
        {"voltage_battery": 12.0, "current_battery": 20.0},
        {"voltage_noise": 0.02, "current_noise": 0.3},
    )
    assert log["block.voltage"].std() == pytest.approx(0.02, rel=0.03)
    assert log["block.current"].std() == pytest.approx(0.3, rel=0.03)


def test_the_charge_carries_the_errors_of_the_shunt() -> None:
    log = sample(monitor(), 41, {"current_battery": 10.0}, {"current_scale": 1.1, "current_offset": 0.5})

    # 40 samples of 50 ms at 1.1 * 10 A + 0.5 A, not at 10 A
    assert log["block.charge"][-1] == pytest.approx(40 * 0.05 * 11.5, rel=1e-12)
