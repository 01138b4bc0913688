"""Contact over a long time and many times: an hour at rest on a slope, a hundred thousand impacts."""

from __future__ import annotations

import numpy as np
from blocks.forces.test_obstacle_contact import kinetic, random_impacts, resting_on_slope

from ironbird.runtime.step import run


def test_a_box_rests_on_a_slope_for_an_hour() -> None:
    moved = resting_on_slope(25.0, 3600.0)

    assert np.abs(moved).max() < 1e-9


def test_no_energy_in_a_hundred_thousand_impacts() -> None:
    worst = -np.inf
    for seed in range(10, 20):
        state = random_impacts(10_000, seed)
        before = kinetic(state)
        run(state, 0.35, log=[], threads=1)
        worst = max(worst, float((kinetic(state) / before).max()) - 1.0)

    assert worst < 1e-9
