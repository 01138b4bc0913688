"""The speed log: scale, offset, resolution, noise."""

from __future__ import annotations

import functools

import numpy as np

from ironbird.blocks.sensors.speed_log import SpeedLog
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

V = np.array([1.5, -0.2, 0.1])


@functools.cache
def model() -> CompiledModel:
    return alone(SpeedLog(), step_s=0.1)


def test_an_ideal_log_reads_the_truth_and_errors_add() -> None:
    inputs = {"v_water_B": V}
    np.testing.assert_array_equal(outputs_at(model(), inputs)["velocity_B"][0], V)
    found = outputs_at(model(), inputs, {"scale": 0.9, "offset": [0.1, 0.0, -0.1]})["velocity_B"][0]
    np.testing.assert_allclose(found, 0.9 * V + [0.1, 0.0, -0.1], rtol=1e-12)


def test_noise_and_resolution() -> None:
    noisy = alone(SpeedLog(), step_s=0.1, noise=0.02, resolution=0.01)
    state = start(noisy, lanes=100, seed=3)
    state.set_input("v_water_B", V)
    found = run(state, 5.0, log_s=0.1).all_lanes("block.velocity_B")

    np.testing.assert_allclose(found, np.round(found / 0.01) * 0.01, atol=1e-12)
    np.testing.assert_allclose(found.mean(axis=(0, 1)), V, atol=2e-3)
    np.testing.assert_allclose(found.std(axis=(0, 1)), np.hypot(0.02, 0.01 / 12**0.5), rtol=0.05)
