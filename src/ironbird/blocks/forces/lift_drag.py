"""One lifting surface in the air: motion and deflection in, force and moment on the body out."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import wrap_angle


class LiftDragSurface(Block):
    """Computes lift, drag and moment of a wing, tail or fin at its centre of pressure.
    It is the Gazebo LiftDrag plug-in [LiftDrag].

    Coefficients are piecewise linear in the angle of attack, which counts from the surface's angle of no lift, and end
    at those of a flat plate. Flow along the span has no effect. Corrected against the plug-in: it compares the angle of
    attack in radians with 90 where the moment changes over at 90 degrees. `cma` is per radian and metre of chord. With
    `washed` a share of the area is in the wake of propellers, where the air comes along `forward` at the speed of
    momentum theory, sqrt(V^2 + 2 T / (rho A)). Valid for any flow, subsonic. Not modelled: downwash, swirl of the wake,
    a wake that is blown aside, induced drag by aspect ratio, hysteresis of the stall, drag of the deflection.
    """

    source = "[LiftDrag]; [RflyModel] 6.8.6; [Leishman2006] Ch. 2"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity of the body's origin through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    deflection = In(unit="rad", default=0.0, doc="of the control surface at the trailing edge")
    force_B = Out(unit="N", shape=3, frame="B", doc="aerodynamic force")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the body's origin")
    alpha = Out(unit="rad", doc="angle of attack from the angle of no lift, -pi to pi")
    lift = Out(unit="N", doc="across the flow, along `upward` in level flow")
    drag = Out(unit="N", doc="along the flow")

    area = Param(unit="m^2", low=1e-6, doc="of the surface")
    position = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the centre of pressure from the body's origin")
    forward = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="against the flow, unit length")
    upward = Param(unit="1", shape=3, frame="B", default=(0.0, 0.0, -1.0), doc="of lift, unit length, across `forward`")
    a0 = Param(unit="rad", default=0.0, tunable=True, doc="angle of attack when air comes along `forward`")
    cla = Param(unit="1/rad", tunable=True, doc="slope of the lift below the stall")
    cda = Param(unit="1/rad", tunable=True, doc="slope of the drag below the stall")
    cma = Param(unit="m", default=0.0, tunable=True, doc="slope of the moment below the stall, per radian, nose up")
    alpha_stall = Param(unit="rad", low=1e-3, high=1.57, doc="where the stall begins, either side")
    cla_stall = Param(unit="1/rad", tunable=True, doc="slope of the lift beyond the stall")
    cda_stall = Param(unit="1/rad", tunable=True, doc="slope of the drag beyond the stall")
    cma_stall = Param(unit="m", default=0.0, tunable=True, doc="slope of the moment beyond the stall, per radian")
    control_joint_rad_to_cl = Param(unit="1/rad", default=0.0, tunable=True, doc="lift coefficient by deflection")
    cm_delta = Param(unit="m", default=0.0, tunable=True, doc="moment by deflection, per radian, nose up")

    wash_share = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="of the area in the wake; `washed`")
    wash_area = Param(unit="m^2", default=1.0, low=1e-6, doc="of the propellers' discs together; `washed`")

    def __init__(self, *, washed: bool = False) -> None:
        super().__init__()
        self.washed = washed
        if washed:
            self.declare("wash_thrust", In(unit="N", gather=True, doc="of the propellers whose wake it is"))

    def output(self, x: View, u: View, p: View) -> Values:
        v = u.v_air_B + ca.cross(u.w_NB_B, p.position)
        free = self._panel(v, u, p)
        if not self.washed:
            return free
        ahead = ca.fmax(ca.dot(v, p.forward), 0)
        # [Leishman2006] Ch. 2: T = 2 rho A v_i (V + v_i), far behind the disc the air has V + 2 v_i
        wake = ca.sqrt(ahead * ahead + 2 * ca.fmax(u.wash_thrust, 0) / (u.density * p.wash_area))
        inside = self._panel(v + p.forward * (wake - ahead), u, p)
        return {name: free[name] + p.wash_share * (inside[name] - free[name]) for name in free}

    def _panel(self, v: ca.SX, u: View, p: View) -> dict[str, ca.SX]:
        """Lift, drag and moment of the surface in one uniform flow `v` (m/s)."""
        span = ca.cross(p.forward, p.upward)
        v = v - span * ca.dot(v, span)  # in the plane of lift and drag
        sink, ahead = -ca.dot(v, p.upward), ca.dot(v, p.forward) + 1e-12  # a picometre per second, as `norm` has it
        alpha = wrap_angle(p.a0 + ca.atan2(sink, ahead))
        size = ca.fabs(alpha)
        side = ca.if_else(alpha < 0, -1, 1)
        beyond = size - p.alpha_stall

        def piecewise(slope: ca.SX, slope_stall: ca.SX) -> ca.SX:
            """[LiftDrag]: a line up to the stall, another line from there, in the absolute angle."""
            return ca.if_else(beyond > 0, slope * p.alpha_stall + slope_stall * beyond, slope * size)

        # [LiftDrag]: beyond the stall never less lift, nor more drag, than a flat plate has; 0.7 for its finite span
        plate_lift = 0.7 * 2 * ca.sin(size) * ca.cos(size)
        plate_drag = 2 * ca.sin(size) * ca.sin(size)
        line_lift, line_drag = piecewise(p.cla, p.cla_stall), piecewise(p.cda, p.cda_stall)
        cl = side * ca.if_else(beyond > 0, ca.fmax(line_lift, plate_lift), line_lift)
        cl = cl + p.control_joint_rad_to_cl * u.deflection
        cd = ca.fabs(ca.if_else(beyond > 0, ca.fmin(line_drag, plate_drag), line_drag))
        at_90 = p.cma * p.alpha_stall + p.cma_stall * (ca.pi / 2 - p.alpha_stall)
        backwards = at_90 * ca.sin(size)
        cm = side * ca.if_else(size > ca.pi / 2, backwards, piecewise(p.cma, p.cma_stall)) + p.cm_delta * u.deflection

        speed = norm(v)
        pressure_area = 0.5 * u.density * p.area * speed  # times V: dynamic pressure times area
        force = pressure_area * (cl * ca.cross(span, v) - cd * v)
        return {
            "force_B": force,
            "moment_B": ca.cross(p.position, force) + span * (pressure_area * speed * cm),
            "alpha": alpha,
            "lift": pressure_area * speed * cl,
            "drag": pressure_area * speed * cd,
        }
