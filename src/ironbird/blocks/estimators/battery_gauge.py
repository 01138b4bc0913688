"""Battery gauge: how much is left, from measured charge and voltage."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

EMPTY_CELL_V = 3.2  # under load
SAFE_CELL_V = 3.5


class BatteryGauge(Block):
    """The smaller of what is left by counted charge and by the voltage of a cell under load. Sampled.

    Voltage counts from 3.5 V (no doubt) down to 3.2 V (empty), low-passed, so that a weak battery is seen although its
    charge is not used up. Not modelled: temperature, learning of capacity.
    """

    source = "thresholds of this project, as autopilots set them"
    role = "estimator"

    voltage = In(unit="V", doc="measured")
    charge = In(unit="A*s", doc="measured, since the start")
    remaining = Out(unit="1", doc="share of the charge left")
    filtered = State(unit="V", init=-1.0, doc="voltage, low-passed; negative before the first sample")
    capacity = Param(unit="A*s", low=1.0, doc="assumed")
    cells = Param(unit="1", low=1.0, doc="in series")
    time_constant = Param(unit="s", default=2.0, low=0.05, tunable=True, doc="of the low-pass")

    def _voltage(self, x: View, u: View, p: View) -> ca.SX:
        assert self.sample_s is not None
        share = self.sample_s / (p.time_constant + self.sample_s)
        return ca.if_else(x.filtered < 0, u.voltage, x.filtered + share * (u.voltage - x.filtered))

    def update(self, x: View, u: View, p: View) -> Values:
        return {"filtered": self._voltage(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        by_charge = clip(1 - u.charge / p.capacity, 0, 1)
        cell = self._voltage(x, u, p) / p.cells
        by_voltage = clip((cell - EMPTY_CELL_V) / (SAFE_CELL_V - EMPTY_CELL_V), 0, 1)
        return {"remaining": ca.fmin(by_charge, by_voltage)}
