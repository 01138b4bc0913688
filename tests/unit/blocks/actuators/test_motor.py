"""Motors against the step responses of first- and second-order lags."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.actuators.motor import Motor, MotorSecondOrder
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

EXAMPLES = settings(deadline=None, max_examples=15, derandomize=True)
SLOPE, IDLE, LAG_S = 691.33, 162.59, 0.0119


@functools.cache
def first_order() -> CompiledModel:
    return alone(Motor(), slope=SLOPE, idle_speed=IDLE, time_constant=LAG_S)


@functools.cache
def second_order() -> CompiledModel:
    return alone(MotorSecondOrder(), slope=SLOPE, idle_speed=IDLE, natural_frequency=60.0, damping_ratio=0.5)


def step(model: CompiledModel, throttle: float, voltage_ratio: float = 1.0, **params: float) -> Log:
    state = start(model, params={f"block.{name}": value for name, value in params.items()})
    state.set_input("throttle", throttle)
    state.set_input("voltage_ratio", voltage_ratio)
    return run(state, 0.3, log_s=1e-3)


@given(throttle=st.floats(0, 1, exclude_min=True), health=st.floats(0, 1), voltage=st.floats(0.6, 1.0))
@EXAMPLES
def test_step_response_is_the_first_order_solution(throttle: float, health: float, voltage: float) -> None:
    log = step(first_order(), throttle, voltage, health=health)

    steady = health * (SLOPE * throttle * voltage + IDLE)  # [RflyModel] 7.1.1: C_R sigma + w_b
    exact = steady * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(log["block.speed"], exact, rtol=1e-6, atol=1e-9)  # RK4 at T / 12: 3e-7
    np.testing.assert_allclose(
        log["block.acceleration"], (steady - exact) / LAG_S, rtol=0, atol=1e-6 * steady / LAG_S + 1e-9
    )


def test_63_percent_is_reached_after_one_time_constant() -> None:
    log = step(first_order(), 0.5, time_constant=0.02)

    steady = SLOPE * 0.5 + IDLE
    assert abs(log["block.speed"][20] / steady - (1 - np.exp(-1))) < 1e-7  # RK4 at T / 20


@pytest.mark.parametrize("damping", [0.3, 0.7, 0.999])
def test_step_response_is_the_second_order_solution(damping: float) -> None:
    log = step(second_order(), 0.6, damping_ratio=damping)

    t, wn = log.time(), 60.0
    wd = wn * np.sqrt(1 - damping**2)
    steady = SLOPE * 0.6 + IDLE
    decay = np.exp(-damping * wn * t)
    exact = steady * (1 - decay * (np.cos(wd * t) + damping * wn / wd * np.sin(wd * t)))
    slope = steady * decay * wn**2 / wd * np.sin(wd * t)
    np.testing.assert_allclose(log["block.speed"], exact, rtol=0, atol=1e-6 * steady)  # RK4: (wn h)^4 / 120 = 1e-7
    np.testing.assert_allclose(log["block.acceleration"], slope, rtol=0, atol=1e-6 * steady * wn)


def test_overshoot_of_the_second_order_motor_is_the_textbook_figure() -> None:
    log = step(second_order(), 1.0, damping_ratio=0.5)

    steady = SLOPE + IDLE
    assert (
        abs(log["block.speed"].max() / steady - 1 - np.exp(-np.pi * 0.5 / np.sqrt(0.75))) < 2e-4
    )  # 1 ms grid at the top


@pytest.mark.parametrize("model", [first_order, second_order])
def test_motor_stands_still_inside_the_dead_zone(model: functools._lru_cache_wrapper[CompiledModel]) -> None:
    inside, outside = (step(model(), throttle, dead_zone=0.05) for throttle in (0.0499, 0.0501))

    assert np.all(inside["block.speed"] == 0.0)
    assert abs(outside["block.speed"][-1] / (SLOPE * 0.0501 + IDLE) - 1) < 1e-3  # after 9 decay times


def test_negative_intercept_never_turns_the_motor_backwards() -> None:
    log = step(first_order(), 0.05, slope=1148.0, idle_speed=-141.4)

    assert np.all(log["block.speed"] == 0.0)  # 1148 * 0.05 - 141.4 is below zero


def test_throttle_is_held_between_zero_and_one() -> None:
    for throttle, limit in ((1.7, 1.0), (-0.4, 0.0)):
        np.testing.assert_array_equal(
            step(first_order(), throttle)["block.speed"], step(first_order(), limit)["block.speed"]
        )


def test_initial_speed_is_kept_at_its_own_throttle() -> None:
    log = step(first_order(), 0.3, omega_0=SLOPE * 0.3 + IDLE)

    np.testing.assert_allclose(log["block.speed"], SLOPE * 0.3 + IDLE, rtol=1e-15)


@pytest.mark.parametrize("model", [first_order, second_order])
def test_a_stuck_motor_keeps_its_speed_and_does_not_accelerate(
    model: functools._lru_cache_wrapper[CompiledModel],
) -> None:
    log = step(model(), 0.9, omega_0=123.0, stuck=1.0)

    np.testing.assert_array_equal(log["block.speed"], 123.0)
    np.testing.assert_array_equal(log["block.acceleration"], 0.0)


def test_the_quadratic_part_of_the_curve_adds_to_the_linear_one() -> None:
    log = step(first_order(), 0.5, 0.8, quadratic=-100.0)
    steady = SLOPE * 0.5 * 0.8 + IDLE - 100.0 * (0.5 * 0.8) ** 2
    np.testing.assert_allclose(log["block.speed"][-1], steady, rtol=1e-9)
