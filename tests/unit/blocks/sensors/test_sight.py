"""A sensor of the world as a part of a diagram: it repeats what it is told, and says what a fault has set."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird import Diagram, ParamEvent, compile_model, run, start
from ironbird.blocks.sensors.sight import SIGHT, WorldSensor
from ironbird.errors import IronbirdError
from ironbird.faults.sight import FAULTS
from ironbird.faults.spec import Injection
from ironbird.testing.alone import alone
from ironbird.world.runner import kind_of


def test_it_holds_what_it_is_told_and_says_what_is_wrong() -> None:
    diagram = Diagram("seen")
    sensor = diagram.add("sight/down", WorldSensor())
    for name in ("told_range", "told_valid", "told_stamp", "told_samples"):
        diagram.export(sensor[name], name)
    state = start(compile_model(diagram))
    for name, value in (("told_range", 3.5), ("told_valid", 1.0), ("told_stamp", 0.25), ("told_samples", 7.0)):
        state.set_input(name, value)
    state.add_event(ParamEvent("sight/down.delayed", 0.5, start_s=0.01, end_s=0.02))
    log = run(state, 0.04, log_s=0.001)
    for name, value in (("range", 3.5), ("valid", 1.0), ("stamp", 0.25), ("samples", 7.0)):
        assert (log[f"sight/down.{name}"][1:] == value).all()
    wrong, time_s = log["sight/down.state"], log.time()
    during = (time_s > 0.0095) & (time_s < 0.0195)
    assert (wrong[during, list(SIGHT).index("delayed")] == 0.5).all() and not wrong[~during].any()
    assert not log["sight/down.differing"].any()


def test_each_fault_of_sight_has_its_parameter_within_its_range() -> None:
    assert {kind_of(Injection(fault, instance="down")) for fault in FAULTS} == set(SIGHT)
    for fault in FAULTS:
        (change,) = fault.changes
        assert change.target == f"sight/{{instance}}.{kind_of(Injection(fault, instance='down'))}"
        assert 0 < change.value(1.0) <= SIGHT[kind_of(Injection(fault, instance="down"))][0]
    assert np.degrees(SIGHT["shifted"][0]) == pytest.approx(180.0)


def test_no_more_than_all_samples_can_be_lost() -> None:
    with pytest.raises(IronbirdError, match="dropout"):
        start(alone(WorldSensor()), params={"block.dropout": 1.25})
