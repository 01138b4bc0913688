"""Voter of satellite receivers: which one is handed on when one of two lies, in every way that one can."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from ironbird.blocks.estimators.gnss_voter import GnssVoter
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ModelError
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

SAMPLE_S, FIX_S = 0.02, 0.2
BEGINS_S = 5.0
Wrong = Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@functools.cache
def voter(sources: int) -> CompiledModel:
    return alone(GnssVoter(sources, sample_s=SAMPLE_S), step_s=SAMPLE_S)


def fly(
    wrong: Wrong | None = None, *, sources: int = 2, until_s: float = 30.0, **inputs: float
) -> dict[str, np.ndarray]:
    """Receivers on a vehicle that swings; from 5 s on the first one lies about position and velocity.

    The autopilot is the truth, as of a filter that was right so far.
    """
    state = start(voter(sources), lanes=2)
    rng = np.random.default_rng(3)
    rows: dict[str, list[float]] = {name: [] for name in ("used", "agreed", "healthy", "baro_sound", "stamp")}
    steps = round(FIX_S / SAMPLE_S)
    while state.time_s < until_s - 1e-9:
        t = state.time_s
        position = np.array([10 * np.sin(0.3 * t), 5 * np.cos(0.2 * t), -20 + np.sin(0.1 * t)])
        velocity = np.array([3 * np.cos(0.3 * t), -np.sin(0.2 * t), 0.1 * np.cos(0.1 * t)])
        for i in range(1, sources + 1):
            p = position + [0.2, 0.2, 0.4] * rng.normal(size=3) + [0.7 * i, -0.4 * i, 0.5]
            v = velocity + [0.05, 0.05, 0.1] * rng.normal(size=3)
            if wrong is not None and i == 1 and t >= BEGINS_S:
                p, v = wrong(t - BEGINS_S, p, v)
            state.set_input(f"gnss_position_{i}_N", p)
            state.set_input(f"gnss_velocity_{i}_N", v)
            for name, value in (("eph", 1.1), ("epv", 1.6), ("speed_accuracy", 0.1), ("fix", 3.0)):
                state.set_input(f"gnss_{name}_{i}", value)
            for name in (f"stamp_{i}", f"velocity_stamp_{i}"):
                if name not in inputs or t < BEGINS_S:
                    state.set_input(name, t + SAMPLE_S)
        state.set_input("v_NB_N", velocity)
        state.set_input("baro_height", -position[2] + (inputs.get("baro_climb", 0.0) * max(t - BEGINS_S, 0.0)))
        log = run(state, t + steps * SAMPLE_S, log_s=SAMPLE_S)
        for name, values in rows.items():
            values.append(float(log[f"block.{name}"][-1]))
    return {name: np.array(values) for name, values in rows.items()} | {
        "time": FIX_S * np.arange(1, len(rows["used"]) + 1)
    }


def jammed_still(_: float, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return p, np.array([3.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("wrong", "within_s"),
    [
        (lambda t, p, v: (p, v + 0.25 * t), 6.0),  # velocity drifts
        (lambda t, p, v: (p, v + 2.5), 0.5),  # velocity is off
        (lambda t, p, v: (p, v * 0), 3.0),  # velocity is open
        (jammed_still, 1.5),  # velocity is stuck
        (lambda t, p, v: (p + 1.5 * t, v), 4.0),  # position drifts
        (lambda t, p, v: (p + 30.0, v), 0.5),  # position jumps
        (lambda t, p, v: (p + 1.0 * t, v + 1.0), 0.5),  # spoofed: both run away together
    ],
    ids=["drift", "bias", "open", "stuck", "position-drift", "position-jump", "spoofed"],
)
def test_receiver_that_lies_is_left_and_the_other_is_used(wrong: Wrong, within_s: float) -> None:
    found = fly(wrong)

    assert np.all(found["used"][found["time"] < BEGINS_S] == 1)
    assert np.all(found["used"][found["time"] > BEGINS_S + within_s + FIX_S] == 2)
    assert found["healthy"].min() == 1 and found["agreed"][-1] == 1


def test_two_good_ones_agree_and_the_first_stays_in_use() -> None:
    found = fly()

    assert np.all(found["used"] == 1) and np.all(found["agreed"][found["time"] > 1.0] == 2)
    assert found["baro_sound"].min() == 1


def test_of_three_two_that_agree_outvote_the_first() -> None:
    found = fly(lambda t, p, v: (p + 0.4 * t, v + 0.4), sources=3)

    assert found["used"][-1] in (2, 3) and found["agreed"][-1] == 2


def test_velocity_that_no_longer_comes_is_not_taken_as_fresh() -> None:
    found = fly(velocity_stamp_1=0.0)

    assert np.all(found["used"][found["time"] > BEGINS_S + 1.0] == 2)


def test_one_alone_is_handed_on_though_it_contradicts_itself_and_says_so() -> None:
    found = fly(lambda t, p, v: (p + 1.5 * t, v), sources=1)

    assert np.all(found["used"] == 1) and found["healthy"][-1] == 0 and found["agreed"][-1] == 0
    assert found["stamp"][-1] > found["stamp"][-2]


def test_barometer_that_climbs_alone_is_contradicted_by_position_and_velocity() -> None:
    found = fly(baro_climb=1.0)

    after = found["time"] > BEGINS_S + 5.0
    assert found["baro_sound"][after].max() == 0 and found["baro_sound"][found["time"] < BEGINS_S].min() == 1


def test_voter_of_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="one receiver or more, not 0"):
        GnssVoter(0)


def test_block_passes_the_public_check() -> None:
    check_block(GnssVoter(2))


def test_stamps_that_go_back_do_no_harm() -> None:
    """A receiver behind a link is at -1 s until its first fix: the means must not divide by the time that passed."""
    state = start(voter(2), lanes=2)
    for stamp in (-1.0, 0.1, 0.3, 0.05, 0.25):
        for name in ("stamp_1", "velocity_stamp_1"):
            state.set_input(name, stamp)
        for name, value in {"gnss_fix_1": 3.0, "gnss_eph_1": 1.0, "gnss_epv_1": 1.5}.items():
            state.set_input(name, value)
        state.set_input("gnss_position_1_N", [stamp, 0.0, 0.0])
        state.set_input("gnss_velocity_1_N", [0.1 * stamp, 0.0, 0.0])
        run(state, state.time_s + 0.2, log_s=SAMPLE_S)
    assert np.isfinite(state.get("block.means")).all() and state.stop_of(0) is None
