"""Rotor: speed in, thrust and moment on the body out, for any place and direction."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class Rotor(Block):
    """A rotor of a multicopter: thrust and torque by the square of its speed, and its gyroscopic moment.
    T = c_T w^2 and M = c_M w^2 + J dw/dt, [RflyModel] 7.1.1; the body feels the angular momentum as a gyroscopic
    moment.

    Coefficients hold at `reference_density` and scale with the air's. The document prints a factor 1/2 in the first row
    of its quad matrix; the sum of thrusts has none. With `tilting` a servo turns the axis about a hinge across it, as
    at the tail of a tricopter. Not modelled: the moment that turns a tilting rotor, and the effects of the air's motion
    (`RotorInAir`).
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
        axis, ratio = self._axis(u, p), p.blade_health * (u.density / p.reference_density)
        square = u.speed * u.speed
        thrust = (p.thrust_coefficient * ratio) * square  # [RflyModel] 7.1.1: T = c_T w^2
        drag = (p.torque_coefficient * ratio) * square
        return self._wrench(u, p, axis, thrust, drag, axis * thrust, ca.cross(p.position, axis) * thrust)

    def _axis(self, u: View, p: View) -> ca.SX:
        """Unit vector of the thrust in body axes."""
        return p.axis * ca.cos(u.tilt) + ca.cross(p.hinge, p.axis) * ca.sin(u.tilt) if self.tilting else p.axis

    def _wrench(self, u: View, p: View, axis: ca.SX, thrust: ca.SX, drag: ca.SX, force: ca.SX, moment: ca.SX) -> Values:
        """All outputs from the air's force and torque; `moment` is that of the force about the centre of mass."""
        reaction = p.spin * (drag + p.inertia * u.acceleration)  # M = c_M w^2 + J_RP dw/dt
        return {
            "force_B": force,
            "moment_B": moment - axis * reaction,  # a rotor turning one way pushes the body the other way
            "momentum_B": (axis * (p.spin * p.inertia)) * u.speed,
            "thrust": thrust,
            "shaft_power": drag * u.speed,
        }


class RotorInAir(Rotor):
    """A rotor whose forces depend on the motion of the air at its hub: climb, forward flight, wind, body rates.

    Thrust and torque are parabolas of the climb speed: C_T(J) and C_P(J) of a propeller's table [Brandt2011], written
    without a division by the rotor speed. Thrust grows with the flow along the disc (translational lift), drag along
    the disc is linear in rotor speed and flow [RotorPy], the disc tilts back [Mahony2012], and the blades' speed is
    that against the air, not against the body. `wake` scales the thrust: the effect of ground, vortex ring and other
    rotors from `RotorWakes`. A coefficient of 0 switches its effect off. Valid for flow along the disc up to a quarter
    of the tip speed; in descent the parabola is continued, and the loss by the vortex ring is in `wake`. With `upright`
    the axis is the body's own and `axis` is ignored: the same numbers with half of the computation. Blades flap with
    `flaps` only. Not modelled: lag of the inflow, stall of the blades, the moment that turns a tilting rotor.
    """

    source = "[RflyModel] 7.1.1; [RotorPy]; [Brandt2011]; [Mahony2012]"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity of the body's origin through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity of the body")
    wake = In(unit="1", default=1.0, doc="factor of the thrust by ground and wakes")
    inflow = Param(unit="N*s^2/m", default=0.0, tunable=True, doc="k_z: thrust lost per rotor speed and climb speed")
    climb_loss = Param(unit="N*s^2/m^2", default=0.0, tunable=True, doc="thrust lost per squared climb speed")
    translational_lift = Param(
        unit="N*s^2/m^2", default=0.0, low=0.0, tunable=True, doc="k_h: thrust per squared flow along the disc"
    )
    rotor_drag = Param(
        unit="N*s^2/m", default=0.0, low=0.0, tunable=True, doc="k_d: drag per rotor speed and flow along the disc"
    )
    flapping = Param(
        unit="N*s^2", default=0.0, low=0.0, tunable=True, doc="moment, nose up, per rotor speed and flow; with `flaps`"
    )
    torque_inflow = Param(unit="N*s^2", default=0.0, tunable=True, doc="torque lost per rotor speed and climb speed")
    torque_climb = Param(unit="N*s^2/m", default=0.0, tunable=True, doc="torque lost per squared climb speed")

    body_spin = Param(
        unit="1",
        default=1.0,
        low=0.0,
        high=1.0,
        tunable=True,
        doc="1 counts the blades' speed against the air, 0 the body",
    )

    def __init__(self, *, tilting: bool = False, upright: bool = False, flaps: bool = False) -> None:
        super().__init__(tilting=tilting)
        self.upright, self.flaps = upright, flaps

    def _axis(self, u: View, p: View) -> ca.SX:
        return ca.SX([0, 0, -1]) if self.upright else super()._axis(u, p)

    def output(self, x: View, u: View, p: View) -> Values:
        axis, ratio = self._axis(u, p), p.blade_health * (u.density / p.reference_density)
        hub = u.v_air_B + ca.cross(u.w_NB_B, p.position)  # of the hub through the air
        climb = ca.dot(hub, axis)
        along = hub - axis * climb
        turning = u.speed + (p.body_spin * p.spin) * ca.dot(u.w_NB_B, axis)  # of the blades against the air
        square, product, climb2 = turning * turning, u.speed * climb, climb * ca.fabs(climb)
        # [Brandt2011]: T = rho n^2 D^4 (C_0 + C_1 J + C_2 J^2), J = V / (n D); [RotorPy]: k_z w v_z, k_h v_xy^2
        lift = p.thrust_coefficient * square - p.inflow * product - p.climb_loss * climb2
        thrust = (ratio * u.wake) * (lift + p.translational_lift * ca.dot(along, along))
        drag = ratio * (p.torque_coefficient * square - p.torque_inflow * product - p.torque_climb * climb2)
        force = axis * thrust - along * (ratio * p.rotor_drag * u.speed)  # [RotorPy]: H = -k_d w v
        moment = ca.cross(p.position, force)
        if (
            self.flaps
        ):  # [Mahony2012]: the disc tilts back, nose up; [RotorPy] has the other sign, with a coefficient of 0
            moment = moment + ca.cross(along, axis) * (ratio * p.flapping * u.speed)
        return self._wrench(u, p, axis, thrust, drag, force, moment)
