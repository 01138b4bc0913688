"""Rotor that pulls an aircraft: speed and motion through the air in, force and moment out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.smooth import clip


class Puller(Block):
    """A propeller in Gazebo's motor model: thrust falls with the airspeed along its axis.
    T = c w^2 (1 - |V| / V_0) with V along the axis, torque a share of c w^2, drag across it.

    Names and form as [GazeboPlane] src/gazebo_motor_model.cpp. Not modelled: the plug-in's rolling moment (1e-6 N m per
    rad/s and m/s), gyroscopic moment, density, flow from behind.
    """

    source = "[GazeboPlane] src/gazebo_motor_model.cpp"

    speed = In(unit="rad/s", doc="rotor speed")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust and drag of the disc")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="along the axis")

    motor_constant = Param(unit="N*s^2", low=0.0, tunable=True, doc="c: thrust over squared speed at rest")
    moment_constant = Param(unit="m", low=0.0, tunable=True, doc="torque over thrust at rest")
    drag_coefficient = Param(unit="N*s^2/m", low=0.0, default=0.0, tunable=True, doc="force across, per speed and flow")
    no_thrust_speed = Param(unit="m/s", low=1.0, default=25.0, doc="V_0: airspeed at which the thrust is gone")
    position = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="direction of thrust, unit length")
    spin = Param(unit="1", default=1.0, low=-1.0, high=1.0, doc="+1 turns right-handed about the axis of thrust")
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of thrust and torque left; 0 is no blade"
    )

    def output(self, x: View, u: View, p: View) -> Values:
        at_rest = p.blade_health * p.motor_constant * u.speed * u.speed
        along = ca.dot(u.v_air_B, p.axis)
        thrust = at_rest * clip(1 - ca.fabs(along) / p.no_thrust_speed, 0, 1)
        across = u.v_air_B - p.axis * along
        force = p.axis * thrust - across * (p.blade_health * p.drag_coefficient * ca.fabs(u.speed))
        return {
            "force_B": force,
            "moment_B": ca.cross(p.position, force) - p.axis * (p.spin * p.moment_constant * at_rest),
            "thrust": thrust,
        }
