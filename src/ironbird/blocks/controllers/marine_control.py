"""Controllers of marine craft: holding a place, following a course, diving with fins. All are sampled."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.command_ports import ManualPorts
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import blend, clip, limit_length, wrap_angle

SLOW_MPS = 0.05  # m/s over ground below which there is no course
SURE_MPS = 0.2  # m/s from which on the course is trusted


def allocate(tau: ca.SX, p: View, thrusters: int, quadratic: bool) -> dict[str, ca.SX]:
    """Commands that give force and moment `tau` by the pseudo-inverse, [Fossen2021] Ch. 11, within the limits."""
    forces = p.allocation @ tau
    commands = {}
    for i in range(thrusters):
        ahead = forces[i] > 0
        share = clip(ca.fabs(forces[i]) / ca.if_else(ahead, p.max_thrust[i], p.max_reverse[i]), 0, 1)
        size = ca.sqrt(share) if quadratic else share
        commands[f"command_{i + 1}"] = ca.if_else(ahead, size, -size)
    return commands


def _declare_thrusters(block: Block, thrusters: int) -> None:
    for i in range(1, thrusters + 1):
        block.declare(f"command_{i}", Out(unit="1", low=-1.0, high=1.0, doc=f"to thruster {i}"))
    block.declare(
        "allocation", Param(unit="1", shape=(thrusters, 6), doc="force of each thruster per force and moment")
    )
    block.declare("max_thrust", Param(unit="N", shape=thrusters, low=0.0, doc="ahead"))
    block.declare("max_reverse", Param(unit="N", shape=thrusters, low=0.0, doc="astern, as a positive number"))


class StationControl(ManualPorts, Block):
    """Holds position and attitude of an underwater vehicle in six degrees of freedom by cascaded loops.
    For craft with thrusters for all of them.

    Position gives velocity, velocity (with an integral that compensates current and buoyancy) gives force; roll and
    pitch are kept level, yaw follows. Gains are per unit of the mass that moves, added mass included; with `quadratic`
    thrust grows with the square of the command. Not modelled: current estimation, thruster dynamics, battery.
    """

    source = "[Fossen2021] Ch. 15 and 11"
    role = "controller"

    position_set = In(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = In(unit="m/s", shape=3, frame="N", doc="how it moves")
    yaw_set = In(unit="rad", doc="heading")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    force_set_B = Out(unit="N", shape=3, frame="B", doc="asked of the thrusters")
    moment_set_B = Out(unit="N*m", shape=3, frame="B", doc="asked of the thrusters")
    integral = State(unit="m/s^2", shape=3, frame="N", init=0.0, doc="of the velocity error")

    mass = Param(unit="kg", shape=3, low=1e-3, doc="with added mass: surge, sway, heave")
    inertia = Param(unit="kg*m^2", shape=3, low=1e-6, doc="with added inertia: roll, pitch, yaw")
    position_gain = Param(unit="1/s", low=0.0, tunable=True, doc="velocity per position error")
    velocity_gain = Param(unit="1/s", low=0.0, tunable=True, doc="acceleration per velocity error")
    velocity_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral over its proportional part")
    attitude_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="rate per angle")
    rate_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="angular acceleration per rate error")
    max_speed = Param(unit="m/s", low=0.01, tunable=True, doc="of the velocity asked for")
    max_acceleration = Param(unit="m/s^2", low=0.01, tunable=True, doc="that the integral may ask for, per axis")

    def __init__(self, thrusters: int, *, quadratic: bool = True, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.thrusters, self.quadratic = thrusters, quadratic
        _declare_thrusters(self, thrusters)

    def _velocity_error(self, u: View, p: View) -> ca.SX:
        asked = u.velocity_set + p.position_gain * (u.position_set - u.p_NB_N)
        return limit_length(asked, p.max_speed) - u.v_NB_N

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        growth = p.velocity_gain * p.velocity_integral * self.sample_s * self._velocity_error(u, p)
        return {"integral": clip(x.integral + growth, -p.max_acceleration, p.max_acceleration)}

    def output(self, x: View, u: View, p: View) -> Values:
        acceleration = p.velocity_gain * self._velocity_error(u, p) + x.integral
        force = p.mass * (u.R_NB.T @ acceleration)
        # Turn from the attitude to "level with the heading asked for", as twice the vector part of a small rotation
        c, s = ca.cos(u.yaw_set), ca.sin(u.yaw_set)
        wanted = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        turn = u.R_NB.T @ wanted
        angle = 0.5 * ca.vertcat(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
        behind = turn[0, 0] + turn[1, 1] + turn[2, 2] < 1  # more than 90 degrees off: full turn towards it
        angle = ca.if_else(behind, angle / ca.fmax(norm(angle), 1e-3), angle)
        moment = p.inertia * p.rate_gain * (p.attitude_gain * angle - u.w_NB_B)
        force, moment = u.armed * force, u.armed * moment
        commands = allocate(ca.vertcat(force, moment), p, self.thrusters, self.quadratic)
        return {"force_set_B": force, "moment_set_B": moment, **commands}


class CoursePorts(ManualPorts):
    """Ports shared by the controllers of vessels on a path: course over ground by heading and drift angle."""

    course_set = In(unit="rad", doc="direction of travel over ground")
    speed_set = In(unit="m/s", doc="through the water")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    euler = In(unit="rad", shape=3, doc="roll, pitch, yaw")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    heading_error = Out(unit="rad", doc="heading asked for less heading")
    drift = State(unit="rad", init=0.0, doc="course less heading, smoothed")
    heading_integral = State(unit="rad", init=0.0, doc="of the heading error, in gain times angle")
    speed_integral = State(unit="m/s", init=0.0, doc="of the speed error, in gain times speed")
    heading_gain = Param(unit="1/s", low=0.0, tunable=True, doc="yaw rate per heading error")
    speed_gain = Param(unit="1/s", low=0.0, tunable=True, doc="acceleration per speed error")
    speed_integral_gain = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral")
    heading_integral_gain = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral")
    max_yaw_rate = Param(unit="rad/s", low=0.001, tunable=True, doc="asked for")
    drift_time = Param(unit="s", default=2.0, low=0.1, tunable=True, doc="smoothing of the drift angle")
    max_integral = Param(unit="1", default=0.5, low=0.0, doc="limit of the heading integral (rad)")

    def _heading_error(self, x: View, u: View) -> ca.SX:
        """Error (rad) of the heading that gives the course: [Fossen2021] Ch. 12 with the measured drift angle."""
        return wrap_angle(u.course_set - x.drift - u.euler[2])

    def _follow(self, x: View, u: View, p: View, dt: float) -> dict[str, ca.SX]:
        """Next drift angle and integrals."""
        north, east = u.v_NB_N[0], u.v_NB_N[1]
        ground = norm(u.v_NB_N[:2])
        drift = clip(wrap_angle(ca.atan2(east, north) - u.euler[2]), -1.2, 1.2) * blend(ground, SLOW_MPS, SURE_MPS)
        error = self._heading_error(x, u)
        straight = ca.fabs(error) < 0.3  # rad: no wind-up in turns
        heading = x.heading_integral + ca.if_else(straight, p.heading_integral_gain * dt * error, 0)
        speed = x.speed_integral + p.speed_integral_gain * dt * (u.speed_set - u.v_water_B[0])
        return {
            "drift": x.drift + clip(dt / p.drift_time, 0, 1) * (drift - x.drift),
            "heading_integral": clip(heading, -p.max_integral, p.max_integral),
            "speed_integral": clip(speed, -2 * u.speed_set, 2 * u.speed_set),
        }


class CourseControl(CoursePorts, Block):
    """Controls speed and course of a boat by surge force and yaw moment, for boats that are guided along a path.

    Heading is course less drift angle; heading error gives yaw rate, yaw rate error gives the moment. The boat slows
    down while it has another heading. A boat that has sway thrusters damps its slip through the water with them. Not
    modelled: thruster dynamics, waves (filter).
    """

    source = "[Fossen2021] Ch. 12 and 15"
    role = "controller"

    force_set = Out(unit="N", doc="surge force asked for")
    moment_set = Out(unit="N*m", doc="yaw moment asked for")
    mass = Param(unit="kg", low=1e-3, doc="with added mass, in surge")
    inertia = Param(unit="kg*m^2", low=1e-6, doc="with added inertia, in yaw")
    rate_gain = Param(unit="1/s", low=0.0, tunable=True, doc="angular acceleration per rate error")
    sway_gain = Param(unit="1/s", default=0.0, low=0.0, tunable=True, doc="acceleration per sway speed, against it")

    def __init__(self, thrusters: int, *, quadratic: bool = True, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.thrusters, self.quadratic = thrusters, quadratic
        _declare_thrusters(self, thrusters)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        return self._follow(x, u, p, self.sample_s)

    def output(self, x: View, u: View, p: View) -> Values:
        error = self._heading_error(x, u)
        rate = clip(p.heading_gain * (error + x.heading_integral), -p.max_yaw_rate, p.max_yaw_rate)
        moment = p.inertia * p.rate_gain * (rate - u.w_NB_B[2])
        speed = u.speed_set * clip(ca.cos(error), 0.3, 1)
        force = p.mass * p.speed_gain * (speed - u.v_water_B[0] + x.speed_integral)
        sway = -u.armed * p.mass * p.sway_gain * u.v_water_B[1]
        by_hand = u.manual > 0.5
        force = u.armed * ca.if_else(by_hand, u.manual_push * ca.sum1(p.max_thrust), force)
        turn = p.inertia * p.rate_gain * p.max_yaw_rate * u.manual_turn
        moment = u.armed * ca.if_else(by_hand, turn, moment)
        commands = allocate(ca.vertcat(force, sway, 0, 0, 0, moment), p, self.thrusters, self.quadratic)
        return {"heading_error": error, "force_set": force, "moment_set": moment, **commands}


class FinControl(CoursePorts, Block):
    """Controls course, depth and speed of a torpedo-shaped vehicle: rudder, pitch by stern planes, propeller.

    Depth error gives pitch, pitch error the stern plane: successive loops as in [FossenPVS] vehicles/remus100.py.
    Not modelled: gain scheduling with speed (gains hold near the cruise speed), ballast control, hovering.
    """

    source = "[FossenPVS] vehicles/remus100.py; [Fossen2021] Ch. 15"
    role = "controller"

    position_set = In(unit="m", shape=3, frame="N", doc="nearest place of the path; its depth is used")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    rudder = Out(unit="1", doc="share of the travel; positive turns to the right")
    stern = Out(unit="1", doc="share of the stern planes' travel; positive turns the nose down")
    command = Out(unit="1", low=-1.0, high=1.0, doc="to the propeller")
    depth_integral = State(unit="rad", init=0.0, doc="pitch that takes up a lasting depth error")
    speed_gain = Param(unit="s/m", low=0.0, tunable=True, doc="propeller command per speed error")
    rudder_gain = Param(unit="s", low=0.0, tunable=True, doc="rudder angle per yaw rate error")
    depth_gain = Param(unit="1/m", low=0.0, tunable=True, doc="pitch (rad) per depth error")
    depth_integral_gain = Param(unit="1/m", low=0.0, tunable=True, doc="pitch (rad) per depth error and second")
    pitch_gain = Param(unit="1", low=0.0, tunable=True, doc="stern angle per pitch error")
    pitch_rate_gain = Param(unit="s", low=0.0, tunable=True, doc="stern angle per pitch rate")
    max_pitch = Param(unit="rad", low=0.01, high=1.0, tunable=True, doc="asked for")
    travel = Param(unit="rad", shape=2, low=0.01, doc="of rudder and stern planes")
    cruise_speed = Param(unit="m/s", low=0.1, doc="at which the propeller needs `cruise_command`")
    cruise_command = Param(unit="1", low=0.0, high=1.0, doc="of the propeller at cruise speed")

    def __init__(self, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        deeper = u.position_set[2] - u.p_NB_N[2]
        growth = clip(-p.depth_integral_gain * self.sample_s * deeper, -0.01, 0.01)
        return {
            **self._follow(x, u, p, self.sample_s),
            "depth_integral": clip(x.depth_integral + growth, -0.3 * p.max_pitch, 0.3 * p.max_pitch),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        error = self._heading_error(x, u)
        rate = clip(p.heading_gain * (error + x.heading_integral), -p.max_yaw_rate, p.max_yaw_rate)
        deeper = u.position_set[2] - u.p_NB_N[2]
        pitch = clip(-p.depth_gain * deeper + x.depth_integral, -p.max_pitch, p.max_pitch)
        stern = p.pitch_gain * (u.euler[1] - pitch) + p.pitch_rate_gain * u.w_NB_B[1]
        steady = p.cruise_command * u.speed_set / p.cruise_speed
        push = p.speed_gain * (u.speed_set - u.v_water_B[0] + x.speed_integral)
        by_hand = u.manual > 0.5
        rudder = clip(p.rudder_gain * (rate - u.w_NB_B[2]) / p.travel[0], -1, 1)
        return {
            "heading_error": error,
            "rudder": ca.if_else(by_hand, u.manual_turn, rudder),
            "stern": clip(stern / p.travel[1], -1, 1),
            "command": u.armed * ca.if_else(by_hand, clip(u.manual_push, 0, 1), clip(steady + push, 0, 1)),
        }
