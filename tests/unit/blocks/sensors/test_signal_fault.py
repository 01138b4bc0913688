"""Fault tap: neutral to the bit, every parameter in closed form, and healthy again when it ends."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sensing import event, follow, outputs_at, sample, sensor

from ironbird.blocks.sensors.signal_fault import LIMIT, SignalFault
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import UnknownNameError
from ironbird.runtime.events import ParamEvent
from ironbird.testing.checks import check_block

T = 0.004
SAMPLES = 40
SIGNAL = np.random.default_rng(5).normal(size=(SAMPLES, 3))
STAMP = np.arange(SAMPLES) * T
FROM, TO = 10, 25  # samples of the fault
INSIDE = slice(FROM, TO)
OUTSIDE = np.r_[0:FROM, TO:SAMPLES]


@functools.cache
def tap() -> CompiledModel:
    return sensor(SignalFault, 3, "m/s^2", "B", sample_s=T)


def through(*faults: tuple[str, float], seed: int = 1) -> dict[str, np.ndarray]:
    """The signal through the tap with parameters replaced between FROM and TO."""
    events: list[ParamEvent] = [event(param, value, FROM * T, TO * T) for param, value in faults]
    return follow(tap(), {"value_in": SIGNAL, "stamp_in": STAMP}, seed=seed, events=events)


def healthy_outside(found: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(found["value"][OUTSIDE], SIGNAL[OUTSIDE])
    np.testing.assert_array_equal(found["stamp"][OUTSIDE], STAMP[OUTSIDE])
    assert not found["difference"][OUTSIDE].any()
    np.testing.assert_array_equal(found["healthy"], SIGNAL)
    away = np.linalg.norm(found["value"] - SIGNAL, axis=1)
    np.testing.assert_allclose(found["difference"], away, rtol=1e-14, atol=1e-300)


def test_passes_the_public_check() -> None:
    check_block(SignalFault(3, "rad/s", "B"))
    check_block(SignalFault(1, "Pa", delay_samples=0), params={"noise": 1.0, "spike_rate": 3.0, "spike_size": 5.0})


def test_unit_without_a_drift_unit_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown unit 'kg' in SignalFault"):
        SignalFault(1, "kg")


@given(values=st.lists(st.floats(allow_nan=False, width=64), min_size=3, max_size=3))
@settings(deadline=None, max_examples=60)
def test_neutral_tap_gives_the_input_bit_for_bit(values: list[float]) -> None:
    value = np.array(values)

    found = outputs_at(tap(), {"value_in": value[None], "stamp_in": 0.0})

    assert found["value"][0].tobytes() == value.tobytes()
    assert found["difference"][0] == 0.0


def test_negative_zero_and_long_runs_pass_a_neutral_tap_unchanged() -> None:
    signal = SIGNAL.copy()
    signal[::7] = -0.0

    found = follow(tap(), {"value_in": signal, "stamp_in": STAMP})

    assert found["value"].tobytes() == signal.tobytes() and found["healthy"].tobytes() == signal.tobytes()


# ---------------------------------------------------------------------- the element


def test_scale_multiplies() -> None:
    found = through(("scale", 1.5))
    np.testing.assert_array_equal(found["value"][INSIDE], 1.5 * SIGNAL[INSIDE])
    healthy_outside(found)


def test_scale_of_one_axis_leaves_the_others() -> None:
    found = through(("scale[1]", 0.0))
    np.testing.assert_array_equal(found["value"][INSIDE], SIGNAL[INSIDE] * [1, 0, 1])
    healthy_outside(found)


def test_offset_adds() -> None:
    found = through(("offset[0]", -2.0))
    np.testing.assert_array_equal(found["value"][INSIDE], SIGNAL[INSIDE] + [-2.0, 0, 0])
    healthy_outside(found)


def test_drift_grows_from_its_start_and_starts_anew() -> None:
    events = [event("drift_rate[2]", 5.0, FROM * T, TO * T), event("drift_rate[2]", 5.0, 30 * T)]
    found = follow(tap(), {"value_in": SIGNAL, "stamp_in": STAMP}, events=events)

    grown = np.zeros((SAMPLES, 3))
    grown[INSIDE, 2] = 5.0 * T * np.arange(TO - FROM)  # Eq. 20: kappa (t - t_s)
    grown[30:, 2] = 5.0 * T * np.arange(SAMPLES - 30)
    np.testing.assert_allclose(found["value"], SIGNAL + grown, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found["value"][TO:30], SIGNAL[TO:30])


def test_drift_that_ends_is_gone_at_once_though_another_fault_goes_on() -> None:
    events = [event("drift_rate", 5.0, FROM * T, TO * T), event("offset", 1.0, FROM * T)]
    found = follow(tap(), {"value_in": SIGNAL, "stamp_in": STAMP}, events=events)

    np.testing.assert_array_equal(found["value"][TO:], SIGNAL[TO:] + 1.0)


def test_noise_is_normal_with_its_deviation_and_independent_between_axes() -> None:
    log = sample(tap(), 20_000, {"value_in": [1.0, 2.0, 3.0], "stamp_in": 0.0}, {"noise": [0.5, 0.0, 2.0]})

    noise = log["block.value"] - [1.0, 2.0, 3.0]
    np.testing.assert_allclose(noise.std(axis=0), [0.5, 0.0, 2.0], rtol=0.02)  # 20000 draws: 0.5 %
    assert stats.kstest(noise[:, 0] / 0.5, "norm").pvalue > 1e-3
    assert stats.kstest(noise[:, 2] / 2.0, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(noise[:, 0], noise[:, 2])[0, 1]) < 0.03
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 0.03


def test_noise_ends_with_its_window() -> None:
    found = through(("noise", 0.3))
    assert (found["value"][INSIDE] != SIGNAL[INSIDE]).all()
    healthy_outside(found)


def test_spikes_come_at_their_rate_with_their_size_and_either_sign() -> None:
    params = {"spike_rate": 10.0, "spike_size": [4.0, 0.0, 1.0]}
    log = sample(tap(), 50_000, {"value_in": 0.0, "stamp_in": 0.0}, params)

    first = log["block.value"][:, 0]
    hits = np.flatnonzero(first)
    expected = 50_000 * (1 - math.exp(-10.0 * T))
    assert abs(len(hits) - expected) < 4 * math.sqrt(expected)
    assert set(np.unique(np.abs(first[hits]))) == {4.0}
    assert abs(np.mean(first[hits] > 0) - 0.5) < 4 * 0.5 / math.sqrt(len(hits))
    np.testing.assert_array_equal(log["block.value"], np.outer(first / 4.0, [4.0, 0.0, 1.0]))
    gaps = np.diff(hits)  # geometric: deviation as large as the mean
    assert abs(gaps.std() / gaps.mean() - math.sqrt(1 - expected / 50_000)) < 0.08  # 2000 gaps: 2 % one deviation


def test_saturation_holds_the_value_between_its_limits() -> None:
    found = through(("low", -0.5), ("high", 0.25))
    np.testing.assert_array_equal(found["value"][INSIDE], np.clip(SIGNAL[INSIDE], -0.5, 0.25))
    healthy_outside(found)


@pytest.mark.parametrize("shown", [0.0, 156.9064])
def test_replacement_shows_a_constant(shown: float) -> None:
    found = through(("replace", 1.0), ("replacement", shown))
    np.testing.assert_array_equal(found["value"][INSIDE], np.full((TO - FROM, 3), shown))
    np.testing.assert_array_equal(found["stamp"], STAMP)
    healthy_outside(found)


# ---------------------------------------------------------------------- the link


@pytest.mark.parametrize("delay", [1, 3, 8])
def test_delay_holds_its_first_value_then_shows_old_ones_with_fresh_stamps(delay: int) -> None:
    found = through(("delay", float(delay)))
    np.testing.assert_array_equal(
        found["value"][INSIDE],
        np.vstack([np.repeat(SIGNAL[FROM : FROM + 1], delay, axis=0), SIGNAL[FROM : TO - delay]]),
    )
    np.testing.assert_array_equal(found["stamp"], STAMP)
    healthy_outside(found)


def test_delay_from_the_start_shows_the_first_value_until_there_are_older_ones() -> None:
    found = follow(tap(), {"value_in": SIGNAL, "stamp_in": STAMP}, {"delay": 4.0})
    np.testing.assert_array_equal(found["value"], np.vstack([np.repeat(SIGNAL[:1], 4, axis=0), SIGNAL[:-4]]))


def test_stuck_holds_the_value_of_its_first_sample_with_fresh_stamps() -> None:
    found = through(("stuck", 1.0))
    np.testing.assert_array_equal(found["value"][INSIDE], np.tile(SIGNAL[FROM], (TO - FROM, 1)))
    np.testing.assert_array_equal(found["stamp"], STAMP)
    healthy_outside(found)


def test_lost_samples_leave_value_and_stamp_as_they_were() -> None:
    found = through(("lost", 1.0))
    np.testing.assert_array_equal(found["value"][INSIDE], np.tile(SIGNAL[FROM - 1], (TO - FROM, 1)))
    np.testing.assert_array_equal(found["stamp"][INSIDE], STAMP[FROM - 1])
    healthy_outside(found)


def test_signal_lost_from_the_start_has_never_had_a_sample() -> None:
    found = follow(tap(), {"value_in": SIGNAL, "stamp_in": STAMP}, {"lost": 1.0})
    assert (found["stamp"] == -1.0).all() and not found["value"].any()


def test_element_faults_come_before_link_faults() -> None:
    found = through(("scale", 2.0), ("offset", 1.0), ("high", 3.0), ("delay", 2.0))
    changed = SIGNAL.copy()
    changed[INSIDE] = np.minimum(2.0 * SIGNAL[INSIDE] + 1.0, 3.0)
    late = np.vstack([np.repeat(changed[FROM : FROM + 1], 2, axis=0), changed[FROM : TO - 2]])
    np.testing.assert_array_equal(found["value"][INSIDE], late)


def test_limits_that_never_act_are_beyond_every_sensor() -> None:
    assert SignalFault(1, "Pa").params["high"].default == LIMIT > 1e6
