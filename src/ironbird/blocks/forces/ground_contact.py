"""Ground contact at several points: spring and damper across the ground, friction that sticks along it."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

RELEASE_S = 0.005  # how fast a bristle relaxes in the air
PRESSED_M = 1e-3  # m by which the lowest points are pressed in for the check of the step
SLIDING = 1.01  # deflection of a bristle that slides, over that at the limit of friction
STICK_SHARE = 0.97  # share of the greatest deflection below which nothing slips [Dupont2002]; less creeps in gusts


def yielding_rate(z: ca.SX, slip: ca.SX, farthest: ca.SX) -> ca.SX:
    """Rate of a bristle that is a spring up to about its largest deflection, and slides there [Dupont2002]."""
    longest = farthest + 1e-9
    length = ca.sqrt(ca.dot(z, z) + 1e-24)
    yielding = clip((length / longest - STICK_SHARE) / (1 - STICK_SHARE), 0, 1)  # [Dupont2002] alpha
    stretch = ca.fmax(ca.dot(z, slip), 0) / (length * ca.fmax(length, longest))
    excess = ca.fmax(length / longest - 1, 0)
    return slip - z * (yielding * stretch + ca.fmin(excess, 1) / RELEASE_S)


class GroundContact(Block):
    """Computes the contact forces between the vehicle's feet or skids and the ground, with friction that holds at rest.
    F = k d + c d' across the ground, [RflyModel] 6.4, and Coulomb friction with elastic sticking.

    Never pulls. Friction is an elasto-plastic bristle per point [Dupont2002]: below its limit it is a spring, so a
    vehicle at rest on a slope or in wind does not creep. The ground is the tangent plane that the terrain
    part gives. Not modelled: rolling, sinking, points hitting anything but the ground.
    """

    source = "[RflyModel] 6.4; [Dupont2002]"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    place = In(unit="m", shape=2, frame="N", default=0.0, doc="where the ground plane is given")
    ground_z = In(unit="m", default=0.0, doc="z (down) of the ground there")
    slope = In(unit="1", shape=2, default=0.0, doc="z per metre north and east")
    force_B = Out(unit="N", shape=3, frame="B", doc="sum over the points")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    load = Out(unit="N", doc="sum of the normal forces")

    stiffness = Param(unit="N/m", low=1.0, doc="k of one point")
    damping = Param(unit="N*s/m", low=0.0, doc="c of one point")
    friction = Param(unit="1", low=0.0, high=3.0, tunable=True, doc="Coulomb coefficient")
    grip_stiffness = Param(unit="N/m", low=1.0, doc="of the bristle of one point")
    grip_damping = Param(unit="N*s/m", low=0.0, doc="of the bristle of one point")

    def __init__(self, points: int) -> None:
        super().__init__()
        self.points = points
        self.declare("points", Param(unit="m", shape=(3, points), frame="B", doc="contact points, one per column"))
        self.declare("bristles", State(unit="m", shape=2 * points, init=0.0, doc="deflections along the ground"))

    def engaged(
        self, inputs: Mapping[str, np.ndarray], params: Mapping[str, np.ndarray]
    ) -> list[Mapping[str, np.ndarray]]:
        """The ground at a height at which the lowest points are pressed in: they stick, slide north, slide east.

        The body stands, whatever its speed at the start: friction of feet that slide fast is not judged. Its bristles
        reach their limit in less than a step, and the force on the vehicle is Coulomb's all the same.
        """
        if not {"p_NB_N", "R_NB"} <= set(inputs):
            return []
        slope, place = (inputs.get(name, np.zeros(2)) for name in ("slope", "place"))
        feet = inputs["p_NB_N"] + params["points"].reshape(-1, 3) @ inputs["R_NB"].reshape(3, 3)
        below = feet[:, 2] - (feet[:, :2] - place) @ slope
        standing = {"v_NB_N": np.zeros(3), "w_NB_B": np.zeros(3), "ground_z": np.array([below.max() - PRESSED_M])}
        limit_m = params["friction"] * params["stiffness"] * PRESSED_M / params["grip_stiffness"]
        sliding = [np.tile(SLIDING * limit_m * axis, self.points) for axis in np.eye(2)]
        return [standing, *({**standing, "bristles": bristles} for bristles in sliding)]

    def _point(self, x: View, u: View, p: View, i: int) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Force and moment in N, normal load, rate of the bristle of one point."""
        sn, se = u.slope[0], u.slope[1]
        up = ca.vertcat(sn, se, -1) / ca.sqrt(1 + sn * sn + se * se)
        along = self._along(u, i, up)
        across = ca.cross(up, along)

        r_B = p.points[:, i]
        arm = u.R_NB @ r_B
        position = u.p_NB_N + arm
        velocity = u.v_NB_N + u.R_NB @ ca.cross(u.w_NB_B, r_B)
        below = position[2] - u.ground_z - ca.dot(u.slope, position[:2] - u.place)
        depth = -up[2] * below  # distance along the normal
        touching = depth > 0
        press = ca.fmax(p.stiffness * depth - p.damping * ca.dot(velocity, up), 0)

        z = x.bristles[2 * i : 2 * i + 2]
        slip = ca.vertcat(ca.dot(velocity, along), ca.dot(velocity, across))
        grip, rate = self._grip(u, p, i, z, slip, press)
        force = up * press - along * grip[0] - across * grip[1]
        nothing = ca.SX.zeros(3)
        return (
            ca.if_else(touching, force, nothing),
            ca.if_else(touching, ca.cross(arm, force), nothing),
            ca.if_else(touching, press, 0),
            ca.if_else(touching, rate, -z / RELEASE_S),
        )

    def _along(self, u: View, i: int, up: ca.SX) -> ca.SX:
        """The first axis along the ground: north."""
        return ca.vertcat(1, 0, u.slope[0]) / ca.sqrt(1 + u.slope[0] * u.slope[0])

    def _grip(self, u: View, p: View, i: int, z: ca.SX, slip: ca.SX, press: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Friction along the ground's two axes, against the motion, and the rate of the bristle."""
        limit = p.friction * press
        pull = p.grip_stiffness * z + p.grip_damping * slip
        grip = pull * ca.fmin(limit / ca.sqrt(ca.dot(pull, pull) + 1e-18), 1)  # Coulomb
        return grip, yielding_rate(z, slip, limit / p.grip_stiffness)

    def _near(self, u: View, p: View) -> ca.SX:
        """Whether any point can touch: the kernel skips all contact of vehicles that are clear of the ground."""
        below = u.p_NB_N[2] - u.ground_z - ca.dot(u.slope, u.p_NB_N[:2] - u.place)
        reach2 = ca.SX(0)
        for i in range(self.points):
            reach2 = ca.fmax(reach2, ca.dot(p.points[:, i], p.points[:, i]))
        widest = 1.001 * ca.sqrt(reach2) * (1 + ca.fabs(u.slope[0]) + ca.fabs(u.slope[1]))
        return below + widest > 0

    def derivative(self, x: View, u: View, p: View) -> Rates:
        rate = ca.vertcat(*[self._point(x, u, p, i)[3] for i in range(self.points)])
        return {"bristles": ca.if_else(self._near(u, p), rate, -x.bristles / RELEASE_S)}

    def output(self, x: View, u: View, p: View) -> Values:
        force_N = ca.SX.zeros(3)
        moment_N = ca.SX.zeros(3)
        total = ca.SX(0)
        for i in range(self.points):
            force, moment, load, _ = self._point(x, u, p, i)
            force_N = force_N + force
            moment_N = moment_N + moment
            total = total + load
        near = self._near(u, p)
        return {
            "force_B": ca.if_else(near, u.R_NB.T @ force_N, ca.SX.zeros(3)),
            "moment_B": ca.if_else(near, u.R_NB.T @ moment_N, ca.SX.zeros(3)),
            "load": ca.if_else(near, total, 0),
        }
