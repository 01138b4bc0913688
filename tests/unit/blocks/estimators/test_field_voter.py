"""Voter of magnetometers: of two the one that shows the earth's field is used, also when the other drifts away."""

from __future__ import annotations

import functools

import numpy as np

from ironbird.blocks.estimators.field_voter import FieldVoter
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

SAMPLE_S = 0.02
FIELD_N = np.array([2.8e-5, -3.4e-6, 4.66e-5])
TURNED = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # nose to the east


@functools.cache
def compasses() -> CompiledModel:
    return alone(FieldVoter(2, sample_s=SAMPLE_S), step_s=SAMPLE_S, field_0=FIELD_N.tolist())


def used_after(offset_1: np.ndarray, offset_2: np.ndarray, per_s: float = 0.0, until_s: float = 4.0) -> int:
    state = start(compasses(), lanes=2)
    state.set_input("R_NB", TURNED.flatten(order="F"))
    rng = np.random.default_rng(1)
    while state.time_s < until_s - 1e-9:
        grown = 1.0 if per_s == 0.0 else per_s * state.time_s
        for i, offset in enumerate((offset_1, offset_2), start=1):
            state.set_input(f"mag_{i}_B", TURNED.T @ FIELD_N + grown * offset + 3e-7 * rng.normal(size=3))
            state.set_input(f"stamp_{i}", state.time_s + SAMPLE_S)
        log = run(state, state.time_s + SAMPLE_S, log_s=SAMPLE_S)
    return int(log["block.used"][-1])


def test_the_one_that_is_off_the_model_is_left_whichever_it_is() -> None:
    off, fine = np.array([5e-6, 5e-6, 5e-6]), np.zeros(3)

    assert used_after(off, fine) == 2 and used_after(fine, off) == 1


def test_slow_drift_of_one_is_noticed_at_a_few_microtesla() -> None:
    assert used_after(np.ones(3), np.zeros(3), per_s=5e-7, until_s=8.0) == 2  # 4 uT on each axis by then


def test_small_differences_change_nothing() -> None:
    assert used_after(np.array([5e-7, -5e-7, 5e-7]), np.zeros(3)) == 1


def test_block_passes_the_public_check() -> None:
    check_block(FieldVoter(2), params={"field_0": FIELD_N.tolist()})
