"""Hitch between a car and its trailer."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

JACKKNIFE_RAD = 1.4  # drawbar and bumper touch


class Hitch(Block):
    """The ball hitch between car and trailer: a stiff spring with damping between the two points.

    The force acts on both, equal and opposite, in the plane of the ground; both may turn freely about it. Its stiffness
    is high, so that the gap stays below a millimetre in driving. Not modelled: play, weight of the drawbar on the car,
    roll and pitch moments, friction (stabiliser), overrun brake.
    """

    source = "Newton's third law; closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position of the car")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity of the car")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude of the car")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity of the car")
    trailer_p_N = In(unit="m", shape=3, frame="N", doc="position of the trailer")
    trailer_v_N = In(unit="m/s", shape=3, frame="N", doc="velocity of the trailer")
    trailer_R = In(unit="1", shape=(3, 3), doc="attitude of the trailer")
    trailer_w = In(unit="rad/s", shape=3, doc="angular velocity of the trailer, in its own axes")
    force_B = Out(unit="N", shape=3, frame="B", doc="on the car")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="on the car")
    trailer_force = Out(unit="N", shape=3, doc="on the trailer, in its own axes")
    trailer_moment = Out(unit="N*m", shape=3, doc="on the trailer, in its own axes")
    articulation = Out(unit="rad", doc="heading of the car less that of the trailer")
    gap = Out(unit="m", doc="between the two points")
    jackknifed = Out(unit="1", doc="1 when the drawbar meets the car")
    ball = Param(unit="m", shape=3, frame="B", doc="on the car, from its centre of mass")
    drawbar = Param(unit="m", shape=3, doc="its eye on the trailer, from that one's centre of mass, in its own axes")
    stiffness = Param(unit="N/m", default=2e6, low=1.0, doc="of ball and drawbar")
    damping = Param(unit="N*s/m", default=3e4, low=0.0, doc="of ball and drawbar")

    def output(self, x: View, u: View, p: View) -> Values:
        apart = (u.p_NB_N + u.R_NB @ p.ball) - (u.trailer_p_N + u.trailer_R @ p.drawbar)
        parting = (u.v_NB_N + u.R_NB @ ca.cross(u.w_NB_B, p.ball)) - (
            u.trailer_v_N + u.trailer_R @ ca.cross(u.trailer_w, p.drawbar)
        )
        pull = p.stiffness * apart + p.damping * parting  # on the trailer
        plane = ca.vertcat(pull[:2], 0)
        force, back = -(u.R_NB.T @ plane), u.trailer_R.T @ plane
        ahead, behind = u.R_NB[:2, 0], u.trailer_R[:2, 0]
        angle = ca.atan2(behind[0] * ahead[1] - behind[1] * ahead[0], ca.dot(behind, ahead))
        return {
            "force_B": force,
            "moment_B": ca.cross(p.ball, force),
            "trailer_force": back,
            "trailer_moment": ca.cross(p.drawbar, back),
            "articulation": angle,
            "gap": ca.sqrt(ca.dot(apart[:2], apart[:2])),
            "jackknifed": ca.if_else(ca.fabs(angle) > JACKKNIFE_RAD, 1, 0),
        }
