"""Catapult of a fixed wing: holds the aircraft on its rail, pulls it along, lets go at the end."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State

GUIDE_RADPS = 60.0  # stiffness of the cradle: frequency of the aircraft on it
GUIDE_DAMPING = 0.7
LETS_GO_S = 0.002  # s in which the cradle opens


class Catapult(Block):
    """A launch rail for fixed wings: springs hold the aircraft on it while a steady force pulls along it over a stroke.

    Before `launch` the aircraft is held along the rail too. At the end of the stroke the cradle opens and stays open.
    With an ideal rail the aircraft leaves with the speed sqrt(2 (F/m - g sin(pitch)) s), thrust and drag apart. Not
    modelled: mass of the cradle, friction, a pull that falls with the stroke (rubber), the shock at the end.
    """

    source = "closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    launch = In(unit="1", default=0.0, doc="1 fires")
    force_B = Out(unit="N", shape=3, frame="B", doc="of cradle and pull")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="of the cradle")
    holding = Out(unit="1", doc="1 while the aircraft is on the rail")

    gone = State(unit="1", init="empty", doc="1 when the aircraft has left")

    empty = Param(unit="1", default=0.0, low=0.0, high=1.0, doc="1: there is no aircraft on the rail at the start")
    start = Param(unit="m", shape=3, frame="N", doc="of the centre of mass on the rail")
    pitch = Param(unit="rad", low=0.0, high=1.2, doc="of rail and aircraft")
    course = Param(unit="rad", default=0.0, doc="of the rail")
    stroke = Param(unit="m", low=0.1, doc="length of the pull")
    pull = Param(unit="N", low=0.0, tunable=True, doc="force along the rail")
    mass = Param(unit="kg", low=1e-3, doc="of the aircraft: sets the cradle's stiffness")
    inertia = Param(unit="kg*m^2", shape=3, low=1e-6, doc="about the body axes: sets the cradle's stiffness")

    def _along(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Direction of the rail in N, and the distance along it (m)."""
        flat = ca.cos(p.pitch)
        axis = ca.vertcat(flat * ca.cos(p.course), flat * ca.sin(p.course), -ca.sin(p.pitch))
        return axis, ca.dot(u.p_NB_N - p.start, axis)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        beyond = self._along(u, p)[1] > p.stroke
        return {"gone": ca.if_else(beyond, (1 - x.gone) / LETS_GO_S, 0)}

    def output(self, x: View, u: View, p: View) -> Values:
        axis, _ = self._along(u, p)
        spring, damper = GUIDE_RADPS**2, 2 * GUIDE_DAMPING * GUIDE_RADPS
        push = p.mass * (spring * (u.p_NB_N - p.start) + damper * u.v_NB_N)
        across = push - axis * ca.dot(axis, push)
        ahead = ca.if_else(u.launch > 0.5, p.pull, -ca.dot(axis, push))
        force = axis * ahead - across
        cp, sp, cy, sy = ca.cos(p.pitch), ca.sin(p.pitch), ca.cos(p.course), ca.sin(p.course)
        rail = ca.vertcat(ca.horzcat(cp * cy, -sy, sp * cy), ca.horzcat(cp * sy, cy, sp * sy), ca.horzcat(-sp, 0, cp))
        off = rail.T @ u.R_NB
        turned = 0.5 * ca.vertcat(off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1])
        moment = -p.inertia * (spring * turned + damper * u.w_NB_B)
        held = x.gone < 0.5
        nothing = ca.SX.zeros(3)
        return {
            "force_B": ca.if_else(held, u.R_NB.T @ force, nothing),
            "moment_B": ca.if_else(held, moment, nothing),
            "holding": ca.if_else(held, 1, 0),
        }
