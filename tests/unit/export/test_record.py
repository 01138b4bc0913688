"""What a back-to-back test records: sums that tell places apart, parameters that change with a fault."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.export.record import NEVER, _looks, _weight, tick_sums
from ironbird.runtime.interface import SHAPES, EventRecord


def test_the_sum_of_a_tick_tells_outputs_that_changed_places() -> None:
    one, other, wrong = tick_sums(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, np.nextafter(3.0, 4.0)]]))
    assert len({one, other, wrong}) == 3
    quiet = np.array([[0x7FF8000000000000, 0x3FF0000000000000], [0xFFF8000000000001, 0x3FF0000000000000]], np.uint64)
    assert len(set(tick_sums(quiet.view(np.float64)))) == 1  # a NaN is a NaN, whatever its bits


def test_a_ramp_is_recorded_at_each_of_its_ticks_and_ends_at_its_full_value() -> None:
    ramp = EventRecord(shape=SHAPES["ramp"], start=10, end=NEVER, trigger=-1, rise=4)
    looks = _looks([ramp], [-1], 100)

    assert looks == [10, 11, 12, 13, 14]
    assert [_weight(ramp, -1, tick) for tick in looks] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
