"""Pieces of measurement chains on their own."""

from __future__ import annotations

import math

import casadi as ca
import pytest

from ironbird.blocks.sensors.chain import second_order_lag, second_order_step


@pytest.mark.parametrize("hertz", [20.0, 60.0, 218.0])
def test_lag_is_how_far_samples_stay_behind_a_ramp(hertz: float) -> None:
    step_s, slope = 0.004, 3.0
    wn, zeta = 2 * math.pi * hertz, 0.707
    value = rate = 0.0
    for k in range(200):
        shown = value  # a sample shows the output of the dynamics before the input of now is held
        parts = second_order_step(ca.SX(value), ca.SX(rate), ca.SX(slope * k * step_s), ca.SX(wn), ca.SX(zeta), step_s)
        value, rate = (float(part) for part in parts)

    assert (slope * k * step_s - shown) / slope == pytest.approx(second_order_lag(wn, zeta, step_s), rel=1e-6)
