"""Lanes taken out of a run go on exactly as they would have."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import RunError
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.state import start
from ironbird.runtime.step import run

LOG = ["body.p_NB_N", "body.euler"]


def test_picked_lanes_go_on_as_the_whole(f450: CompiledModel) -> None:
    state = start(f450, lanes=20, seed=7)
    state.set_param("wind/turbulence.wind_20ft", 8.0)
    state.add_event(ParamEvent("rotor/1/motor.health", 0.5, start_s=0.7, effect="scale"), 13)
    run(state, 0.5, log=LOG)
    lanes = [13, 2, 19, 2, 0, 5, 6, 7, 8, 18]  # in any order, also twice, over more than one block
    some = state.pick(lanes)
    assert [some.content(i) for i in range(len(lanes))] == [state.content(lane) for lane in lanes]
    assert some.content(0) != some.content(1)
    log, part = run(state, 1.0, log=LOG), run(some, 1.0, log=LOG)
    for place, lane in enumerate(lanes):
        assert part.sha256(place) == log.sha256(lane)
    assert part.sha256(1) == part.sha256(3) and part.sha256(0) != part.sha256(1)
    assert np.array_equal(some.get("body.p", 0), state.get("body.p", 13))


def test_stopped_lanes_stay_stopped_and_the_original_is_left_alone(f450: CompiledModel) -> None:
    state = start(f450, lanes=9, seed=1)
    state.stop_tick[0, 3] = 0
    before = state.content(4)
    some = state.pick([3, 4])
    assert some.stop_of(0) is not None and some.stop_of(1) is None
    run(some, 0.1, log=LOG)
    assert state.content(4) == before and state.tick == 0
    with pytest.raises(RunError, match="lane 9 does not exist"):
        state.pick([9])
