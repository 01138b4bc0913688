"""Fuselage, fin and horizontal tail of a helicopter, in the wash of its rotors."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip

TAIL_WASH = 1.5  # [Gavrilets2015]: most of the main rotor's wash at the tail, over its induced speed
SLOWEST_WASH_MPS = 0.1  # m/s; below this downward flow through the main rotor its wash does not reach the tail


class HelicopterFuselage(Block):
    """Computes the air forces on a helicopter's fuselage, fin and tail.
    Drag areas per axis in the main rotor's downwash; fin and tail with lift by flow angle, limited by stall.

    The wash reaches the tail when it is swept back far enough, [Gavrilets2015]. Forces of the fuselage act at the
    centre of mass. Not modelled: moments of the fuselage, drag of the hub, swirl, downwash that the wind blows to the
    side.
    """

    source = "[Gavrilets2015]"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    main_wash = In(unit="m/s", default=0.0, doc="induced speed of the main rotor, down")
    tail_wash = In(unit="m/s", default=0.0, doc="induced speed of the tail rotor, to the right")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="of fuselage, fin and tail")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    fin_force = Out(unit="N", doc="to the right")
    tail_force = Out(unit="N", doc="down")

    drag_area = Param(unit="m^2", shape=3, low=0.0, tunable=True, doc="effective area of the fuselage per axis")
    fin_area = Param(unit="m^2", low=0.0, doc="S_vf")
    fin_lift_slope = Param(unit="1/rad", low=0.0, doc="C_La of the fin")
    fin_exposed = Param(unit="1", low=0.0, high=1.0, doc="share of the fin in the wash of the tail rotor")
    fin_arm = Param(unit="m", low=0.0, doc="behind the centre of mass")
    fin_height = Param(unit="m", doc="above the centre of mass")
    tail_area = Param(unit="m^2", low=0.0, doc="S_ht")
    tail_lift_slope = Param(unit="1/rad", low=0.0, doc="C_La of the horizontal tail")
    tail_arm = Param(unit="m", low=0.0, doc="behind the centre of mass")
    sweep_begin = Param(unit="1", default=0.0, doc="tan of the wash's sweep at which it reaches the tail")
    sweep_end = Param(unit="1", default=1.0, doc="and at which it has full strength there")

    def _wash_at_tail(self, u: View, p: View) -> ca.SX:
        """[Gavrilets2015]: K_lambda, growing with tan chi = u / (v_i - w) between two values, times v_i."""
        down = u.main_wash - u.v_air_B[2]
        sweep = u.v_air_B[0] / ca.fmax(down, SLOWEST_WASH_MPS)
        share = TAIL_WASH * clip((sweep - p.sweep_begin) / (p.sweep_end - p.sweep_begin), 0, 1)
        return ca.if_else(down > SLOWEST_WASH_MPS, share * u.main_wash, 0)

    def output(self, x: View, u: View, p: View) -> Values:
        half = 0.5 * u.density
        flow = u.v_air_B - ca.vertcat(0, 0, u.main_wash)
        body = -half * p.drag_area * (norm(flow) * flow)
        forward, side, down = (u.v_air_B[i] for i in range(3))
        wash = self._wash_at_tail(u, p)
        # Fin: [Gavrilets2015]: Y = -rho/2 S (C_La V + |v|) v, never more than the dynamic pressure gives
        sink = down + p.fin_arm * u.w_NB_B[1] - wash
        past = norm(ca.vertcat(forward, sink))
        across = side - p.fin_arm * u.w_NB_B[2] - p.fin_exposed * u.tail_wash
        most = half * p.fin_area * (past * past + across * across)
        fin = clip(-half * p.fin_area * (p.fin_lift_slope * past + ca.fabs(across)) * across, -most, most)
        # Horizontal tail: the same with the vertical speed there
        sink = down + p.tail_arm * u.w_NB_B[1] - wash
        most = half * p.tail_area * (forward * forward + sink * sink)
        lift = half * p.tail_area * (p.tail_lift_slope * ca.fabs(forward) + ca.fabs(sink)) * sink
        tail = clip(-lift, -most, most)
        return {
            "force_B": body + ca.vertcat(0, fin, tail),
            "moment_B": ca.vertcat(p.fin_height * fin, p.tail_arm * tail, -p.fin_arm * fin),
            "fin_force": fin,
            "tail_force": tail,
        }
