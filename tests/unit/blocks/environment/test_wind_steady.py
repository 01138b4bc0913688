"""Prevailing wind: the parameter comes out, and it can change during a run."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.environment.wind_steady import WindSteady
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone


def test_wind_is_what_was_asked_for_until_it_is_changed() -> None:
    state = start(alone(WindSteady(), velocity_N=[3.0, -4.0, 0.5]))
    state.add_event(ParamEvent("block.velocity_N[1]", 6.0, start_s=0.05))
    log = run(state, 0.1, log_s=1e-3)

    early = log.time() < 0.05 - 1e-9
    np.testing.assert_array_equal(log["block.wind_N"][early], np.tile([3.0, -4.0, 0.5], (early.sum(), 1)))
    np.testing.assert_array_equal(log["block.wind_N"][~early], np.tile([3.0, 6.0, 0.5], ((~early).sum(), 1)))


def test_without_a_wish_the_air_is_still() -> None:
    np.testing.assert_array_equal(run(start(alone(WindSteady())), 0.01, log_s=1e-3)["block.wind_N"], np.zeros((10, 3)))
