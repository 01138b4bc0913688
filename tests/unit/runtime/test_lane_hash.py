"""Hashes of lanes side by side are those of `hashlib`, lane by lane."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from ironbird.errors import RunError
from ironbird.runtime.lane_hash import hashes_of_lanes

COLUMNS = 5


def one_by_one(
    data: np.ndarray, time_s: np.ndarray, rows: Sequence[int], columns: Sequence[Sequence[int]]
) -> list[str]:
    found = []
    for lane, (count, own) in enumerate(zip(rows, columns, strict=True)):
        values = data[lane // data.shape[3], :count, :, lane % data.shape[3]][:, list(own)]
        found.append(hashlib.sha256(time_s[:count].tobytes() + np.ascontiguousarray(values).tobytes()).hexdigest())
    return found


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("count", [*range(19), 64, 100])
def test_lanes_are_hashed_as_one_by_one(count: int, alike: bool) -> None:
    random = np.random.default_rng(count)
    lanes = 21  # two blocks and a part of one: more than are hashed side by side
    data, time_s = random.normal(size=(3, 120, COLUMNS, 8)), np.arange(120) * 0.02
    rows = [count] * lanes if alike else [int(random.integers(0, count + 1)) for _ in range(lanes)]
    lists = [[0, 2, 3], [1], list(range(COLUMNS)), []]
    columns = [lists[lane // 8 if alike else lane % 4] for lane in range(lanes)]

    assert hashes_of_lanes(data, time_s, rows, columns) == one_by_one(data, time_s, rows, columns)


def test_a_lane_that_ends_early_spoils_no_other() -> None:
    data, time_s = np.random.default_rng(1).normal(size=(2, 90, COLUMNS, 8)), np.arange(90) * 0.02
    rows = [90] * 16
    rows[3], rows[11] = 1, 0

    assert hashes_of_lanes(data, time_s, rows, [[1, 4]] * 16) == one_by_one(data, time_s, rows, [[1, 4]] * 16)


def test_rows_that_were_cut_off_are_not_hashed() -> None:
    data, time_s = np.random.default_rng(2).normal(size=(2, 90, COLUMNS, 8))[:, :40], np.arange(40) * 0.02

    assert hashes_of_lanes(data, time_s, [40] * 16, [[0, 1]] * 16) == one_by_one(data, time_s, [40] * 16, [[0, 1]] * 16)


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "said"),
    [
        ((1, 10, COLUMNS, 8), [11] * 8, [[0]] * 8, "11 rows in a log of 10"),
        ((1, 10, COLUMNS, 8), [10] * 8, [[COLUMNS]] * 8, "a log of 5 columns"),
        ((1, 10, COLUMNS, 8), [10] * 8, [[-1]] * 8, "a log of 5 columns"),
        ((1, 10, COLUMNS, 8), [10] * 9, [[0]] * 9, "9 lanes in 1 blocks of 8"),
    ],
)
def test_what_lies_outside_the_log_is_refused(
    shape: tuple[int, ...], rows: list[int], columns: list[list[int]], said: str
) -> None:
    with pytest.raises(RunError, match=said):
        hashes_of_lanes(np.zeros(shape), np.arange(10) * 0.02, rows, columns)
    with pytest.raises(RunError, match="not laid out"):
        hashes_of_lanes(np.zeros((8, COLUMNS, 10, 1)).T, np.arange(10) * 0.02, [10] * 8, [[0]] * 8)
