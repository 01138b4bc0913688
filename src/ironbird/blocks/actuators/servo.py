"""Servo of a control surface: command in, deflection out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip


class Servo(Block):
    """A servo that moves a control surface with a first-order lag and limits of rate and range.
    It is the actuator of [Dai] Eq. 7 for a surface.

    A command of -1 to 1 means -travel to travel. `health` scales the commanded deflection: 0 leaves the surface at
    neutral. `stuck` keeps it where it is, `override` drives it to `override_command` (hard-over). Not modelled: dead
    band, play, hinge moment, load-dependent speed.
    """

    source = "[Dai] Eq. 7"

    command = In(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    deflection = Out(unit="rad", doc="of the surface")
    rate = Out(unit="rad/s", doc="its derivative")

    angle = State(unit="rad", init="angle_0", doc="of the surface")

    travel = Param(unit="rad", low=1e-3, high=1.6, doc="deflection at full command")
    time_constant = Param(unit="s", low=1e-4, tunable=True, doc="63 % rise time of a small step")
    max_rate = Param(unit="rad/s", low=1e-3, tunable=True, doc="fastest turn")
    angle_0 = Param(unit="rad", default=0.0, doc="initial deflection")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_command, not the command"
    )
    override_command = Param(unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="1 or -1 is a hard-over")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the deflection as it is")
    health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the deflection left; 0 stays at neutral"
    )

    def _rate(self, x: View, u: View, p: View) -> ca.SX:
        command = clip(ca.if_else(p.override > 0.5, p.override_command, u.command), -1, 1)
        wanted = p.health * p.travel * command
        rate = clip((wanted - x.angle) / p.time_constant, -p.max_rate, p.max_rate)  # [Dai] Eq. 7: 1/(T s + 1)
        return ca.if_else(p.stuck > 0.5, 0, rate)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"angle": self._rate(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"deflection": x.angle, "rate": self._rate(x, u, p)}
