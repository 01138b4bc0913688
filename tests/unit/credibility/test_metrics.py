"""Established measures against closed forms and against programs that nobody here wrote."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from ironbird.analysis.spectra import FrequencyResponse, composite_response, window_lengths, window_spectra
from ironbird.credibility import metrics
from ironbird.credibility.iso18571 import rating
from ironbird.credibility.qualification import bound
from ironbird.errors import IronbirdError, UnknownNameError

RANDOM = np.random.default_rng(5)
SMOOTH = np.cumsum(RANDOM.standard_normal(400)) / 10


@pytest.mark.parametrize("number", range(0, 6, 2))
def test_iso_18571_is_that_of_objective_rating_metrics(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling its loops takes longer than running them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from objective_rating_metrics.rating import ISO18571

    random = np.random.default_rng(number)
    size = 120 + 20 * number
    time_s = np.arange(size) * 1e-4
    real = np.sin(np.linspace(0, 9, size)) + 0.2 * np.cumsum(random.standard_normal(size)) / 10
    simulated = np.roll(real, number * 3) * (1 + 0.1 * number) + 0.05 * random.standard_normal(size)
    oracle = ISO18571(np.column_stack([time_s, real]), np.column_stack([time_s, simulated]))

    found = rating(real, simulated)

    assert found.corridor == pytest.approx(oracle.corridor_rating(-1), abs=1e-12)
    assert found.phase == pytest.approx(oracle.phase_rating(-1), abs=1e-12)
    assert found.magnitude == pytest.approx(oracle.magnitude_rating(-1), abs=1e-9)
    assert found.slope == pytest.approx(oracle.slope_rating(-1), abs=1e-9)
    assert found.value == pytest.approx(oracle.overall_rating(-1), abs=1e-9)


def test_equal_curves_are_rated_excellent() -> None:
    assert rating(SMOOTH, SMOOTH).value == pytest.approx(1.0) and rating(SMOOTH, SMOOTH).word == "excellent"


def test_theil_is_one_for_the_opposite_and_its_shares_add_up() -> None:
    other = 0.7 * SMOOTH + 0.3 * RANDOM.standard_normal(400) + 0.2
    found = metrics.theil(SMOOTH, other)

    assert metrics.theil(SMOOTH, -SMOOTH).value == pytest.approx(1.0)
    assert metrics.theil(SMOOTH, SMOOTH).value == 0.0
    r = np.corrcoef(SMOOTH, other)[0, 1]
    square = np.mean((SMOOTH - other) ** 2)
    assert found.covariance == pytest.approx(2 * (1 - r) * SMOOTH.std() * other.std() / square)
    assert found.bias + found.variance + found.covariance == pytest.approx(1.0)


def test_sprague_geers_and_russell_of_a_scaled_and_of_a_shifted_sine() -> None:
    time_s = np.arange(0, 20 * math.pi, 1e-3)
    sine = np.sin(time_s)

    assert metrics.sprague_geers(sine, 1.3 * sine).magnitude == pytest.approx(0.3)
    assert metrics.sprague_geers(sine, 1.3 * sine).phase == pytest.approx(0.0, abs=1e-6)
    assert metrics.sprague_geers(sine, np.sin(time_s + 0.5)).phase == pytest.approx(0.5 / math.pi, rel=1e-3)
    assert metrics.russell(sine, 2 * sine).magnitude == pytest.approx(math.log10(1 + 1.5))
    assert metrics.russell(sine, sine).value == pytest.approx(0.0, abs=1e-6)


def test_the_cost_of_cifer_is_zero_for_equal_curves_and_twenty_per_squared_decibel() -> None:
    w = np.geomspace(1, 10, 20)
    real = FrequencyResponse(w, 1 / (1 + 1j * w), np.ones(20), np.zeros(20))
    louder = FrequencyResponse(w, real.response * 10 ** (1 / 20), np.ones(20), np.zeros(20))
    later = FrequencyResponse(w, real.response * np.exp(-1j * math.radians(7.57)), np.ones(20), np.zeros(20))
    weight = (1.58 * (1 - math.exp(-1))) ** 2

    assert metrics.cifer_cost(real, real) == 0.0
    assert metrics.cifer_cost(real, louder) == pytest.approx(20 * weight)
    assert metrics.cifer_cost(real, later) == pytest.approx(20 * weight, rel=1e-3)  # 7.57 degrees count as 1 dB


def test_the_envelopes_of_unnoticed_dynamics_have_the_tabulated_values() -> None:
    found = metrics.unnoticeable(np.array([0.5, 1.0, 5.0, 20.0]))

    assert found.gain_upper_dB == pytest.approx([5.94, 2.74, 1.72, 6.3], abs=0.05)
    assert found.gain_lower_dB == pytest.approx([-2.82, -1.65, -1.85, -7.1], abs=0.05)
    assert np.all(found.phase_lower_deg < 0) and np.all(found.phase_upper_deg > 0)
    scaled = metrics.unnoticeable(np.array([5.0]), scale=5.0)
    assert scaled.gain_upper_dB == pytest.approx([2.74], abs=0.05)


def test_a_mismatch_that_nobody_notices_and_one_that_everybody_does() -> None:
    w = np.geomspace(0.5, 20, 20)
    real = FrequencyResponse(w, 1 / (1 + 1j * w), np.ones(20), np.zeros(20))

    assert metrics.noticed(real, FrequencyResponse(w, 1.05 * real.response, np.ones(20), np.zeros(20))) == 0.0
    assert metrics.noticed(real, FrequencyResponse(w, 5.0 * real.response, np.ones(20), np.zeros(20))) > 0.8


def test_tolerances_of_qualification_are_the_larger_of_share_and_amount() -> None:
    assert bound("step_pitch_rate").limit(math.radians(10)) == pytest.approx(math.radians(2))
    assert bound("step_pitch_rate").limit(math.radians(50)) == pytest.approx(math.radians(5))
    with pytest.raises(UnknownNameError, match="step_pitch"):
        bound("step_pich")


def test_a_response_is_found_within_one_decibel_and_five_degrees_and_the_noise_lowers_coherence() -> None:
    from scipy.signal import cont2discrete, lfilter

    step_s = 0.01
    random = np.random.default_rng(1)
    x = random.standard_normal(30_000)
    (b, a, _) = cont2discrete(([16.0], [1, 4.0, 16.0]), step_s, "zoh")
    y = lfilter(b.ravel(), a, x)
    w = np.geomspace(0.5, 30, 25)
    windows = window_lengths((0.5, 30.0), len(x) * step_s)

    clean = composite_response(x, y, step_s, windows, w)
    noisy = window_spectra(x, y + 0.5 * np.std(y) * random.standard_normal(len(y)), step_s, windows[-1], w).response()

    z = np.exp(1j * w * step_s)
    exact = np.polyval(b.ravel(), z) / np.polyval(a, z)
    assert np.max(np.abs(20 * np.log10(np.abs(clean.response / exact)))) < 1.0
    assert np.max(np.abs(np.angle(clean.response / exact, deg=True))) < 5.0
    assert np.min(clean.coherence) > 0.9 and np.min(noisy.coherence) < 0.7


def test_windows_and_frequencies_that_a_record_cannot_hold_are_refused() -> None:
    x = np.ones(100)
    with pytest.raises(IronbirdError, match="does not fit"):
        window_spectra(x, x, 0.01, 5.0, np.array([1.0]))
    with pytest.raises(IronbirdError, match="half the sample rate"):
        window_spectra(x, x, 0.01, 0.5, np.array([1000.0]))
