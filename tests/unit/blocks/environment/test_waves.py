"""Waves: height and peak of the spectrum against the formulas, exact sampling, encounter, calm sea."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.signal import welch

from ironbird.blocks.environment.waves import Waves
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

HEIGHT_M, PEAK = 0.5, 2.0
DAMPING = 0.26


@functools.cache
def model(sample_s: float) -> CompiledModel:
    return alone(Waves(sample_s=sample_s), step_s=sample_s, significant_height=HEIGHT_M, peak_frequency=PEAK)


@functools.cache
def sea(sample_s: float, speed: float = 0.0, lanes: int = 64, seconds: float = 400.0) -> tuple[np.ndarray, np.ndarray]:
    """Elevation [lane, sample] and slope along the waves, which run north."""
    state = start(model(sample_s), lanes=lanes, seed=5)
    state.set_input("v_NB_N", [speed, 0.0, 0.0])
    log = run(state, seconds, log=["block.elevation", "block.slope_N"], log_s=sample_s)
    return log.all_lanes("block.elevation"), log.all_lanes("block.slope_N")[:, :, 0]


def spectrum(elevation: np.ndarray, sample_s: float) -> tuple[np.ndarray, np.ndarray]:
    frequency, density = welch(elevation, 1 / sample_s, nperseg=1024, axis=1)
    return 2 * math.pi * frequency, density.mean(axis=0) / (2 * math.pi)


def closed_form(omega: np.ndarray, peak: float) -> np.ndarray:
    """One-sided |h|^2 with unit area: 4 l p w^2 2 / (2 pi) / ((p^2 - w^2)^2 + (2 l p w)^2)."""
    damped = 2 * DAMPING * peak * omega
    return 2 / (2 * math.pi) * 4 * DAMPING * peak * omega**2 / ((peak**2 - omega**2) ** 2 + damped**2)


@pytest.mark.parametrize("sample_s", [0.05, 0.4])
def test_significant_height_is_four_deviations_at_any_sample_time(sample_s: float) -> None:
    elevation, _ = sea(sample_s)

    assert abs(4 * elevation.std() / HEIGHT_M - 1) < 0.02  # 64 lanes of 400 s: deviation good to 0.6 %
    assert abs(elevation[:, 0].std() / (HEIGHT_M / 4) - 1) < 0.35  # the first sample is from the steady state: 9 % each


def test_spectrum_is_that_of_the_linear_model_and_peaks_at_the_peak() -> None:
    omega, density = spectrum(sea(0.05)[0], 0.05)

    near = (omega > 1.0) & (omega < 4.0)
    expected = (HEIGHT_M / 4) ** 2 * closed_form(omega, PEAK)
    np.testing.assert_allclose(density[near], expected[near], rtol=0.1)
    # centre of the upper tenth: the maximum of a noisy estimate lies anywhere on the flat top
    top = density > 0.9 * density.max()
    assert abs(omega[top].mean() / PEAK - 1) < 0.05


def test_waves_are_met_at_the_frequency_of_encounter() -> None:
    speed = 1.5  # with the waves
    met = PEAK - PEAK**2 * speed / 9.81
    omega, density = spectrum(sea(0.05, speed)[0], 0.05)

    near = (omega > 0.7 * met) & (omega < 2 * met)
    np.testing.assert_allclose(density[near], ((HEIGHT_M / 4) ** 2 * closed_form(omega, met))[near], rtol=0.15)
    assert abs(4 * sea(0.05, speed)[0].std() / HEIGHT_M - 1) < 0.02


def test_slope_is_the_elevation_times_the_wave_number_in_quadrature() -> None:
    elevation, slope = sea(0.05)

    assert abs(slope.std() / (PEAK**2 / 9.81 * HEIGHT_M / 4) - 1) < 0.02
    assert abs(np.corrcoef(elevation.ravel(), slope.ravel())[0, 1]) < 0.02
    # Where the surface rises ahead the wave that runs ahead has passed: it sinks. Covariance of the filter's states
    # after a phase t: -exp(-l t) sin(m t) / m, m = sqrt(1 - l^2)
    phase, m = PEAK * 0.8, math.sqrt(1 - DAMPING**2)
    later = np.corrcoef(elevation[:, 16:].ravel(), slope[:, :-16].ravel())[0, 1]
    assert abs(later + math.exp(-DAMPING * phase) * math.sin(m * phase) / m) < 0.02


@pytest.mark.parametrize(("height", "modal"), [(0.5, 1.7718), (2.5, 0.79237)])
def test_a_developed_sea_has_the_frequency_of_pierson_and_moskowitz(height: float, modal: float) -> None:
    """0.40 sqrt(g / Hs), worked out by hand; from A = 8.1e-3 g^2, B = 3.11 / Hs^2 it is (4 B / 5)^(1/4)."""
    found = outputs_at(model(0.05), {}, {"peak_frequency": 0.0, "significant_height": height})

    assert abs(found["frequency"][0] / modal - 1) < 1e-4
    assert abs(found["frequency"][0] / (0.8 * 3.11 / height**2) ** 0.25 - 1) < 0.005


def test_without_height_the_sea_is_flat() -> None:
    state = start(model(0.05), params={"block.significant_height": 0.0})
    log = run(state, 5.0, log_s=0.05)

    assert np.all(log["block.elevation"] == 0.0) and np.all(log["block.slope_N"] == 0.0)
