"""Ground from outside: the plane that was given, and the height above it."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.environment.surveyed_ground import SurveyedGround
from ironbird.testing.alone import alone, outputs_at


def test_the_height_is_that_above_the_given_plane() -> None:
    found = outputs_at(
        alone(SurveyedGround()),
        {
            "p_NB_N": [3.0, 4.0, -10.0], "surveyed_place": [1.0, 1.0], "surveyed_z": [-2.0],
            "surveyed_slope": [0.1, -0.2],
        },
    )  # fmt: skip

    below = -2.0 + 0.1 * 2.0 - 0.2 * 3.0
    np.testing.assert_allclose(found["height_above_ground"], below + 10.0)
    np.testing.assert_allclose(found["slope"][0], [0.1, -0.2])
    np.testing.assert_allclose(found["place"][0], [1.0, 1.0])
