"""Traces refuse what cannot be judged."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.errors import RequirementError
from ironbird.requirements.trace import Trace


def test_columns_and_steps() -> None:
    trace = Trace(np.arange(5) * 0.02, {"x": np.ones((2, 5), dtype=np.float32)}, np.array([5, 3]))

    assert trace.lanes == 2
    assert trace.column("x").dtype == np.float64
    np.testing.assert_array_equal(trace.column("time")[1], trace.time_s)
    assert [trace.steps(s) for s in (0.0, 0.009, 0.011, 0.05, 0.06)] == [0, 0, 1, 2, 3]  # 2.5 steps: to the even one
    assert trace.steps(float("inf")) > 5


def test_times_of_a_long_run_count_as_equal_steps() -> None:
    Trace(np.cumsum(np.full(200_000, 0.02)), {}, np.array([200_000]))  # sums of 0.02 wander by rounding


@pytest.mark.parametrize(
    ("time_s", "shape", "rows", "message"),
    [
        ([0.0, 1.0, 3.0], (1, 3), [3], "a trace needs equal steps of time: these are 1 s to 2 s"),
        ([0.0, -1.0], (1, 2), [2], "a trace needs equal steps of time: these are -1 s to -1 s"),
        ([], (1, 0), [0], "a trace needs at least one lane and one row"),
        ([0.0, 1.0], (1, 2), [0], "each lane of a trace needs 1 to 2 valid rows, not [0]"),
        ([0.0, 1.0], (1, 2), [3], "each lane of a trace needs 1 to 2 valid rows, not [3]"),
        ([0.0, 1.0], (2, 1), [2], "column 'x' of the trace has shape (2, 1), not (1, 2)"),
    ],
)
def test_wrong_traces_are_refused(time_s: list[float], shape: tuple[int, int], rows: list[int], message: str) -> None:
    with pytest.raises(RequirementError) as error:
        Trace(np.array(time_s), {"x": np.zeros(shape)}, np.array(rows))

    assert str(error.value) == message


def test_a_missing_column_is_named() -> None:
    trace = Trace(np.arange(2.0), {"altitude": np.zeros((1, 2))}, np.array([2]))

    with pytest.raises(RequirementError, match="unknown column 'altitud' in the trace; did you mean 'altitude'"):
        trace.column("altitud")
