"""Steering actuator: command in, angle of the front wheels out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip


class Steering(Block):
    """First-order lag towards `command * max_angle` with limits of rate and range.

    `health` scales the angle that is reached, `stuck` keeps the angle, `override` steers by `override_angle`. Not
    modelled: forces of the tyres on the steering, play, elasticity, different angles of the two wheels (Ackermann).
    """

    source = "[CommonRoad] steering constraints; [Dai] Eq. 7"

    command = In(unit="1", low=-1.0, high=1.0, doc="share of the full angle, positive to the right")
    angle = Out(unit="rad", doc="of the wheels, positive to the right")
    rate = Out(unit="rad/s", doc="its derivative")
    delta = State(unit="rad", init="angle_0", doc="angle of the wheels")
    time_constant = Param(unit="s", low=1e-2, tunable=True, doc="63 % rise time of a small step")
    max_angle = Param(unit="rad", low=0.01, high=1.5, doc="range to either side")
    max_rate = Param(unit="rad/s", low=0.01, tunable=True, doc="fastest change of the angle")
    angle_0 = Param(unit="rad", default=0.0, doc="initial angle")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the angle left; 0 is dead")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the angle as it is")
    override = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 steers by override_angle")
    override_angle = Param(unit="rad", default=0.0, low=-1.5, high=1.5, tunable=True, doc="of a runaway actuator")

    def _rate(self, x: View, u: View, p: View) -> ca.SX:
        asked = p.health * p.max_angle * clip(u.command, -1, 1)
        target = ca.if_else(p.override > 0.5, clip(p.override_angle, -p.max_angle, p.max_angle), asked)
        rate = clip((target - x.delta) / p.time_constant, -p.max_rate, p.max_rate)
        return ca.if_else(p.stuck > 0.5, 0, rate)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"delta": self._rate(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"angle": x.delta, "rate": self._rate(x, u, p)}
