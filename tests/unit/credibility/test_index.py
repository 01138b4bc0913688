"""The credibility index against the numbers that its authors print."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.analysis.spectra import FrequencyResponse
from ironbird.credibility.index import (
    combined,
    error_of,
    frequency_errors,
    mean_index,
    normalised,
    performance_errors,
    time_errors,
)
from ironbird.errors import RequirementError


def test_an_error_as_large_as_the_tolerable_one_has_exactly_the_pass_mark() -> None:
    assert normalised(0.2, 0.2) == pytest.approx(0.6, abs=1e-15)
    assert normalised(3.0, 3.0, pass_mark=0.8) == pytest.approx(0.8, abs=1e-15)
    assert normalised(0.0, 0.2) == 1.0 and normalised(1e9, 0.2) < 1e-9


@pytest.mark.parametrize(
    ("error", "tolerance", "printed"),
    [(0.000900, 0.002517, 90.259640), (0.000744, 0.002607, 93.463131), (0.000759, 0.002493, 92.652503)],
)
def test_the_three_axes_of_the_printed_table_come_out_within_their_rounding(
    error: float, tolerance: float, printed: float
) -> None:
    assert 100 * normalised(error, tolerance) == pytest.approx(printed, abs=0.02)  # inputs have three digits


def test_means_and_weights_give_the_printed_class_and_overall_values() -> None:
    axes = [0.90259640, 0.93463131, 0.92652503]

    assert 100 * mean_index(axes, "arithmetic") == pytest.approx(92.1251, abs=5e-5)
    assert 100 * mean_index(axes, "rms") == pytest.approx(92.13513, abs=5e-5)
    assert 100 * mean_index([0.913, 0.974, 0.906, 0.966]) == pytest.approx(94.0, abs=0.05)
    classes = {"performance": 0.94, "time": 0.944, "frequency": 0.9763}
    assert 100 * combined(classes, dict.fromkeys(classes, 1 / 3)) == pytest.approx(95.36, abs=0.01)
    assert 100 * combined(classes) == pytest.approx(95.59, abs=0.01)


def test_the_inverse_says_what_error_a_score_means() -> None:
    for score, share in ((0.9, 0.363), (0.944, 0.262), (0.738, 0.686), (0.6, 1.0)):
        assert error_of(score) == pytest.approx(share, abs=5e-4)
        assert normalised(error_of(score) * 0.3, 0.3) == pytest.approx(score)


def test_the_spin_of_the_flight_and_of_its_authors_simulation_have_the_published_index() -> None:
    for tolerance, wanted in ((0.10, 0.68), (0.05, 0.42)):
        assert normalised(*performance_errors(-23.4, -25.3, tolerance, None)) == pytest.approx(wanted, abs=0.005)


def test_curves_are_measured_against_their_span() -> None:
    real = np.sin(np.linspace(0, 2 * math.pi, 1001))

    error, tolerance = time_errors(real, real + 0.1, 0.05, None)

    assert error == pytest.approx(0.1) and tolerance == pytest.approx(0.1)
    assert time_errors(real, real + 0.1, 0.05, 0.4)[1] == 0.4


def test_a_gain_and_a_delay_are_found_in_decibels_and_degrees() -> None:
    w = np.geomspace(1, 10, 20)
    real = FrequencyResponse(w, 1 / (1 + 1j * w), np.ones(20), np.zeros(20))
    other = FrequencyResponse(w, 2 * real.response * np.exp(1j * math.radians(5)), np.ones(20), np.zeros(20))

    (magnitude, _), (phase, _) = frequency_errors(real, other, 0.05)

    weight = 1.58 * (1 - math.exp(-1))
    assert magnitude == pytest.approx(weight * 20 * math.log10(2)) and phase == pytest.approx(weight * 5)


@pytest.mark.parametrize(("error", "tolerance"), [(math.nan, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, math.inf)])
def test_what_is_no_error_has_no_index(error: float, tolerance: float) -> None:
    with pytest.raises(RequirementError):
        normalised(error, tolerance)


def test_weights_that_leave_nothing_are_refused() -> None:
    with pytest.raises(RequirementError, match="no part"):
        combined({"time": 0.9}, {"time": 0.0})
