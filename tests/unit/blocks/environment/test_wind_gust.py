"""The 1-cosine gust: shape, duration, symmetry."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.environment.wind_gust import WindGust
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.rig import alone

TOP = np.array([4.0, -3.0, 1.0])
START_S, RISE_S, HOLD_S = 0.5, 1.2, 0.7


@functools.cache
def gust() -> tuple[np.ndarray, np.ndarray]:
    """Time and wind."""
    model: CompiledModel = alone(
        WindGust(), amplitude_N=TOP.tolist(), start_time=START_S, rise_time=RISE_S, hold_time=HOLD_S
    )
    log = run(start(model), 5.0, log_s=1e-3)
    return log.time(), log["block.wind_N"]


def test_gust_rises_as_one_minus_cosine_holds_and_falls_the_same_way() -> None:
    t, wind = gust()

    rise = np.clip((t - START_S) / RISE_S, 0, 1)
    fall = np.clip((t - START_S - RISE_S - HOLD_S) / RISE_S, 0, 1)
    shape = (1 - np.cos(np.pi * rise)) / 2 - (1 - np.cos(np.pi * fall)) / 2  # [MIL8785C] 3.7.3.3
    np.testing.assert_allclose(wind, np.outer(shape, TOP), rtol=0, atol=2e-15 * 4)  # rounding


@pytest.mark.parametrize(
    ("time_s", "share"), [(0.5, 0.0), (0.8, 0.14644661), (1.1, 0.5), (1.7, 1.0), (2.4, 1.0), (3.0, 0.5), (3.6, 0.0)]
)
def test_gust_at_times_worked_out_by_hand(time_s: float, share: float) -> None:
    t, wind = gust()

    np.testing.assert_allclose(wind[np.argmin(abs(t - time_s))], share * TOP, rtol=0, atol=5e-8)  # eight digits given


def test_gust_is_over_after_two_rises_and_the_hold() -> None:
    t, wind = gust()

    blowing = t[np.abs(wind[:, 0]) > 1e-12]
    assert abs(blowing[0] - START_S) < 2.1e-3  # two steps
    assert abs(blowing[-1] - (START_S + 2 * RISE_S + HOLD_S)) < 2.1e-3


def test_air_that_passes_is_the_area_under_the_shape() -> None:
    t, wind = gust()

    area = np.trapezoid(wind[:, 0], t)
    assert abs(area / (TOP[0] * (RISE_S + HOLD_S)) - 1) < 1e-6  # trapezoids of 1 ms
