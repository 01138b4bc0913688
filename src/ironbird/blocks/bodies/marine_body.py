"""Rigid body in water: six degrees of freedom with added mass, or surge, sway and yaw alone."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.model.block import Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.rotation import inverse_3x3, norm


class MarineBody(RigidBodyPorts):
    """The rigid body of a boat or underwater vehicle with six degrees of freedom and added mass.
    M_RB dnu/dt + C_RB(nu) nu + M_A dnu_r/dt + C_A(nu_r) nu_r = tau, [Fossen2021] Ch. 6 and 10.

    Velocity, forces and moments are those of the body's origin, which need not be the centre of mass; weight acts at
    `centre_of_mass`. The relative velocity refers to water of constant velocity, which changes in body axes only
    because the body turns. Both Coriolis terms are Kirchhoff's: with momentum P and L they are w x P for the force and
    w x L + v x P for the moment. With `planar` the body keeps its depth and stays level, and only surge, sway and yaw
    are solved. Valid while the curvature and rotation of the earth do not matter. Not modelled: added mass off the
    diagonal or dependent on wave frequency (memory), water that accelerates, sloshing.
    """

    source = "[Fossen2021] Ch. 3, 6 and 10"

    current_N = In(unit="m/s", shape=3, frame="N", gather=True, doc="velocity of the water")
    v_water_B = Out(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    water_speed = Out(unit="m/s", doc="its size")
    depth = Out(unit="m", doc="of the body's origin below the surface, which is z = 0")

    p = State(unit="m", shape=3, frame="N", init="p_0", doc="position")
    v = State(unit="m/s", shape=3, frame="B", init="v_0", doc="velocity over ground in body axes")
    q = State(unit="1", shape=4, init="q_0", doc="attitude")
    w = State(unit="rad/s", shape=3, frame="B", init="w_0", doc="angular velocity")

    centre_of_mass = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="r_g, from the body's origin")
    added_mass = Param(unit="kg", shape=3, low=0.0, default=0.0, tunable=True, doc="surge, sway, heave")
    added_inertia = Param(unit="kg*m^2", shape=3, low=0.0, default=0.0, tunable=True, doc="roll, pitch, yaw")
    added_coupling = Param(
        unit="1",
        default=1.0,
        low=0.0,
        high=1.0,
        tunable=True,
        doc="share of the Coriolis terms of added mass that couple surge, sway and heave with pitch and yaw (Munk)",
    )
    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="initial position")
    v_0 = Param(unit="m/s", shape=3, frame="B", default=0.0, doc="initial velocity in body axes")
    q_0 = Param(unit="1", shape=4, default=(1.0, 0.0, 0.0, 0.0), doc="initial attitude")
    w_0 = Param(unit="rad/s", shape=3, frame="B", default=0.0, doc="initial angular velocity")

    def __init__(self, *, planar: bool = False) -> None:
        super().__init__()
        self.planar = planar

    def _load(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Force (N) and moment (N m) at the origin that accelerate the body and its added mass."""
        R_NB = quaternion.rotation_matrix(x.q)
        weight = p.mass * (R_NB.T @ u.gravity_N)
        momentum = p.mass * (x.v + ca.cross(x.w, p.centre_of_mass))
        spin = p.inertia @ x.w + u.momentum_B
        # Rigid body: [Fossen2021] Ch. 3, with the moment of the momentum about the origin
        force = u.force_B + weight - ca.cross(x.w, momentum)
        moment = u.moment_B + ca.cross(p.centre_of_mass, weight) - ca.cross(x.w, spin)
        moment = moment - ca.cross(p.centre_of_mass, ca.cross(x.w, momentum))
        # Added mass: [Fossen2021] Ch. 6, with the velocity through the water
        current_B = R_NB.T @ u.current_N
        v_r = x.v - current_B
        a, k = p.added_mass * v_r, p.added_coupling
        roll, pitch, yaw = x.w[0], x.w[1], x.w[2]
        force = force - ca.vertcat(
            k * (pitch * a[2] - yaw * a[1]), k * yaw * a[0] - roll * a[2], roll * a[1] - k * pitch * a[0]
        )
        munk = ca.cross(v_r, a)
        moment = moment - ca.vertcat(munk[0], k * munk[1], k * munk[2]) - ca.cross(x.w, p.added_inertia * x.w)
        # M_A dnu_c/dt: a steady current turns in body axes
        return force - p.added_mass * ca.cross(x.w, current_B), moment

    def _acceleration(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Time derivatives of the velocity v and the angular velocity w in body axes."""
        force, moment = self._load(x, u, p)
        r = p.centre_of_mass
        skew = ca.vertcat(ca.horzcat(0, -r[2], r[1]), ca.horzcat(r[2], 0, -r[0]), ca.horzcat(-r[1], r[0], 0))
        upper = p.mass + p.added_mass  # diagonal of the first block of M
        coupling = -p.mass * skew  # [Fossen2021] Ch. 3
        lower = p.inertia - p.mass * (skew @ skew) + ca.diag(p.added_inertia)
        if self.planar:
            side, turn, lever = upper[1], lower[2, 2], coupling[1, 2]
            spread = side * turn - lever * lever
            sway = (turn * force[1] - lever * moment[2]) / spread
            yaw = (side * moment[2] - lever * force[1]) / spread
            # r_g lies amidships in a planar model: no coupling between surge and yaw
            return ca.vertcat(force[0] / upper[0], sway, 0), ca.vertcat(0, 0, yaw)
        scaled = ca.diag(1 / upper) @ coupling
        schur = lower - coupling.T @ scaled
        w_dot = inverse_3x3(schur) @ (moment - scaled.T @ force)
        return force / upper - scaled @ w_dot, w_dot

    def derivative(self, x: View, u: View, p: View) -> Rates:
        v_dot, w_dot = self._acceleration(x, u, p)
        return {
            "p": quaternion.rotation_matrix(x.q) @ x.v,
            "v": v_dot,
            "q": quaternion.derivative(x.q, x.w),
            "w": w_dot,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        R_NB = quaternion.rotation_matrix(x.q)
        v_dot, w_dot = self._acceleration(x, u, p)
        v_r = x.v - R_NB.T @ u.current_N
        specific_force = v_dot + ca.cross(x.w, x.v) - R_NB.T @ u.gravity_N
        return {
            **self._flat_earth_outputs(x, p, specific_force, w_dot),
            "v_water_B": v_r,
            "water_speed": norm(v_r),
            "depth": x.p[2],
        }

    def project(self, x: View, p: View) -> Values:
        return {"q": quaternion.normalized(x.q)}
