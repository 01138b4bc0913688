"""The battery gauge: charge and voltage, whichever says less."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.estimators.battery_gauge import BatteryGauge, left_by_voltage
from ironbird.blocks.power.battery import Battery, cell_voltage
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

RESISTANCE = 0.03


@functools.cache
def gauge() -> CompiledModel:
    return alone(BatteryGauge(sample_s=0.05), capacity=1000.0, cells=3.0, resistance=RESISTANCE)


def remaining(cell_V: float, charge: float, current: float = 0.0) -> float:
    inputs = {"voltage": [3 * cell_V], "charge": [charge], "current": [current]}
    return float(outputs_at(gauge(), inputs)["remaining"][0])


def test_a_strong_battery_is_what_its_charge_says() -> None:
    assert remaining(4.0, 250.0) == pytest.approx(0.75)
    assert remaining(3.75, 250.0) == pytest.approx(0.75)  # the curve is flat there: 3.75 V says nothing


def test_a_weak_battery_is_what_its_voltage_says() -> None:
    assert remaining(3.725, 250.0) == pytest.approx(0.2, abs=0.01)  # figures of [Chen2006] Eq. 2, read off
    assert remaining(3.675, 250.0) == pytest.approx(0.1, abs=0.01)
    assert remaining(2.6, 0.0) == 0.0


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.13, 0.2, 0.25])
def test_voltage_is_looked_up_on_the_curve_of_the_battery(share: float) -> None:
    volts = float(cell_voltage(share))

    assert remaining(volts, 0.0) == pytest.approx(share, abs=0.004)  # straight between the points of the table
    assert left_by_voltage(volts) == pytest.approx(remaining(volts, 0.0), abs=1e-12)
    loaded = volts - RESISTANCE * 20.0 / 3  # a load of 20 A changes nothing
    assert remaining(loaded, 0.0, current=20.0) == pytest.approx(remaining(volts, 0.0), abs=1e-9)


def test_a_battery_of_half_its_capacity_is_called_low_while_a_fifth_of_it_is_left() -> None:
    rig = Diagram("rig")
    own = {"cells": 3.0, "resistance": RESISTANCE}
    battery = rig.add("battery", Battery(sample_s=0.05), capacity=5000.0, efficiency=1.0, electronics_power=0.0, **own)
    meter = rig.add("gauge", BatteryGauge(sample_s=0.05), capacity=10000.0, **own)
    rig.export(battery.shaft_power)
    rig.connect(battery.voltage, meter.voltage)
    rig.connect(battery.current, meter.current)
    rig.export(meter.charge)  # nothing is counted
    state = start(compile_model(rig, step_s=0.05))
    state.set_input("shaft_power", 200.0)
    log = run(state, 300.0, log_s=0.5)
    left, told = log["battery.remaining"], log["gauge.remaining"]

    for share in (0.2, 0.1):  # return, land
        assert left[np.argmax(told < share)] == pytest.approx(share, abs=0.02)  # 2 s of low-pass at 0.4 % a second
