"""A main body and two rotors on joints that tilt them: three rigid bodies, eight degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.model.block import Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.rotation import inverse_3x3

ARMS = (0, 1)  # right, left


@dataclass(frozen=True)
class _Part:
    """One of the three bodies in B: mass properties, motion per tilt rate, and velocity-dependent acceleration."""

    mass: ca.SX
    inertia: ca.SX  # about its own centre of mass
    centre: ca.SX  # centre of mass, from B's origin
    turn: ca.SX  # angular velocity of the body per unit of each tilt rate, 3 x 2
    swing: ca.SX  # velocity of its centre of mass per unit of each tilt rate, 3 x 2
    drift: ca.SX  # acceleration of its centre of mass due to the present velocities
    gyration: ca.SX  # moment that its rotation requires at the present velocities


def _skew(a: ca.SX) -> ca.SX:
    return ca.vertcat(ca.horzcat(0, -a[2], a[1]), ca.horzcat(a[2], 0, -a[0]), ca.horzcat(-a[1], a[0], 0))


def _about_x(angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c))


def _about_y(angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))


class TiltRotorBody(RigidBodyPorts):
    """The multi-body model of an aircraft with two tilting rotors, [ProVANT] Sec. 3 and Fig.
    9.

    The published model is Lagrange's with Euler angles in axes forward-left-up; this one has the same eight degrees of
    freedom in the project's frames, with a quaternion and the velocities (v, w, tilt rates) in body axes, so that no
    attitude is singular: M(tilt) dnu/dt = forces, by Kane's method [Kane1985]. A tilt frame is B turned about x by
    `cant` and then about its own y by minus the tilt: a positive tilt leans the thrust forward. Thrust acts along the
    tilt frame's -z at that arm's centre of mass, with `drag_arm` times it as moment about the same axis. Velocity,
    forces and moments are those of B's origin, which is not the centre of mass. `stop_...` is a spring and damper
    beyond the range of a joint. Valid while the curvature and rotation of the earth do not matter. Not modelled:
    angular momentum of the spinning rotors inside the tilting arms (what is connected to `momentum_B` turns with B
    alone), dry friction and play of the joints, bending.
    """

    source = "[ProVANT] Sec. 3; [Kane1985]"

    thrust_1 = In(unit="N", default=0.0, doc="of the right rotor")
    thrust_2 = In(unit="N", default=0.0, doc="of the left rotor")
    tilt_torque_1 = In(unit="N*m", default=0.0, doc="of the right tilt actuator between body and arm; positive forward")
    tilt_torque_2 = In(unit="N*m", default=0.0, doc="of the left one")
    tilt = Out(unit="rad", shape=2, doc="right, left; positive leans the thrust forward")
    tilt_rate = Out(unit="rad/s", shape=2, doc="its derivative")

    p = State(unit="m", shape=3, frame="N", init="p_0", doc="position")
    v = State(unit="m/s", shape=3, frame="B", init="v_0", doc="velocity in body axes")
    q = State(unit="1", shape=4, init="q_0", doc="attitude")
    w = State(unit="rad/s", shape=3, frame="B", init="w_0", doc="angular velocity")
    a = State(unit="rad", shape=2, init="tilt_0", doc="tilt, right and left")
    b = State(unit="rad/s", shape=2, init="tilt_rate_0", doc="tilt rates")

    mass = Param(unit="kg", low=1e-6, tunable=True, doc="of the main body")
    inertia = Param(unit="kg*m^2", shape=(3, 3), tunable=True, doc="of the main body about its centre of mass, in B")
    centre = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="centre of mass of the main body")
    arm_mass = Param(unit="kg", shape=2, low=1e-6, tunable=True, doc="of what tilts, right and left")
    arm_inertia_1 = Param(unit="kg*m^2", shape=(3, 3), doc="of the right arm about its centre of mass, in its frame")
    arm_inertia_2 = Param(unit="kg*m^2", shape=(3, 3), doc="of the left one")
    arm_centre = Param(
        unit="m", shape=(3, 2), default=0.0, tunable=True, doc="centres of mass from the joints, in the tilt frames"
    )
    joint = Param(unit="m", shape=(3, 2), frame="B", doc="a point of each joint's axis, one per column")
    cant = Param(unit="rad", shape=2, default=0.0, low=-1.5, high=1.5, doc="turn of the tilt frames about x")
    drag_arm = Param(unit="m", shape=2, default=0.0, doc="moment about the thrust axis per newton of thrust")
    joint_damping = Param(unit="N*m*s", shape=2, default=0.0, low=0.0, tunable=True, doc="torque per tilt rate")
    tilt_range = Param(unit="rad", default=1.5, low=0.0, tunable=True, doc="of each joint, to either side")
    stop_stiffness = Param(unit="N*m/rad", default=0.0, low=0.0, doc="of the stops at the end of the range")
    stop_damping = Param(unit="N*m*s", default=0.0, low=0.0, doc="of the stops")
    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="initial position")
    v_0 = Param(unit="m/s", shape=3, frame="B", default=0.0, doc="initial velocity in body axes")
    q_0 = Param(unit="1", shape=4, default=(1.0, 0.0, 0.0, 0.0), doc="initial attitude")
    w_0 = Param(unit="rad/s", shape=3, frame="B", default=0.0, doc="initial angular velocity")
    tilt_0 = Param(unit="rad", shape=2, default=0.0, doc="initial tilt")
    tilt_rate_0 = Param(unit="rad/s", shape=2, default=0.0, doc="initial tilt rates")

    def _frame(self, x: View, p: View, arm: int) -> ca.SX:
        """Rotation matrix from a tilt frame to B, [ProVANT] Fig. 9."""
        return _about_x(p.cant[arm]) @ _about_y(-x.a[arm])

    def _parts(self, x: View, p: View) -> list[_Part]:
        """The three bodies: main body, right arm, left arm."""
        none = ca.SX.zeros(3, 2)
        whirl = ca.cross(x.w, x.v)
        parts = [
            _Part(
                p.mass, p.inertia, p.centre, none, none, whirl + ca.cross(x.w, ca.cross(x.w, p.centre)),
                ca.cross(x.w, p.inertia @ x.w),
            )
        ]  # fmt: skip
        for arm in ARMS:
            R = self._frame(x, p, arm)
            axis, rate = -R[:, 1], x.b[arm]
            reach = R @ p.arm_centre[:, arm]
            centre = p.joint[:, arm] + reach
            inertia = R @ (p.arm_inertia_1, p.arm_inertia_2)[arm] @ R.T
            sweep = ca.cross(axis, reach)
            turn, swing = ca.SX.zeros(3, 2), ca.SX.zeros(3, 2)
            turn[:, arm], swing[:, arm] = axis, sweep
            # d/dt of v + w x r + a' j x s, and of w + a' j, where s turns with the arm and j with the body
            drift = whirl + ca.cross(x.w, ca.cross(x.w, centre)) + 2 * rate * ca.cross(x.w, sweep)
            drift = drift + rate * rate * ca.cross(axis, sweep)
            spin = x.w + rate * axis
            gyration = inertia @ (rate * ca.cross(x.w, axis)) + ca.cross(spin, inertia @ spin)
            parts.append(_Part(p.arm_mass[arm], inertia, centre, turn, swing, drift, gyration))
        return parts

    def _joint_torque(self, x: View, u: View, p: View) -> ca.SX:
        """Torque (N m) of actuators, damping and stops on the two joints."""
        beyond = x.a - ca.fmin(ca.fmax(x.a, -p.tilt_range), p.tilt_range)
        damping = p.joint_damping + ca.if_else(ca.fabs(beyond) > 0, p.stop_damping, 0)
        return ca.vertcat(u.tilt_torque_1, u.tilt_torque_2) - damping * x.b - p.stop_stiffness * beyond

    def _acceleration(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Derivatives of v, w and the tilt rates."""
        parts = self._parts(x, p)
        gravity = quaternion.rotation_matrix(x.q).T @ u.gravity_N
        force = u.force_B
        moment = u.moment_B - ca.cross(x.w, u.momentum_B)
        torque = self._joint_torque(x, u, p)
        total = ca.SX(0)
        M_vw, M_ww = ca.SX.zeros(3, 3), ca.SX.zeros(3, 3)
        M_va, M_wa, M_aa = ca.SX.zeros(3, 2), ca.SX.zeros(3, 2), ca.SX.zeros(2, 2)
        for part in parts:
            # [Kane1985]: each body's forces and moments, along the partial velocities (1, -[r], swing; 0, 1, turn)
            pull = part.mass * (gravity - part.drift)
            force = force + pull
            moment = moment + ca.cross(part.centre, pull) - part.gyration
            torque = torque + part.swing.T @ pull - part.turn.T @ part.gyration
            lever = _skew(part.centre)
            total = total + part.mass
            M_vw = M_vw - part.mass * lever
            M_va = M_va + part.mass * part.swing
            M_ww = M_ww + part.inertia - part.mass * (lever @ lever)
            M_wa = M_wa + part.inertia @ part.turn + part.mass * (lever @ part.swing)
            M_aa = M_aa + part.turn.T @ part.inertia @ part.turn + part.mass * (part.swing.T @ part.swing)
        for arm, thrust in zip(ARMS, (u.thrust_1, u.thrust_2), strict=True):
            # Along the tilt frame's own z through a point of its y-z plane: no torque about the joint
            push = -thrust * self._frame(x, p, arm)[:, 2]
            force = force + push
            moment = moment + ca.cross(parts[1 + arm].centre, push) + p.drag_arm[arm] * push
            torque = torque + parts[1 + arm].swing.T @ push
        # v is eliminated first (its block of M is the mass), then the tilts, and w is left
        S_ww, S_wa = M_ww - M_vw.T @ M_vw / total, M_wa - M_vw.T @ M_va / total
        S_aa = M_aa - M_va.T @ M_va / total
        moment = moment - M_vw.T @ force / total
        torque = torque - M_va.T @ force / total
        spread = S_aa[0, 0] * S_aa[1, 1] - S_aa[0, 1] * S_aa[1, 0]
        inverse = ca.vertcat(ca.horzcat(S_aa[1, 1], -S_aa[0, 1]), ca.horzcat(-S_aa[1, 0], S_aa[0, 0])) / spread
        coupling = S_wa @ inverse
        w_dot = inverse_3x3(S_ww - coupling @ S_wa.T) @ (moment - coupling @ torque)
        a_dot = inverse @ (torque - S_wa.T @ w_dot)
        return (force - M_vw @ w_dot - M_va @ a_dot) / total, w_dot, a_dot

    def derivative(self, x: View, u: View, p: View) -> Rates:
        v_dot, w_dot, b_dot = self._acceleration(x, u, p)
        return {
            "p": quaternion.rotation_matrix(x.q) @ x.v,
            "v": v_dot,
            "q": quaternion.derivative(x.q, x.w),
            "w": w_dot,
            "a": x.b,
            "b": b_dot,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        R_NB = quaternion.rotation_matrix(x.q)
        v_dot, w_dot, _ = self._acceleration(x, u, p)
        specific_force = v_dot + ca.cross(x.w, x.v) - R_NB.T @ u.gravity_N
        return {
            **self._flat_earth_outputs(x, p, specific_force, w_dot),
            "tilt": x.a,
            "tilt_rate": x.b,
        }

    def project(self, x: View, p: View) -> Values:
        return {"q": quaternion.normalized(x.q)}
