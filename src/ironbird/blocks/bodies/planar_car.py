"""Body of a road vehicle: three degrees of freedom in the plane of the ground, and the loads of its wheels."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.model.block import Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import clip, wrap_angle

FOLLOW_S = 0.05  # s, lag with which the height follows the ground


def attitude_on_ground(yaw: ca.SX, slope: ca.SX) -> tuple[ca.SX, ca.SX]:
    """R_NB, and roll, pitch, yaw of a vehicle that stands on a plane: z along its normal, x along the heading."""
    forward = ca.vertcat(ca.cos(yaw), ca.sin(yaw), ca.cos(yaw) * slope[0] + ca.sin(yaw) * slope[1])
    x_axis = forward / ca.sqrt(ca.dot(forward, forward))
    normal = ca.vertcat(-slope[0], -slope[1], 1)
    z_axis = normal / ca.sqrt(ca.dot(normal, normal))
    y_axis = ca.cross(z_axis, x_axis)
    euler = ca.vertcat(ca.atan2(y_axis[2], z_axis[2]), ca.asin(-x_axis[2]), wrap_angle(yaw))
    return ca.horzcat(x_axis, y_axis, z_axis), euler


class PlanarCar(RigidBodyPorts):
    """The body of a car that moves in the plane of the ground: forward, sideways, yaw.
    Newton and Euler; gravity pulls along a slope.

    m (du/dt - v r) = Fx, m (dv/dt + u r) = Fy, Iz dr/dt = Mz, as in the single-track model of [CommonRoad]. The wheels
    carry the weight and the moments of the forces at the height of the centre of mass; of the lateral part the front
    axle takes `roll_share`. The loads follow the forces with the lag `transfer_time`, which represents the springs.
    `force_B[2]`, `moment_B[0:2]` and `momentum_B` do nothing.

    With `sprung` the body rolls and pitches on its springs (M_X and M_Y of [RflyModel] 7.3.1.1), about an axis on the
    ground as in [CommonRoad]: I d2(roll)/dt2 = -m_s h a_y + (m_s g h - K) roll - C d(roll)/dt + Mx, and for the pitch
    with +a_x. The loads then follow the springs, attitude and specific force are those of the leaning body, and
    the wheels lean by their share of the roll (camber). Forces stay in the plane of the ground, velocity and rates are
    turned by small angles. Valid on a plane and on hills that are long against the vehicle. Not modelled: heave
    (it is eliminated in the pitch stiffness), unsprung masses on their tyres, jumps, what follows a rollover.
    """

    source = "[CommonRoad] single-track model, multi-body parameters; [RflyModel] 7.3.1.1"

    place = In(unit="m", shape=2, frame="N", default=0.0, doc="north and east where the plane touches the ground")
    ground_z = In(unit="m", default=0.0, doc="z (down) of the ground there")
    slope = In(unit="1", shape=2, default=0.0, doc="change of z per metre north and east")
    load_1 = Out(unit="N", doc="normal force of the front left wheel")
    load_2 = Out(unit="N", doc="normal force of the front right wheel")
    load_3 = Out(unit="N", doc="normal force of the rear left wheel")
    load_4 = Out(unit="N", doc="normal force of the rear right wheel")
    load = Out(unit="N", doc="normal force of all wheels")
    rollover = Out(unit="1", doc="1 when both wheels of a side would have to be pulled down")

    p = State(unit="m", shape=3, frame="N", init="p_0", doc="position")
    yaw = State(unit="rad", init="yaw_0", doc="heading")
    v = State(unit="m/s", shape=2, init="v_0", doc="velocity forward and to the right")
    r = State(unit="rad/s", init="r_0", doc="yaw rate")
    felt = State(unit="m/s^2", shape=2, init=0.0, doc="specific force forward and to the right, behind the springs")

    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="initial position")
    yaw_0 = Param(unit="rad", default=0.0, doc="initial heading")
    v_0 = Param(unit="m/s", shape=2, default=0.0, doc="initial velocity forward and to the right")
    r_0 = Param(unit="rad/s", default=0.0, doc="initial yaw rate")
    front = Param(unit="m", low=0.01, doc="from the centre of mass to the front axle")
    rear = Param(unit="m", low=0.01, doc="from the centre of mass to the rear axle")
    track = Param(unit="m", shape=2, low=0.01, doc="front and rear track")
    cg_height = Param(unit="m", low=0.0, doc="of the centre of mass above the ground")
    roll_share = Param(unit="1", low=0.0, high=1.0, doc="share of the front axle in the lateral load transfer")
    transfer_time = Param(unit="s", low=0.01, doc="lag of the load transfer")

    def __init__(self, *, sprung: bool = False) -> None:
        super().__init__()
        self.sprung = sprung
        if not sprung:
            return
        self.declare("lean", State(unit="rad", shape=2, init=0.0, doc="roll and pitch on the springs"))
        self.declare("lean_rate", State(unit="rad/s", shape=2, init=0.0, doc="their derivatives"))
        self.declare("sprung_mass", Param(unit="kg", low=1e-3, doc="m_s"))
        self.declare("sprung_height", Param(unit="m", low=0.0, doc="h of the sprung mass above the ground"))
        self.declare("lean_inertia", Param(unit="kg*m^2", shape=2, low=1e-6, doc="roll and pitch, about the ground"))
        self.declare("lean_stiffness", Param(unit="N*m", shape=2, low=1.0, doc="per radian of roll and pitch"))
        self.declare("lean_damping", Param(unit="N*m*s", shape=2, low=0.0, doc="of roll and pitch"))
        self.declare("camber_share", Param(unit="1", shape=2, default=1.0, doc="of the roll, front and rear wheels"))
        self.declare("on_springs", Out(unit="rad", shape=2, doc="roll and pitch of the body against the ground"))
        for axle in ("front", "rear"):
            self.declare(f"camber_{axle}", Out(unit="rad", doc=f"lean of the {axle} wheels, positive to the right"))

    def _spring_moment(self, x: View, p: View) -> ca.SX:
        """Moments of the springs on the axles (N m): backward, and to the left."""
        held = p.lean_stiffness * x.lean + p.lean_damping * x.lean_rate
        unsprung = p.mass * p.cg_height - p.sprung_mass * p.sprung_height  # carried directly by the wheels
        return ca.vertcat(held[1], -held[0]) + unsprung * x.felt

    def derivative(self, x: View, u: View, p: View) -> Rates:
        rates = self._level_rates(x, u, p)
        if not self.sprung:
            return rates
        R_NB, _ = attitude_on_ground(x.yaw, u.slope)
        felt = u.force_B[:2] / p.mass
        arm = p.sprung_mass * p.sprung_height
        push = arm * ca.vertcat(-felt[1], felt[0]) + u.moment_B[:2]
        back = p.lean_stiffness * x.lean + p.lean_damping * x.lean_rate - arm * (R_NB.T @ u.gravity_N)[2] * x.lean
        return {**rates, "lean": x.lean_rate, "lean_rate": (push - back) / p.lean_inertia}

    def _level_rates(self, x: View, u: View, p: View) -> Rates:
        R_NB, euler = attitude_on_ground(x.yaw, u.slope)
        felt = u.force_B[:2] / p.mass
        gravity_B = R_NB.T @ u.gravity_N
        v_N = R_NB @ ca.vertcat(x.v, 0)
        ground = u.ground_z + ca.dot(u.slope, x.p[:2] - u.place)
        follow = (ground - p.cg_height - x.p[2]) / FOLLOW_S
        return {
            "p": v_N + ca.vertcat(0, 0, follow),
            "yaw": x.r * ca.cos(euler[0]) / ca.cos(euler[1]),
            "v": felt + gravity_B[:2] + x.r * ca.vertcat(x.v[1], -x.v[0]),
            "r": u.moment_B[2] / p.inertia[2, 2],
            "felt": (felt - x.felt) / p.transfer_time,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        R_NB, euler = attitude_on_ground(x.yaw, u.slope)
        weight = p.mass * (R_NB.T @ u.gravity_N)[2]
        base = p.front + p.rear
        moment = p.mass * x.felt * p.cg_height  # about the ground: backward, and to the left
        if self.sprung:
            moment = self._spring_moment(x, p)
        axles = ((weight * p.rear - moment[0]) / (2 * base), (weight * p.front + moment[0]) / (2 * base))
        across = (p.roll_share * moment[1] / p.track[0], (1 - p.roll_share) * moment[1] / p.track[1])
        raw = [axles[0] + across[0], axles[0] - across[0], axles[1] + across[1], axles[1] - across[1]]
        loads = [ca.fmax(load, 0) for load in raw]
        lifted = ca.logic_or(raw[0] + raw[2] < 0, raw[1] + raw[3] < 0)
        v_B, rates = ca.vertcat(x.v, 0), ca.vertcat(0, 0, x.r)
        v_N = R_NB @ v_B
        specific = ca.vertcat(u.force_B[:2] / p.mass, -weight / p.mass)
        turning = ca.vertcat(0, 0, u.moment_B[2] / p.inertia[2, 2])
        more: Values = {}
        if self.sprung:
            leaning = quaternion.rotation_matrix(quaternion.from_euler(x.lean[0], x.lean[1], ca.SX(0)))
            R_NB = R_NB @ leaning
            v_B, specific, turning = leaning.T @ v_B, leaning.T @ specific, leaning.T @ turning
            rates = leaning.T @ rates + ca.vertcat(x.lean_rate, 0)
            roll, nose = ca.atan2(R_NB[2, 1], R_NB[2, 2]), ca.asin(clip(-R_NB[2, 0], -1, 1))
            euler = ca.vertcat(roll, nose, ca.atan2(R_NB[1, 0], R_NB[0, 0]))
            more = {f"camber_{axle}": p.camber_share[i] * x.lean[0] for i, axle in enumerate(("front", "rear"))}
            more["on_springs"] = x.lean
        return {
            **more,
            "p_NB_N": x.p,
            "v_NB_N": v_N,
            "v_NB_B": v_B,
            "q_NB": quaternion.from_euler(euler[0], euler[1], euler[2]),
            "R_NB": R_NB,
            "euler": euler,
            "w_NB_B": rates,
            "specific_force_B": specific,
            "angular_acceleration_B": turning,
            **self._flat_earth_place(x, p),
            "load_1": loads[0],
            "load_2": loads[1],
            "load_3": loads[2],
            "load_4": loads[3],
            "load": loads[0] + loads[1] + loads[2] + loads[3],
            "rollover": ca.if_else(lifted, 1, 0),
        }
