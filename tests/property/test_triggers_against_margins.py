"""A trigger fires where the margin of the same condition, read as a requirement, says that it holds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird import Block, CompiledModel, Diagram, Out, Param, ParamEvent, State, compile_model, run, start
from ironbird.compiler.generate import trigger_every
from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Derived, Names
from ironbird.conditions.trigger import compile_trigger
from ironbird.model.block import Rates, Values, View
from ironbird.requirements.robustness import robustness_over_time
from ironbird.requirements.trace import Trace

STEP_S = 1e-3
TRIGGER_EVERY = trigger_every(STEP_S)
UNTIL_S = 1.0
ROUNDING = 1e-12  # the kernel's cos, sin, acos and hypot differ from NumPy's in the last digit; values are below 100
NUMBERS = st.integers(-30, 30).map(lambda n: f"{n / 10:g}")


class Swing(Block):
    """Two swings of different length and a mode that counts up: signals with units that come and go."""

    source = "closed form of this project"
    place = Out(unit="m", shape=2, doc="two swings, one with a slow drift")
    angle = Out(unit="rad", doc="a swing about zero")
    mode = Out(unit="1", doc="0, 1, 2, ...")
    t = State(unit="s", init=0.0, doc="time")
    rate = Param(unit="1", default=1.0, tunable=True, doc="nothing depends on it")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"t": 1.0}

    def output(self, x: View, u: View, p: View) -> Values:
        place = ca.vertcat(2.5 * ca.sin(9 * x.t), 2 * ca.cos(4 * x.t) + x.t)
        return {"place": place, "angle": 2.9 * ca.sin(7 * x.t), "mode": ca.floor(4 * x.t)}


@pytest.fixture(scope="module")
def swing() -> CompiledModel:
    diagram = Diagram("swing")
    diagram.add("swing", Swing())
    return compile_model(diagram, step_s=STEP_S)


LENGTHS = st.sampled_from(
    ["swing.place[0]", "swing.place[1]", "far", "abs(swing.place[0])", "-swing.place[1]", "norm(swing.place[0], 1 m)"]
)
PLAIN = st.sampled_from(["cos(swing.angle)", "sin(swing.angle)", "swing.place[0] / 2 m", "sqrt(swing.place[1] / 1 m)"])


@st.composite
def lengths(draw: st.DrawFn) -> str:
    first, second, number = draw(LENGTHS), draw(LENGTHS), draw(NUMBERS)
    return draw(
        st.sampled_from(
            [
                first,
                f"({first} + {second})",
                f"({first} - {second} * {number})",
                f"{first} / (1 + abs({draw(PLAIN)}))",
                f"min({first}, {second}, {number} m)",
                f"max({first}, {second})",
                f"hypot({first}, {number} m)",
                f"sqrt({first} * {second})",
            ]
        )
    )


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    operator, number = draw(st.sampled_from(["<", "<=", ">", ">="])), draw(NUMBERS)
    return draw(
        st.sampled_from(
            [
                f"{draw(lengths())} {operator} {number} m",
                f"{draw(lengths())} {operator} {draw(lengths())}",
                f"{number} m < {draw(lengths())} < {draw(LENGTHS)}",
                f"{draw(PLAIN)} {operator} {number}",
                f"acos({draw(PLAIN)}) {operator} {draw(st.integers(0, 180))} deg",
                f"{draw(LENGTHS)} == {number} m within 20 cm",
                f"{draw(LENGTHS)} != {number} m within 20 cm",
                f"swing.mode {draw(st.sampled_from(['==', '!=']))} {draw(st.sampled_from(['up', '1', '3']))}",
                f"time {operator} {draw(st.integers(0, 1000))} ms",
            ]
        )
    )


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Without `truth`, which makes an infinite margin of one that is 0."""
    return st.one_of(
        inner.map(lambda f: f"not ({f})"),
        st.tuples(inner, st.sampled_from(["and", "or", "implies"]), inner).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})"),
    )


@settings(max_examples=300)
@given(text=st.recursive(comparisons(), joined, max_leaves=4), lanes=st.sampled_from([1, 3]))
def test_a_trigger_fires_at_the_first_look_at_which_the_margin_is_not_negative(
    swing: CompiledModel, text: str, lanes: int
) -> None:
    distance = Derived("m", "hypot(swing.place[0], swing.place[1])")
    names = Names.of(swing, words={"up": 2.0}, derived={"far": distance})
    state = start(swing, lanes=lanes)
    state.add_event(ParamEvent("swing.rate", 2.0, when=compile_trigger(text, names)))
    log = run(state, UNTIL_S, log_s=STEP_S)

    place = log["swing.place"]
    columns = {"swing.place[0]": place[:, 0], "swing.place[1]": place[:, 1], "far": np.hypot(place[:, 0], place[:, 1])}
    columns |= {"swing.angle": log["swing.angle"], "swing.mode": log["swing.mode"]}
    values = {name: column[None] for name, column in columns.items()}
    trace = Trace(log.time_s, values, np.array([len(log.time_s)]))
    margins = robustness_over_time(parse_formula(text, names), trace)[0, ::TRIGGER_EVERY]

    fired = {lane[0] for lane in state.fired}
    assert len(fired) == 1  # in every lane alike
    tick = fired.pop()
    looks = len(margins) if tick < 0 else (tick - 1) // TRIGGER_EVERY
    assert (margins[:looks] <= ROUNDING).all()
    assert tick < 0 or ((tick - 1) % TRIGGER_EVERY == 0 and margins[looks] >= -ROUNDING)
