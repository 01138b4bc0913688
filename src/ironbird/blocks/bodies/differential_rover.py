"""Body of a rover with two driven wheels: their speeds prescribe its motion."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.bodies.planar_car import FOLLOW_S, attitude_on_ground
from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.model.block import Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion

ROLLS_MPS = 0.01  # m/s above which rolling resistance has its full size
UNUSED = ("force_B", "moment_B", "momentum_B", "inertia")  # ports of other bodies that rolling does not need


class DifferentialRover(RigidBodyPorts):
    """The body of a two-wheeled rover that steers by different wheel speeds and rolls without slip.
    v = r (w_R + w_L) / 2 and yaw rate = r (w_L - w_R) / b, positive to the right.

    z points down here, so that the faster left wheel turns the vehicle to a greater heading; seen from above with z up
    it is the usual r (w_R - w_L) / b, [TurtleBot3]. The origin is the middle of the axle, `cg_height` above the ground.
    `left_radius` and `right_radius` scale the wheels (a flat tyre). The mass determines the wheel loads, and the torque
    on each wheel by slope and rolling resistance. Not modelled: slip, inertia, castor wheel, tipping.
    """

    source = "[TurtleBot3] kinematics"

    left_speed = In(unit="rad/s", doc="of the left wheel, positive forward")
    right_speed = In(unit="rad/s", doc="of the right wheel, positive forward")
    left_acceleration = In(unit="rad/s^2", default=0.0, doc="its derivative")
    right_acceleration = In(unit="rad/s^2", default=0.0, doc="its derivative")
    place = In(unit="m", shape=2, frame="N", default=0.0, doc="north and east where the plane touches the ground")
    ground_z = In(unit="m", default=0.0, doc="z (down) of the ground there")
    slope = In(unit="1", shape=2, default=0.0, doc="change of z per metre north and east")
    load = Out(unit="N", doc="normal force of the ground")
    wheel_torque = Out(unit="N*m", doc="that each wheel needs against the slope and rolling resistance")
    p = State(unit="m", shape=3, frame="N", init="p_0", doc="position")
    yaw = State(unit="rad", init="yaw_0", doc="heading")
    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="initial position")
    yaw_0 = Param(unit="rad", default=0.0, doc="initial heading")
    wheel_radius = Param(unit="m", low=1e-3, doc="of both wheels")
    wheel_separation = Param(unit="m", low=1e-3, doc="between the wheels")
    cg_height = Param(unit="m", low=0.0, doc="of the body's origin above the ground")
    rolling_resistance = Param(unit="1", default=0.0, low=0.0, tunable=True, doc="share of the load")
    left_radius = Param(unit="1", default=1.0, low=0.1, high=2.0, tunable=True, doc="factor of the left radius")
    right_radius = Param(unit="1", default=1.0, low=0.1, high=2.0, tunable=True, doc="factor of the right radius")

    def __init__(self) -> None:
        super().__init__()
        for name in UNUSED:
            del self.signals[name]

    def _motion(self, left: ca.SX, right: ca.SX, p: View) -> tuple[ca.SX, ca.SX]:
        """Forward speed (m/s) and yaw rate (rad/s) of two wheel speeds, or their derivatives."""
        along_left = p.wheel_radius * p.left_radius * left
        along_right = p.wheel_radius * p.right_radius * right
        return (along_left + along_right) / 2, (along_left - along_right) / p.wheel_separation

    def derivative(self, x: View, u: View, p: View) -> Rates:
        R_NB, euler = attitude_on_ground(x.yaw, u.slope)
        speed, turn = self._motion(u.left_speed, u.right_speed, p)
        ground = u.ground_z + ca.dot(u.slope, x.p[:2] - u.place)
        follow = (ground - p.cg_height - x.p[2]) / FOLLOW_S
        return {
            "p": R_NB[:, 0] * speed + ca.vertcat(0, 0, follow),
            "yaw": turn * ca.cos(euler[0]) / ca.cos(euler[1]),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        R_NB, euler = attitude_on_ground(x.yaw, u.slope)
        speed, turn = self._motion(u.left_speed, u.right_speed, p)
        gravity_B = R_NB.T @ u.gravity_N
        rolling = p.rolling_resistance * gravity_B[2] * speed / ca.sqrt(speed * speed + ROLLS_MPS**2)
        gain, swing = self._motion(u.left_acceleration, u.right_acceleration, p)
        return {
            "p_NB_N": x.p,
            "v_NB_N": R_NB[:, 0] * speed,
            "v_NB_B": ca.vertcat(speed, 0, 0),
            "q_NB": quaternion.from_euler(euler[0], euler[1], euler[2]),
            "R_NB": R_NB,
            "euler": euler,
            "w_NB_B": ca.vertcat(0, 0, turn),
            "specific_force_B": ca.vertcat(gain, speed * turn, 0) - R_NB.T @ u.gravity_N,
            "angular_acceleration_B": ca.vertcat(0, 0, swing),
            **self._flat_earth_place(x, p),
            "load": p.mass * gravity_B[2],
            "wheel_torque": p.mass * (rolling - gravity_B[0]) * p.wheel_radius / 2,
        }
