"""Comparison of two logs: where they part first, and how far they are apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.replay.compare import LogComparison, compare_logs

TIME_S = np.arange(100) * 0.01
ESTIMATES = ("estimator_*", "vehicle_attitude")


def log(**changed: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """A log of four topics with some columns in place of the usual ones."""
    plain = {"a": np.sin(TIME_S), "b": 1e6 + TIME_S}
    topics = ("estimator_states/1", "vehicle_attitude", "actuator_outputs", "cpuload")
    return {
        name: {"time_s": TIME_S, **plain, **{k: v for k, v in changed.items() if name == "estimator_states/1"}}
        for name in topics
    }


def compared(second: dict[str, dict[str, np.ndarray]], tolerance: float = 1e-5) -> LogComparison:
    return compare_logs(log(), second, estimates=ESTIMATES, tolerance=tolerance, left_out=("cpuload",))


def test_equal_logs_agree_to_the_bit() -> None:
    found = compared(log())
    assert found.agrees and found.exact
    assert found.parted is None and found.beyond is None
    assert [topic.topic for topic in found.topics] == ["estimator_states/1", "vehicle_attitude", "actuator_outputs"]
    assert all(topic.samples == 100 and topic.largest == 0 for topic in found.topics)


def test_the_first_difference_is_named_with_topic_time_and_values() -> None:
    column = np.sin(TIME_S)
    column[40] += 1e-7
    column[70:] += 1e-3
    found = compared(log(a=column))
    assert found.parted is not None and found.beyond is not None
    assert (found.parted.topic, found.parted.name, found.parted.time_s) == ("estimator_states/1", "a", 0.40)
    assert (found.beyond.time_s, found.beyond.first) == pytest.approx((0.70, math.sin(0.70)))
    assert not found.agrees
    assert found.largest is not None and found.largest.largest == pytest.approx(1e-3)
    assert found.parted.sentence().startswith("0.400 s: estimator_states/1.a, 0.389418342 and 0.389418")
    assert compared(log(a=column), tolerance=1e-2).agrees


def test_large_values_differ_by_a_share_of_them_and_numbers_from_none_for_ever() -> None:
    assert compared(log(b=1e6 + TIME_S + 1.0)).agrees  # 1e-6 of the value
    holes = np.sin(TIME_S)
    holes[50] = np.nan
    found = compared(log(a=holes))
    assert found.largest is not None and math.isinf(found.largest.largest)
    assert found.beyond is not None and found.beyond.time_s == 0.50
    both = log(a=holes)
    assert compare_logs(both, log(a=holes), estimates=ESTIMATES, tolerance=0.0).agrees


def test_a_difference_outside_of_estimates_is_told_and_does_not_part_them() -> None:
    other = log()
    other["actuator_outputs"] = {"time_s": TIME_S, "a": np.cos(TIME_S)}
    found = compared(other)
    assert found.agrees
    assert found.parted is not None and found.parted.topic == "actuator_outputs"


def test_missing_estimates_and_logs_without_any_do_not_agree() -> None:
    other = log()
    del other["estimator_states/1"]
    found = compared(other)
    assert found.missing == ["estimator_states/1"] and not found.agrees
    assert not compare_logs(log(), log(), estimates=("none",), tolerance=1.0).agrees


def test_samples_of_another_clock_are_compared_with_the_newest_that_is_not_too_old() -> None:
    other = log()
    for name, table in other.items():
        other[name] = {**table, "time_s": TIME_S + 0.003}
    found = compared(other, tolerance=0.02)
    assert not found.exact
    assert found.topics[0].samples == 99 and found.topics[0].unpaired == 1
    assert found.topics[0].largest == pytest.approx(0.01, rel=0.05)
    assert found.agrees
