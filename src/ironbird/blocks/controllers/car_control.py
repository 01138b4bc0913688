"""Controllers of ground vehicles on the path of a navigator: steered wheels, and two driven wheels."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.command_ports import ManualPorts
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

ROLLS_MPS = 1.0  # m/s below which the direction of motion is taken from the heading
STOPS_MPS = 0.02  # m/s; a commanded speed below this means stand still


class PathPorts(ManualPorts):
    """Ports shared by both controllers: the state of the vehicle and the path."""

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_B = In(unit="m/s", shape=3, frame="B", doc="velocity in body axes")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    position_set = In(unit="m", shape=3, frame="N", doc="nearest point of the path")
    tangent_set = In(unit="1", shape=2, frame="N", doc="direction of the path there")
    curvature_set = In(unit="1/m", doc="of the path there, positive to the right")
    speed_set = In(unit="m/s", doc="how fast to drive")
    acceleration_set = In(unit="m/s^2", default=0.0, doc="how its speed changes")
    cross_track = Out(unit="m", doc="distance of the path, positive to the right of the vehicle")
    course_error = Out(unit="rad", doc="from the direction of motion to that of the path")

    def _errors(self, u: View, sideslip: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Cross-track error (m) and course error (rad)."""
        tangent = u.tangent_set
        gap = u.position_set[:2] - u.p_NB_N[:2]
        across = tangent[0] * gap[1] - tangent[1] * gap[0]
        ahead = u.R_NB[:2, 0]
        heading = ca.atan2(ahead[0] * tangent[1] - ahead[1] * tangent[0], ca.dot(ahead, tangent))
        return across, heading - sideslip


class CarControl(PathPorts, Block):
    """Steers a car along a path and holds its speed. Sampled.
    Stanley steering with the curvature of the path fed forward, and a PI controller of the speed.

    delta = course error + atan(k e / (k_s + V)) + atan(L c) - d (r - c V), after [Hoffmann2007]; e is taken at the
    centre of mass with the direction of its motion, so that a steady turn has no error. The angle is limited so that
    the lateral acceleration at the present speed stays below `max_lateral`. Not modelled: limits of the tyres on a
    slippery road, reversing.
    """

    source = "[Hoffmann2007]"
    role = "controller"

    steer = Out(unit="1", doc="share of the full angle, positive to the right")
    drive = Out(unit="1", doc="share of the full drive force")
    brake = Out(unit="1", doc="share of the full brake force")
    sum = State(unit="m/s^2", init=0.0, doc="integral of the speed error")
    wheelbase = Param(unit="m", low=0.01, doc="between the axles")
    max_angle = Param(unit="rad", low=0.01, doc="full steering angle")
    max_drive = Param(unit="m/s^2", low=0.01, doc="acceleration at full drive")
    max_brake = Param(unit="m/s^2", low=0.01, doc="deceleration at full brake")
    max_lateral = Param(unit="m/s^2", low=0.1, tunable=True, doc="lateral acceleration that steering may ask for")
    cross_gain = Param(unit="1/s", low=0.0, tunable=True, doc="k: steering per cross-track error")
    soft_speed = Param(unit="m/s", low=0.1, default=1.0, tunable=True, doc="k_s: softens the gain at low speed")
    yaw_damping = Param(unit="s", low=0.0, tunable=True, doc="d: steering against excess yaw rate")
    speed_gain = Param(unit="1/s", low=0.0, tunable=True, doc="acceleration per speed error")
    speed_integral = Param(unit="1/s", low=0.0, tunable=True, doc="its integral part: rate per acceleration")
    max_integral = Param(unit="m/s^2", low=0.0, default=1.5, doc="limit of the integral part")
    hold_brake = Param(unit="1", low=0.0, high=1.0, default=0.3, tunable=True, doc="brake when asked to stand")

    def _asked(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        error = u.speed_set - u.v_NB_B[0]
        return p.speed_gain * error + u.acceleration_set + x.sum, error

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        asked, error = self._asked(x, u, p)
        held = ca.logic_or(asked > p.max_drive, asked < -p.max_brake)  # no integration at the limits
        rate = ca.if_else(held, 0, p.speed_integral * p.speed_gain * error)
        total = clip(x.sum + rate * self.sample_s, -p.max_integral, p.max_integral)
        return {"sum": ca.if_else(u.speed_set < STOPS_MPS, 0, total)}

    def output(self, x: View, u: View, p: View) -> Values:
        speed = u.v_NB_B[0]
        across, course = self._errors(u, ca.atan(u.v_NB_B[1] / ca.fmax(speed, ROLLS_MPS)))
        delta = (
            course
            + ca.atan(p.cross_gain * across / (p.soft_speed + ca.fabs(speed)))
            + ca.atan(p.wheelbase * u.curvature_set)
            - p.yaw_damping * (u.w_NB_B[2] - u.curvature_set * speed)
        )
        most = ca.fmin(ca.atan(p.wheelbase * p.max_lateral / ca.fmax(speed * speed, 1e-2)), p.max_angle)
        asked, _ = self._asked(x, u, p)
        stand = u.speed_set < STOPS_MPS
        drive = ca.if_else(stand, 0, clip(asked / p.max_drive, 0, 1))
        brake = ca.if_else(stand, p.hold_brake, clip(-asked / p.max_brake, 0, 1))
        by_hand = u.manual > 0.5
        return {
            "steer": ca.if_else(by_hand, u.manual_turn, clip(delta, -most, most) / p.max_angle),
            "drive": ca.if_else(by_hand, clip(u.manual_push, 0, 1), drive),
            "brake": ca.if_else(by_hand, clip(-u.manual_push, 0, 1), brake),
            "cross_track": across,
            "course_error": course,
        }


class RoverControl(PathPorts, Block):
    """Computes the wheel speeds that keep a rover with differential drive on its path. Sampled.
    Feed-forward of the path, and feedback of course error and distance across the path.

    Yaw rate = c V + k_course course + V k_cross e; forward speed falls with the cosine of the course error, so that a
    rover with another heading turns on the spot. Wheels that would be too fast are slowed down together. Linear
    feedback of this project. Not modelled: slip, battery.
    """

    source = "feedback of this project; wheel speeds: [TurtleBot3] kinematics"
    role = "controller"

    left = Out(unit="1", doc="share of the full wheel speed")
    right = Out(unit="1", doc="share of the full wheel speed")
    wheel_radius = Param(unit="m", low=1e-3, doc="of both wheels")
    wheel_separation = Param(unit="m", low=1e-3, doc="between the wheels")
    max_wheel_speed = Param(unit="rad/s", low=0.1, doc="full speed of a wheel")
    course_gain = Param(unit="1/s", low=0.0, tunable=True, doc="yaw rate per course error")
    cross_gain = Param(unit="1/m", low=0.0, tunable=True, doc="course per cross-track error")
    max_turn = Param(unit="rad/s", low=0.01, tunable=True, doc="largest yaw rate")

    def output(self, x: View, u: View, p: View) -> Values:
        across, course = self._errors(u, ca.SX(0))
        aim = course + ca.atan(p.cross_gain * across)
        speed = u.speed_set * ca.fmax(ca.cos(aim), 0)
        stand = u.speed_set < STOPS_MPS / 10
        turn = clip(u.curvature_set * speed + p.course_gain * aim, -p.max_turn, p.max_turn)
        turn = ca.if_else(stand, 0, turn)
        left = (speed + turn * p.wheel_separation / 2) / p.wheel_radius
        right = (speed - turn * p.wheel_separation / 2) / p.wheel_radius
        scale = 1 / ca.fmax(ca.fmax(ca.fabs(left), ca.fabs(right)), p.max_wheel_speed)
        by_hand = u.manual > 0.5
        return {
            "left": ca.if_else(by_hand, clip(u.manual_push + u.manual_turn, -1, 1), left * scale),
            "right": ca.if_else(by_hand, clip(u.manual_push - u.manual_turn, -1, 1), right * scale),
            "cross_track": across,
            "course_error": course,
        }
