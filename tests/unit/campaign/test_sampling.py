"""Plans: every combination that is promised is there, once where it should be once, and the same every time."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironbird.campaign.sampling import (
    covering_array,
    full_grid,
    latin_hypercube,
    monte_carlo,
    one_by_one,
    shuffled,
    uniform,
)


def uncovered(rows: list[tuple[int, ...]], sizes: list[int], strength: int) -> int:
    """Combinations of levels of any `strength` parameters that no row has; counted straight from the definition."""
    count = 0
    for group in itertools.combinations(range(len(sizes)), min(strength, len(sizes))):
        wanted = set(itertools.product(*(range(sizes[place]) for place in group)))
        count += len(wanted - {tuple(row[place] for place in group) for row in rows})
    return count


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), strength=st.integers(2, 4))
def test_a_covering_array_covers_every_combination(sizes: list[int], strength: int) -> None:
    rows = covering_array(sizes, strength)

    assert uncovered(rows, sizes, strength) == 0
    assert len(set(rows)) == len(rows) <= math.prod(sizes)
    assert all(0 <= level < size for row in rows for level, size in zip(row, sizes, strict=True))


@pytest.mark.parametrize(
    ("sizes", "strength", "optimum", "at_most"),
    [
        ([3] * 4, 2, 9, 9),  # an orthogonal array
        ([2] * 10, 2, 6, 10),
        ([3] * 13, 2, 15, 21),
        ([4] * 5, 2, 16, 22),
        ([2] * 10, 3, 12, 18),
        ([10, 10, 2, 2], 2, 100, 100),  # the two greatest alone need as many
    ],
)  # optima: Colbourn's tables of covering arrays, from memory
def test_covering_arrays_are_near_the_known_optimum(
    sizes: list[int], strength: int, optimum: int, at_most: int
) -> None:
    rows = covering_array(sizes, strength)

    assert optimum <= len(rows) <= at_most
    assert uncovered(rows, sizes, strength) == 0
    assert rows == covering_array(sizes, strength)


@given(samples=st.integers(1, 40), count=st.integers(1, 4), seed=st.integers(0, 1000))
def test_a_latin_hypercube_meets_every_stratum_once(samples: int, count: int, seed: int) -> None:
    points = latin_hypercube(samples, [f"p{i}" for i in range(count)], seed, "case")

    for column in zip(*points, strict=True):
        assert sorted(int(share * samples) for share in column) == list(range(samples))
        assert all(0.0 <= share < 1.0 for share in column)


def test_columns_of_a_latin_hypercube_are_not_aligned() -> None:
    a, b = zip(*latin_hypercube(200, ["a", "b"], 1, "case"), strict=True)

    assert abs(statistics.correlation(a, b)) < 0.2  # 0.07 is the deviation of 200 independent pairs


def test_monte_carlo_is_uniform_and_independent() -> None:
    points = monte_carlo(2000, ["a", "b"], 3, "case")
    a, b = zip(*points, strict=True)

    assert statistics.fmean(a) == pytest.approx(0.5, abs=0.02)  # three deviations of the mean
    assert statistics.pvariance(a) == pytest.approx(1 / 12, rel=0.06)
    assert abs(statistics.correlation(a, b)) < 0.07


def test_more_samples_and_more_parameters_leave_the_old_ones_as_they_were() -> None:
    few = monte_carlo(10, ["a"], 3, "case")
    many = monte_carlo(20, ["new", "a"], 3, "case")

    assert [row[1] for row in many[:10]] == [row[0] for row in few]
    assert monte_carlo(10, ["a"], 4, "case") != few != monte_carlo(10, ["a"], 3, "other")


def test_random_numbers_never_change() -> None:
    """A stored campaign must mean the same tomorrow: the hash, not a library's generator, gives the numbers."""
    assert uniform(1, "case", "severity", 0) == 0.5687872992042668  # first 53 bits of sha256sum
    assert shuffled(6, 1, "case") == [0, 3, 4, 1, 5, 2]


def test_one_by_one_changes_one_parameter_at_a_time() -> None:
    rows = one_by_one([3, 2], [1, 0])

    assert rows == [(1, 0), (0, 0), (2, 0), (1, 1)]


def test_a_grid_has_every_combination_once() -> None:
    assert full_grid([2, 3]) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert full_grid([]) == [()]


def test_another_seed_orders_the_strata_of_a_latin_hypercube_otherwise() -> None:
    def strata(seed: int, label: str) -> list[list[int]]:
        shares = latin_hypercube(20, ["wind", "mass"], seed, label)
        return [[int(20 * share) for share in column] for column in zip(*shares, strict=True)]

    plans = [strata(1, "a"), strata(2, "a"), strata(1, "b")]

    # Two random orders of 20 are equal once in 20! times; all columns of all plans differ
    columns = [tuple(column) for plan in plans for column in plan]
    assert len(set(columns)) == len(columns) == 6
    assert all(sorted(column) == list(range(20)) for column in columns)
