"""The differential rover against its closed-form circles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.bodies.differential_rover import DifferentialRover
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

RADIUS, BASE, HEIGHT = 0.033, 0.16, 0.05


@functools.cache
def model() -> CompiledModel:
    return alone(
        DifferentialRover(), mass=1.0, wheel_radius=RADIUS, wheel_separation=BASE, cg_height=HEIGHT,
        p_0=[0.0, 0.0, -HEIGHT],
    )  # fmt: skip


def roll(left: float, right: float, seconds: float = 10.0, params: dict[str, float] | None = None, **more: Any) -> Log:
    state = start(model(), params={f"block.{name}": value for name, value in (params or {}).items()})
    for name, value in {"left_speed": left, "right_speed": right, "gravity_N": [0.0, 0, 9.81], **more}.items():
        state.set_input(name, value)
    return run(state, seconds, log_s=0.01)


@pytest.mark.parametrize(("left", "right"), [(5.0, 3.0), (2.0, 4.0), (3.0, -3.0), (4.0, 4.0), (-2.0, -3.0)])
def test_wheel_speeds_give_speed_turn_and_circle(left: float, right: float) -> None:
    log = roll(left, right)

    v, w = RADIUS * (right + left) / 2, RADIUS * (left - right) / BASE  # z down: the left wheel turns it right
    t = log.time()
    np.testing.assert_allclose(log["block.v_NB_B"][:, 0], v, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(log["block.w_NB_B"][:, 2], w, rtol=1e-12, atol=1e-15)
    turned = np.where(w, w, 1e-12) * t
    north = v * t if w == 0 else v / w * np.sin(turned)
    east = 0 * t if w == 0 else v / w * (1 - np.cos(turned))
    np.testing.assert_allclose(log["block.p_NB_N"][:, 0], north, atol=1e-10)
    np.testing.assert_allclose(log["block.p_NB_N"][:, 1], east, atol=1e-10)


def test_equal_wheels_turn_on_the_spot_and_a_small_wheel_pulls_aside() -> None:
    assert np.abs(roll(3.0, -3.0)["block.p_NB_N"][:, :2]).max() < 1e-12
    flat = roll(4.0, 4.0, params={"left_radius": 0.9})
    assert flat["block.euler"][-1, 2] < -0.05  # the slower left side turns it left
    np.testing.assert_allclose(flat["block.w_NB_B"][:, 2], -0.1 * RADIUS * 4.0 / BASE, rtol=1e-12)


def test_accelerometer_feels_the_turn_and_gravity() -> None:
    log = roll(5.0, 3.0, 0.01, left_acceleration=2.0, right_acceleration=2.0)

    v, w = RADIUS * 4.0, RADIUS * 2.0 / BASE
    np.testing.assert_allclose(log["block.specific_force_B"][0], [RADIUS * 2.0, v * w, -9.81], rtol=1e-12)


def test_it_follows_a_slope() -> None:
    log = roll(4.0, 4.0, slope=[0.1, 0.0])

    p = log["block.p_NB_N"]
    np.testing.assert_allclose(p[:, 2], 0.1 * p[:, 0] - HEIGHT, atol=1e-9)
    travelled = np.linalg.norm(p[-1] - p[0])
    assert abs(travelled / (RADIUS * 4.0 * log.time()[-1]) - 1) < 1e-9  # the way is measured on the ground
    assert abs(log["block.euler"][-1, 1] + np.arctan(0.1)) < 1e-12  # nose down
