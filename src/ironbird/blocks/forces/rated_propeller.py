"""Propeller of a fixed wing by its static thrust and a loss with airspeed."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.forces.drive_fault_ports import DriveFaultPorts
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Param

LEAST_N = 0.05  # static thrust below which the loss is that of this thrust: the law divides by its root


class RatedPropeller(DriveFaultPorts, Block):
    """A propeller by its rated coefficients: thrust at rest, less a loss that grows with airspeed, [RflyModel] 7.2.1.1.
    T_0 = C_T rho n^2 D^4 at rest and T = T_0 - K V / sqrt(T_0) at an airspeed V.

    The speed is proportional to throttle and voltage. `health` scales the speed, `blade_health` the thrust. Valid for
    forward flight at some throttle: with the throttle closed the law has no limit, so that the loss is held at that of
    a small thrust. Not modelled: torque on the airframe (none is printed), lag, current.
    """

    source = "[RflyModel] 7.2.1.1"

    diameter = Param(unit="m", low=1e-3, doc="D")
    thrust_number = Param(unit="1", low=1e-4, tunable=True, doc="C_T")
    top_speed = Param(unit="rad/s", low=1.0, doc="at full throttle")
    loss = Param(unit="1", default=0.0, low=0.0, tunable=True, doc="K in N^1.5 s/m; 0 is the thrust at rest")

    def output(self, x: View, u: View, p: View) -> Values:
        throttle = self.throttle_in_force(u, p)
        tip = p.health * p.top_speed * throttle / (2 * ca.pi) * p.diameter  # n D
        at_rest = p.thrust_number * u.density * tip * tip * p.diameter * p.diameter
        lost = p.loss * u.airspeed / ca.sqrt(ca.fmax(at_rest, LEAST_N))  # [RflyModel] 7.2.1.1
        thrust = p.blade_health * (at_rest - lost)
        return self.along_axis(p, thrust)
