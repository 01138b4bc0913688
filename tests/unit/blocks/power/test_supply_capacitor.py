"""Capacitor at a speed controller: a lag of first order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ironbird.blocks.power.supply_capacitor import SupplyCapacitor
from ironbird.errors import VehicleError
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.vehicles.load import load_spec, vehicle_path

LAG_S = 0.03


def test_voltage_follows_a_step_with_its_time_constant_and_starts_full() -> None:
    state = start(alone(SupplyCapacitor(), time_constant=LAG_S))
    state.set_input("voltage_ratio", 0.8)
    log = run(state, 0.2, log_s=0.001)

    np.testing.assert_allclose(log["block.supplied"], 0.8 + 0.2 * np.exp(-log.time() / LAG_S), atol=1e-6)


def test_battery_of_a_wing_needs_a_propeller_that_tells_its_power(tmp_path: Path) -> None:
    battery = (
        "[battery]\ncells = 3\ncapacity_Ah = 2.0\nresistance_ohm = 0.05\nefficiency = 0.8\nelectronics_W = 5.0\n\n"
    )
    copy = tmp_path / "zagi.toml"
    copy.write_text(vehicle_path("zagi").read_text().replace("[launcher]\n", battery + "[launcher]\n", 1))

    with pytest.raises(VehicleError, match="a battery needs the table propeller"):
        load_spec(copy)
