"""A start elsewhere than in the vehicle's file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ironbird.flight.flight import fly
from ironbird.flight.order import make_order
from ironbird.flight.pose import start_settings


def test_the_launch_rail_goes_with_a_wing_that_starts_elsewhere() -> None:
    order = make_order("aerosonde", until_s=20.0, ends="time")
    moved = replace(order, settings={**order.settings, **start_settings(order, 200.0, 100.0)})
    here, there = fly(order), fly(moved)

    assert here.verdict == there.verdict == "pass", there.judged.sentence
    paths = [flight.log["body.p_NB_N"] for flight in (here, there)]
    rail = paths[0][:, 0] < 10.0  # until it is on its way, which leads to the same waypoints from elsewhere
    assert 5 < np.count_nonzero(rail) < len(rail)
    np.testing.assert_allclose((paths[1] - paths[0])[rail], np.tile([200.0, 100.0, 0.0], (rail.sum(), 1)), atol=0.5)
