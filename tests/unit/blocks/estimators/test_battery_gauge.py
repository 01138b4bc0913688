"""The battery gauge: charge and voltage, whichever says less."""

from __future__ import annotations

import pytest

from ironbird import Diagram, compile_model, run, start
from ironbird.blocks.estimators.battery_gauge import BatteryGauge


def remaining(voltage: float, charge: float, seconds: float = 20.0) -> float:
    diagram = Diagram("d")
    gauge = diagram.add("gauge", BatteryGauge(sample_s=0.05), capacity=1000.0, cells=3.0)
    diagram.export(gauge.voltage)
    diagram.export(gauge.charge)
    state = start(compile_model(diagram))
    state.set_input("voltage", voltage)
    state.set_input("charge", charge)
    return float(run(state, seconds, log_s=0.05)["gauge.remaining"][-1])


def test_a_strong_battery_is_what_its_charge_says() -> None:
    assert remaining(12.0, 250.0) == pytest.approx(0.75)


def test_a_weak_battery_is_what_its_voltage_says() -> None:
    assert remaining(3 * 3.35, 250.0) == pytest.approx(0.5)  # half-way between 3.5 and 3.2 V a cell
    assert remaining(9.0, 0.0) == 0.0
