"""Wires as parts of a diagram: neutral by default, and their outputs say what a fault has set."""

from __future__ import annotations

import pytest

from ironbird import Diagram, ParamEvent, compile_model, run, start
from ironbird.blocks.sensors.wire import LINE, PLACE, Wire, WirePlace


def test_a_wire_says_what_is_wrong_with_it_while_it_is() -> None:
    diagram = Diagram("board")
    diagram.add("wire/imu", WirePlace(sample_s=0.001))
    diagram.add("wire/imu/miso", Wire(sample_s=0.001))
    state = start(compile_model(diagram))
    state.add_event(ParamEvent(param="wire/imu/miso.open", value=1.0, start_s=0.01, end_s=0.02))
    log = run(state, 0.03, log=["wire/imu/miso.state", "wire/imu.state"], log_s=0.001)
    opened = log["wire/imu/miso.state"][:, list(LINE).index("open")]
    time_s = log.time()
    assert (opened[(time_s > 0.0105) & (time_s < 0.0195)] == 1.0).all()
    assert not opened[(time_s < 0.0095) | (time_s > 0.0205)].any()
    assert log["wire/imu.state"][0] == pytest.approx([neutral for neutral, _, _ in PLACE.values()])
