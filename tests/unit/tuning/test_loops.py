"""Loops as exact linear models: against closed forms, against the kernel, and margins that are true in flight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from ironbird.errors import ModelError, UnknownNameError
from ironbird.runtime.state import RunState
from ironbird.runtime.step import advance, run
from ironbird.tuning.loops import Loop, answers, exponential, hover_loop, loop_at, margins_of, steady_loop
from ironbird.tuning.steady import HOVER_S, fly_straight, hovering, launched
from ironbird.vehicles import places as at

W = np.geomspace(0.01, 1000, 40_000)


@pytest.fixture(scope="module")
def loop() -> Loop:
    return hover_loop("quad_f450")


@pytest.fixture(scope="module")
def wing() -> RunState:
    """Straight and level; its elevons share aileron and elevator."""
    state = launched("zagi")
    fly_straight(state)
    return state


@pytest.fixture(scope="module")
def wing_loop(wing: RunState) -> Loop:
    return loop_at(wing)


def test_the_exponential_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    for scale in (0.01, 1.0, 30.0):
        M = scale * rng.normal(size=(12, 12))
        assert np.allclose(exponential(M), expm(M), rtol=1e-9, atol=1e-9 * np.abs(expm(M)).max())


def test_answers_are_those_of_solving_each() -> None:
    rng = np.random.default_rng(2)
    A, b, c = 0.3 * rng.normal(size=(9, 9)), rng.normal(size=9), rng.normal(size=9)
    A[5:, :5], A[:5, 5:] = 0.0, 0.0  # two parts that know nothing of each other
    b[5:] = 0.0
    z = np.exp(1j * np.linspace(0.01, 3.0, 7))
    expected = [c @ np.linalg.solve(one * np.eye(9) - A, b) for one in z]
    assert np.allclose(answers(A, b, c, z), expected)


def test_margins_of_three_equal_lags_are_the_closed_form() -> None:
    # K / (1 + s)^3: -180 degrees at sqrt(3) rad/s with K / 8; |L| = 1 at sqrt(K^(2/3) - 1)
    K = 4.0
    found = margins_of(W, K / (1 + 1j * W) ** 3, True)
    crossover = math.sqrt(K ** (2 / 3) - 1)
    phase = math.pi - 3 * math.atan(crossover)
    assert found.crossover_radps == pytest.approx(crossover, rel=1e-4)
    assert found.phase_deg == pytest.approx(math.degrees(phase), abs=0.01)
    assert found.gain_up_dB == pytest.approx(20 * math.log10(8 / K), abs=0.01)
    assert math.isinf(found.gain_down_dB)
    assert found.delay_s == pytest.approx(phase / crossover, rel=1e-3)


def test_a_loop_that_must_not_fall_has_a_margin_downwards() -> None:
    # K (1 + s)^2 / s^3 is stable above K = 1/2: -180 degrees at 1 rad/s with |L| = 2 K
    K = 4.0
    found = margins_of(W, K * (1 + 1j * W) ** 2 / (1j * W) ** 3, True)
    assert math.isinf(found.gain_up_dB)
    assert found.gain_down_dB == pytest.approx(20 * math.log10(2 * K), abs=0.01)


def test_the_linear_loop_moves_as_the_kernel_does() -> None:
    state = hovering("quad_f450")
    run(state, HOVER_S, log=[at.BODY.position], threads=1)
    loop, small = loop_at(state), 1e-4
    J, P, _ = loop._maps()
    place = {int(entry): number for number, entry in enumerate(loop._kept)}
    row = state.model.flat.x.start["body.w"]  # of roll
    usual, pushed = state.branch(), state.branch()
    pushed.x[0, row, 0] += small
    linear = np.zeros(len(J))
    linear[place[row]] = small
    for _ in range(50):  # 0.2 s
        linear = P @ (J @ linear)
        advance(usual, 4)
        advance(pushed, 4)
    moved = (pushed.x - usual.x)[0, :, 0]
    expected = np.array([linear[place[i]] if i in place else 0.0 for i in range(len(moved))])
    assert np.abs(moved - expected).max() < 1e-3 * np.abs(moved).max()


@pytest.mark.parametrize(("part", "stays"), [(0.85, True), (1.2, False)])
def test_the_gain_margin_is_true_in_flight(loop: Loop, part: float, stays: bool) -> None:
    # The assumed inertia multiplies the roll moment, and so the gain of the loop
    factor = part * 10 ** (loop.broken("roll").margins.gain_up_dB / 20)
    inertia = loop.point[at.CONTROL("inertia")] * [factor, 1.0, 1.0]
    assert bool(np.abs(loop.eigenvalues({at.CONTROL("inertia"): inertia.tolist()})).max() < 1 + 1e-6) is stays
    state = hovering("quad_f450")
    state.set_param(at.CONTROL("inertia"), inertia)
    run(state, HOVER_S, log=[at.BODY.position], threads=1)
    turning = abs(float(state.get("body.w")[0])) if state.stop_of() is None else math.inf
    assert (turning < 1e-3) is stays


def test_what_cannot_be_looked_at_is_said(loop: Loop) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown axis 'rol'.*did you mean 'roll'"):
        loop.broken("rol")
    with pytest.raises(ModelError, match="takes no position set-point in hover"):
        steady_loop("car_escort")
    with pytest.raises(ModelError, match="does not hover"):
        hover_loop("quad_f450", {"control.rate_gain": [0.2, 0.2, 0.2]})


def test_an_actuator_that_hovering_does_not_use_has_no_loop() -> None:
    vtol = hover_loop("vtol_standard")
    assert vtol.closed_axes() == [f"rotor/{n}" for n in range(1, 5)]
    with pytest.raises(ModelError, match="there is no loop to break"):
        vtol.broken("surface/rudder")


@pytest.mark.slow
def test_the_linear_loop_of_a_wing_moves_as_the_kernel_does(wing: RunState, wing_loop: Loop) -> None:
    state, loop, small = wing, wing_loop, 1e-5
    J, P, _ = loop._maps()
    place = {int(entry): number for number, entry in enumerate(loop._kept)}
    ticks = round(loop.period_s / state.model.flat.step_s)
    for axis in (0, 1):  # roll, pitch
        row = state.model.flat.x.start["body.w"] + axis
        usual, pushed = state.branch(), state.branch()
        pushed.x[0, row, 0] += small
        linear = np.zeros(len(J))
        linear[place[row]] = small
        for _ in range(25):  # 0.1 s; the navigator, which is not in the model, holds its set-points
            linear = P @ (J @ linear)
            advance(usual, ticks)
            advance(pushed, ticks)
        moved = (pushed.x - usual.x)[0, :, 0]
        expected = np.array([linear[place[i]] if i in place else 0.0 for i in range(len(moved))])
        turned = slice(state.model.flat.x.start["body.w"], state.model.flat.x.start["body.w"] + 3)
        assert np.abs(moved[turned] - expected[turned]).max() < 5e-3 * np.abs(moved[turned]).max()
    assert set(loop.closed_axes()) == {"aileron", "elevator", "throttle"}


@pytest.mark.parametrize(("part", "stays"), [(0.8, True), (1.25, False)])
def test_the_gain_margin_of_a_wing_is_true_in_flight(wing: RunState, wing_loop: Loop, part: float, stays: bool) -> None:
    # Bank error, its integral and the roll rate go to the aileron by these two gains alone
    state, loop = wing.branch(), wing_loop
    factor = part * 10 ** (loop.broken("aileron").margins.gain_up_dB / 20)
    gains = {
        at.CONTROL(name): float(factor * loop.point[at.CONTROL(name)][0]) for name in ("roll_gain", "roll_damping")
    }
    assert bool(np.abs(loop.eigenvalues(gains)[0]) < 1 + 1e-6) is stays
    for path, value in gains.items():
        state.set_param(path, value)
    state.x[0, state.model.flat.x.start["body.w"], 0] += 1e-3
    run(state, state.time_s + 20.0, log=[at.BODY.position], threads=1)
    turning = abs(float(state.get("body.w")[0])) if state.stop_of() is None else math.inf
    assert (turning < 1e-3) is stays
