"""A shifted load: its weight turns the vehicle."""

from __future__ import annotations

import math

import numpy as np

from ironbird import Diagram, advance, compile_model, run, start
from ironbird.blocks.forces.load import ShiftedLoad


def test_the_moment_is_weight_times_arm_in_any_attitude() -> None:
    diagram = Diagram("d")
    load = diagram.add("load", ShiftedLoad(), mass=2.0, offset=[0.1, -0.05, 0.02])
    diagram.export(load.R_NB)
    diagram.export(load.gravity_N)
    state = start(compile_model(diagram))
    c, s = math.cos(0.4), math.sin(0.4)
    pitched = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    state.set_input("gravity_N", [0.0, 0.0, 9.8])
    for attitude in (np.eye(3), pitched):
        state.set_input("R_NB", attitude)
        log = run(state.branch(), state.time_s + 1e-3, log_s=1e-3)
        weight_B = attitude.T @ [0.0, 0.0, 2.0 * 9.8]
        np.testing.assert_allclose(log["load.moment_B"][0], np.cross([0.1, -0.05, 0.02], weight_B), rtol=1e-14)
    advance(state)
