"""Height above the start: the first samples are the reference."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird import Diagram, compile_model, run, start
from ironbird.blocks.estimators.start_height import StartHeight


def test_height_counts_from_the_mean_of_the_first_samples() -> None:
    diagram = Diagram("d")
    height = diagram.add("height", StartHeight(sample_s=0.02), samples=5.0, height_0=0.1)
    diagram.export(height.altitude)
    diagram.export(height.stamp_in)
    state = start(compile_model(diagram))
    state.set_input("stamp_in", -1.0)  # nothing measured yet
    state.set_input("altitude", 1e6)
    run(state, 0.1)
    state.set_input("stamp_in", 0.1)
    state.set_input("altitude", 250.0)
    run(state, 0.3)
    state.set_input("altitude", 262.5)
    log = run(state, 0.5, log_s=0.02)
    np.testing.assert_allclose(log["height.baro_height"], 12.6, rtol=1e-12)
    assert log["height.stamp"][-1] == pytest.approx(0.1)
