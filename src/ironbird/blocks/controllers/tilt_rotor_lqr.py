"""Tilt-rotor control: one gain from all deviations to thrusts and tilt torques."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip, limit_length, wrap_angle

STATES = 20  # deviations: position, roll pitch yaw, tilts; their rates; integrals of position and yaw
INPUTS = 4  # thrust right and left, tilt torque right and left
STEEPEST_COSINE = 0.1  # cosine of pitch at which roll and yaw rates can still be distinguished


class TiltRotorLqr(Block):
    """Controls a tilt-rotor by linear-quadratic state feedback with integrals of position and yaw, [ProVANT] Sec. 3.
    Sampled. u = u_trim - K xi, integrals by the trapezoid rule.

    xi is (position, roll, pitch, yaw, tilts, velocity, rates of the angles, tilt rates, integrals) minus their
    set-points, in the project's frames. As an addition to the published law, horizontal deviations are turned into the
    vehicle's heading, so that it flies at any yaw; deviations and integrals are limited; and while disarmed or standing
    only the tilts are held. Not modelled: the effect of saturated actuators on the integrals, feed-forward of
    acceleration.
    """

    source = "[ProVANT] Sec. 3; [ProVANTSim] vant2_lqr"
    role = "controller"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    tilt = In(unit="rad", shape=2, default=0.0, doc="right, left")
    tilt_rate = In(unit="rad/s", shape=2, default=0.0, doc="its derivative")
    position_set = In(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = In(unit="m/s", shape=3, frame="N", default=0.0, doc="how to move")
    yaw_set = In(unit="rad", default=0.0, doc="heading")
    armed = In(unit="1", default=1.0, doc="0 holds the motors still")
    grounded = In(unit="1", default=0.0, doc="1 when a landing vehicle stands")

    throttle_1 = Out(unit="1", doc="command of the right motor")
    throttle_2 = Out(unit="1", doc="command of the left motor")
    torque_1 = Out(unit="1", doc="command of the right tilt actuator")
    torque_2 = Out(unit="1", doc="command of the left tilt actuator")
    wanted = Out(unit="1", shape=INPUTS, doc="thrust right and left (N), tilt torque right and left (N m)")

    integral = State(unit="m", shape=4, init=0.0, doc="of position (N, m s) and yaw (rad s)")
    last = State(unit="m", shape=4, init=0.0, doc="deviations at the sample before")

    gain = Param(unit="1", shape=(INPUTS, STATES), doc="K, in SI units")
    trim_input = Param(unit="1", shape=INPUTS, doc="thrusts (N) and tilt torques (N m) in hover")
    trim_angle = Param(unit="rad", shape=4, default=0.0, doc="roll, pitch, tilt right and left in hover")
    max_error = Param(unit="m", default=3.0, low=0.1, tunable=True, doc="longest deviation that counts")
    max_yaw_error = Param(unit="rad", default=0.5, low=0.01, tunable=True, doc="greatest deviation that counts")
    max_integral = Param(unit="m", default=5.0, low=0.0, tunable=True, doc="limit of each integral (m s, rad s)")
    max_thrust = Param(unit="N", low=0.1, doc="of one rotor")
    max_torque = Param(unit="N*m", low=1e-4, doc="of one tilt actuator at full command")
    thrust_coefficient = Param(unit="N*s^2", low=1e-12, doc="of a rotor: thrust over speed squared")
    motor_slope = Param(unit="rad/s", low=1.0, doc="speed from zero to full throttle")
    motor_idle = Param(unit="rad/s", doc="speed at zero throttle")

    def __init__(self, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)

    def _law(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Commanded inputs, deviations of position and yaw, integrals."""
        assert self.sample_s is not None
        R = u.R_NB
        roll, pitch, yaw = ca.atan2(R[2, 1], R[2, 2]), -ca.asin(clip(R[2, 0], -1, 1)), ca.atan2(R[1, 0], R[0, 0])
        away = u.p_NB_N - u.position_set
        away = ca.vertcat(limit_length(away[:2], p.max_error), clip(away[2], -p.max_error, p.max_error))
        turn = clip(wrap_angle(yaw - u.yaw_set), -p.max_yaw_error, p.max_yaw_error)
        deviation = ca.vertcat(away, turn)
        flying = ca.logic_and(u.armed > 0.5, u.grounded < 0.5)
        # Trapezoid rule, [ProVANTSim] vant2_lqr
        integral = x.integral + 0.5 * self.sample_s * (deviation + x.last)
        integral = ca.if_else(flying, clip(integral, -p.max_integral, p.max_integral), ca.SX.zeros(4))

        c, s = ca.cos(yaw), ca.sin(yaw)

        def ahead(v_N: ca.SX) -> ca.SX:
            """Components along and across the heading, and down."""
            return ca.vertcat(c * v_N[0] + s * v_N[1], c * v_N[1] - s * v_N[0], v_N[2])

        across = u.w_NB_B[1] * ca.sin(roll) + u.w_NB_B[2] * ca.cos(roll)
        yaw_rate = across / ca.fmax(ca.cos(pitch), STEEPEST_COSINE)
        rates = ca.vertcat(
            u.w_NB_B[0] + ca.sin(pitch) * yaw_rate, u.w_NB_B[1] * ca.cos(roll) - u.w_NB_B[2] * ca.sin(roll), yaw_rate
        )
        body = ca.vertcat(ahead(away), roll - p.trim_angle[0], pitch - p.trim_angle[1], turn)
        motion = ca.vertcat(ahead(u.v_NB_N - u.velocity_set), rates)
        body = ca.if_else(flying, body, ca.SX.zeros(6))
        motion = ca.if_else(flying, motion, ca.SX.zeros(6))
        sums = ca.vertcat(ahead(integral[:3]), integral[3])
        xi = ca.vertcat(body, u.tilt - p.trim_angle[2:], motion, u.tilt_rate, sums)
        wanted = p.trim_input - p.gain @ xi
        thrust = ca.if_else(flying, clip(wanted[:2], 0, p.max_thrust), ca.SX.zeros(2))
        torque = clip(wanted[2:], -p.max_torque, p.max_torque)
        return ca.vertcat(thrust, torque), ca.if_else(flying, deviation, ca.SX.zeros(4)), integral

    def update(self, x: View, u: View, p: View) -> Values:
        _, deviation, integral = self._law(x, u, p)
        return {"integral": integral, "last": deviation}

    def output(self, x: View, u: View, p: View) -> Values:
        wanted, _, _ = self._law(x, u, p)
        throttle = (ca.sqrt(wanted[:2] / p.thrust_coefficient) - p.motor_idle) / p.motor_slope
        throttle = ca.if_else(wanted[:2] > 0, clip(throttle, 0, 1), ca.SX.zeros(2))
        return {
            "throttle_1": throttle[0],
            "throttle_2": throttle[1],
            "torque_1": wanted[2] / p.max_torque,
            "torque_2": wanted[3] / p.max_torque,
            "wanted": wanted,
        }
