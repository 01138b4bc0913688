"""Airspeed: dynamic pressure and speeds in closed form."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from sensing import outputs_at, sample, sensor

from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.blocks.sensors.products import airspeed_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block


@functools.cache
def tube() -> CompiledModel:
    return sensor(Airspeed, sample_s=0.02)


def test_passes_the_public_check() -> None:
    check_block(Airspeed(), params=airspeed_params("ms4525do"))


def test_pressure_and_speeds_of_the_flow_along_the_tube() -> None:
    found = outputs_at(tube(), {"v_air_B": [[20.0, 3.0, 1.0], [0.0, 9.0, 0.0], [-10.0, 0.0, 0.0]], "density": 0.9})

    np.testing.assert_allclose(found["pressure"], [180.0, 0.0, -45.0], rtol=1e-14)
    np.testing.assert_allclose(found["true_airspeed"], [20.0, 0.0, 0.0], rtol=1e-14)
    np.testing.assert_allclose(found["indicated_airspeed"], [20.0 * math.sqrt(0.9 / 1.225), 0.0, 0.0], rtol=1e-14)
    np.testing.assert_array_equal(found["true_airspeed_truth"], [20.0, 0.0, 0.0])


def test_blocked_tube_loses_pressure_and_errors_add() -> None:
    inputs = {"v_air_B": [20.0, 0.0, 0.0], "density": 1.0}
    blocked = outputs_at(tube(), inputs, {"blocked": [0.75, 1.0], "offset": 2.0})
    coarse = outputs_at(tube(), inputs, {"resolution": 7.0, "range": 1e3})
    short = outputs_at(tube(), inputs, {"range": 150.0})

    np.testing.assert_allclose(blocked["pressure"], [52.0, 2.0])
    assert coarse["pressure"][0] == 203.0 and short["pressure"][0] == 150.0


def test_noise_and_offset_have_their_deviations() -> None:
    noisy = sample(tube(), 10_000, {"v_air_B": [20.0, 0.0, 0.0]}, {"noise": 1.5})
    drawn = sample(tube(), 3, {"v_air_B": 0.0}, {"offset_spread": 2.0}, lanes=1600).all_lanes("block.pressure")

    assert noisy["block.pressure"].std() == pytest.approx(1.5, rel=0.03)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 2])
    assert drawn[:, 0].std() == pytest.approx(2.0, rel=0.08)
