"""Wing and tail of a fixed-wing aircraft: motion through the air and surface deflections in, force and moment out."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm


class Wing(Block):
    """Computes the air forces and moments of a fixed wing from aerodynamic coefficients, [BeardMcLain] Sec. 4.2.
    Coefficients are functions of angle of attack, sideslip, rates and deflections.

    Lift is linear in the angle of attack below the stall and that of a flat plate beyond, blended by sigma(alpha); drag
    is a parabola in the linear lift; all else is linear. The signs of deflections are those of the coefficients (with
    the Aerosonde's: aileron rolls right, elevator pitches down, rudder yaws left). Drag of the elevator has the sign of
    its deflection, as in the published model, or its size (`CD_elevator_size`). Valid for small sideslip, subsonic; the
    drag parabola holds below the stall only. Made with `any_flow`, for vehicles that stand in the wind, drag and
    pitching moment beyond the stall are those of a flat plate too: 2 sin^2(alpha), Cm_alpha sin(alpha). Not modelled:
    moment break in the stall, hysteresis, ground effect, propeller wash, bending, damping when there is no flow.
    """

    source = "[BeardMcLain] Sec. 4.2; [RflyModel] 7.2.1.1"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    aileron = In(unit="rad", default=0.0, doc="deflection")
    elevator = In(unit="rad", default=0.0, doc="deflection")
    rudder = In(unit="rad", default=0.0, doc="deflection")
    force_B = Out(unit="N", shape=3, frame="B", doc="aerodynamic force")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    alpha = Out(unit="rad", doc="angle of attack")
    beta = Out(unit="rad", doc="angle of sideslip")
    lift = Out(unit="N", doc="across the flow")
    drag = Out(unit="N", doc="along the flow")
    stalled = Out(unit="1", doc="sigma: 0 attached flow, 1 flat plate")

    area = Param(unit="m^2", low=1e-6, doc="S of the wing")
    span = Param(unit="m", low=1e-3, doc="b")
    chord = Param(unit="m", low=1e-3, doc="c, mean")
    oswald = Param(unit="1", low=0.1, high=1.5, doc="e: efficiency of the span")
    stall_angle = Param(unit="rad", low=0.01, high=1.5, doc="alpha_0: where the blend is half done")
    stall_rate = Param(unit="1/rad", low=1.0, doc="M: sharpness of the blend")
    CL_0 = Param(unit="1", tunable=True, doc="lift at zero angle of attack")
    CL_alpha = Param(unit="1/rad", tunable=True, doc="slope of the lift")
    CL_q = Param(unit="1", tunable=True, doc="lift by pitch rate, per q c / 2 V")
    CL_elevator = Param(unit="1/rad", tunable=True, doc="lift by elevator")
    CD_p = Param(unit="1", tunable=True, doc="parasitic drag")
    CD_alpha = Param(unit="1/rad", default=0.0, tunable=True, doc="drag by angle of attack, besides that of the lift")
    CD_q = Param(unit="1", default=0.0, tunable=True, doc="drag by pitch rate")
    CD_elevator = Param(unit="1/rad", default=0.0, tunable=True, doc="drag by elevator, with its sign")
    CD_elevator_size = Param(unit="1/rad", default=0.0, tunable=True, doc="drag by the size of the elevator's angle")
    Cm_0 = Param(unit="1", tunable=True, doc="pitching moment at zero angle of attack")
    Cm_alpha = Param(unit="1/rad", tunable=True, doc="pitching moment by angle of attack; negative is stable")
    Cm_q = Param(unit="1", tunable=True, doc="pitch damping")
    Cm_elevator = Param(unit="1/rad", tunable=True, doc="pitching moment by elevator")
    CY_0 = Param(unit="1", default=0.0, tunable=True, doc="side force")
    CY_beta = Param(unit="1/rad", tunable=True, doc="side force by sideslip")
    CY_p = Param(unit="1", default=0.0, tunable=True, doc="side force by roll rate, per p b / 2 V")
    CY_r = Param(unit="1", default=0.0, tunable=True, doc="side force by yaw rate, per r b / 2 V")
    CY_aileron = Param(unit="1/rad", tunable=True, doc="side force by aileron")
    CY_rudder = Param(unit="1/rad", tunable=True, doc="side force by rudder")
    Cl_0 = Param(unit="1", default=0.0, tunable=True, doc="rolling moment")
    Cl_beta = Param(unit="1/rad", tunable=True, doc="rolling moment by sideslip (dihedral)")
    Cl_p = Param(unit="1", tunable=True, doc="roll damping")
    Cl_r = Param(unit="1", tunable=True, doc="rolling moment by yaw rate")
    Cl_aileron = Param(unit="1/rad", tunable=True, doc="rolling moment by aileron")
    Cl_rudder = Param(unit="1/rad", tunable=True, doc="rolling moment by rudder")
    Cn_0 = Param(unit="1", default=0.0, tunable=True, doc="yawing moment")
    Cn_beta = Param(unit="1/rad", tunable=True, doc="yawing moment by sideslip (weathercock)")
    Cn_p = Param(unit="1", tunable=True, doc="yawing moment by roll rate")
    Cn_r = Param(unit="1", tunable=True, doc="yaw damping")
    Cn_aileron = Param(unit="1/rad", tunable=True, doc="yawing moment by aileron")
    Cn_rudder = Param(unit="1/rad", tunable=True, doc="yawing moment by rudder")

    def __init__(self, *, any_flow: bool = False) -> None:
        super().__init__()
        self.any_flow = any_flow

    def output(self, x: View, u: View, p: View) -> Values:
        v = u.v_air_B
        speed = norm(v)
        alpha = ca.atan2(v[2], v[0])
        beta = ca.atan2(v[1], ca.sqrt(v[0] * v[0] + v[2] * v[2] + 1e-24))  # asin(v / V), safe when all is sideways
        pressure_area = 0.5 * u.density * p.area * speed  # times V: dynamic pressure times area
        rates = u.w_NB_B * 0.5 * ca.vertcat(p.span, p.chord, p.span)  # p b / 2, q c / 2, r b / 2

        def force(static: ca.SX, damping: ca.SX) -> ca.SX:
            """1/2 rho V^2 S (static + damping / V), without dividing by the speed."""
            return pressure_area * (speed * static + damping)

        # Lift and drag
        attached = _logistic(p.stall_rate * (p.stall_angle - alpha)) * _logistic(p.stall_rate * (alpha + p.stall_angle))
        sigma = 1 - attached  # the published fraction, split so that no exponential overflows
        linear = p.CL_0 + p.CL_alpha * alpha
        sine = ca.sin(alpha)
        plate = 2 * ca.fabs(sine) * sine * ca.cos(alpha)
        lift_coefficient = (1 - sigma) * linear + sigma * plate  # [BeardMcLain] Sec. 4.2.1
        aspect = p.span * p.span / p.area
        drag_coefficient = p.CD_p + linear * linear / (ca.pi * p.oswald * aspect)
        drag_coefficient = drag_coefficient + p.CD_alpha * alpha  # [RflyModel] 7.2.1.1: C_D0 + C_Dalpha alpha
        tilting = alpha
        if self.any_flow:  # [BeardMcLain] Sec. 4.2.1 of the plate's lift; its drag belongs to the same normal force
            drag_coefficient = (1 - sigma) * drag_coefficient + sigma * (p.CD_p + 2 * sine * sine)
            tilting = (1 - sigma) * alpha + sigma * sine
        lift = force(lift_coefficient + p.CL_elevator * u.elevator, p.CL_q * rates[1])
        of_elevator = p.CD_elevator * u.elevator + p.CD_elevator_size * ca.fabs(u.elevator)
        drag = force(drag_coefficient + of_elevator, p.CD_q * rates[1])

        pitching = force(p.Cm_0 + p.Cm_alpha * tilting + p.Cm_elevator * u.elevator, p.Cm_q * rates[1])

        def lateral(name: str) -> ca.SX:
            """Side force, or a moment over span, [BeardMcLain] Sec. 4.2.2."""
            static = p[f"{name}_0"] + p[f"{name}_beta"] * beta
            static += p[f"{name}_aileron"] * u.aileron + p[f"{name}_rudder"] * u.rudder
            return force(static, p[f"{name}_p"] * rates[0] + p[f"{name}_r"] * rates[2])

        c, s = ca.cos(alpha), ca.sin(alpha)
        return {
            "force_B": ca.vertcat(lift * s - drag * c, lateral("CY"), -lift * c - drag * s),
            "moment_B": ca.vertcat(p.span * lateral("Cl"), p.chord * pitching, p.span * lateral("Cn")),
            "alpha": alpha,
            "beta": beta,
            "lift": lift,
            "drag": drag,
            "stalled": sigma,
        }


def _logistic(value: ca.SX) -> ca.SX:
    """1 / (1 + exp(-value)), finite for any value."""
    return 0.5 * (1 + ca.tanh(0.5 * value))
