"""Capacitor at a speed controller: the voltage there follows the battery's with a short lag."""

from __future__ import annotations

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State


class SupplyCapacitor(Block):
    """Smooths the supply voltage by a first-order lag.
    It stands for wires and capacitor between a battery and a motor that has no lag itself.

    Valid where only the mean over many switching periods counts. Not modelled: ripple, inductance of the wires, the
    charge that flows back.
    """

    source = "closed form of this project"

    voltage_ratio = In(unit="1", doc="of the battery, over that of a full one")
    supplied = Out(unit="1", doc="the same at the speed controller")
    held = State(unit="1", init=1.0, doc="on the capacitor")
    time_constant = Param(unit="s", default=0.02, low=1e-4, doc="of wires and capacitor")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"held": (u.voltage_ratio - x.held) / p.time_constant}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"supplied": x.held}
