"""Rotor: speed in, thrust and moment on the body out, for any place and direction."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class Rotor(Block):
    """T = c_T w^2 and M = c_M w^2 + J dw/dt, [RflyModel] 7.1.1, and the angular momentum
    that the body feels as a gyroscopic moment.

    Coefficients hold at `reference_density` and scale with the air's. The document prints a factor 1/2 in the first
    row of its quad matrix; the sum of thrusts has none. With `tilting` a servo turns the axis about a hinge across
    it, as at the tail of a tricopter. Not modelled: the moment that turns a tilting rotor, inflow, blade flapping,
    ground effect, interference between rotors.
    """

    source = "[RflyModel] 7.1.1; [Dai] Eq. 9"

    speed = In(unit="rad/s", doc="rotor speed")
    acceleration = In(unit="rad/s^2", default=0.0, doc="its derivative")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    momentum_B = Out(unit="N*m*s", shape=3, frame="B", doc="angular momentum of the spinning rotor")
    thrust = Out(unit="N", doc="its size")
    shaft_power = Out(unit="W", doc="power that the propeller takes from the motor")

    position = Param(unit="m", shape=3, frame="B", tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(0.0, 0.0, -1.0), doc="direction of thrust, unit length")
    spin = Param(unit="1", low=-1.0, high=1.0, doc="+1 counter-clockwise seen from above (against the thrust)")
    thrust_coefficient = Param(unit="N*s^2", low=0.0, tunable=True, doc="c_T at the reference density")
    torque_coefficient = Param(unit="N*m*s^2", low=0.0, tunable=True, doc="c_M at the reference density")
    inertia = Param(unit="kg*m^2", low=0.0, doc="of propeller and rotor about the shaft")
    reference_density = Param(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, low=0.01, doc="of the coefficients")
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of thrust and torque left; 0 is no blade"
    )

    def __init__(self, *, tilting: bool = False) -> None:
        super().__init__()
        self.tilting = tilting
        if tilting:
            self.declare("tilt", In(unit="rad", doc="of the axis about the hinge"))
            hinge = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="unit length, across the axis")
            self.declare("hinge", hinge)

    def output(self, x: View, u: View, p: View) -> Values:
        axis = p.axis * ca.cos(u.tilt) + ca.cross(p.hinge, p.axis) * ca.sin(u.tilt) if self.tilting else p.axis
        ratio = p.blade_health * (u.density / p.reference_density)
        square = u.speed * u.speed
        thrust = (p.thrust_coefficient * ratio) * square  # [RflyModel] 7.1.1: T = c_T w^2
        drag = (p.torque_coefficient * ratio) * square
        reaction = p.spin * (drag + p.inertia * u.acceleration)  # M = c_M w^2 + J_RP dw/dt
        return {
            "force_B": axis * thrust,
            # a rotor turning one way pushes the body the other way
            "moment_B": ca.cross(p.position, axis) * thrust - axis * reaction,
            "momentum_B": (axis * (p.spin * p.inertia)) * u.speed,
            "thrust": thrust,
            "shaft_power": drag * u.speed,
        }
