"""Supply of the flight controller: it stops when the battery sags, and needs time to restart."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State


class PowerRail(Block):
    """The supply of the flight controller: below the drop-out voltage the controller is off, then it restarts. Sampled.

    Effects of a dead controller: no pulses to the speed controllers, which then stop their motors, and a program that
    restarts (`Diagram.reset`). Whether it takes off by itself again after that is `air_restart`. Not modelled: sensors
    and receivers on the same rail (they go on), capacitors, a part of the program that survives.
    """

    source = "closed form of this project"

    voltage = In(unit="V", doc="at the battery's terminals")
    alive = Out(unit="1", doc="1 while the flight controller runs")
    may_arm = Out(unit="1", doc="1 until the first brown-out; then whether the motors may start again")
    starting = State(unit="s", init=0.0, doc="time until it runs again")
    fell = State(unit="1", init=0.0, doc="1 after the first brown-out")
    drop_out = Param(unit="V", low=0.0, tunable=True, doc="least voltage at which the regulator holds its output")
    restart_time = Param(unit="s", default=2.0, low=0.0, tunable=True, doc="boot time, from the return of the voltage")
    air_restart = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1: after a restart it arms by itself and flies on"
    )

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        low = u.voltage < p.drop_out
        return {
            "starting": ca.if_else(low, p.restart_time, ca.fmax(x.starting - self.sample_s, 0)),
            "fell": ca.if_else(low, 1, x.fell),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        return {
            "alive": ca.if_else(ca.logic_or(u.voltage < p.drop_out, x.starting > 0), 0, 1),
            "may_arm": ca.if_else(x.fell > 0.5, p.air_restart, 1),
        }
