"""Supply of the flight controller: it stops when the battery sags, and needs time to start again."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State


class PowerRail(Block):
    """Regulator with a drop-out voltage: below it the flight controller is dead, and for a restart after that. Sampled.

    What a dead controller means: no pulses to the speed controllers, which then stop their motors. Not modelled: the
    state of the controller after the restart (it goes on where it was), sensors on the same rail, capacitors.
    """

    source = "closed form of this project"

    voltage = In(unit="V", doc="at the battery's terminals")
    alive = Out(unit="1", doc="1 while the flight controller runs")
    starting = State(unit="s", init=0.0, doc="time until it runs again")
    drop_out = Param(unit="V", low=0.0, tunable=True, doc="least voltage at which the regulator holds its output")
    restart_time = Param(unit="s", default=2.0, low=0.0, tunable=True, doc="from the return of the voltage")

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        return {"starting": ca.if_else(u.voltage < p.drop_out, p.restart_time, ca.fmax(x.starting - self.sample_s, 0))}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"alive": ca.if_else(ca.logic_or(u.voltage < p.drop_out, x.starting > 0), 0, 1)}
