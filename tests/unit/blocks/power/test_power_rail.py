"""The flight controller's supply: dead below the drop-out, and for the restart after it."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.power.power_rail import PowerRail
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec, build


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


def test_a_vehicle_with_a_brown_out_voltage_cuts_the_commands_of_all_motors() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    fitted = spec.model_copy(update={"battery": spec.battery.model_copy(update={"brown_out_V": 6.0})})

    assert "power_rail" in build(fitted).blocks and "power_rail" not in build(spec).blocks
