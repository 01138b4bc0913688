"""Fault at a port: an equation of the user replaces any signal of a diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Out, Param

_OWN = [ca.SX.sym(name) for name in ("value", "severity", "time")]
HEALTHY = ca.Function("law", _OWN, _OWN[:1])  # the neutral law


class PortFault(Block):
    """Replaces a signal by the value of a law while a fault's severity is above zero; else the signal passes unchanged.

    Each entry of a vector has its law: a function of its healthy value, its severity, the time and other signals. While
    the severity of an entry is 0 its value is the input bit for bit. A law may jump, and its values are not limited.
    Not modelled: memory; a law with memory needs a block whose output is one of the signals.
    """

    role = "transform"
    source = "[Dai] Eq. 1: an expression that changes while the simulation runs"

    time = Clock(doc="time since the start of the flight")

    def __init__(
        self,
        laws: Sequence[ca.Function] = (HEALTHY,),
        signals: Mapping[str, In] = MappingProxyType({}),
        *,
        unit: str = "1",
        frame: str | None = None,
        sample_s: float | None = None,
        offset_s: float = 0.0,
    ) -> None:
        """`laws`: one for each entry, of its value and severity, the time, then all entries of all `signals`."""
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        self.laws, self.others, size = tuple(laws), tuple(signals), len(laws)
        for name, signal in signals.items():
            self.declare(name, signal)
        self.declare("value_in", In(unit=unit, shape=size, frame=frame, doc="the signal without the fault"))
        self.declare("value", Out(unit=unit, shape=size, frame=frame, doc="the signal with the fault"))
        severity = Param(
            unit="1", shape=size, default=0.0, low=0.0, high=1.0, tunable=True, doc="0 is healthy; the law knows it"
        )
        self.declare("severity", severity)

    def output(self, x: View, u: View, p: View) -> Values:
        others = [entry for name in self.others for entry in ca.vertsplit(ca.vec(u[name]))]
        found = []
        for i, law in enumerate(self.laws):
            value = law(u.value_in[i], p.severity[i], u.time, *others)
            found.append(ca.if_else(p.severity[i] > 0, value, u.value_in[i]))
        return {"value": ca.vertcat(*found)}
