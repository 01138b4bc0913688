"""Rigid body with six degrees of freedom on a flat, non-rotating earth."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.earth import radii
from ironbird.symbolic.rotation import inverse_3x3


class RigidBodyPorts(Block):
    """Ports that every body has, so that one can replace another."""

    force_B = In(unit="N", shape=3, frame="B", gather=True, doc="all forces but gravity, at the centre of mass")
    moment_B = In(unit="N*m", shape=3, frame="B", gather=True, doc="all moments about the centre of mass")
    momentum_B = In(unit="N*m*s", shape=3, frame="B", gather=True, doc="angular momentum of spinning parts")
    gravity_N = In(unit="m/s^2", shape=3, frame="N", doc="acceleration of gravity at the body")

    p_NB_N = Out(unit="m", shape=3, frame="N", doc="position from the take-off point")
    v_NB_N = Out(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    v_NB_B = Out(unit="m/s", shape=3, frame="B", doc="velocity over ground in body axes")
    q_NB = Out(unit="1", shape=4, doc="attitude, w x y z")
    R_NB = Out(unit="1", shape=(3, 3), doc="attitude as a matrix, B to N")
    euler = Out(unit="rad", shape=3, doc="roll, pitch, yaw")
    w_NB_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    specific_force_B = Out(unit="m/s^2", shape=3, frame="B", doc="what an ideal accelerometer feels")
    angular_acceleration_B = Out(unit="rad/s^2", shape=3, frame="B", doc="derivative of w_NB_B")
    latitude = Out(unit="rad", doc="geodetic latitude")
    longitude = Out(unit="rad", doc="longitude, east positive")
    height = Out(unit="m", doc="height above the ellipsoid")

    mass = Param(unit="kg", low=1e-6, tunable=True, doc="total mass")
    inertia = Param(unit="kg*m^2", shape=(3, 3), tunable=True, doc="about the centre of mass, in B")
    home_latitude = Param(unit="rad", low=-1.58, high=1.58, default=0.0, doc="latitude of N's origin")
    home_longitude = Param(unit="rad", default=0.0, doc="longitude of N's origin")
    home_height = Param(unit="m", default=0.0, doc="height of N's origin above the ellipsoid")

    def _flat_earth_place(self, x: View, p: View) -> dict[str, ca.SX]:
        """Geodetic position of a body at `x.p`, while the curvature of the earth does not matter."""
        meridian, prime = radii(p.home_latitude)
        return {
            "latitude": p.home_latitude + x.p[0] / (meridian + p.home_height),
            "longitude": p.home_longitude + x.p[1] / ((prime + p.home_height) * ca.cos(p.home_latitude)),
            "height": p.home_height - x.p[2],
        }

    def _flat_earth_outputs(self, x: View, p: View, specific_force: ca.SX, w_dot: ca.SX) -> dict[str, ca.SX]:
        """All outputs of a body with the states p (N), v (B), q and w (B)."""
        R_NB = quaternion.rotation_matrix(x.q)
        return {
            "p_NB_N": x.p,
            "v_NB_N": R_NB @ x.v,
            "v_NB_B": x.v,
            "q_NB": x.q,
            "R_NB": R_NB,
            "euler": quaternion.to_euler(x.q),
            "w_NB_B": x.w,
            "specific_force_B": specific_force,
            "angular_acceleration_B": w_dot,
            **self._flat_earth_place(x, p),
        }


class RigidBody(RigidBodyPorts):
    """The rigid body of an aircraft over a flat earth: position, velocity, attitude and rates from forces and moments.
    Newton and Euler with a unit quaternion, [Dai] Eq. 5 and [RflyModel] 6.5.

    Valid while the curvature and rotation of the earth do not matter: a few kilometres, subsonic. Not modelled:
    Coriolis acceleration, bending, sloshing, momentum of leaving mass.
    """

    source = "[Dai] Eq. 5; [RflyModel] 6.5"

    p = State(unit="m", shape=3, frame="N", init="p_0", doc="position")
    v = State(unit="m/s", shape=3, frame="B", init="v_0", doc="velocity in body axes")
    q = State(unit="1", shape=4, init="q_0", doc="attitude")
    w = State(unit="rad/s", shape=3, frame="B", init="w_0", doc="angular velocity")

    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="initial position")
    v_0 = Param(unit="m/s", shape=3, frame="B", default=0.0, doc="initial velocity in body axes")
    q_0 = Param(unit="1", shape=4, default=(1.0, 0.0, 0.0, 0.0), doc="initial attitude")
    w_0 = Param(unit="rad/s", shape=3, frame="B", default=0.0, doc="initial angular velocity")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        R_NB = quaternion.rotation_matrix(x.q)
        return {
            "p": R_NB @ x.v,  # [Dai] Eq. 5, line 1
            "v": R_NB.T @ u.gravity_N + u.force_B / p.mass - ca.cross(x.w, x.v),  # line 2
            "q": quaternion.derivative(x.q, x.w),  # line 3, as a quaternion
            "w": self._angular_acceleration(x, u, p),
        }

    def _angular_acceleration(self, x: View, u: View, p: View) -> ca.SX:
        gyroscopic = ca.cross(x.w, p.inertia @ x.w + u.momentum_B)
        return inverse_3x3(p.inertia) @ (u.moment_B - gyroscopic)  # [Dai] Eq. 5, line 4

    def output(self, x: View, u: View, p: View) -> Values:
        return self._flat_earth_outputs(x, p, u.force_B / p.mass, self._angular_acceleration(x, u, p))

    def project(self, x: View, p: View) -> Values:
        return {"q": quaternion.normalized(x.q)}
