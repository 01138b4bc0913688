"""Failure probabilities against SciPy and against rules that people know."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest

from ironbird.campaign.statistics import beta_share, failure_probability, flakiness, flights_needed
from ironbird.errors import IronbirdError


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20_000), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_interval_is_that_of_scipy(trials: int, share: float, confidence: float) -> None:
    failures = round(share * trials)
    ours = failure_probability(failures, trials, confidence)
    theirs = binomtest(failures, trials).proportion_ci(confidence, method="exact")
    assert ours.low == pytest.approx(theirs.low, rel=1e-8, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, rel=1e-8, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.5, 500), st.floats(0.5, 500))
def test_beta_distribution_is_that_of_scipy(x: float, a: float, b: float) -> None:
    assert beta_share(x, a, b) == pytest.approx(beta.cdf(x, a, b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.01, 1e-4])
@pytest.mark.parametrize("failures", [0, 1, 7])
def test_flights_needed_is_the_smallest_number(probability: float, failures: int) -> None:
    needed = flights_needed(probability, 0.95, failures)
    assert binom.cdf(failures, needed, probability) <= 0.05
    assert needed == failures + 1 or binom.cdf(failures, needed - 1, probability) > 0.05


def test_rule_of_three() -> None:
    assert flights_needed(0.001) == math.ceil(math.log(0.05) / math.log(0.999)) == 2995


def test_sentences() -> None:
    assert failure_probability(0, 300).sentence() == ("0 of 300 failed: 0 %, with 95 % confidence between 0 and 1.22 %")
    assert flakiness(["pass", "pass", "fail"]).sentence() == "flaky over 3 reruns: 1 fail, 2 pass"
    assert not flakiness(["pass"] * 4).flaky


def test_nonsense_is_refused() -> None:
    for failures, trials in ((3, 2), (-1, 2)):
        with pytest.raises(IronbirdError, match="impossible"):
            failure_probability(failures, trials)
    with pytest.raises(IronbirdError, match="between 0 and 1"):
        flights_needed(0.0)
