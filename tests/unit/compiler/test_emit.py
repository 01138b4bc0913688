"""C text: guarded parts and hoisting must not change a bit; the text is readable."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from ironbird import Block, CompiledModel, Diagram, In, Out, Param, compile_model, run, start
from ironbird.compiler import emit
from ironbird.compiler.generate import generate
from ironbird.compiler.ir import PARAM, STAGE, TICK, Graph
from ironbird.errors import CompileError
from ironbird.model.block import Values, View


def test_guarded_parts_give_the_same_bytes_as_unguarded_ones(
    f450: CompiledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emit, "GUARD_OPERATIONS", 10**9)
    plain = CompiledModel(f450.flat, "rk4", generate(f450.flat, "rk4"))
    assert "ib_any" not in plain.source.text and "ib_any" in f450.source.text
    hashes = {run(start(model, lanes=4, seed=1), 3.0, threads=1).sha256(2) for model in (f450, plain)}  # take-off
    assert len(hashes) == 1


class Nested(Block):
    """Selections on one condition within what another one guards; what they choose is used outside, too."""

    source = "closed form of this project"
    a = In(unit="1", doc="a")
    b = In(unit="1", doc="b")
    y = Out(unit="1", shape=5, doc="results")

    def output(self, x: View, u: View, p: View) -> Values:
        outer, inner = u.a > 0, u.b > 0
        costly = [ca.sin(ca.cos(ca.exp(number * u.b))) for number in range(1, 5)]
        inside = [ca.if_else(inner, value, number * u.a) for number, value in enumerate(costly, 1)]
        guarded = ca.SX(1)
        for value in inside:
            guarded = ca.exp(ca.sin(guarded * value) + u.a)
        outside = [ca.if_else(inner, value, u.b) for value in costly]
        return {"y": ca.vertcat(*outside, ca.if_else(outer, guarded, u.b))}


def test_selection_within_one_guarded_part_does_not_move_into_another() -> None:
    diagram = Diagram("d")
    part = diagram.add("part", Nested())
    diagram.export(part.a)
    diagram.export(part.b)
    model = compile_model(diagram)
    assert model.source.text.count("ib_any(v") >= 2  # both parts are guarded
    for a, b in ((0.7, 0.4), (0.7, -0.4), (-0.7, 0.4), (-0.7, -0.4)):
        state = start(model)
        state.set_input("a", a)
        state.set_input("b", b)
        ours = run(state, 1e-3, log_s=1e-3)["part.y"][0]
        theirs = np.array(model.flat.outputs(0, [], [], [], [a, b], [], [])).ravel()
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


class Everything(Block):
    """Every operation that the kernel knows."""

    source = "closed form of this project"
    a = In(unit="1", doc="a")
    b = In(unit="1", doc="b")
    k = Param(unit="1", default=0.7, doc="k")
    y = Out(unit="1", shape=40, doc="results")

    def output(self, x: View, u: View, p: View) -> Values:
        a, b, k = u.a, u.b, p.k
        small = 0.4 * ca.sin(a)
        values = [
            a + b, a - b, a * b, a / b, a / k, -a, ca.sin(a), ca.cos(a), ca.tan(a), ca.asin(small), ca.acos(small),
            ca.atan(a), ca.atan2(a, b), ca.exp(a), ca.log(b), ca.sqrt(b), b**a, b**2.5, a**3, ca.sinh(a), ca.cosh(a),
            ca.tanh(a), ca.asinh(a), ca.acosh(1 + b), ca.atanh(small), ca.floor(a), ca.ceil(a), ca.fmod(a, b),
            ca.fabs(a), ca.sign(a), ca.fmin(a, b), ca.fmax(a, b), ca.if_else(a < b, a, b), ca.logic_and(a < b, k > 0),
            ca.logic_or(a == b, ca.logic_not(a <= b)), ca.erf(a), ca.expm1(a), ca.log1p(b), ca.hypot(a, b),
            ca.copysign(b, a),
        ]  # fmt: skip
        return {"y": ca.vertcat(*values)}


def test_every_operation_agrees_with_casadi() -> None:
    diagram = Diagram("d")
    part = diagram.add("part", Everything())
    diagram.export(part.a)
    diagram.export(part.b)
    model = compile_model(diagram)
    rng = np.random.default_rng(1)
    lanes = 64
    a, b = rng.normal(size=lanes) * 2, rng.uniform(0.1, 4, size=lanes)
    state = start(model, lanes=lanes)
    for lane in range(lanes):
        state.set_input("a", a[lane], lane)
        state.set_input("b", b[lane], lane)
    ours = run(state, 1e-3, log_s=1e-3).all_lanes("part.y")[:, 0]
    for lane in range(lanes):
        theirs = np.array(model.flat.outputs(0, [], [], [], [a[lane], b[lane]], [0.7], [])).ravel()
        np.testing.assert_allclose(ours[lane], theirs, rtol=2e-14, atol=1e-300)  # both are good to a few ulp


def test_an_operation_without_a_counterpart_is_refused() -> None:
    x = ca.SX.sym("x")
    function = ca.Function("odd", [x], [ca.erfinv(x)])
    with pytest.raises(CompileError, match=r"CasADi operation \d+ in 'odd' has no counterpart"):
        Graph().import_function(function, ["x"])


def test_equal_values_are_one_node_and_know_how_often_they_change() -> None:
    graph = Graph()
    p, h, x = graph.leaf("p", 0), graph.leaf("held", 0), graph.leaf("x", 0)
    assert graph.op("mul", p, h) == graph.op("mul", h, p)
    assert [graph.level[n] for n in (graph.op("sin", p), graph.op("add", p, h), graph.op("add", h, x))] == [
        PARAM, TICK, STAGE,
    ]  # fmt: skip
    quotient = graph.nodes[graph.op("div", x, p)]
    assert quotient.op == "mul"  # by the reciprocal, which moves out of the stage


def test_the_source_names_its_signals(f450: CompiledModel) -> None:
    text = f450.source.text
    assert "/* d/dt body.p[0] */" in text and "/* rotor/1/motor.omega */" in text
    assert "/* wind/turbulence.white */" in text
