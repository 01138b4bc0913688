"""Position, velocity and attitude control of a helicopter with one main rotor: swash plate and tail pitch out."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.actuators.swash_plate import SERVOS
from ironbird.blocks.controllers.cascade_ports import CascadePorts, blind_acceleration
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip, limit_length, wrap_angle

LEAST_LIFT, MOST_LIFT = 0.5, 1.5  # share of the weight, limits in flight
MOST_TRIM = 3.0  # m/s^2: limit of the velocity integral
MOST_CYCLIC_TRIM = 0.02  # rad: limit of the attitude integral
MOST_TAIL_TRIM = 0.2  # rad: limit of the yaw rate integral


class HelicopterControl(CascadePorts):
    """Controls a helicopter from position to collective, cyclic and tail pitch by cascaded loops. Sampled.
    Position P, velocity PI, tilt PI on the fly-bar's own rate control, heading P on a yaw rate PI (gyro).

    The fly-bar makes the tilt of the disc follow a turning body late, which leaves a rate proportional to cyclic pitch,
    tau p = B d_lat [Gavrilets2015]: so the tilt error sets a rate and the rate sets the cyclic pitch, slowly enough not
    to excite the body against the rotor. Collective and tail pitch have a feed-forward by momentum theory of a hover at
    sea level. With control by attitude or rate (kinds 2 and 3) it holds its place. Not modelled: gains by airspeed,
    notch filter, use of the rotor speed.
    """

    source = "[Gavrilets2015]; [Dai] Eq. 3; closed form of this project"

    control_kind = In(unit="1", default=0.0, doc="0 position, 1 velocity, 4 level and sink")
    armed = In(unit="1", default=1.0, doc="0 lays the blades flat")
    disarmed = In(unit="1", default=0.0, doc="1 on the ground: the rotor turns without lift; else not armed is off")
    grounded = In(unit="1", default=0.0, doc="1 while standing after a landing: flat blades, integrals cleared")
    throttle = Out(unit="1", doc="of the engine's governor: share of nominal speed")
    tail = Out(unit="1", low=-1.0, high=1.0, doc="command of the tail pitch servo")
    lift = Out(unit="N", doc="commanded")
    pitches = Out(unit="rad", shape=3, doc="commanded collective, longitudinal, lateral pitch")
    rate_set_B = Out(unit="rad/s", shape=3, frame="B", doc="commanded angular velocity")

    cyclic_sum = State(unit="rad", shape=2, init=0.0, doc="trim of lateral and longitudinal pitch")
    tail_sum = State(unit="rad", init=0.0, doc="trim of the tail pitch")

    position_gain = Param(unit="1/s", low=0.0, tunable=True, doc="position error to velocity")
    velocity_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="velocity error to acceleration, per axis")
    velocity_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the velocity gain")
    tilt_gain = Param(unit="1/s", low=0.0, tunable=True, doc="tilt error to roll and pitch rate")
    tilt_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the tilt gain")
    heading_gain = Param(unit="1/s", low=0.0, tunable=True, doc="heading error to yaw rate")
    yaw_gain = Param(unit="s", low=0.0, tunable=True, doc="yaw rate error to tail pitch")
    yaw_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the yaw gain")
    max_speed = Param(unit="m/s", low=0.1, tunable=True, doc="horizontal")
    max_climb = Param(unit="m/s", low=0.1, tunable=True, doc="up")
    max_descent = Param(unit="m/s", low=0.1, tunable=True, doc="down")
    max_tilt = Param(unit="rad", low=0.05, high=1.0, tunable=True, doc="of the commanded thrust")
    max_rate = Param(unit="rad/s", shape=3, low=0.1, tunable=True, doc="commanded")

    mass = Param(unit="kg", low=1e-3, doc="assumed")
    rotor_radius = Param(unit="m", low=1e-2, doc="assumed")
    tip_speed = Param(unit="m/s", low=1.0, doc="assumed, main rotor")
    hover_pitch = Param(unit="rad", doc="assumed: collective pitch for the lift in hover, without inflow")
    hover_induced = Param(unit="m/s", low=1e-2, doc="assumed: induced speed in hover")
    profile_torque = Param(unit="N*m", low=0.0, doc="assumed: torque of the main rotor without lift")
    rate_cyclic = Param(unit="s", low=0.0, doc="assumed: cyclic pitch per body rate, tau / B")
    tail_arm = Param(unit="m", low=1e-2, doc="assumed: of the tail rotor, over the share of its thrust that is left")
    tail_thrust = Param(unit="N", low=1e-2, doc="assumed: thrust of the tail rotor in hover")
    tail_pitch = Param(unit="rad", doc="assumed: tail pitch for that thrust, without inflow")
    tail_inflow = Param(unit="rad", doc="assumed: tail pitch that the inflow of that thrust takes")
    side_force = Param(unit="N", doc="assumed: of the tail rotor in hover, to the left")
    mixing = Param(unit="1", shape=(SERVOS, 3), doc="deflections per collective, longitudinal, lateral pitch")
    collective_0 = Param(unit="rad", doc="assumed: collective pitch with the servos at neutral")
    collective_range = Param(unit="rad", shape=2, doc="lowest and highest collective pitch")
    max_cyclic = Param(unit="rad", low=1e-3, doc="most cyclic pitch in one axis")
    swash_travel = Param(unit="rad", low=1e-3, doc="of the servos of the swash plate")
    tail_0 = Param(unit="rad", doc="assumed: tail pitch with the servo at neutral")
    tail_travel = Param(unit="rad", low=1e-3, doc="of the tail servo")

    def __init__(self, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        for i in range(SERVOS):
            name, text = f"swash_{i + 1}", f"command of servo {i + 1} of the swash plate"
            self.declare(name, Out(unit="1", low=-1.0, high=1.0, doc=text))

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        # Position and velocity
        blind = u.control_kind == 4
        pull = p.position_gain * (u.position_set - u.p_NB_N)
        pull = ca.if_else(ca.logic_or(u.control_kind == 1, blind), ca.SX.zeros(3), pull)
        wanted = u.velocity_set + u.position_weight * pull
        wanted = ca.vertcat(limit_length(wanted[:2], p.max_speed), clip(wanted[2], -p.max_climb, p.max_descent))
        velocity_error = u.velocity_weight * (wanted - u.v_NB_N)
        trim = ca.vertcat(u.velocity_weight[:2] * x.velocity_sum[:2], x.velocity_sum[2])
        acceleration = p.velocity_gain * velocity_error + trim + u.acceleration_set
        sink, sink_error = blind_acceleration(
            wanted[2], u.sink_rate, u.v_NB_N[2], p.velocity_gain[2], x.velocity_sum[2]
        )
        acceleration = ca.vertcat(acceleration[:2], ca.if_else(blind, sink, acceleration[2]))
        velocity_error = ca.vertcat(velocity_error[:2], ca.if_else(blind, sink_error, velocity_error[2]))
        least, most = LEAST_LIFT * STANDARD_GRAVITY_MPS2, MOST_LIFT * STANDARD_GRAVITY_MPS2
        up = clip(STANDARD_GRAVITY_MPS2 - acceleration[2], least, most)
        # The main rotor leans against the tail rotor; with less lift than the weight (touching down) everything leans
        # as little as in hover: no tipping over
        right = ca.vertcat(-ca.sin(u.yaw_set), ca.cos(u.yaw_set))
        carried = ca.fmin(up / STANDARD_GRAVITY_MPS2, 1)
        sideways = carried * ca.if_else(blind, ca.SX.zeros(2), acceleration[:2])
        sideways = limit_length(sideways, up * ca.tan(p.max_tilt)) + carried * p.side_force / p.mass * right
        flying = ca.logic_and(u.armed > 0.5, u.grounded < 0.5)
        force = p.mass * ca.vertcat(sideways, -up)  # of the main rotor, in N

        # Tilt: the turn that brings body z against the force; heading apart
        down_B = -(u.R_NB.T @ force) / ca.sqrt(ca.dot(force, force))
        yaw_error = wrap_angle(u.yaw_set - ca.atan2(u.R_NB[1, 0], u.R_NB[0, 0]))
        tilt_error = ca.vertcat(-down_B[1], down_B[0])  # z_B x z_wanted
        rate_set = ca.vertcat(p.tilt_gain * tilt_error, p.heading_gain * yaw_error)
        rate_set = ca.if_else(flying, clip(rate_set, -p.max_rate, p.max_rate), ca.SX.zeros(3))

        # Pitch of the blades: thrust in hover by blade elements and momentum, [Gavrilets2015]
        weight = p.mass * STANDARD_GRAVITY_MPS2
        lift = ca.if_else(flying, ca.fmax(-ca.dot(force, u.R_NB[:, 2]), 0), 0)
        induced = p.hover_induced * ca.sqrt(lift / weight)
        collective = p.hover_pitch * lift / weight + 1.5 * induced / p.tip_speed
        collective = clip(collective, p.collective_range[0], p.collective_range[1])
        cyclic = p.rate_cyclic * rate_set[:2] + x.cyclic_sum  # [Gavrilets2015]: tau p = B d_lat
        cyclic = clip(cyclic, -p.max_cyclic, p.max_cyclic)
        pitches = ca.vertcat(collective, cyclic[1], cyclic[0])

        # Tail: against the torque that the lift costs, and the gyro
        torque = lift * induced * p.rotor_radius / p.tip_speed + p.profile_torque
        load = torque / p.tail_arm / p.tail_thrust  # over that in hover
        rate_error = rate_set[2] - u.w_NB_B[2]
        tail = p.tail_pitch * load + p.tail_inflow * ca.sqrt(load) + p.yaw_gain * rate_error + x.tail_sum
        return {
            "velocity_error": velocity_error,
            "rate_set": rate_set,
            "rate_error": rate_error,
            "lift": lift,
            "pitches": pitches,
            "tail": tail,
            "flying": flying,
        }

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        law = self._law(x, u, p)
        gain = p.velocity_integral * p.velocity_gain * self.sample_s
        velocity_sum = clip(x.velocity_sum + gain * law["velocity_error"], -MOST_TRIM, MOST_TRIM)
        # Without a position to hold, the vertical integral continues and the horizontal one is reset
        velocity_sum = ca.if_else(u.control_kind == 4, ca.vertcat(0, 0, velocity_sum[2]), velocity_sum)
        cyclic_gain = p.tilt_integral * p.rate_cyclic * self.sample_s
        cyclic_sum = clip(x.cyclic_sum + cyclic_gain * law["rate_set"][:2], -MOST_CYCLIC_TRIM, MOST_CYCLIC_TRIM)
        tail_gain = p.yaw_integral * p.yaw_gain * self.sample_s
        tail_sum = clip(x.tail_sum + tail_gain * law["rate_error"], -MOST_TAIL_TRIM, MOST_TAIL_TRIM)
        flying = law["flying"]
        return {
            "velocity_sum": ca.if_else(flying, velocity_sum, ca.SX.zeros(3)),
            "cyclic_sum": ca.if_else(flying, cyclic_sum, ca.SX.zeros(2)),
            "tail_sum": ca.if_else(flying, tail_sum, 0),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        law = self._law(x, u, p)
        above = law["pitches"] - ca.vertcat(p.collective_0, 0, 0)
        commands = clip(p.mixing @ above / p.swash_travel, -1, 1)
        values: dict[str, ca.SX] = {
            "throttle": ca.if_else(ca.logic_or(u.armed > 0.5, u.disarmed > 0.5), 1, 0),
            "tail": clip((law["tail"] - p.tail_0) / p.tail_travel, -1, 1),
            "lift": law["lift"],
            "pitches": law["pitches"],
            "rate_set_B": law["rate_set"],
        }
        for i in range(SERVOS):
            values[f"swash_{i + 1}"] = commands[i]
        return values
