"""Propeller of a fixed wing by its static thrust and a loss with airspeed."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.smooth import clip

LEAST_N = 0.05  # static thrust below which the loss is that of this thrust: the law divides by its root


class RatedPropeller(Block):
    """T_0 = C_T rho n^2 D^4 at rest and T = T_0 - K V / sqrt(T_0) at an airspeed V, [RflyModel] 7.2.1.1.

    The speed is proportional to throttle and voltage. `health` scales the speed, `blade_health` the thrust. Valid for
    forward flight at some throttle: with the throttle closed the law has no limit, so that the loss is held at that of
    a small thrust. Not modelled: torque on the airframe (none is printed), lag, current.
    """

    source = "[RflyModel] 7.2.1.1"

    throttle = In(unit="1", low=0.0, high=1.0, doc="command")
    airspeed = In(unit="m/s", low=0.0, high=50.0, doc="speed through the air")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="its size; negative when the propeller brakes")

    diameter = Param(unit="m", low=1e-3, doc="D")
    thrust_number = Param(unit="1", low=1e-4, tunable=True, doc="C_T")
    top_speed = Param(unit="rad/s", low=1.0, doc="at full throttle")
    loss = Param(unit="1", default=0.0, low=0.0, tunable=True, doc="K in N^1.5 s/m; 0 is the thrust at rest")
    position = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="direction of thrust, unit length")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the command"
    )
    override_throttle = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 is a runaway controller")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the speed left")
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the thrust left; 0 is no blade"
    )

    def output(self, x: View, u: View, p: View) -> Values:
        throttle = clip(ca.if_else(p.override > 0.5, p.override_throttle, u.throttle), 0, 1)
        tip = p.health * p.top_speed * throttle / (2 * ca.pi) * p.diameter  # n D
        at_rest = p.thrust_number * u.density * tip * tip * p.diameter * p.diameter
        lost = p.loss * u.airspeed / ca.sqrt(ca.fmax(at_rest, LEAST_N))  # [RflyModel] 7.2.1.1
        thrust = p.blade_health * (at_rest - lost)
        return {
            "force_B": p.axis * thrust,
            "moment_B": ca.cross(p.position, p.axis) * thrust,
            "thrust": thrust,
        }
