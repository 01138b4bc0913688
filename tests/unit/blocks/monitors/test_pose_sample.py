"""The pose that is held for the world: what it was at the last sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ironbird.blocks.monitors.pose_sample import PoseSample
from ironbird.testing.alone import alone, outputs_at


def test_it_holds_what_it_is_given() -> None:
    given: dict[str, Any] = {
        "p_NB_N": [1.0, 2.0, 3.0],
        "v_NB_N": [4.0, 5.0, 6.0],
        "R_NB": np.eye(3).flatten(),
        "w_NB_B": [7.0, 8.0, 9.0],
    }

    found = outputs_at(alone(PoseSample(sample_s=1e-3)), given)

    for name, source in (("position", "p_NB_N"), ("velocity", "v_NB_N"), ("attitude", "R_NB"), ("rates", "w_NB_B")):
        np.testing.assert_array_equal(found[name][0], given[source])
