"""Propeller by momentum: throttle and airspeed in, thrust out."""

from __future__ import annotations

from ironbird.blocks.forces.drive_fault_ports import DriveFaultPorts
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Param


class SimplePropeller(DriveFaultPorts, Block):
    """A propeller by momentum: the air leaves at a speed of k times the throttle, the first model of [BeardMcLain].
    T = 1/2 rho S C ((k d)^2 - V^2) along the axis.

    `health` scales the speed of the outflow, `blade_health` the thrust. A closed throttle brakes. Valid for forward
    flight. Not modelled: torque on the airframe (zero in the book's figures), motor, lag, current.
    """

    source = "[BeardMcLain] Sec. 4.3"

    area = Param(unit="m^2", low=1e-6, doc="S_prop: swept by the propeller")
    outflow = Param(unit="m/s", low=0.1, doc="k_motor: speed of the outflow at full throttle")
    coefficient = Param(unit="1", default=1.0, low=0.0, tunable=True, doc="C_prop")

    def output(self, x: View, u: View, p: View) -> Values:
        throttle = self.throttle_in_force(u, p)
        leaving = p.outflow * throttle * p.health
        scale = 0.5 * u.density * p.area * p.coefficient * p.blade_health
        thrust = scale * (leaving * leaving - u.airspeed * u.airspeed)  # [BeardMcLain] Sec. 4.3.1
        return self.along_axis(p, thrust)
