"""The reference autopilot's filter on the sensors as flown: errors and innovations as large as it expects.

`bench/filter_consistency.py` flies it; its docstring says what the bounds are. Both sides count.
"""

from __future__ import annotations

import functools
import runpy
from pathlib import Path
from typing import Any

import pytest

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "filter_consistency.py"))
RUNS = 200
FIRST = 3000  # seeds that were not looked at when the noises were set


@functools.cache
def flown() -> Any:
    return BENCH["measure"](runs=RUNS, first_seed=FIRST)


@pytest.mark.parametrize("name", list(BENCH["BLOCKS"]))
def test_errors_are_within_the_two_sided_bounds_of_chi_square(name: str) -> None:
    values = flown().nees[name]

    low, high = flown().band(3)
    assert low < values.mean() < high  # 95 % of one look: the looks are not independent
    # A single look also has what the mission does to all seeds alike: the airspeed that the barometer feels on a leg
    assert values.min() > 0.75 and values.max() < 1.4


@pytest.mark.parametrize(("source", "components"), list(BENCH["SOURCES"].items()))
def test_innovations_are_within_the_two_sided_bounds_of_chi_square(source: str, components: int) -> None:
    values = flown().nis[source]

    assert flown().inside(values, components) > 0.9  # of 179 times; 95 % expected
    assert values.mean() == pytest.approx(1.0, abs=0.06)
