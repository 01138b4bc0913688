"""Rotors that break in a crash."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State


class CrashDamage(Block):
    """Permanently cuts the voltage of the rotors on the side of a collision: [RflyModel] 6.3 "the motors are damaged".
    Sampled.

    A rotor is on that side if it lies further towards the obstacle than the centre of mass. Not modelled: bent blades
    that still turn, damage to anything but rotors.
    """

    source = "[RflyModel] 6.3"

    voltage_ratio = In(unit="1", doc="of the battery")
    broken = In(unit="1", doc="1 from a hit on that breaks rotors")
    away_B = In(unit="1", shape=3, frame="B", doc="direction away from what was hit")

    def __init__(self, rotors: int, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.rotors = rotors
        self.declare("positions", Param(unit="m", shape=(3, rotors), frame="B", doc="of the rotors, one per column"))
        self.declare("lost", State(unit="1", shape=rotors, init=0.0, doc="1 for a broken rotor"))
        self.declare("hit", State(unit="1", init=0.0, doc="1 after the first hit that broke something"))
        for i in range(1, rotors + 1):
            self.declare(f"voltage_{i}", Out(unit="1", doc=f"voltage ratio of rotor {i}"))

    def _lost(self, x: View, u: View, p: View) -> ca.SX:
        now = ca.logic_and(u.broken > 0.5, x.hit < 0.5)
        side = p.positions.T @ u.away_B < 0
        return ca.fmax(x.lost, ca.if_else(now, ca.if_else(side, 1, 0), 0))

    def update(self, x: View, u: View, p: View) -> Values:
        return {"lost": self._lost(x, u, p), "hit": ca.if_else(u.broken > 0.5, 1, 0)}

    def output(self, x: View, u: View, p: View) -> Values:
        lost = self._lost(x, u, p)
        return {f"voltage_{i + 1}": u.voltage_ratio * (1 - lost[i]) for i in range(self.rotors)}
