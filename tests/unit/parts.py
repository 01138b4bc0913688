"""Small blocks whose exact solution is known, for tests of the engine."""

from __future__ import annotations

import casadi as ca

from ironbird import Block, Clock, In, Noise, Out, Param, State
from ironbird.model.block import Rates, Values, View


class Lag(Block):
    """First-order lag."""

    source = "closed form of this project"
    u = In(unit="1", doc="input")
    y = Out(unit="1", doc="output")
    x = State(unit="1", init="x_0", doc="state")
    x_0 = Param(unit="1", default=0.0, doc="initial value")
    time_constant = Param(unit="s", default=0.1, low=1e-6, tunable=True, doc="time constant")
    gain = Param(unit="1", default=1.0, tunable=True, doc="gain")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"x": (p.gain * u.u - x.x) / p.time_constant}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": x.x}


class Gain(Block):
    """Feedthrough."""

    source = "closed form of this project"
    u = In(unit="1", doc="input")
    y = Out(unit="1", doc="output")
    k = Param(unit="1", default=1.0, tunable=True, doc="factor")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": p.k * u.u}


class Counter(Block):
    """Counts its samples and holds its input."""

    source = "closed form of this project"
    u = In(unit="1", default=0.0, doc="input")
    count = Out(unit="1", doc="samples so far")
    seen = Out(unit="1", doc="input at the sample")
    n = State(unit="1", init=0.0, doc="samples so far")

    def update(self, x: View, u: View, p: View) -> Values:
        return {"n": x.n + 1}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"count": x.n, "seen": u.u}


class White(Block):
    """Normal and uniform noise as outputs."""

    source = "closed form of this project"
    normal = Noise(shape=3, doc="normal")
    even = Noise(kind="uniform", doc="uniform")
    n = Out(unit="1", shape=3, doc="normal")
    e = Out(unit="1", doc="uniform")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"n": u.normal, "e": u.even}


class Exploder(Block):
    """Leaves all bounds in finite time: x' = rate x^2."""

    source = "closed form of this project"
    y = Out(unit="1", doc="state")
    x = State(unit="1", init=1.0, doc="state")
    rate = Param(unit="1/s", default=1.0, tunable=True, doc="speed of the blow-up")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"x": p.rate * x.x * x.x}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": x.x}


class Ramp(Block):
    """Time and what functions make of it."""

    source = "closed form of this project"
    t = Clock(doc="time")
    y = Out(unit="s", doc="time")
    late = Out(unit="1", doc="1 after half a second")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": u.t, "late": ca.if_else(u.t >= 0.5, 1, 0)}
