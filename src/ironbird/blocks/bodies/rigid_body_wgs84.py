"""Rigid body with six degrees of freedom on the rotating WGS-84 earth."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.constants import WGS84_ROTATION_RADPS
from ironbird.model.block import Rates, Values, View
from ironbird.model.signal import Out, Param, State
from ironbird.symbolic import earth, quaternion
from ironbird.symbolic.rotation import inverse_3x3, north_east_down


class RigidBodyWgs84(RigidBodyPorts):
    """The rigid body of an aircraft over the rotating ellipsoid WGS 84.
    Newton and Euler in earth-fixed axes with Coriolis acceleration [Stevens] 1.7.

    Can replace `RigidBody`. `gravity_N` must contain the centrifugal part, as `GravityWgs84` gives it.
    N is the local level at the present position for velocity, attitude and rates; `p_NB_N` is
    measured from the take-off point in the level axes there. Not modelled: motion of the poles, tides.
    """

    source = "[Stevens] 1.7; [NIMA8350]"

    w_IB_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity in inertial space")
    v_EB_E = Out(unit="m/s", shape=3, frame="E", doc="velocity over ground in earth-fixed axes")

    r = State(unit="m", shape=3, frame="E", init="r_0", doc="position")
    v = State(unit="m/s", shape=3, frame="E", init="v_0", doc="velocity over ground")
    q = State(unit="1", shape=4, init="q_0", doc="attitude q_EB")
    w = State(unit="rad/s", shape=3, frame="B", init="w_0", doc="angular velocity in inertial space")

    r_0 = Param(unit="m", shape=3, frame="E", doc="initial position")
    v_0 = Param(unit="m/s", shape=3, frame="E", default=0.0, doc="initial velocity over ground")
    q_0 = Param(unit="1", shape=4, doc="initial attitude q_EB")
    w_0 = Param(unit="rad/s", shape=3, frame="B", default=0.0, doc="initial angular velocity in inertial space")

    @staticmethod
    def initial(
        *,
        latitude: float,
        longitude: float,
        height: float,
        v_N: Sequence[float] = (0.0, 0.0, 0.0),
        euler: Sequence[float] = (0.0, 0.0, 0.0),
        w_IB_B: Sequence[float] | None = None,
    ) -> dict[str, list[float]]:
        """Parameters of a start at a geodetic position, with velocity over ground, attitude and rates.

        Without `w_IB_B` the body turns with the earth.
        """
        R_EN = np.array(ca.DM(north_east_down(ca.SX(latitude), ca.SX(longitude))))
        q_EN = _quaternion(R_EN)
        q_NB = quaternion.from_euler(*[ca.SX(a) for a in euler])
        q_EB = np.array(ca.DM(quaternion.product(ca.SX(q_EN), q_NB))).ravel()
        if w_IB_B is None:
            R_EB = np.array(ca.DM(quaternion.rotation_matrix(ca.SX(q_EB))))
            w_IB_B = list(R_EB.T @ np.array([0, 0, WGS84_ROTATION_RADPS]))
        r = np.array(ca.DM(earth.to_ecef(ca.SX(latitude), ca.SX(longitude), ca.SX(height)))).ravel()
        return {
            "r_0": r.tolist(),
            "v_0": (R_EN @ np.array(v_N, float)).tolist(),
            "q_0": q_EB.tolist(),
            "w_0": [float(w) for w in w_IB_B],
            "home_latitude": latitude,
            "home_longitude": longitude,
            "home_height": height,
        }

    def _level(self, x: View) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        latitude, longitude, height = earth.to_geodetic(x.r)
        return latitude, longitude, height, north_east_down(latitude, longitude)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        R_EB = quaternion.rotation_matrix(x.q)
        *_, R_EN = self._level(x)
        omega_E = ca.DM([0, 0, WGS84_ROTATION_RADPS])
        w_EB_B = x.w - R_EB.T @ omega_E
        return {
            "r": x.v,
            # [Stevens] 1.7: the centrifugal part is in gravity_N, the Coriolis part here
            "v": R_EB @ (u.force_B / p.mass) + R_EN @ u.gravity_N - 2 * ca.cross(ca.SX(omega_E), x.v),
            "q": quaternion.derivative(x.q, w_EB_B),
            "w": self._angular_acceleration(x, u, p),
        }

    def _angular_acceleration(self, x: View, u: View, p: View) -> ca.SX:
        return inverse_3x3(p.inertia) @ (u.moment_B - ca.cross(x.w, p.inertia @ x.w + u.momentum_B))

    def output(self, x: View, u: View, p: View) -> Values:
        latitude, longitude, height, R_EN = self._level(x)
        R_EB = quaternion.rotation_matrix(x.q)
        R_NB = R_EN.T @ R_EB
        v_N = R_EN.T @ x.v
        home = earth.to_ecef(p.home_latitude, p.home_longitude, p.home_height)
        meridian, prime = earth.radii(latitude)
        transport_N = ca.vertcat(  # turning of the level axes as the body moves over the ellipsoid
            v_N[1] / (prime + height),
            -v_N[0] / (meridian + height),
            -v_N[1] * ca.tan(latitude) / (prime + height),
        )
        rotation_N = R_EN.T @ ca.DM([0, 0, WGS84_ROTATION_RADPS])
        q_NE = _matrix_to_quaternion(latitude, longitude)
        q_NB = quaternion.product(q_NE, x.q)
        return {
            "p_NB_N": north_east_down(p.home_latitude, p.home_longitude).T @ (x.r - home),
            "v_NB_N": v_N,
            "v_NB_B": R_EB.T @ x.v,
            "q_NB": q_NB,
            "R_NB": R_NB,
            "euler": quaternion.to_euler(q_NB),
            "w_NB_B": x.w - R_NB.T @ (rotation_N + transport_N),
            "specific_force_B": u.force_B / p.mass,
            "angular_acceleration_B": self._angular_acceleration(x, u, p),
            "latitude": latitude,
            "longitude": longitude,
            "height": height,
            "w_IB_B": x.w,
            "v_EB_E": x.v,
        }

    def project(self, x: View, p: View) -> Values:
        return {"q": quaternion.normalized(x.q)}


def _matrix_to_quaternion(latitude: ca.SX, longitude: ca.SX) -> ca.SX:
    """q_NE from E to the local level: the inverse of turns by longitude about z and by -(latitude + 90 deg) about y."""
    about_z = quaternion.from_yaw(longitude)
    half = -(latitude + ca.pi / 2) / 2
    about_y = ca.vertcat(ca.cos(half), 0, ca.sin(half), 0)
    return quaternion.inverse(quaternion.product(about_z, about_y))


def _quaternion(R: np.ndarray) -> np.ndarray:
    """A rotation matrix as a unit quaternion (Shepperd's method)."""
    t = np.array([np.trace(R), R[0, 0], R[1, 1], R[2, 2]])
    i = int(np.argmax(t))
    if i == 0:
        q = np.array([1 + t[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        a, b, c = i - 1, i % 3, (i + 1) % 3
        q = np.zeros(4)
        q[0] = R[c, b] - R[b, c]
        q[1 + a] = 1 + R[a, a] - R[b, b] - R[c, c]
        q[1 + b] = R[b, a] + R[a, b]
        q[1 + c] = R[c, a] + R[a, c]
    return np.asarray(q / np.linalg.norm(q))
