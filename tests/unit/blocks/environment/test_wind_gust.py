"""The 1-cosine gust: shape, duration, symmetry; timed, triggered, both."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.environment.wind_gust import WindGust
from ironbird.compiler.compiled import CompiledModel
from ironbird.conditions.names import Names
from ironbird.conditions.trigger import compile_trigger
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

TOP = np.array([4.0, -3.0, 1.0])
START_S, RISE_S, HOLD_S = 0.5, 1.2, 0.7
TRIGGER = "block.triggered_amplitude_N[1]"


def pulse(t: np.ndarray, start_s: float) -> np.ndarray:
    """[MIL8785C] 3.7.3.3: V_m (1 - cos(pi x / d_m)) / 2 up to d_m, V_m behind it; the same down again."""
    rise = np.clip((t - start_s) / RISE_S, 0, 1)
    fall = np.clip((t - start_s - RISE_S - HOLD_S) / RISE_S, 0, 1)
    return (1 - np.cos(np.pi * rise)) / 2 - (1 - np.cos(np.pi * fall)) / 2


def flown(*events: ParamEvent, **params: Any) -> tuple[np.ndarray, np.ndarray]:
    """Time and wind of a gust whose parameters change in the run."""
    model = alone(WindGust(sample_s=0.01), rise_time=RISE_S, hold_time=HOLD_S, **params)
    state = start(model)
    for event in events:
        state.add_event(event)
    log = run(state, 8.0, log_s=0.01)
    return log.time(), log["block.wind_N"]


@functools.cache
def gust() -> tuple[np.ndarray, np.ndarray]:
    """Time and wind."""
    model: CompiledModel = alone(
        WindGust(sample_s=1e-3), amplitude_N=TOP.tolist(), start_time=START_S, rise_time=RISE_S, hold_time=HOLD_S
    )
    log = run(start(model), 5.0, log_s=1e-3)
    return log.time(), log["block.wind_N"]


def test_gust_rises_as_one_minus_cosine_holds_and_falls_the_same_way() -> None:
    t, wind = gust()

    np.testing.assert_allclose(wind, np.outer(pulse(t, START_S), TOP), rtol=0, atol=2e-15 * 4)  # rounding


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


def test_a_triggered_gust_has_the_same_shape_from_the_moment_at_which_it_is_ordered() -> None:
    t, wind = flown(ParamEvent(TRIGGER, 4.0, start_s=2.5))

    np.testing.assert_allclose(wind, np.outer(pulse(t, 2.5), [0, 4, 0]), rtol=0, atol=1e-14)  # rounding


def test_a_triggered_gust_waits_for_its_predicate_and_adds_to_the_timed_one() -> None:
    names = Names.of(alone(WindGust(sample_s=0.01)))
    event = ParamEvent(TRIGGER, -4.0, start_s=0.4, when=compile_trigger("block.wind_N[0] > 2 m/s", names))
    t, wind = flown(event, amplitude_N=TOP.tolist(), start_time=START_S)

    # The timed gust is at half its top, 2 m/s, at 1.1 s; the next look at the predicate is at 1.11 s.
    expected = np.outer(pulse(t, START_S), TOP) + np.outer(pulse(t, 1.11 + 0.4), [0, -4, 0])
    np.testing.assert_allclose(wind, expected, rtol=0, atol=1e-14)  # rounding


def test_a_gust_that_is_ordered_again_begins_anew_and_one_that_is_taken_back_ends_at_once() -> None:
    t, wind = flown(ParamEvent(TRIGGER, 4.0, start_s=1.0, shape="intermittent", period_s=3.0, duty=0.5))

    blows = [(t > at - 1e-9) & (t < at + 1.5 - 1e-9) for at in (1.0, 4.0, 7.0)]
    expected = sum(pulse(t, at) * on for at, on in zip((1.0, 4.0, 7.0), blows, strict=True))
    np.testing.assert_allclose(wind[:, 1], 4 * expected, rtol=0, atol=1e-14)  # rounding
