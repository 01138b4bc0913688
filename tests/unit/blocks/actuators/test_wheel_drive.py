"""Wheels: spin-up, power limit, a brake that stops and holds, speed-controlled wheels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.actuators.wheel_drive import WheelDrive, WheelServo
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

RADIUS, INERTIA, DRIVE, POWER, BRAKE, LAG_S = 0.344, 1.7, 1000.0, 30e3, 2000.0, 0.1


@functools.cache
def wheel() -> CompiledModel:
    return alone(
        WheelDrive(), radius=RADIUS, inertia=INERTIA, max_drive=DRIVE, max_power=POWER, max_brake=BRAKE,
        time_constant=LAG_S, rolling_resistance=0.013,
    )  # fmt: skip


@functools.cache
def servo() -> CompiledModel:
    return alone(WheelServo(), max_speed=6.67, time_constant=0.05)


def turn(
    model: CompiledModel, seconds: float, params: dict[str, float] | None = None, omega: float = 0.0, **inputs: Any
) -> Log:
    state = start(model, params={f"block.{name}": value for name, value in (params or {}).items()})
    defaults = {"drive": 0.0, "brake": 0.0, "tyre_force": 0.0} if model is wheel() else {}
    for name, value in {**defaults, **inputs}.items():
        state.set_input(name, value)
    state.set_state("block.omega", omega)
    return run(state, seconds, log_s=1e-3)


def test_free_wheel_spins_up_with_the_lagged_torque() -> None:
    log = turn(wheel(), 0.2, drive=0.1)

    t = log.time()
    torque = 0.1 * DRIVE
    np.testing.assert_allclose(log["block.drive_torque"], torque * (1 - np.exp(-t / LAG_S)), atol=1e-6)
    exact = torque / INERTIA * (t - LAG_S * (1 - np.exp(-t / LAG_S)))
    np.testing.assert_allclose(log["block.speed"], exact, atol=1e-6)  # RK4 at T / 100


def test_power_limits_the_torque_at_speed() -> None:
    log = turn(wheel(), 1.0, omega=100.0, drive=1.0)

    assert log["block.shaft_power"].max() <= POWER * (1 + 1e-12)
    energy = 0.5 * INERTIA * (log["block.speed"][-1] ** 2 - 100.0**2)
    power = log["block.shaft_power"]
    assert abs(energy / (np.sum(power[1:] + power[:-1]) * 0.5e-3) - 1) < 1e-3  # trapezoid


def test_tyre_force_and_rolling_resistance_brake_the_wheel() -> None:
    log = turn(wheel(), 0.1, omega=50.0, tyre_force=100.0, load=3000.0)

    slowing = (RADIUS * 100 + 0.013 * 3000 * RADIUS) / INERTIA
    np.testing.assert_allclose(log["block.speed"], 50 - slowing * log.time(), rtol=1e-4)  # w / sqrt(w^2 + 0.25)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_brake_stops_a_wheel_in_the_time_of_constant_torque_and_holds_it(sense: float) -> None:
    log = turn(wheel(), 1.0, omega=sense * 80.0, brake=0.5)

    t = log.time()
    expected = 80 - 0.5 * BRAKE / INERTIA * t
    fast = expected > 5
    np.testing.assert_allclose(sense * log["block.speed"][fast], expected[fast], atol=3.5)  # brake builds up in 4 ms
    assert np.abs(log["block.speed"][t > 0.5]).max() < 1e-3
    held = turn(wheel(), 2.0, brake=0.5, tyre_force=-0.9 * 0.5 * BRAKE / RADIUS)  # 90 % of what it can hold
    assert np.abs(held["block.speed"][-200:]).max() < 1e-6  # no creep
    slips = turn(wheel(), 1.01, brake=0.5, tyre_force=-1.1 * 0.5 * BRAKE / RADIUS)
    gained = slips["block.speed"][1000] - slips["block.speed"][500]
    assert abs(gained / (0.1 * 0.5 * BRAKE / INERTIA * 0.5) - 1) < 1e-6  # the brake slides with its full torque


def test_faults_of_drive_and_brake() -> None:
    assert turn(wheel(), 0.2, {"health": 0.0}, drive=1.0)["block.speed"][-1] == 0.0
    assert turn(wheel(), 0.2, {"brake_health": 0.0}, omega=50.0, brake=1.0)["block.speed"][-1] == 50.0
    assert abs(turn(wheel(), 0.5, {"seized": 1.0}, omega=50.0)["block.speed"][-1]) < 1e-3


def test_servo_is_a_first_order_lag_with_faults() -> None:
    log = turn(servo(), 0.4, command=0.5)
    exact = 0.5 * 6.67 * (1 - np.exp(-log.time() / 0.05))
    np.testing.assert_allclose(log["block.speed"], exact, atol=1e-8)  # RK4 at T / 50
    np.testing.assert_allclose(log["block.acceleration"], (0.5 * 6.67 - exact) / 0.05, atol=1e-6)
    assert abs(turn(servo(), 2.0, {"health": 0.3}, command=1.0)["block.speed"][-1] - 0.3 * 6.67) < 1e-9
    assert turn(servo(), 0.5, {"stuck": 1.0}, omega=2.0, command=1.0)["block.speed"][-1] == 2.0
    backwards = turn(servo(), 2.0, {"override": 1.0, "override_command": -1.0}, command=1.0)
    assert abs(backwards["block.speed"][-1] + 6.67) < 1e-9
