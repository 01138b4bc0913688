"""ArduPilot on the chips of a board, without its program: parameters, pulses, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.autopilots.ardupilot.channels import Channel, Wiring, wire
from ironbird.errors import LinkError
from ironbird.flight.flight import fly
from ironbird.systems.ardupilot.on_chips import chip_params, find_board_ardupilot, pulses_of
from ironbird.vehicles.load import load_vehicle


def test_parameters_are_those_of_the_board_and_not_of_the_simulator() -> None:
    spec = load_vehicle("quad_f450").spec
    params = chip_params(spec, "pilotpi")
    assert params["COMPASS_DEV_ID"].value == 659209 and params["BATT_MONITOR"].value == 3
    assert not [name for name in params if name.startswith("SIM_")]
    with pytest.raises(LinkError, match="not of board pixhawk4"):
        chip_params(spec, "pixhawk4")
    with pytest.raises(LinkError, match="flies multicopters"):
        chip_params(load_vehicle("aerosonde").spec, "pilotpi")


def test_pulses_mean_what_servo_outputs_mean() -> None:
    motors = pulses_of(wire(load_vehicle("quad_f450").spec))
    assert sorted(p.output for p in motors) == [0, 1, 2, 3] and all(p.silent for p in motors)
    assert [(1.25e-3 - p.zero_s) / p.span_s for p in motors] == pytest.approx([0.25] * 4)
    turned = pulses_of(Wiring("arducopter", (Channel(5, "surface/x", 1, "both_ways", reverse=True),)))[0]
    assert (turned.output, turned.low, turned.high) == (4, -1.0, 1.0)
    assert (1.75e-3 - turned.zero_s) / turned.span_s == pytest.approx(-0.5)


def test_a_missing_program_and_another_pilot_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_ARDUPILOT_PILOTPI", str(tmp_path))
    with pytest.raises(LinkError, match="waf configure --board pilotpi --toolchain native"):
        find_board_ardupilot("pilotpi")
    with pytest.raises(LinkError, match="the built-in ground station, or attended"):
        fly("quad_f450", control="ardupilot", mission="hover", options={"chips": "pilotpi", "pilot": "none"})
