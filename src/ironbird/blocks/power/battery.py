"""Lithium battery: voltage that falls with charge and current."""

from __future__ import annotations

from typing import Any

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

FULL_CELL_V = 4.1029  # at rest, of the curve below
LAST = 0.01  # share of the charge, assumed, over which the voltage falls to zero


class Battery(Block):
    """A lithium-polymer battery: its voltage falls with the charge drawn and with the current.
    Open-circuit curve of a cell over depth of discharge, times cells, minus the drop over a resistance.

    The curve is that of a lithium-polymer cell [Chen2006]; CopterSim's has 3.64 V at half charge. Over the last
    hundredth of the charge the voltage goes to zero. Power drawn is the rotors' shaft power over an efficiency plus a
    constant for the electronics. Sampled. Not modelled: temperature, recovery, ageing, cell spread.
    """

    source = "[Chen2006] Eq. 2; [CopterSim] 8"

    shaft_power = In(unit="W", gather=True, doc="what the propellers take")
    voltage = Out(unit="V", doc="at the terminals")
    current = Out(unit="A", doc="drawn")
    voltage_ratio = Out(unit="1", doc="voltage over that of the full battery at rest")
    remaining = Out(unit="1", doc="share of the charge that is left")
    used = State(unit="A*s", init="used_0", doc="charge taken")
    used_0 = Param(unit="A*s", default=0.0, low=0.0, doc="charge taken before the start")
    cells = Param(unit="1", low=1.0, doc="in series")
    capacity = Param(unit="A*s", low=1.0, tunable=True, doc="full charge")
    resistance = Param(unit="ohm", low=0.0, tunable=True, doc="of the whole battery and its wires")
    efficiency = Param(unit="1", low=0.05, high=1.0, doc="of motors and speed controllers together")
    electronics_power = Param(unit="W", low=0.0, tunable=True, doc="all but the motors")
    voltage_factor = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="0 is a cut-off supply")

    def _state(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        depth = clip(x.used / p.capacity, 0, 1)
        left = 1 - depth
        cell = cell_voltage(left) * ca.fmin(left / LAST, 1)  # an empty cell holds no voltage under load
        rest = p.cells * p.voltage_factor * ca.fmax(cell, 0)
        wanted = u.shaft_power / p.efficiency + p.electronics_power
        # U = U0 - R I and P = U I: the smaller root of R I^2 - U0 I + P = 0; a battery gives U0^2 / (4 R) at most
        power = ca.fmin(wanted, rest * rest / ca.fmax(4 * p.resistance, 1e-9))
        root = ca.sqrt(ca.fmax(rest * rest - 4 * p.resistance * power, 0))
        current = ca.if_else(rest > 0.5, 2 * power / ca.fmax(rest + root, 0.5), 0)
        return ca.if_else(rest > 0.5, rest - p.resistance * current, 0), current, depth

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        _, current, _ = self._state(x, u, p)
        return {"used": ca.fmin(x.used + self.sample_s * current, p.capacity)}

    def output(self, x: View, u: View, p: View) -> Values:
        voltage, current, depth = self._state(x, u, p)
        return {
            "voltage": voltage,
            "current": current,
            "voltage_ratio": voltage / (p.cells * FULL_CELL_V),
            "remaining": 1 - depth,
        }


def cell_voltage(left: Any) -> Any:
    """Voltage (V) of one cell at rest over the remaining share of its charge, [Chen2006] Eq. 2; numbers or symbols."""
    return ((0.3201 * left - 0.1178) * left + 0.2156) * left + 3.685 - 1.031 * ca.exp(-35 * left)
