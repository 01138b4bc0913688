"""Engine and governor: energy, steady speed, limits and faults."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.actuators.governed_engine import GovernedEngine
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone

NOMINAL, POWER, INERTIA = 167.0, 2000.0, 0.095
PARAMS: dict[str, Any] = {
    "nominal_speed": NOMINAL, "max_power": POWER, "inertia": INERTIA, "governor_gain": 0.01,
    "governor_integral": 0.02, "time_constant": 0.1, "omega_0": NOMINAL,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(GovernedEngine(), **PARAMS)


def driven(until_s: float, load: float, throttle: float = 1.0, **params: float) -> Log:
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})
    state.set_input("load_torque", load)
    state.set_input("throttle", throttle)
    return run(state, until_s, log_s=1e-2)


def test_block_passes_the_public_check() -> None:
    check_block(GovernedEngine(), params=PARAMS)


@pytest.mark.parametrize("load", [0.5, 6.0, 11.0])
def test_governor_holds_the_nominal_speed_under_any_load_that_the_power_can_carry(load: float) -> None:
    log = driven(60.0, load)

    assert log["block.speed"].ravel()[-1] == pytest.approx(NOMINAL, abs=1e-4)
    assert log["block.opening"].ravel()[-1] == pytest.approx(load * NOMINAL / POWER, abs=1e-5)
    assert log["block.torque"].ravel()[-1] == pytest.approx(load, abs=1e-4)


def test_fixed_throttle_without_load_turns_power_into_kinetic_energy() -> None:
    log = driven(2.0, 0.0, override=1.0, override_throttle=0.5, valve_0=0.5, omega_0=50.0)

    expected = np.sqrt(50.0**2 + 2 * 0.5 * POWER * log.time() / INERTIA)
    np.testing.assert_allclose(log["block.speed"].ravel(), expected, rtol=1e-9)


def test_dead_engine_runs_down_by_its_load_and_never_brakes() -> None:
    log = driven(1.0, 5.0, health=0.0)
    np.testing.assert_allclose(log["block.speed"].ravel(), NOMINAL - 5.0 / INERTIA * log.time(), rtol=1e-9)
    off = driven(1.0, 0.0, throttle=0.0)
    np.testing.assert_array_equal(off["block.speed"].ravel(), NOMINAL)


def test_integral_does_not_wind_up_while_the_power_is_at_its_end() -> None:
    state = start(model())
    state.set_input("throttle", 1.0)
    state.set_input("load_torque", 14.0)  # needs 2338 W at nominal speed
    log = run(state, 20.0, log_s=1e-2)
    assert log["block.opening"].ravel()[-1] == pytest.approx(1.0, abs=1e-9)
    assert log["block.speed"].ravel()[-1] == pytest.approx(POWER / 14.0, rel=1e-3)
    state.set_input("load_torque", 6.0)
    log = run(state, 26.0, log_s=1e-2)
    assert log["block.speed"].max() < 1.15 * NOMINAL


def test_stuck_throttle_stays_where_it_is() -> None:
    log = driven(5.0, 6.0, stuck=1.0, valve_0=0.3)

    np.testing.assert_array_equal(log["block.opening"].ravel(), 0.3)
