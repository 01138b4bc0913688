"""Contact of a vehicle's hull with obstacles: restitution, sticking friction, no energy generated."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic.shapes import FRICTION, RESTITUTION, SLOT_ROWS, VELOCITY, nearest_of
from ironbird.symbolic.smooth import clip

RELEASE_S = 0.005  # how fast a bristle relaxes in the air, and out of its plane
STICK_SHARE = 0.97  # share of the greatest deflection below which nothing slips [Dupont2002]
SOFT_MPS = 0.1  # below this speed restitution fades into damping, so that a vehicle comes to rest


class ObstacleContact(Block):
    """Computes the contact forces of a hull, represented by balls, with the nearest obstacles.
    [RflyModel] 6.3 with springs for its impulses.

    Across the surface F = k d while a ball goes in and e^2 k d while it comes out: the speed after is e times the speed
    before, whatever the mass, the speed and the number of balls [Walton1986]. Along it, Coulomb friction with an
    elasto-plastic bristle [Dupont2002]. By construction no energy is generated: with s = clip(d'/v, -1, 1) the force is
    k d ((1 + e^2)/2 + s (1 - e^2)/2), a potential and a part that always opposes d'; the bristle takes up s' slip when
    the grip is cut to its s' share, so that what it stores is at most what it took. Holds for obstacles that rest.

    Not modelled: rolling resistance, deformation that stays, movable obstacles, edges between the balls.
    """

    source = "[RflyModel] 6.3; [Walton1986]; [Dupont2002]"

    time = Clock(doc="simulation time")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    near = In(unit="1", default=1.0, doc="0: nothing can touch, so that the kernel skips all of this")
    stamp = In(unit="s", default=0.0, doc="time for which the slots were filled")
    force_B = Out(unit="N", shape=3, frame="B", doc="sum over the balls")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    load = Out(unit="N", doc="sum of the forces across surfaces")

    stiffness = Param(unit="N/m", low=1.0, doc="k of one ball")
    radius = Param(unit="m", low=1e-3, doc="of the balls")
    grip_stiffness = Param(unit="N/m", low=1.0, doc="of the bristle of one ball")
    grip_damping = Param(unit="N*s/m", low=0.0, doc="of the bristle of one ball")

    def __init__(self, balls: int, slots: int) -> None:
        super().__init__()
        self.balls = balls
        self.declare("slots", In(unit="1", shape=(SLOT_ROWS, slots), default=0.0, doc="nearest shapes, SI units"))
        self.declare("centres", Param(unit="m", shape=(3, balls), frame="B", doc="of the balls, one per column"))
        self.declare("bristles", State(unit="m", shape=3 * balls, init=0.0, doc="deflections along surfaces, in N"))

    def _ball(self, x: View, u: View, p: View, i: int) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Force and moment in N, load, rate of the bristle of one ball."""
        r_B = p.centres[:, i]
        arm = u.R_NB @ r_B
        distance, n, slot = nearest_of(u.p_NB_N + arm, u.slots, u.time - u.stamp)
        depth = p.radius - distance
        touch = arm - n * p.radius  # where it touches, from the centre of mass
        w_N = u.R_NB @ u.w_NB_B
        velocity = u.v_NB_N + ca.cross(w_N, touch) - slot[VELOCITY : VELOCITY + 3]
        across = ca.dot(velocity, n)

        e2 = slot[RESTITUTION] ** 2
        going_in = clip(-across / SOFT_MPS, -1, 1)
        press = p.stiffness * ca.fmax(depth, 0) * (0.5 * (1 + e2) + 0.5 * (1 - e2) * going_in)

        slip = velocity - n * across
        z = x.bristles[3 * i : 3 * i + 3]
        lifted = n * ca.dot(n, z)
        pull = p.grip_stiffness * (z - lifted) + p.grip_damping * slip
        limit = slot[FRICTION] * press
        share = ca.fmin(limit / ca.sqrt(ca.dot(pull, pull) + 1e-18), 1)  # Coulomb
        force = n * press - pull * share

        longest = limit / p.grip_stiffness + 1e-9
        length = ca.sqrt(ca.dot(z, z) + 1e-24)
        yielding = clip((length / longest - STICK_SHARE) / (1 - STICK_SHARE), 0, 1)  # [Dupont2002] alpha
        stretch = share * ca.fmax(ca.dot(z, slip), 0) / (length * ca.fmax(length, longest))
        excess = ca.fmax(length / longest - 1, 0)
        rate = share * slip - z * (yielding * stretch + ca.fmin(excess, 1) / RELEASE_S) - lifted / RELEASE_S
        touching = depth > 0
        nothing = ca.SX.zeros(3)
        return (
            ca.if_else(touching, force, nothing),
            ca.if_else(touching, ca.cross(touch, force), nothing),
            ca.if_else(touching, press, 0),
            ca.if_else(touching, rate, -z / RELEASE_S),
        )

    def derivative(self, x: View, u: View, p: View) -> Rates:
        rate = ca.vertcat(*[self._ball(x, u, p, i)[3] for i in range(self.balls)])
        return {"bristles": ca.if_else(u.near > 0.5, rate, -x.bristles / RELEASE_S)}

    def output(self, x: View, u: View, p: View) -> Values:
        force_N, moment_N, total = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX(0)
        for i in range(self.balls):
            force, moment, load, _ = self._ball(x, u, p, i)
            force_N, moment_N, total = force_N + force, moment_N + moment, total + load
        near = u.near > 0.5
        return {
            "force_B": ca.if_else(near, u.R_NB.T @ force_N, ca.SX.zeros(3)),
            "moment_B": ca.if_else(near, u.R_NB.T @ moment_N, ca.SX.zeros(3)),
            "load": ca.if_else(near, total, 0),
        }
