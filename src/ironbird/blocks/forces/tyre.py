"""Tyre: Magic Formula forces of one wheel, with a contact patch that deflects before it slides."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import blend, clip

DEGREES = 180 / ca.pi  # the Magic Formula of 1989 counts in degrees, per cent and kilonewtons
LEAST_LOAD_N, MOST_LOAD_N = 50.0, 15000.0  # the coefficients are used between these loads; below, forces fade
STANDS_MPS, ROLLS_MPS = 1.0, 5.0  # between these speeds the bounds of the slip open up
STANDING_SLIP, ROLLING_SLIP = 0.12, 2.0  # bounds of the longitudinal slip
STANDING_TANGENT, ROLLING_TANGENT = 0.3, 5.0  # bounds of the tangent of the slip angle
FARTHEST = 100.5  # per cent, a locked wheel: the end of the longitudinal curve
FASTEST = 800.0  # 1/s, rate at which slips settle at most
MOMENT_BLEND = 0.1  # lateral slip (squared, normalised) below which braking leaves the aligning moment alone


def magic(argument: ca.SX, shape: ca.SX, curvature: ca.SX) -> ca.SX:
    """sin(C atan(B X - E (B X - atan B X))), [RflyModel] 7.3.1.1."""
    return ca.sin(shape * ca.atan(argument - curvature * (argument - ca.atan(argument))))


class Tyre(Block):
    """Computes the forces and the moment of a tyre on the road by the Magic Formula [Pacejka1989].
    In the form of [RflyModel] 7.3.1.1: Fx, Fy, Mz of slip, slip angle, camber, load.

    Signs: a positive slip drives, a positive slip angle gives a force to the right (y of B), so that it is
    -atan(vy / |vx|); Mz is positive about z (down) and turns the wheel back. `side` mirrors the tyre of the left
    side, whose cone and ply steer pull the other way. Combined slip by similarity: both slips, normalised with
    their stiffness over their peak force, give one length at which each pure curve is read, and the direction;
    the pure curves come out unchanged. The slips are states with a relaxation length, so that at standstill the
    contact patch is a spring with a bounded deflection and the vehicle does not creep. `friction` scales the peak
    forces, not the stiffness. Beyond a locked wheel's slip the longitudinal curve is flat: with a curvature above 1 the
    formula turns round there. The stiffness of Mz, misprinted in [RflyModel], is (C3 Fz^2 + C4 Fz) exp(-C5 Fz). Not
    modelled: spin of the contact patch, temperature, wear, inflation pressure, aquaplaning.
    """

    source = "[RflyModel] 7.3.1.1; [Pacejka1989]"

    v_NB_B = In(unit="m/s", shape=3, frame="B", doc="velocity of the centre of mass")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    steer = In(unit="rad", default=0.0, doc="angle of the wheel, positive to the right")
    camber = In(unit="rad", default=0.0, doc="lean of the wheel, positive to the right")
    speed = In(unit="rad/s", doc="rotation of the wheel, positive forward")
    load = In(unit="N", low=0.0, high=8000.0, doc="normal force")
    force_B = Out(unit="N", shape=3, frame="B", doc="on the body")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass, without that of the force about x, y")
    longitudinal = Out(unit="N", doc="Fx in the wheel's axes")
    lateral = Out(unit="N", doc="Fy in the wheel's axes")
    aligning = Out(unit="N*m", doc="Mz")
    overturning = Out(unit="N*m", doc="Mx about the wheel's x axis: the load acts beside the wheel's plane")
    slip = Out(unit="1", doc="longitudinal slip, positive drives")
    slip_angle = Out(unit="rad", doc="positive gives a force to the right")
    kappa = State(unit="1", init="slip_0", doc="longitudinal slip of the contact patch")
    tangent = State(unit="1", init="tangent_0", doc="tangent of its slip angle")

    position = Param(unit="m", shape=3, frame="B", doc="of the contact patch from the centre of mass")
    radius = Param(unit="m", low=1e-3, doc="rolling radius")
    lateral_stiffness = Param(unit="N/m", default=1e9, low=1.0, tunable=True, doc="L_s: sideways, of the carcass")
    side = Param(unit="1", default=1.0, low=-1.0, high=1.0, doc="+1 tyre of the right side, -1 of the left")
    a = Param(unit="1", shape=14, doc="A0 .. A13 of the lateral force; N, kN, degrees")
    b = Param(unit="1", shape=11, doc="B0 .. B10 of the longitudinal force; N, kN, per cent")
    c = Param(unit="1", shape=18, doc="C0 .. C17 of the aligning moment; N m, kN, degrees")
    friction = Param(unit="1", default=1.0, low=0.01, high=2.0, tunable=True, doc="of the road; 1 as in the test")
    relaxation_x = Param(unit="m", low=0.02, doc="relaxation length of the longitudinal slip")
    relaxation_y = Param(unit="m", low=0.02, doc="relaxation length of the slip angle")
    damping_time = Param(unit="s", default=0.005, low=0.0, doc="damping of the patch over its stiffness")
    slip_0 = Param(unit="1", default=0.0, doc="initial slip")
    tangent_0 = Param(unit="1", default=0.0, doc="initial tangent of the slip angle")

    def _rates(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Rates of the slips: sliding velocity over the relaxation length; tight bounds at standstill."""
        along = u.v_NB_B[0] - u.w_NB_B[2] * p.position[1]
        across = u.v_NB_B[1] + u.w_NB_B[2] * p.position[0]
        cosine, sine = ca.cos(u.steer), ca.sin(u.steer)
        vx, vy = cosine * along + sine * across, cosine * across - sine * along
        sliding = vx - p.radius * u.speed
        rolling = ca.fabs(vx)
        moving = blend(rolling, STANDS_MPS, ROLLS_MPS)
        most_slip = STANDING_SLIP + moving * (ROLLING_SLIP - STANDING_SLIP)
        most_tangent = STANDING_TANGENT + moving * (ROLLING_TANGENT - STANDING_TANGENT)
        leak_x = ca.fmax(rolling, ca.fabs(sliding) / most_slip)
        leak_y = ca.fmax(rolling, ca.fabs(vy) / most_tangent)
        # A spinning wheel settles at once; FASTEST limits the rate and so the step size
        ease_x = ca.fmin(1, FASTEST * p.relaxation_x / ca.fmax(leak_x, 1e-6))
        ease_y = ca.fmin(1, FASTEST * p.relaxation_y / ca.fmax(leak_y, 1e-6))
        return (
            ease_x * (-sliding - leak_x * x.kappa) / p.relaxation_x,
            ease_y * (-vy - leak_y * x.tangent) / p.relaxation_y,
        )

    def derivative(self, x: View, u: View, p: View) -> Rates:
        kappa_rate, tangent_rate = self._rates(x, u, p)
        return {"kappa": kappa_rate, "tangent": tangent_rate}

    def output(self, x: View, u: View, p: View) -> Values:
        a, b, c = p.a, p.b, p.c
        kappa_rate, tangent_rate = self._rates(x, u, p)
        kappa = x.kappa + p.damping_time * kappa_rate
        slip_angle = ca.atan(x.tangent + p.damping_time * tangent_rate)
        percent, degrees = 100 * kappa, p.side * DEGREES * slip_angle
        gamma = p.side * DEGREES * u.camber
        fz = clip(u.load, LEAST_LOAD_N, MOST_LOAD_N) / 1000
        contact = clip(u.load / LEAST_LOAD_N, 0, 1)

        # [RflyModel] 7.3.1.1, longitudinal force: peak, stiffness, curvature, shift
        peak_x = p.friction * (b[1] * fz + b[2]) * fz
        stiffness_x = (b[3] * fz + b[4]) * fz * ca.exp(-b[5] * fz)
        curvature_x = (b[6] * fz + b[7]) * fz + b[8]
        shift_x = b[9] * fz + b[10]
        # lateral force; sin(2 atan q) = 2 q / (1 + q^2)
        q = fz / a[4]
        peak_y = p.friction * (a[1] * fz + a[2]) * fz
        stiffness_y = a[3] * (2 * q / (1 + q * q)) * (1 - a[5] * ca.fabs(gamma))
        curvature_y = a[6] * fz + a[7]
        shift_y = a[9] * fz + a[10] + a[8] * gamma
        offset_y = a[11] * fz * gamma + a[12] * fz + a[13]
        # aligning moment
        peak_z = p.friction * (c[1] * fz + c[2]) * fz
        stiffness_z = (c[3] * fz + c[4]) * fz * (1 - c[6] * ca.fabs(gamma)) * ca.exp(-c[5] * fz)
        curvature_z = ((c[7] * fz + c[8]) * fz + c[9]) * (1 - c[10] * ca.fabs(gamma))
        shift_z = c[11] * gamma + c[12] * fz + c[13]
        offset_z = (c[14] * fz + c[15]) * fz * gamma + c[16] * fz + c[17]

        # Similarity: one length for both slips; B X = length / C because B = stiffness / (C D)
        theta_x = stiffness_x * (percent + shift_x) / peak_x
        theta_y = stiffness_y * (degrees + shift_y) / peak_y
        theta = ca.sqrt(theta_x * theta_x + theta_y * theta_y + 1e-12)
        far = ca.fmin(theta, FARTHEST * p.friction * stiffness_x / peak_x)  # as far along the curve as on a dry road
        fx = contact * peak_x * magic(far / b[0], b[0], curvature_x) * (theta_x / theta)
        fy = peak_y * magic(theta / a[0], a[0], curvature_y) * (theta_y / theta) + offset_y
        turn = stiffness_z * (degrees + shift_z) / (c[0] * peak_z)
        braking = stiffness_x * percent / peak_x
        lateral_share = (MOMENT_BLEND + theta_y**2) / (MOMENT_BLEND + theta_y**2 + braking**2)
        mz = contact * p.side * (peak_z * magic(turn, c[0], curvature_z) + offset_z) * lateral_share
        fy = contact * p.side * fy

        cosine, sine = ca.cos(u.steer), ca.sin(u.steer)
        force = ca.vertcat(cosine * fx - sine * fy, sine * fx + cosine * fy, 0)
        # [RflyModel] 7.3.1.1: M_x = -F_z D_e, D_e = F_y / L_s
        over = -u.load * fy / p.lateral_stiffness
        turn_B = p.position[0] * force[1] - p.position[1] * force[0] + mz
        return {
            "force_B": force,
            "moment_B": ca.vertcat(cosine * over, sine * over, turn_B),
            "longitudinal": fx,
            "lateral": fy,
            "aligning": mz,
            "overturning": over,
            "slip": kappa,
            "slip_angle": slip_angle,
        }
