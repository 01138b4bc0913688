"""Detection of a crash, which ends a flight."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State


class CrashDetector(Block):
    """Detects a crash: a hard touch-down, a touch-down on the side, or a flight out of bounds. Sampled.

    Impact speed is that of the sample before the contact; of the horizontal part only `along_share` counts, none for a
    vehicle that lands rolling or sliding. Not modelled: damage that leaves the vehicle flying.
    """

    source = "criteria of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    load = In(unit="N", doc="normal force of the ground")
    hard_landing = Out(unit="1", doc="1 when the ground was hit too fast")
    rollover = Out(unit="1", doc="1 when the ground was touched at too steep a tilt")
    out_of_bounds = Out(unit="1", doc="1 when the vehicle is too far from the take-off point")
    impact_speed = Out(unit="m/s", doc="of the last first contact")
    last_speed = State(unit="m/s", init=0.0, doc="at the sample before")
    last_load = State(unit="N", init=1.0, doc="at the sample before; a vehicle starts on the ground")
    impact = State(unit="m/s", init=0.0, doc="speed at the last first contact")
    max_impact = Param(unit="m/s", low=0.0, tunable=True, doc="a faster touch-down is a crash")
    along_share = Param(unit="1", default=1.0, low=0.0, high=1.0, doc="of the horizontal speed that counts as impact")
    max_ground_tilt = Param(unit="rad", low=0.1, tunable=True, doc="a steeper tilt in contact is a crash")
    max_distance = Param(unit="m", low=1.0, tunable=True, doc="from the take-off point")

    def _impact(self, x: View, u: View) -> ca.SX:
        first = ca.logic_and(u.load > 0, x.last_load <= 0)
        return ca.if_else(first, x.last_speed, x.impact)

    def update(self, x: View, u: View, p: View) -> Values:
        v = ca.vertcat(p.along_share * u.v_NB_N[:2], u.v_NB_N[2])
        return {
            "last_speed": ca.sqrt(ca.dot(v, v)),
            "last_load": u.load,
            "impact": self._impact(x, u),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        impact = self._impact(x, u)
        steep = ca.logic_and(u.load > 0, u.R_NB[2, 2] < ca.cos(p.max_ground_tilt))
        return {
            "hard_landing": impact > p.max_impact,
            "rollover": steep,
            "out_of_bounds": ca.dot(u.p_NB_N, u.p_NB_N) > p.max_distance**2,
            "impact_speed": impact,
        }
