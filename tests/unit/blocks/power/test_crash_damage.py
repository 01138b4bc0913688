"""Damage in a crash: the rotors on the side of the hit lose their voltage, once and for ever."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.power.crash_damage import CrashDamage
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import start
from ironbird.runtime.step import advance
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

POSITIONS = {"positions": [[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0], [0.0] * 4]}


def test_check_block() -> None:
    check_block(CrashDamage(4, sample_s=0.01), params=POSITIONS)


def test_the_rotors_in_front_break_when_the_nose_hits() -> None:
    model = alone(CrashDamage(4, sample_s=0.01), step_s=0.01, **POSITIONS)  # type: ignore[arg-type]
    state, plan = start(model), LogPlan.make(model, None, 0.01)

    def voltages(broken: float, away: list[float]) -> list[float]:
        log = advance(state, 1, inputs={"voltage_ratio": 0.9, "broken": broken, "away_B": away}, plan=plan)
        assert log is not None
        return [float(np.ravel(log[f"block.voltage_{i}"])[-1]) for i in range(1, 5)]

    assert voltages(0.0, [-1.0, 0.0, 0.0]) == [0.9] * 4
    assert voltages(1.0, [-1.0, 0.0, 0.0]) == [0.0, 0.9, 0.0, 0.9]  # away from a wall ahead is backwards
    assert voltages(1.0, [1.0, 0.0, 0.0]) == [0.0, 0.9, 0.0, 0.9]  # the first hit counts
