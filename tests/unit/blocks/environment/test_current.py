"""The current goes where its direction says."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.environment.current import Current
from ironbird.testing.alone import alone, outputs_at


def test_direction_is_where_the_water_goes() -> None:
    towards = np.array([0.0, np.pi / 2, np.pi, -3 * np.pi / 4])
    found = outputs_at(alone(Current()), {}, {"speed": 0.5, "direction": towards, "rise": 0.1})["current_N"]

    r = 0.5 * np.sqrt(0.5)
    exact = [[0.5, 0, -0.1], [0, 0.5, -0.1], [-0.5, 0, -0.1], [-r, -r, -0.1]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15)


def test_there_is_no_current_by_default() -> None:
    assert np.all(outputs_at(alone(Current()), {})["current_N"] == 0.0)
