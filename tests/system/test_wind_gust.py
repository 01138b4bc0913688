"""The F450 in hover meets the 1-cosine gust: as a fault at a time, as a triggered fault, and as part of the weather."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.model.signal import Number

RISE_S, HOLD_S = 0.8, 0.5
SHAPE: dict[str, Number] = {"wind/gust.rise_time": RISE_S, "wind/gust.hold_time": HOLD_S}


def hover(*faults: str, settings: Mapping[str, Number] = SHAPE) -> Flight:
    return fly(
        "quad_f450", control="truth", mission="hover", settings=settings, faults=faults, until_s=16.0,
        log_s=0.01,
    )  # fmt: skip


def pulse(t: np.ndarray, start_s: float) -> np.ndarray:
    """[MIL8785C] 3.7.3.3 in time, up and down again."""
    rise = np.clip((t - start_s) / RISE_S, 0, 1)
    fall = np.clip((t - start_s - RISE_S - HOLD_S) / RISE_S, 0, 1)
    return (1 - np.cos(np.pi * rise)) / 2 - (1 - np.cos(np.pi * fall)) / 2


def check(flight: Flight, start_s: float, top_N: list[float]) -> None:
    """The wind is the pulse, and the vehicle is blown along with it, by most after the top."""
    t, log = flight.log.time(), flight.log
    np.testing.assert_allclose(log["air.wind_sum_N"], np.outer(pulse(t, start_s), top_N), rtol=0, atol=1e-12)
    along = np.array(top_N) / np.linalg.norm(top_N)
    away = (log["body.p_NB_N"] - log["navigator.position_set"]) @ along
    before, during = (t > start_s - 0.5) & (t < start_s), (t > start_s) & (t < start_s + 4.0)
    assert np.ptp(away[before]) < 0.02  # m: it hovers
    assert away[during].max() - away[before].mean() > 0.1  # m
    assert start_s + RISE_S < t[during][np.argmax(away[during])] < start_s + 2 * RISE_S + HOLD_S + 1.0


def test_a_gust_ordered_at_a_time_peaks_with_its_severity_along_its_axis() -> None:
    flight = hover("wind.gust@2:axis=1,severity=0.5,start=10")

    check(flight, 10.0, [0.0, 10.0, 0.0])
    assert flight.witnesses[0].effective
    assert flight.witnesses[0].first_s == pytest.approx(10.01)  # one sample of the wind after its start


def test_a_gust_without_an_axis_is_horizontal() -> None:
    check(hover("wind.gust@2:severity=0.4,start=9.5"), 9.5, [8.0, 0.0, 0.0])


def test_a_triggered_gust_begins_with_its_trigger_and_not_at_an_absolute_time() -> None:
    flight = hover("wind.gust@2:axis=0,severity=0.5,start=6,when=body.p_NB_N[2] < -1 m")

    t, height = flight.log.time(), -flight.log["body.p_NB_N"][:, 2]
    seen_s = t[np.argmax(height > 1.0)]  # rows and looks at the predicate are both 10 ms apart
    assert 1.0 < seen_s < 6.0
    check(flight, seen_s + 6.0 + 0.01, [10.0, 0.0, 0.0])  # a trigger acts a step later, at the wind's next sample


def test_a_gust_of_the_weather_blows_at_its_start_time() -> None:
    settings = {**SHAPE, "wind/gust.amplitude_N": [-6.0, 8.0, 0.0], "wind/gust.start_time": 9.0}

    check(hover(settings=settings), 9.0, [-6.0, 8.0, 0.0])
