"""Selector: which of several like sources is handed on."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.estimators.selector import Selector, numbered
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ModelError
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

SAMPLE_S = 0.02


@functools.cache
def magnetometers() -> CompiledModel:
    block = Selector(3, sample_s=SAMPLE_S)
    return alone(block, step_s=SAMPLE_S, threshold=1e-5, max_age=0.1, stuck_samples=5.0, hold_time=0.5)


class Feed:
    """Three magnetometers, a little different, new values every sample."""

    def __init__(self) -> None:
        self.state: RunState = start(magnetometers(), lanes=2)
        self.rng = np.random.default_rng(1)
        self.offset = np.zeros((3, 3))
        self.alive = [True, True, True]
        self.moving = [True, True, True]
        self.last = np.zeros((3, 3))

    def step(self, samples: int) -> dict[str, float]:
        for _ in range(samples):
            for i in range(3):
                if self.moving[i]:
                    self.last[i] = [2e-5, 0.0, 4e-5] + 1e-7 * self.rng.normal(size=3)
                self.state.set_input(f"mag_{i + 1}_B", self.last[i] + self.offset[i])
                if self.alive[i]:
                    self.state.set_input(f"stamp_{i + 1}", self.state.time_s + SAMPLE_S)
            log = run(self.state, self.state.time_s + SAMPLE_S, log_s=SAMPLE_S)
        np.testing.assert_array_equal(log["block.mag_B"][-1], (self.last + self.offset)[int(log["block.used"][-1]) - 1])
        names = ("used", "healthy", "faulty_1", "faulty_2", "faulty_3", "stamp")
        return {name: float(log[f"block.{name}"][-1]) for name in names}


def test_first_of_three_good_ones_is_used() -> None:
    found = Feed().step(20)

    assert found["used"] == 1 and found["healthy"] == 1 and found["faulty_2"] == found["faulty_3"] == 0


def test_disturbed_one_is_left_out_and_comes_back() -> None:
    feed = Feed()
    feed.step(10)
    feed.offset[0] = [0.0, 5e-5, 0.0]
    found = feed.step(20)
    assert found["used"] == 2 and found["faulty_1"] == 1 and found["healthy"] == 1
    feed.offset[0] = 0.0
    assert feed.step(20)["used"] == 2  # held out
    assert feed.step(60)["used"] == 1


def test_stale_and_stuck_ones_are_left_out() -> None:
    feed = Feed()
    feed.step(10)
    feed.alive[0] = False
    assert feed.step(8)["used"] == 2
    feed.moving[1] = False
    assert feed.step(8)["used"] == 3
    feed.alive[2] = False
    found = feed.step(8)
    assert found["used"] == 3 and found["healthy"] == 0  # nothing left: the last one is kept


def test_samples_of_a_stuck_one_that_is_kept_are_not_fresh() -> None:
    feed = Feed()
    feed.step(10)
    feed.alive[0] = feed.alive[1] = False
    assert feed.step(8)["used"] == 3
    feed.moving[2] = False
    found = feed.step(8)
    assert found["used"] == 3 and found["healthy"] == 0
    assert feed.step(8)["stamp"] == found["stamp"]  # though it goes on giving samples


def test_ports_carry_the_number_before_the_frame() -> None:
    assert numbered("mag_B", 0) == "mag_1_B" and numbered("gnss_eph", 1) == "gnss_eph_2" and numbered("N", 0) == "N_1"


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(ModelError, match="one source or more, not 0"):
        Selector(0)


def test_block_passes_the_public_check() -> None:
    check_block(Selector(3))
