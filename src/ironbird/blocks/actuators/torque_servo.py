"""Actuator of a joint that is controlled by torque: command in, torque on the joint out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip


class TorqueServo(Block):
    """A servo that drives a joint with the torque `command * max_torque`, with a first-order lag.
    It is the actuator of [Dai] Eq. 7 for a joint.

    The joint's angle belongs to the body that has it. `health` scales the commanded torque: 0 leaves the joint loose.
    `stuck` keeps the torque as it is, `override` drives with `override_command` (runaway). Not modelled: dependence on
    the speed of the joint, friction of the gear, heating.
    """

    source = "[Dai] Eq. 7; [ProVANT] Sec. 3"

    command = In(unit="1", low=-1.0, high=1.0, doc="share of the greatest torque")
    torque = Out(unit="N*m", doc="on the joint")
    t = State(unit="N*m", init=0.0, doc="torque")
    max_torque = Param(unit="N*m", low=1e-4, tunable=True, doc="at full command")
    time_constant = Param(unit="s", low=1e-4, tunable=True, doc="63 % rise time")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_command, not the command"
    )
    override_command = Param(unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="1 or -1 is a runaway")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the torque as it is")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the torque left; 0 is loose")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        command = clip(ca.if_else(p.override > 0.5, p.override_command, u.command), -1, 1)
        rate = (p.health * p.max_torque * command - x.t) / p.time_constant  # [Dai] Eq. 7: 1/(T s + 1)
        return {"t": ca.if_else(p.stuck > 0.5, 0, rate)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"torque": x.t}
