"""Columns that native code turns are those that NumPy turns."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.errors import RunError
from ironbird.runtime.lane_columns import lane_columns


def turned(data: np.ndarray, first: int, count: int) -> np.ndarray:
    blocks, rows, _, width = data.shape
    return data[:, :, first : first + count].transpose(2, 0, 3, 1).reshape(count, blocks * width, rows)


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 16, 61])
def test_columns_are_turned_whatever_the_number_of_rows(rows: int, width: int) -> None:
    data = np.random.default_rng(rows).normal(size=(3, rows, 5, width))
    data[:, rows // 2 :, :, 0] = np.nan

    for first, count in ((0, 5), (2, 1), (1, 3), (5, 0)):
        found = lane_columns(data, first, count)
        assert found.tobytes() == np.ascontiguousarray(turned(data, first, count)).tobytes()


def test_a_part_of_the_rows_and_blocks_is_turned() -> None:
    data = np.random.default_rng(0).normal(size=(4, 40, 3, 8))[1:3, :21]

    np.testing.assert_array_equal(lane_columns(data, 1, 2), turned(data, 1, 2))


def test_columns_that_are_not_there_and_other_layouts_are_refused() -> None:
    data = np.zeros((2, 10, 3, 8))
    with pytest.raises(RunError, match="columns 2 to 4 of a log of 3 columns"):
        lane_columns(data, 2, 2)
    with pytest.raises(RunError, match="is not laid out as the kernel writes it"):
        lane_columns(data.astype(np.float32), 0, 1)
    with pytest.raises(RunError, match="is not laid out as the kernel writes it"):
        lane_columns(data[:, :, ::2], 0, 1)
