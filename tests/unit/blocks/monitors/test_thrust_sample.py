"""The thrusts that are held for wakes: what they were at the last sample."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.monitors.thrust_sample import ThrustSample
from ironbird.testing.alone import alone, outputs_at


def test_it_holds_what_it_is_given() -> None:
    flow = np.array([1.0, 2.0, 3.0])
    given = {"thrust_1": np.array(3.0), "thrust_2": np.array(4.0), "density": np.array(1.1), "v_air_B": flow}

    found = outputs_at(alone(ThrustSample(2, sample_s=1e-3)), given)

    assert (found["held_1"][0], found["held_2"][0], found["air"][0]) == (3.0, 4.0, 1.1)
    np.testing.assert_array_equal(found["flow_B"][0], flow)
