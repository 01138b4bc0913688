"""The depth gauge: hydrostatic pressure, range and resolution, noise, and the way back to a height."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.sensors.depth_gauge import DepthGauge, WaterHeight
from ironbird.blocks.sensors.products import depth_gauge_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at


@functools.cache
def gauge() -> CompiledModel:
    return alone(DepthGauge(), step_s=0.02)


@functools.cache
def height() -> CompiledModel:
    return alone(WaterHeight(), step_s=0.02)


@pytest.mark.parametrize(("depth", "bar"), [(0.0, 1.01325), (10.0, 2.0194123), (100.0, 11.0748729)])
def test_pressure_is_that_of_the_sea(depth: float, bar: float) -> None:
    """1026 kg/m3 and 9.80665 m/s2 give 0.100616229 bar a metre, worked out by hand."""
    found = outputs_at(gauge(), {"depth": depth})

    assert found["pressure"][0] == pytest.approx(bar * 1e5, rel=1e-7)


def test_above_the_water_it_reads_the_air() -> None:
    assert outputs_at(gauge(), {"depth": -3.0})["pressure"][0] == 101325.0


def test_height_is_the_depth_again_and_wrong_with_another_density() -> None:
    pressure = outputs_at(gauge(), {"depth": 12.0})["pressure"][0]
    inputs = {"pressure": pressure, "stamp_in": 0.0}

    assert outputs_at(height(), inputs)["value"][0] == pytest.approx(-12.0, rel=1e-12)
    fresh = outputs_at(height(), inputs, {"density": 1000.0})["value"][0]
    assert fresh == pytest.approx(-12.0 * 1.026, rel=1e-12)


def test_the_product_shows_its_noise_drift_and_range() -> None:
    model = alone(DepthGauge(), step_s=0.02, **depth_gauge_params("ms5837_30ba"))  # type: ignore[arg-type]
    state = start(model, lanes=400, seed=2)
    state.set_input("depth", 5.0)
    log = run(state, 0.4, log_s=0.02)

    pressure = log.all_lanes("block.pressure")
    assert np.all(pressure % 20.0 == 0.0)  # resolution, Pa
    error = pressure - log.all_lanes("block.pressure_truth")
    assert abs(error[:, -1].std() / np.hypot(30.0, 200.0) - 1) < 0.12  # 400 lanes: 3.5 % is one deviation
    assert abs(np.diff(error, axis=1).std() / (2**0.5 * 30.0) - 1) < 0.1
    assert outputs_at(model, {"depth": 1000.0})["pressure"][0] == 3e6
