"""Noise of every axis and every signal of a chip is its own: numbers that are used twice look like two measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sensing import sample, sensor

from ironbird.blocks.sensors.barometer import Barometer
from ironbird.blocks.sensors.battery_monitor import BatteryMonitor
from ironbird.blocks.sensors.depth_gauge import DepthGauge
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.magnetometer import Magnetometer
from ironbird.blocks.sensors.optical_flow import OpticalFlow
from ironbird.blocks.sensors.speed_log import SpeedLog
from ironbird.model.block import Block

SAMPLES = 4000
LEVEL = {"R_NB": np.eye(3).tolist()}
FIELD = {**LEVEL, "field_N": [2e-5, 0.0, 4e-5]}
GNSS_NOISE = {
    "noise_horizontal": 0.2, "noise_vertical": 0.4, "noise_speed_horizontal": 0.05, "noise_speed_vertical": 0.1,
}  # fmt: skip
# Block, its arguments, inputs, parameters, and the deviation of each noisy signal (of each entry)
CHIPS: list[tuple[Callable[..., Block], dict[str, Any], dict[str, Any], dict[str, Any], dict[str, list[float]]]] = [
    (Magnetometer, {}, FIELD, {"noise": 3e-7}, {"field_B": [3e-7] * 3}),
    (
        # Density over the root of twice the sample time of 4 ms: 1e-3 * sqrt(125)
        Imu, {"dynamics": False}, {}, {"accel_noise": 1e-3, "gyro_noise": 2e-3},
        {"accel_B": [1e-3 * 125**0.5] * 3, "gyro_B": [2e-3 * 125**0.5] * 3},
    ),
    (
        Gnss, {"sample_s": 0.1, "period_samples": 1, "delay_samples": 0}, LEVEL, GNSS_NOISE,
        {"position_N": [0.2, 0.2, 0.4], "velocity_N": [0.05, 0.05, 0.1]},
    ),
    (
        BatteryMonitor, {}, {"voltage_battery": 12.0, "current_battery": 20.0},
        {"voltage_noise": 0.02, "current_noise": 0.2}, {"voltage": [0.02], "current": [0.2]},
    ),
    (
        OpticalFlow, {}, {**LEVEL, "height_above_ground": 5.0}, {"noise": 0.1, "rotation_noise": 0.2},
        {"flow": [0.1] * 2, "rotation": [0.2] * 2},
    ),
    (SpeedLog, {}, {"v_water_B": [1.0, 0.0, 0.0]}, {"noise": 0.02}, {"velocity_B": [0.02] * 3}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "arguments", "inputs", "params", "signals"), CHIPS, ids=[chip[0].__name__ for chip in CHIPS]
)
def test_axes_are_independent_and_have_their_deviations(
    block: Callable[..., Block],
    arguments: dict[str, Any],
    inputs: dict[str, Any],
    params: dict[str, Any],
    signals: dict[str, list[float]],
) -> None:
    log = sample(sensor(block, **arguments), SAMPLES, inputs, params)

    columns = np.column_stack([log[f"block.{name}"] for name in signals])
    stated = np.concatenate(list(signals.values()))
    np.testing.assert_allclose(columns.std(axis=0), stated, rtol=0.06)  # 1.1 % one deviation
    between = np.corrcoef(columns.T) - np.eye(len(stated))
    assert np.abs(between).max() < 5 / SAMPLES**0.5  # one deviation is 1 / sqrt(n)
    later = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in columns.T]
    assert np.abs(later).max() < 5 / SAMPLES**0.5  # nor do samples know each other


@pytest.mark.parametrize(
    ("block", "inputs"), [(Barometer, {"pressure_air": 1e5}), (DepthGauge, {"depth": 1.0})], ids=["air", "water"]
)
def test_noise_and_drift_of_a_pressure_sensor_are_independent(
    block: Callable[..., Block], inputs: dict[str, float]
) -> None:
    first = sample(sensor(block), 1, inputs, {"noise": 3.0, "drift": 4.0, "correlation_time": 100.0}, lanes=1600)

    error = first.all_lanes("block.pressure")[:, 0]
    assert error.std() == pytest.approx(5.0, rel=0.08)  # 3 and 4 at a right angle; from one number they would give 7
