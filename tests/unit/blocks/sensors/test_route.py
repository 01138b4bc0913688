"""Links as parts of a diagram: neutral by default, and their outputs say what a fault has set, with its shape."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird import Diagram, ParamEvent, compile_model, run, start
from ironbird.blocks.sensors.route import ROUTE, PacketLink
from ironbird.faults.route import FAULTS
from ironbird.faults.spec import Injection
from ironbird.transport.disturbance import kind_of


def test_a_link_says_what_is_wrong_with_it_while_it_is() -> None:
    diagram = Diagram("links")
    diagram.add("route/ground", PacketLink())
    state = start(compile_model(diagram))
    state.add_event(ParamEvent("route/ground.drop", 0.5, start_s=0.01, end_s=0.02))
    state.add_event(ParamEvent("route/ground.throttle", 100.0, start_s=0.01, shape="ramp", rise_s=0.01))
    log = run(state, 0.04, log=["route/ground.state", "route/ground.disturbed"], log_s=0.001)
    values, time_s = log["route/ground.state"], log.time()
    drop, throttle = (values[:, list(ROUTE).index(name)] for name in ("drop", "throttle"))
    during = (time_s > 0.0095) & (time_s < 0.0195)
    assert (drop[during] == 0.5).all() and not drop[~during].any()
    assert values[0] == pytest.approx([neutral for neutral, *_ in ROUTE.values()])
    assert np.all(np.diff(throttle) <= 0.0) and throttle[-1] == pytest.approx(100.0)  # it narrows, from all to little
    assert not log["route/ground.disturbed"].any()


def test_each_link_fault_has_its_parameter() -> None:
    assert {kind_of(Injection(fault, instance="ground")) for fault in FAULTS} == set(ROUTE)
