"""Forces of the water on a hull: damping, cross-flow, lift, buoyancy, hydrostatics, control fins.

All act at the origin of `MarineBody` and use the velocity through the water.
"""

from __future__ import annotations

import math

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip

SEA_WATER = 1026.0  # kg/m^3


class Damping(Block):
    """Computes the linear and quadratic damping of a hull in water.
    F = -(d_1 exp(-f U) + d_2 |nu|) nu per axis, [Fossen2021] Ch. 6 with diagonal matrices.

    The linear part may fade with speed U where other parts take over. Not modelled: coupling of axes, free surface.
    """

    source = "[Fossen2021] Ch. 6"

    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    force_B = Out(unit="N", shape=3, frame="B", doc="drag")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="damping of rotation")
    linear = Param(unit="N*s/m", shape=3, default=0.0, low=0.0, tunable=True, doc="surge, sway, heave")
    quadratic = Param(unit="N*s^2/m^2", shape=3, default=0.0, low=0.0, tunable=True, doc="surge, sway, heave")
    angular_linear = Param(unit="N*m*s/rad", shape=3, default=0.0, low=0.0, tunable=True, doc="roll, pitch, yaw")
    angular_quadratic = Param(unit="N*m*s^2/rad^2", shape=3, default=0.0, low=0.0, tunable=True, doc="likewise")
    fade = Param(unit="s/m", shape=3, default=0.0, low=0.0, doc="f: how fast the linear drag fades with speed")

    def output(self, x: View, u: View, p: View) -> Values:
        v, w = u.v_water_B, u.w_NB_B
        linear = p.linear * ca.exp(-p.fade * norm(v))
        return {
            "force_B": -(linear + p.quadratic * ca.fabs(v)) * v,
            "moment_B": -(p.angular_linear + p.angular_quadratic * ca.fabs(w)) * w,
        }


class ManoeuvringDamping(Block):
    """Computes the damping of a ship in surge, sway and yaw with cross terms.
    As in [Skjetne2004] and [Fossen2021] Ch. 6.

    Names are those of hydrodynamic derivatives: `Y_rv` is the factor of |r| v in the sway force. Valid in the range
    in which they were identified, for the model ship up to about 0.5 m/s. Not modelled: heave, roll, pitch, waves.
    """

    source = "[Skjetne2004]"

    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    force_B = Out(unit="N", shape=3, frame="B", doc="in surge and sway")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="in yaw")
    X_u = Param(unit="N*s/m", tunable=True, doc="surge force of u")
    X_uu = Param(unit="N*s^2/m^2", tunable=True, doc="surge force of |u| u")
    X_uuu = Param(unit="N*s^3/m^3", default=0.0, tunable=True, doc="surge force of u^3")
    Y_v = Param(unit="N*s/m", tunable=True, doc="sway force of v")
    Y_vv = Param(unit="N*s^2/m^2", default=0.0, tunable=True, doc="sway force of |v| v")
    Y_rv = Param(unit="N*s^2/m", default=0.0, tunable=True, doc="sway force of |r| v")
    Y_r = Param(unit="N*s", default=0.0, tunable=True, doc="sway force of r")
    Y_vr = Param(unit="N*s^2/m", default=0.0, tunable=True, doc="sway force of |v| r")
    Y_rr = Param(unit="N*s^2", default=0.0, tunable=True, doc="sway force of |r| r")
    N_v = Param(unit="N*s", default=0.0, tunable=True, doc="yaw moment of v")
    N_vv = Param(unit="N*s^2/m", default=0.0, tunable=True, doc="yaw moment of |v| v")
    N_rv = Param(unit="N*s^2", default=0.0, tunable=True, doc="yaw moment of |r| v")
    N_r = Param(unit="N*m*s", tunable=True, doc="yaw moment of r")
    N_vr = Param(unit="N*s^2", default=0.0, tunable=True, doc="yaw moment of |v| r")
    N_rr = Param(unit="N*m*s^2", default=0.0, tunable=True, doc="yaw moment of |r| r")

    def output(self, x: View, u: View, p: View) -> Values:
        surge, sway, r = u.v_water_B[0], u.v_water_B[1], u.w_NB_B[2]
        side, turn = ca.fabs(sway), ca.fabs(r)
        X = (p.X_u + p.X_uu * ca.fabs(surge) + p.X_uuu * surge * surge) * surge
        Y = (p.Y_v + p.Y_vv * side + p.Y_rv * turn) * sway + (p.Y_r + p.Y_vr * side + p.Y_rr * turn) * r
        N = (p.N_v + p.N_vv * side + p.N_rv * turn) * sway + (p.N_r + p.N_vr * side + p.N_rr * turn) * r
        return {"force_B": ca.vertcat(X, Y, 0), "moment_B": ca.vertcat(0, 0, N)}


class CrossFlowDrag(Block):
    """Computes the drag of a hull that moves sideways or turns, summed over strips, [Fossen2021] Ch. 6.
    Y = -rho/2 T C_d sum |v + x r| (v + x r) dx.

    Evaluated at `strips` + 1 places from stern to bow with equal weight, as Fossen's published program does; with 20
    strips this is 5 % more than the integral in sway and 21 % more in a pure turn. Not modelled: the vertical plane,
    shape of the hull.
    """

    source = "[Fossen2021] Ch. 6; [FossenPVS] lib/gnc.py"

    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    force_B = Out(unit="N", shape=3, frame="B", doc="in sway")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="in yaw")
    length = Param(unit="m", low=0.01, doc="of the hull")
    draught = Param(unit="m", low=0.001, doc="of the hull")
    drag_coefficient = Param(unit="1", low=0.0, tunable=True, doc="two-dimensional, from Hoerner's curve")
    density = Param(unit="kg/m^3", default=SEA_WATER, low=900.0, doc="of the water")

    def __init__(self, strips: int = 20) -> None:
        super().__init__()
        self.strips = strips

    def output(self, x: View, u: View, p: View) -> Values:
        v, r = u.v_water_B[1], u.w_NB_B[2]
        factor = -0.5 * p.density * p.draught * p.drag_coefficient * p.length / self.strips
        force: ca.SX = ca.SX(0)
        moment: ca.SX = ca.SX(0)
        for i in range(self.strips + 1):
            place = p.length * (i / self.strips - 0.5)
            flow = v + place * r
            drag = ca.fabs(flow) * flow
            force, moment = force + drag, moment + place * drag
        return {"force_B": ca.vertcat(0, factor * force, 0), "moment_B": ca.vertcat(0, 0, factor * moment)}


class LiftDrag(Block):
    """Computes lift and drag of a slender hull as a wing of small aspect ratio.
    [FossenPVS] lib/gnc.py after [BeardMcLain].

    C_L = C_La a and C_D = C_D0 + C_L^2 / (pi e A) with the angle of attack a in the vertical plane. Valid without
    stall, below some 20 degrees. Not modelled: side force of sideslip (cross-flow drag), moment, stall.
    """

    source = "[FossenPVS] lib/gnc.py; [BeardMcLain] Ch. 4"

    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    force_B = Out(unit="N", shape=3, frame="B", doc="lift and drag")
    span = Param(unit="m", low=0.001, doc="diameter of the hull")
    area = Param(unit="m^2", low=1e-6, doc="reference area S")
    drag_coefficient = Param(unit="1", low=0.0, tunable=True, doc="C_D0")
    efficiency = Param(unit="1", default=0.7, low=0.1, high=1.0, doc="Oswald's e")
    density = Param(unit="kg/m^3", default=SEA_WATER, low=900.0, doc="of the water")

    def output(self, x: View, u: View, p: View) -> Values:
        v = u.v_water_B
        ratio = p.span * p.span / p.area
        slope = math.pi * ratio / (1 + ca.sqrt(1 + (ratio / 2) ** 2))
        alpha = ca.atan2(v[2], v[0])
        lift_coefficient = slope * alpha
        drag_coefficient = p.drag_coefficient + lift_coefficient**2 / (math.pi * p.efficiency * ratio)
        pressure = 0.5 * p.density * ca.dot(v, v) * p.area
        lift, drag = pressure * lift_coefficient, pressure * drag_coefficient
        c, s = ca.cos(alpha), ca.sin(alpha)
        return {"force_B": ca.vertcat(-c * drag + s * lift, 0, -s * drag - c * lift)}


class Buoyancy(Block):
    """Computes the buoyancy rho g V of a submerged body at its centre, [Fossen2021] Ch. 4; weight belongs to the body.

    Near the surface the share under water falls linearly over `height`, from the whole body to none. Not modelled:
    shift of the centre while surfacing, compression with depth, waves.
    """

    source = "[Fossen2021] Ch. 4"

    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    depth = In(unit="m", doc="of the body's origin")
    gravity_N = In(unit="m/s^2", shape=3, frame="N", doc="acceleration of gravity")
    force_B = Out(unit="N", shape=3, frame="B", doc="buoyancy")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the body's origin")
    lift = Out(unit="N", doc="size of the buoyancy")
    volume = Param(unit="m^3", low=1e-6, tunable=True, doc="displaced when submerged")
    centre = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of buoyancy, from the body's origin")
    density = Param(unit="kg/m^3", default=SEA_WATER, low=900.0, high=1100.0, tunable=True, doc="of the water")
    height = Param(unit="m", default=0.25, low=0.01, doc="of the body")

    def output(self, x: View, u: View, p: View) -> Values:
        share = clip(u.depth / p.height + 0.5, 0, 1)
        mass = p.density * p.volume * share
        force = -mass * (u.R_NB.T @ u.gravity_N)
        return {
            "force_B": force,
            "moment_B": ca.cross(p.centre, force),
            "lift": mass * norm(u.gravity_N),
        }


class Hydrostatics(Block):
    """Computes the restoring force and moment of a floating hull in heave, roll and pitch, about the body's origin.
    -G (z, roll, pitch), [Fossen2021] Ch. 4.

    At z = 0 and level the water carries `balanced_mass` whose weight acts at `balanced_at`; additional weight sinks it
    further. `stiffness` holds for heave, roll and pitch about the centre of flotation. Buoyancy is vertical; Fossen's
    published program has the heave spring along the body's axis, so that a hull that is trimmed by its payload drives
    itself (`along_body` = 1 is that program). Linear: valid for some 10 degrees and while the waterline stays between
    deck and keel. Not modelled: capsizing arms, waves, planing.
    """

    source = "[Fossen2021] Ch. 4"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    euler = In(unit="rad", shape=3, doc="roll, pitch, yaw")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    gravity_N = In(unit="m/s^2", shape=3, frame="N", doc="acceleration of gravity")
    force_B = Out(unit="N", shape=3, frame="B", doc="buoyancy")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="righting moment")
    lift = Out(unit="N", doc="buoyancy of hull and immersion; zero when out of the water")
    heave_stiffness = Param(unit="N/m", default=0.0, low=0.0, tunable=True, doc="rho g A_w")
    roll_stiffness = Param(unit="N*m/rad", default=0.0, low=0.0, tunable=True, doc="rho g V GM_T")
    pitch_stiffness = Param(unit="N*m/rad", default=0.0, low=0.0, tunable=True, doc="rho g V GM_L")
    flotation_x = Param(unit="m", default=0.0, doc="centre of flotation forward of the body's origin")
    along_body = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 has the heave spring along the body's z axis"
    )
    balanced_mass = Param(unit="kg", low=0.0, doc="carried at z = 0")
    balanced_at = Param(unit="m", shape=3, frame="B", default=0.0, doc="where its weight acts")

    def output(self, x: View, u: View, p: View) -> Values:
        z, roll, pitch = u.p_NB_N[2], u.euler[0], u.euler[1]
        carried = -p.balanced_mass * (u.R_NB.T @ u.gravity_N)
        # H(r)^T G H(r) (z, roll, pitch): heave at the centre of flotation is z - x pitch
        sink = z - p.flotation_x * pitch
        spring = -p.heave_stiffness * sink
        righting = ca.vertcat(-p.roll_stiffness * roll, -p.pitch_stiffness * pitch - p.flotation_x * spring, 0)
        return {
            "force_B": carried + spring * ca.if_else(p.along_body > 0.5, ca.SX([0, 0, 1]), u.R_NB[2, :].T),
            "moment_B": ca.cross(p.balanced_at, carried) + righting,
            "lift": ca.fmax(p.balanced_mass * norm(u.gravity_N) - spring, 0),
        }


class ControlFin(Block):
    """A pair of fins under water, moved by a servo: lift and drag by deflection.
    Lift -rho/2 U^2 A C_L d along `normal`, drag rho/2 U^2 A C_L d^2.

    U is the speed in the plane of the hull's axis and `normal`, as [FossenPVS] vehicles/remus100.py. Not modelled:
    stall, the angle that the hull's own motion gives the flow, propeller wash.
    """

    source = "[FossenPVS] vehicles/remus100.py; [Fossen2021] Ch. 9"

    deflection = In(unit="rad", doc="d, of the servo")
    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    force_B = Out(unit="N", shape=3, frame="B", doc="lift and drag")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the body's origin")
    normal = Param(unit="1", shape=3, frame="B", doc="negative direction of the lift at a positive angle")
    position = Param(unit="m", shape=3, frame="B", doc="of the fins, from the body's origin")
    area = Param(unit="m^2", low=1e-6, doc="of both fins")
    lift_slope = Param(unit="1/rad", low=0.0, tunable=True, doc="C_L per angle")
    density = Param(unit="kg/m^3", default=SEA_WATER, low=900.0, doc="of the water")

    def output(self, x: View, u: View, p: View) -> Values:
        v = u.v_water_B
        across = ca.dot(p.normal, v)
        pressure = 0.5 * p.density * (v[0] * v[0] + across * across) * p.area
        lift = pressure * p.lift_slope * u.deflection
        force = -lift * p.normal - ca.vertcat(lift * u.deflection, 0, 0)
        return {"force_B": force, "moment_B": ca.cross(p.position, force)}
