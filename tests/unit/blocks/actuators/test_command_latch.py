"""The command latch: one period late, no more."""

from __future__ import annotations

import numpy as np

from ironbird import Diagram, advance, compile_model, run, start
from ironbird.blocks.actuators.command_latch import CommandLatch


def test_a_command_takes_effect_one_period_later() -> None:
    diagram = Diagram("d")
    latch = diagram.add("latch", CommandLatch(sample_s=0.004))
    diagram.export(latch.command)
    state = start(compile_model(diagram))
    state.set_input("command", 0.25)
    advance(state, 4)
    state.set_input("command", 0.5)
    log = run(state, 0.016, log_s=1e-3)
    np.testing.assert_array_equal(log["latch.value"], [0.25] * 4 + [0.5] * 8)
    np.testing.assert_allclose(log["latch.stamp"], [0.004] * 4 + [0.008] * 4 + [0.012] * 4)
