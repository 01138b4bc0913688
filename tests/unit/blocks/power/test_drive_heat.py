"""Heat of drives: closed forms of the two time constants, the continuous currents of a data sheet, derating."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.blocks.power.drive_heat import DriveHeat
from ironbird.compiler.compiled import CompiledModel
from ironbird.flight.flight import fly
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

STEP_S, AIR_K = 0.1, 298.15
# EC 45 flat, 50 W (651607 to 651612): thermal data, and by winding: terminal resistance in ohm, continuous current in A
WINDING, HOUSING, WINDING_S, HOUSING_S, HOTTEST_K = 8.28, 1.57, 28.8, 78.3, 398.15
CONTINUOUS = {0.447: 3.68, 0.942: 2.52, 2.240: 1.63, 3.610: 1.27}


@functools.cache
def model() -> CompiledModel:
    return alone(
        DriveHeat(sample_s=STEP_S), step_s=STEP_S, efficiency=0.5, winding_resistance=WINDING, winding_time=WINDING_S,
        housing_resistance=HOUSING, housing_time=HOUSING_S, controller_resistance=20.0, controller_time=15.0,
        controller_share=0.25,
    )  # fmt: skip


def heated(power: float, seconds: float, **params: float) -> dict[str, np.ndarray]:
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})
    state.set_input("shaft_power", power)
    state.set_input("air_temperature", AIR_K)
    log = run(state, seconds, log_s=1.0)
    return {name: log[f"block.{name}"].ravel() for name in ("winding", "controller", "loss", "fed", "over")} | {
        "time_s": log.time()
    }


def test_controller_follows_the_first_order_solution() -> None:
    found = heated(8.0, 60.0)  # at half efficiency the loss is the shaft power; a quarter is the controller's
    expected = AIR_K + 20.0 * 2.0 * (1 - np.exp(-found["time_s"] / 15.0))
    np.testing.assert_allclose(found["controller"], expected, rtol=0, atol=1e-9)  # K: the step is exact


def test_winding_settles_where_heat_and_copper_balance() -> None:
    found = heated(4.0, 900.0)
    ideal = (WINDING + HOUSING) * 3.0  # K above the air with cold copper
    expected = ideal / (1 - 0.0039 * ideal)
    assert abs(found["winding"][-1] - AIR_K - expected) < 1e-3 * expected
    # Loss of the winding at that temperature, and the controller's
    np.testing.assert_allclose(found["loss"][-1], 3.0 * (1 + 0.0039 * expected) + 1.0, rtol=1e-3)


@pytest.mark.parametrize("ohm", list(CONTINUOUS))
def test_continuous_current_is_near_the_data_sheets(ohm: float) -> None:
    """The current at which the winding settles at its limit; iron losses, which are not modelled, take a tenth."""
    low, high = 0.1, 20.0
    for _ in range(40):
        amps = 0.5 * (low + high)
        ideal = (WINDING + HOUSING) * amps**2 * ohm
        low, high = (amps, high) if ideal < 100.0 / (1 + 0.0039 * 100.0) else (low, amps)
    found = heated(amps**2 * ohm, 900.0, controller_share=0.0)
    assert abs(found["winding"][-1] - HOTTEST_K) < 0.5
    assert 1.0 < amps / CONTINUOUS[ohm] < 1.15, f"{amps:.2f} A, data sheet {CONTINUOUS[ohm]} A"


def test_supply_is_taken_back_near_the_limit_only_where_asked_for() -> None:
    hot = heated(12.0, 900.0)
    assert hot["over"][-1] == 1.0 and np.all(hot["fed"] == 1.0)
    derated = heated(12.0, 900.0, derate_band=20.0, derate_least=0.6)
    at = derated["winding"]
    expected = 1 - 0.4 * np.clip(1 + (at - HOTTEST_K) / 20.0, 0, 1)
    np.testing.assert_allclose(derated["fed"], expected, rtol=0, atol=1e-9)
    assert derated["fed"][-1] == pytest.approx(0.6)


def test_a_hot_controller_derates_although_the_winding_is_cold() -> None:
    """All of the loss in the controller: 298.15 + 20 (P) K with a limit of 383.15 K, below that of the winding."""
    band, least = 20.0, 0.6
    for power, over in ((4.5, 1.0), (4.0, 0.0)):
        found = heated(power, 300.0, controller_share=1.0, derate_band=band, derate_least=least)
        at = AIR_K + 20.0 * power
        assert found["controller"][-1] == pytest.approx(at) and found["winding"][-1] == pytest.approx(AIR_K)
        assert found["over"][-1] == over
        assert found["fed"][-1] == pytest.approx(1 - (1 - least) * min(max(1 + (at - 383.15) / band, 0.0), 1.0))


def test_hovering_quadcopter_warms_up_to_the_closed_form(tmp_path: Path) -> None:
    path = tmp_path / "warm.toml"
    path.write_text(
        'schema = 1\nid = "warm"\nbase = "quad_f450"\n[heat]\nwinding_resistance_KpW = 1.0\nwinding_time_s = 5.0\n'
        "housing_resistance_KpW = 0.5\nhousing_time_s = 20.0\ncontroller_resistance_KpW = 2.0\n"
        "controller_time_s = 4.0\n"
    )
    flight = fly(path, control="truth", mission="hover", until_s=30.0)
    log = flight.log
    assert flight.survived
    power, eta = log["rotor/1/propeller.shaft_power"].ravel(), 0.7
    air = log["rotor/1/heat.controller"][0].item()
    loss = 0.3 * float(np.mean(power[-500:])) * (1 / eta - 1)
    assert abs((log["rotor/1/heat.controller"][-1].item() - air) / (2.0 * loss) - 1) < 0.05
    assert math.isclose(air, 288.15, abs_tol=1.0) and log["rotor/1/heat.winding"][-1] > air + 5.0


def test_other_vehicles_have_no_heat() -> None:
    flight = fly("quad_f450", control="truth", until_s=0.5)
    assert not any("/heat" in signal for signal in flight.log.signals)
