"""The way flown."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.report.flight.paths import equal_ranges


def test_axes_of_the_path_are_equal_and_never_flat() -> None:
    ranges = equal_ranges(np.array([[0.0, 0.0, 0.0], [100.0, 10.0, 0.0], [np.nan, 0.0, 0.0]]))

    widths = [high - low for low, high in ranges]
    assert widths == pytest.approx([112.0, 37.0, 37.0])  # span or a quarter of the widest, and 6 % on both sides
    assert ranges[0] == pytest.approx([-6.0, 106.0])
