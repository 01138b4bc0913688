"""Wind that is told from outside is the wind."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.environment.external_wind import ExternalWind
from ironbird.testing.alone import alone, outputs_at


def test_the_wind_is_what_was_told() -> None:
    found = outputs_at(alone(ExternalWind()), {"told_N": [1.0, -2.0, 3.0]})

    np.testing.assert_array_equal(found["wind_N"][0], [1.0, -2.0, 3.0])


def test_until_somebody_tells_it_the_air_is_still() -> None:
    np.testing.assert_array_equal(outputs_at(alone(ExternalWind()), {})["wind_N"][0], [0.0, 0.0, 0.0])
