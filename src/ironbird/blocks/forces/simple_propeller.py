"""Propeller by momentum: throttle and airspeed in, thrust out."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.smooth import clip


class SimplePropeller(Block):
    """T = 1/2 rho S C ((k d)^2 - V^2) along the axis, the book's first model: the air leaves at k times the throttle.

    `health` scales the speed of the outflow, `blade_health` the thrust. A closed throttle brakes. Valid for forward
    flight. Not modelled: torque on the airframe (zero in the book's figures), motor, lag, current.
    """

    source = "[BeardMcLain] Sec. 4.3"

    throttle = In(unit="1", low=0.0, high=1.0, doc="command")
    airspeed = In(unit="m/s", low=0.0, high=50.0, doc="speed through the air")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="its size; negative when the propeller brakes")

    area = Param(unit="m^2", low=1e-6, doc="S_prop: swept by the propeller")
    outflow = Param(unit="m/s", low=0.1, doc="k_motor: speed of the outflow at full throttle")
    coefficient = Param(unit="1", default=1.0, low=0.0, tunable=True, doc="C_prop")
    position = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="direction of thrust, unit length")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the command"
    )
    override_throttle = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 is a runaway controller")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the outflow's speed left")
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the thrust left; 0 is no blade"
    )

    def output(self, x: View, u: View, p: View) -> Values:
        throttle = clip(ca.if_else(p.override > 0.5, p.override_throttle, u.throttle), 0, 1)
        leaving = p.outflow * throttle * p.health
        scale = 0.5 * u.density * p.area * p.coefficient * p.blade_health
        thrust = scale * (leaving * leaving - u.airspeed * u.airspeed)  # [BeardMcLain] Sec. 4.3.1
        return {
            "force_B": p.axis * thrust,
            "moment_B": ca.cross(p.position, p.axis) * thrust,
            "thrust": thrust,
        }
