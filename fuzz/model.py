"""A small model, compiled: a first-order lag and a counter."""

from __future__ import annotations

import functools

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import In, Out, Param, State


class Lag(Block):
    """First-order lag."""

    source = "closed form of this project"
    u = In(unit="1", default=1.0, doc="input")
    y = Out(unit="1", doc="output")
    x = State(unit="1", init="x_0", doc="state")
    x_0 = Param(unit="1", default=0.0, doc="initial value")
    time_constant = Param(unit="s", default=0.1, low=1e-6, tunable=True, doc="time constant")
    gains = Param(unit="1", shape=2, default=[1.0, 0.0], tunable=True, doc="factor and offset")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        """Towards the input."""
        return {"x": (p.gains[0] * u.u + p.gains[1] - x.x) / p.time_constant}

    def output(self, x: View, u: View, p: View) -> Values:
        """The state."""
        return {"y": x.x}


@functools.cache
def lag_model() -> CompiledModel:
    """The model, compiled once for each process."""
    diagram = Diagram("lag")
    diagram.add("lag", Lag())
    return compile_model(diagram, step_s=0.01)
