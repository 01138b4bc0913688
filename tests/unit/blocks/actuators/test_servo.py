"""Servos against the closed form of a rate-limited first-order lag."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.actuators.servo import Servo
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

EXAMPLES = settings(deadline=None, max_examples=15, derandomize=True)
TRAVEL, LAG_S, FASTEST = 0.5, 0.05, 6.0


@functools.cache
def model() -> CompiledModel:
    return alone(Servo(), travel=TRAVEL, time_constant=LAG_S, max_rate=FASTEST)


def moved(command: float, until_s: float = 0.4, **params: float) -> Log:
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})
    state.set_input("command", command)
    return run(state, until_s, log_s=1e-3)


def closed_form(time_s: np.ndarray, wanted: float) -> np.ndarray:
    """At the fastest rate until the lag alone is slower, then exponential."""
    edge = FASTEST * LAG_S  # distance at which the rate limit ends
    ramp_s = max(abs(wanted) - edge, 0.0) / FASTEST
    ramp = math.copysign(FASTEST, wanted) * time_s
    rest = math.copysign(min(abs(wanted), edge), wanted)
    return np.where(time_s < ramp_s, ramp, wanted - rest * np.exp(-(time_s - ramp_s) / LAG_S))


@given(command=st.floats(-1, 1), health=st.floats(0, 1))
@EXAMPLES
def test_step_is_a_ramp_and_then_the_first_order_solution(command: float, health: float) -> None:
    log = moved(command, health=health)

    wanted = health * TRAVEL * command
    # rad: the step in which the ramp ends is integrated across a corner, at most 1e-3 of 6 rad/s over 50 steps
    np.testing.assert_allclose(log["block.deflection"].ravel(), closed_form(log.time(), wanted), rtol=0, atol=2e-5)


def test_small_step_has_no_corner_and_is_exact() -> None:
    log = moved(0.5)

    expected = 0.25 * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(
        log["block.deflection"].ravel(), expected, rtol=0, atol=2e-9
    )  # RK4: (h/T)^5 / 120 a step
    np.testing.assert_allclose(log["block.rate"].ravel(), (0.25 - expected) / LAG_S, rtol=0, atol=4e-8)


@pytest.mark.parametrize("command", [-3.0, 2.0])
def test_range_is_kept_whatever_is_commanded(command: float) -> None:
    log = moved(command, until_s=1.5)

    assert np.abs(log["block.deflection"]).max() <= TRAVEL
    assert abs(log["block.deflection"].ravel()[-1] - math.copysign(TRAVEL, command)) < 1e-9
    assert np.abs(log["block.rate"]).max() <= FASTEST


def test_stuck_keeps_the_deflection_and_override_drives_it_hard_over() -> None:
    state = start(model(), lanes=2)
    state.set_input("command", 0.4)
    state.add_event(ParamEvent(param="block.stuck", value=1.0, start_s=0.05), 0)
    state.add_event(ParamEvent(param="block.override", value=1.0, start_s=0.05), 1)
    state.add_event(ParamEvent(param="block.override_command", value=-1.0, start_s=0.05), 1)
    log = run(state, 0.05, log_s=1e-3)
    before = log.lane("block.deflection", 0).ravel()[-1]
    state.set_input("command", 1.0)
    log = run(state, 1.5, log_s=1e-3)

    stuck = log.lane("block.deflection", 0).ravel()
    assert np.ptp(stuck[5:]) == 0.0 and 0.2 * (1 - math.exp(-1)) == pytest.approx(stuck[-1], abs=2e-3)
    assert abs(stuck[-1] - before) < 0.2 * 1e-3 / LAG_S  # no more than one step away
    assert abs(log.lane("block.deflection", 1).ravel()[-1] + TRAVEL) < 1e-9


def test_no_health_leaves_the_surface_at_neutral() -> None:
    log = moved(1.0, until_s=1.0, health=0.0, angle_0=0.2)

    np.testing.assert_allclose(log["block.deflection"].ravel(), 0.2 * np.exp(-log.time() / LAG_S), rtol=0, atol=2e-9)
