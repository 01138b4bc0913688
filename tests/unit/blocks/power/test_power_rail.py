"""The flight controller's supply: dead below the drop-out, and for the restart after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.blocks.power.power_rail import PowerRail
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block
from ironbird.vehicles.external import plant_blocks
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates import fixed_wing, multicopter, vtol
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec


def test_passes_the_public_check() -> None:
    check_block(PowerRail(sample_s=0.01), params={"drop_out": 6.0}, inputs={"voltage": 11.0})


def test_the_controller_is_dead_below_the_drop_out_and_until_it_has_started_again() -> None:
    state = start(alone(PowerRail(sample_s=0.01), step_s=0.01, drop_out=6.0, restart_time=0.5))
    alive = []
    for volts, until_s in ((11.0, 0.2), (5.9, 0.3), (11.0, 1.3)):
        state.set_input("voltage", volts)
        alive.append(run(state, until_s, log=["block.alive"], log_s=0.01)["block.alive"])

    assert alive[0].all() and not alive[1].any()
    dead = np.count_nonzero(alive[2] == 0)
    assert abs(dead * 0.01 - 0.5) < 0.011 and alive[2][-1] == 1


@pytest.mark.parametrize("air_restart", [0.0, 1.0])
def test_motors_may_start_until_the_first_brown_out_and_then_as_the_option_says(air_restart: float) -> None:
    state = start(alone(PowerRail(sample_s=0.01), step_s=0.01, drop_out=6.0, air_restart=air_restart))
    found = []
    for volts, until_s in ((11.0, 0.2), (5.9, 0.3), (11.0, 3.0)):
        state.set_input("voltage", volts)
        found.append(run(state, until_s, log=["block.may_arm"], log_s=0.01)["block.may_arm"])

    assert found[0].all()
    assert (found[1][1:] == air_restart).all() and (found[2] == air_restart).all()


def fitted(name: str, **battery: object) -> Any:
    spec = load_spec(name)
    assert isinstance(spec, MulticopterSpec | FixedWingSpec) and spec.battery is not None
    return spec.model_copy(update={"battery": spec.battery.model_copy(update=battery)})


@pytest.mark.parametrize(
    ("name", "build"),
    [("quad_f450", multicopter.build), ("vtol_standard", vtol.build), ("aerosonde_wheels", fixed_wing.build)],
)
def test_a_brown_out_voltage_lets_the_whole_control_system_begin_anew(name: str, build: Callable[..., Diagram]) -> None:
    diagram = build(fitted(name, brown_out_V=6.0), "reference")
    sampled = {path for path, block in diagram.blocks.items() if block.is_sampled}

    assert set(diagram.resets) == sampled - set(plant_blocks(diagram))
    assert {"estimator", "navigator", "control", "vote/imu"} <= set(diagram.resets)
    assert set(diagram.resets.values()) == {"power_rail.alive"}
    assert diagram.links["navigator.may_arm"] == ["power_rail.may_arm"]
    plain = build(load_spec(name), "reference")
    assert "power_rail" not in plain.blocks and not plain.resets


def test_only_a_flight_controller_that_restarts_in_the_air_aligns_in_motion() -> None:
    for restarts in (True, False):
        diagram = multicopter.build(fitted("quad_f450", brown_out_V=6.0, air_restart=restarts), "reference")
        block = diagram.blocks["estimator"]
        assert isinstance(block, ErrorStateEkf) and block.in_motion == restarts
