"""The torque of a joint's actuator against the closed form of a first-order lag, and its faults."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.actuators.torque_servo import TorqueServo
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

LARGEST, LAG_S = 2.0, 0.02


@functools.cache
def model() -> CompiledModel:
    return alone(TorqueServo(), max_torque=LARGEST, time_constant=LAG_S)


def driven(command: float, *events: ParamEvent, **params: float) -> Log:
    state = start(model(), params={f"block.{name}": value for name, value in params.items()})
    state.set_input("command", command)
    for event in events:
        state.add_event(event)
    return run(state, 0.2, log_s=1e-3)


def test_block_passes_the_public_check() -> None:
    check_block(TorqueServo(), params={"max_torque": LARGEST, "time_constant": LAG_S})


@pytest.mark.parametrize(
    ("command", "params", "final"),
    [
        (0.3, {}, 0.6), (-3.0, {}, -2.0), (0.5, {"health": 0.4}, 0.4), (0.5, {"health": 0.0}, 0.0),
        (0.5, {"override": 1.0, "override_command": -1.0}, -2.0),
    ],
)  # fmt: skip
def test_step_is_the_first_order_solution(command: float, params: dict[str, float], final: float) -> None:
    log = driven(command, **params)

    exact = final * (1 - np.exp(-log.time() / LAG_S))
    np.testing.assert_allclose(log["block.torque"], exact, rtol=0, atol=1e-6)  # RK4 at T/20


def test_stuck_actuator_keeps_its_torque() -> None:
    log = driven(0.5, ParamEvent("block.stuck", 1.0, start_s=0.02))

    at = log["block.torque"][20]
    np.testing.assert_allclose(log["block.torque"][20:], at, rtol=0, atol=1e-12)
    assert 0.6 < at < 0.7  # 63 % of 1 N m
