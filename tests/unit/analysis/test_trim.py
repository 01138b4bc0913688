"""Trim and linear models against closed forms and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from parts import Gain, Lag

from ironbird import CompiledModel, Diagram, compile_model, linearize, trim
from ironbird.analysis.operating_point import operating_point
from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Number, Out

THROTTLES = [f"rotor/{i}/command_fault.value" for i in range(1, 5)]
HOLD: dict[str, Number] = {"body.p": [0.0, 0.0, -10.0], "body.v": 0.0, "body.w": 0.0}
SPEEDS = {f"rotor/{i}/motor.omega": 600.0 for i in range(1, 5)}


def two_lags() -> CompiledModel:
    diagram = Diagram("chain")
    gain = diagram.add("gain", Gain(), k=3.0)
    a, b = diagram.add("a", Lag(), time_constant=0.5), diagram.add("b", Lag(), time_constant=0.25)
    diagram.connect(gain.y, a.u)
    diagram.connect(a.y, b.u)
    diagram.export(gain.u, "command")
    return compile_model(diagram)


def test_a_chain_of_lags_has_its_textbook_matrices() -> None:
    linear = linearize(two_lags(), outputs=["b.y", "gain.y"])
    np.testing.assert_allclose(linear.A, [[-2, 0], [4, -4]], rtol=1e-14)
    np.testing.assert_allclose(linear.B, [[6], [0]], rtol=1e-14)
    np.testing.assert_allclose(linear.C, [[0, 1], [0, 0]], rtol=1e-14)
    np.testing.assert_allclose(linear.D, [[0], [3]], rtol=1e-14)
    assert linear.states == ["a.x", "b.x"] and linear.inputs == ["command"]
    np.testing.assert_allclose(np.sort(linear.modes().real), [-4, -2])


def test_trim_finds_the_input_for_a_wanted_output() -> None:
    point = trim(two_lags(), inputs=["command"], require={"b.y": 6.0})
    assert point["command"][0] == pytest.approx(2.0, abs=1e-9)


class Sum(Block):
    """Three shares of one thing, one of them twice as strong."""

    source = "closed form of this project"
    y = Out(unit="1", doc="sum")
    a = In(unit="1", low=-1.0, high=1.0, doc="share")
    b = In(unit="1", low=-1.0, high=1.0, doc="share")
    c = In(unit="1", low=-1.0, high=0.2, doc="share with a narrow range")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": u.a + u.b + 2 * u.c}


def shares() -> CompiledModel:
    """Three sampled commands that add up to what a lag follows."""
    diagram = Diagram("shares")
    total, lag = diagram.add("total", Sum()), diagram.add("lag", Lag(), time_constant=0.5)
    for name in "abc":
        latch = diagram.add(f"{name}/latch", CommandLatch(sample_s=0.01))
        diagram.connect(latch.value, total[name])
        diagram.export(latch.command, name)
    diagram.connect(total.y, lag.u)
    return compile_model(diagram)


COMMANDS = [f"{name}/latch.value" for name in "abc"]


def test_the_smallest_inputs_are_found_within_the_ranges_of_their_readers() -> None:
    """min sum u^2 + 10 u^4 with a + b + 2 c = 0.3: by its Lagrange condition 2 u + 40 u^3 is a : b : c = 1 : 1 : 2."""
    model = shares()
    wanted, guess = {"lag.y": 0.3}, dict.fromkeys(COMMANDS, 0.0) | {COMMANDS[0]: 0.9}

    def slope(u: float) -> float:
        return 2 * u + 40 * u**3

    point = trim(model, inputs=COMMANDS, require=wanted, guess=guess, least=True)
    a, b, c = (float(point[path][0]) for path in COMMANDS)
    assert a + b + 2 * c == pytest.approx(0.3, abs=1e-9)
    assert a == pytest.approx(b, abs=1e-5) and slope(c) == pytest.approx(2 * slope(a), abs=1e-4)
    assert trim(model, inputs=COMMANDS, require=wanted, guess=guess)[COMMANDS[0]][0] > 0.3  # without, near the guess

    most = trim(model, inputs=COMMANDS, require={"lag.y": 2.3}, guess=guess)
    assert most[COMMANDS[2]][0] <= 0.2
    with pytest.raises(ModelError, match=r"left is 0\.0\d+, lag\.y against the required 2\.5; free more inputs"):
        trim(model, inputs=COMMANDS, require={"lag.y": 2.5})  # 1 + 1 + 2 * 0.2 at most


def test_a_held_command_stays_and_the_nearest_miss_can_be_asked_for() -> None:
    model = shares()
    point = trim(model, inputs=COMMANDS[:2], hold={COMMANDS[2]: 0.1}, require={"lag.y": 0.5})
    assert point[COMMANDS[2]][0] == 0.1
    assert sum(point[path][0] for path in COMMANDS[:2]) == pytest.approx(0.3, abs=1e-9)

    miss = trim(model, inputs=COMMANDS, require={"lag.y": 2.5}, tolerance=math.inf)
    assert [float(miss[path][0]) for path in COMMANDS] == pytest.approx([1.0, 1.0, 0.2])


def test_hover_trim_carries_the_weight(f450: CompiledModel) -> None:
    point = trim(f450, inputs=THROTTLES, hold=HOLD, guess=SPEEDS)
    gravity, density = point["gravity.gravity_N"][2], point["atmosphere.density"][0]
    speed = math.sqrt(1.4 * gravity / (4 * 9.286e-6 * density / 1.225))
    assert point["rotor/1/motor.speed"][0] == pytest.approx(speed, rel=1e-8)
    throttles = np.array([point[name][0] for name in THROTTLES])
    np.testing.assert_allclose(throttles, (speed - 162.59) / 691.33 / point["battery.voltage_ratio"][0], rtol=1e-7)
    assert np.abs(point.rates()).max() < 1e-8


def test_linear_model_of_the_quadcopter_agrees_with_finite_differences(f450: CompiledModel) -> None:
    point = trim(f450, inputs=THROTTLES, hold=HOLD, guess=SPEEDS)
    linear = linearize(f450, point, inputs=THROTTLES)
    for column in range(f450.flat.x.size):
        step = 1e-6 * max(1.0, abs(point.x[column]))
        above, below = (operating_point(f450) for _ in range(2))
        for other, sign in ((above, 1), (below, -1)):
            other.x, other.held = point.x.copy(), point.held.copy()
            other.x[column] += sign * step
        difference = (above.rates() - below.rates()) / (2 * step)
        np.testing.assert_allclose(linear.A[:, column], difference, rtol=1e-5, atol=1e-4)  # 1e-10 over a step of 1e-6


def test_a_trim_that_does_not_exist_is_an_error(f450: CompiledModel) -> None:
    with pytest.raises(
        ModelError, match=r"'quad_f450': the largest residual left is 7\.\d+, the rate of body.v\[2\]; "
    ):
        trim(f450, inputs=THROTTLES, hold=HOLD, guess=SPEEDS, params={"body.mass": 10.0})  # too heavy to hover
    with pytest.raises(UnknownNameError, match=r"unknown input 'rotor/9/command_fault.value'"):
        trim(f450, inputs=["rotor/9/command_fault.value"])


def test_without_outputs_the_states_are_looked_at_and_modes_come_slowest_first() -> None:
    linear = linearize(two_lags())

    np.testing.assert_array_equal(linear.C, np.eye(2))
    np.testing.assert_array_equal(linear.D, np.zeros((2, 1)))
    assert linear.outputs == linear.states
    np.testing.assert_allclose(linear.modes(), [-2, -4])


def test_a_trim_that_needs_more_than_a_command_can_give_does_not_exist() -> None:
    model = shares()  # a + b + 2 c is 2.4 at most

    point = trim(model, inputs=COMMANDS, require={"lag.y": 2.4}, guess=dict.fromkeys(COMMANDS, 0.0))
    np.testing.assert_allclose([point[name][0] for name in COMMANDS], [1.0, 1.0, 0.2], atol=1e-6)
    with pytest.raises(ModelError, match="no trim found"):
        trim(model, inputs=COMMANDS, require={"lag.y": 2.5}, guess=dict.fromkeys(COMMANDS, 0.0))
