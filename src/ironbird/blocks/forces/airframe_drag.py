"""Drag and rotational damping of an airframe without wings."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm


class AirframeDrag(Block):
    """Computes the air drag of an airframe, force and moment, per axis.
    F = -C_d |v| v and M = -C_m |w| w, [RflyModel] 6.2.

    The document prints C_d (u^2, v^2, w^2), which points forward whatever the sign and turns away from the
    wind when two components differ; its own text says that drag follows the relative wind, which is |v| v. Coefficients
    hold at `reference_density`. Drag acts at `centre`. Not modelled: lift, rotor drag, dependence on attitude.
    """

    source = "[RflyModel] 6.2"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="drag")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="damping, and drag times its arm")
    drag = Param(unit="N*s^2/m^2", shape=3, low=0.0, tunable=True, doc="C_d per axis")
    damping = Param(unit="N*m*s^2/rad^2", shape=3, low=0.0, tunable=True, doc="C_m per axis")
    centre = Param(unit="m", shape=3, frame="B", default=0.0, doc="where drag acts, from the centre of mass")
    reference_density = Param(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, low=0.01, doc="of the coefficients")

    def output(self, x: View, u: View, p: View) -> Values:
        ratio = u.density / p.reference_density
        speed = norm(u.v_air_B)
        force = -(p.drag * ratio) * (speed * u.v_air_B)
        damping = -(p.damping * ratio) * (ca.fabs(u.w_NB_B) * u.w_NB_B)
        return {"force_B": force, "moment_B": damping + ca.cross(p.centre, force)}
