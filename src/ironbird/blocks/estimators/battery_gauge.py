"""Battery gauge: remaining charge from counted charge and voltage."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ironbird.blocks.power.battery import cell_voltage
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

# shares of the charge; above them the voltage is no measure
SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.3)
CELL_V = tuple(float(cell_voltage(share)) for share in SHARES)  # at rest


class BatteryGauge(Block):
    """Estimates the remaining charge of a battery: the smaller of the values by counted current and by cell voltage.
    Sampled.

    The drop over `resistance` is added to the measured voltage, which gives that of a battery at rest; after a low-pass
    it is looked up in the discharge curve of `Battery`, linear between points. It is used below three tenths of the
    charge only: above, the curve is so flat that a few hundredths of a volt are a tenth of the charge. So a weak
    battery, or one that was not full, is detected although its counted charge is not used up: 3.73 V a cell at rest are
    a fifth, 3.67 V a tenth. Not modelled: temperature, other chemistries, learning of capacity and resistance.
    """

    source = "[Chen2006] Eq. 2, inverted"
    role = "estimator"

    voltage = In(unit="V", doc="measured")
    current = In(unit="A", default=0.0, doc="measured")
    charge = In(unit="A*s", doc="measured, since the start")
    remaining = Out(unit="1", doc="share of the charge left")
    filtered = State(unit="V", init=-1.0, doc="voltage at rest, low-passed; negative before the first sample")
    capacity = Param(unit="A*s", low=1.0, doc="assumed")
    cells = Param(unit="1", low=1.0, doc="in series")
    resistance = Param(unit="ohm", default=0.0, low=0.0, tunable=True, doc="assumed, of the whole battery")
    time_constant = Param(unit="s", default=2.0, low=0.05, tunable=True, doc="of the low-pass")

    def _voltage(self, x: View, u: View, p: View) -> ca.SX:
        assert self.sample_s is not None
        share = self.sample_s / (p.time_constant + self.sample_s)
        rest = u.voltage + p.resistance * u.current
        return ca.if_else(x.filtered < 0, rest, x.filtered + share * (rest - x.filtered))

    def update(self, x: View, u: View, p: View) -> Values:
        return {"filtered": self._voltage(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        by_charge = clip(1 - u.charge / p.capacity, 0, 1)
        cell = self._voltage(x, u, p) / p.cells
        by_voltage = ca.SX(0)
        for i in range(len(SHARES) - 1):
            rise = clip((cell - CELL_V[i]) / (CELL_V[i + 1] - CELL_V[i]), 0, 1)
            by_voltage = by_voltage + (SHARES[i + 1] - SHARES[i]) * rise
        by_voltage = ca.if_else(cell < CELL_V[-1], by_voltage, 1)
        return {"remaining": ca.fmin(by_charge, by_voltage)}


def left_by_voltage(cell_V: float) -> float:
    """Remaining share of the charge that the gauge derives from a cell's voltage at rest."""
    return float(np.interp(cell_V, CELL_V, SHARES)) if cell_V < CELL_V[-1] else 1.0
