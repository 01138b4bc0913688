"""Battery: the open-circuit curve, sag, what it can give at most, charge and energy balance, power off."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.power.battery import Battery
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
SAMPLE_S = 0.01
CELLS, CAPACITY, RESISTANCE = 3.0, 5.5 * 3600, 0.02


@functools.cache
def model() -> CompiledModel:
    return alone(
        Battery(sample_s=SAMPLE_S), step_s=SAMPLE_S, cells=CELLS, capacity=CAPACITY, resistance=RESISTANCE,
        efficiency=0.7, electronics_power=6.0,
    )  # fmt: skip


def rest_voltage(depth: np.ndarray) -> np.ndarray:
    """At the terminals without any load."""
    return outputs_at(model(), {"shaft_power": 0.0}, {"used_0": depth * CAPACITY, "electronics_power": 0.0})["voltage"]


def test_open_circuit_curve_is_the_published_one() -> None:
    # [Chen2006] Eq. 2, one cell, worked out by hand
    depth = np.array([0.0, 0.2, 0.5, 0.8, 0.99])
    cell = [4.1029, 3.9459792, 3.8033625, 3.7250287, 2.9606111]

    np.testing.assert_allclose(rest_voltage(depth) / CELLS, cell, rtol=0, atol=1e-7)


def test_an_empty_battery_holds_no_voltage() -> None:
    assert rest_voltage(np.array([1.0]))[0] == 0.0 and rest_voltage(np.array([0.995]))[0] < 2.0 * CELLS


def test_a_cell_at_half_charge_has_the_usual_voltage_of_lithium_polymer() -> None:
    assert 3.80 <= rest_voltage(np.array([0.5]))[0] / CELLS <= 3.85  # V; CopterSim's curve has 3.64


def test_curve_only_falls() -> None:
    voltage = rest_voltage(np.linspace(0, 1, 401))

    assert np.all(np.diff(voltage) < 0)


@given(power=st.floats(0, 900), depth=st.floats(0, 0.9), resistance=st.floats(0, 0.02))
@EXAMPLES
def test_sag_is_resistance_times_current_and_power_is_voltage_times_current(
    power: float, depth: float, resistance: float
) -> None:
    found = outputs_at(model(), {"shaft_power": power}, {"used_0": depth * CAPACITY, "resistance": resistance})
    voltage, current = found["voltage"][0], found["current"][0]

    assert abs(voltage - (rest_voltage(np.array([depth]))[0] - resistance * current)) < 1e-12  # rounding
    assert abs(voltage * current / (power / 0.7 + 6.0) - 1) < 1e-12
    assert found["voltage_ratio"][0] == pytest.approx(voltage / (CELLS * 4.1029), rel=1e-15)
    assert found["remaining"][0] == pytest.approx(1 - depth, abs=1e-15)


def test_no_more_than_the_greatest_power_comes_out() -> None:
    # A source of U0 behind R gives U0^2 / (4 R) at most, at half its voltage
    found = outputs_at(model(), {"shaft_power": [2000.0, 5000.0, 50_000.0]})

    np.testing.assert_allclose(found["voltage"], CELLS * 4.1029 / 2, rtol=1e-12)  # rounding
    np.testing.assert_allclose(found["current"], CELLS * 4.1029 / (2 * RESISTANCE), rtol=1e-12)


def test_voltage_falls_without_a_jump_as_the_load_grows() -> None:
    limit_W = 0.7 * ((CELLS * 4.1029) ** 2 / (4 * RESISTANCE) - 6.0)
    voltage = outputs_at(model(), {"shaft_power": np.linspace(0, 1.2 * limit_W, 400)})["voltage"]

    assert np.all(np.diff(voltage) <= 1e-12)
    assert voltage.min() > 0.49 * CELLS * 4.1029


def test_charge_taken_is_the_sum_of_the_current() -> None:
    state = start(model())
    state.set_input("shaft_power", 150.0)
    log = run(state, 600.0, log_s=SAMPLE_S)

    taken = np.concatenate([[0.0], np.cumsum(log["block.current"])[:-1]]) * SAMPLE_S
    np.testing.assert_allclose(
        1 - log["block.remaining"], taken / CAPACITY, rtol=0, atol=1e-12
    )  # rounding of 60,000 sums
    assert log["block.remaining"][-1] < 0.5


def test_energy_delivered_and_lost_is_the_energy_of_the_charge() -> None:
    state = start(model())
    state.set_input("shaft_power", 150.0)
    log = run(state, 600.0, log_s=SAMPLE_S)

    out = np.sum(log["block.voltage"] * log["block.current"]) * SAMPLE_S
    lost = np.sum(RESISTANCE * log["block.current"] ** 2) * SAMPLE_S
    assert abs(out / ((150.0 / 0.7 + 6.0) * 600.0) - 1) < 1e-9  # what was asked for
    depth = np.linspace(0, 1 - log["block.remaining"][-1], 20_001)
    stored = np.trapezoid(rest_voltage_curve(depth), depth) * CAPACITY
    assert abs((out + lost) / stored - 1) < 2e-5  # samples of 10 ms, the last current


def rest_voltage_curve(depth: np.ndarray) -> np.ndarray:
    """The published curve, written again."""
    left = 1 - depth
    return CELLS * (3.685 + 0.2156 * left - 0.1178 * left**2 + 0.3201 * left**3 - 1.031 * np.exp(-35 * left))


def test_power_off_leaves_no_voltage_and_draws_no_current() -> None:
    state = start(model())
    state.set_input("shaft_power", 150.0)
    state.add_event(ParamEvent("block.voltage_factor", 0.0, start_s=1.0))
    log = run(state, 3.0, log_s=SAMPLE_S)

    off = log.time() >= 1.0 - 1e-9
    assert np.all(log["block.voltage"][off] == 0.0)
    assert np.all(log["block.current"][off] == 0.0)
    assert np.all(log["block.voltage_ratio"][off] == 0.0)
    assert np.ptp(log["block.remaining"][off]) == 0.0
    assert log["block.voltage"][~off].min() > 10.0


def test_empty_battery_stays_empty() -> None:
    state = start(model(), params={"block.used_0": CAPACITY})
    state.set_input("shaft_power", 150.0)
    log = run(state, 10.0, log_s=SAMPLE_S)

    assert np.all(log["block.remaining"] == 0.0)
    assert np.all(np.isfinite(log["block.voltage"]))
