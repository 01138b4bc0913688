"""Path following, total-energy control and attitude control of a fixed wing."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip, wrap_angle

GRAVITY = 9.80665
SLOWEST_MPS = 5.0  # speeds are held above this where something is divided by them
MOST_SCALE = 4.0  # deflections grow at most so much when the aircraft is slow
MOST_AILERON, MOST_ELEVATOR, MOST_PITCH, MOST_THROTTLE = 0.1, 0.2, 0.15, 0.5  # limits of the integrals, rad and 1


class FixedWingControl(Block):
    """Vector field around lines and circles; total energy to throttle and pitch; attitude loops. Sampled.

    Path following as [BeardMcLain] Ch. 10, on course over ground, so that wind is allowed for. Height and airspeed
    errors are taken together as energy: their sum moves the throttle, their difference the pitch [Lambregts1983], both
    with integrals. Inner loops: bank with roll damping, pitch with pitch damping, rudder damps the yaw rate that
    does not belong to the turn; deflections scale with dynamic pressure. Elevator and rudder have the Aerosonde's
    signs: positive elevator pitches down, positive rudder yaws left. Not modelled: stall protection beyond
    the limits of pitch and bank, take-off, flare, manual flight.
    """

    source = "[BeardMcLain] Ch. 6 and 10; [Lambregts1983]; [RflyModel] 9.2.2.3"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    airspeed = In(unit="m/s", doc="speed through the air")
    path_kind = In(unit="1", default=0.0, doc="0 straight line, 1 circle")
    path_origin = In(unit="m", shape=3, frame="N", default=0.0, doc="a point of the line, or the circle's centre")
    path_course = In(unit="rad", default=0.0, doc="direction of the line")
    path_radius = In(unit="m", default=100.0, doc="of the circle; negative is counter-clockwise")
    height_set = In(unit="m", doc="above the take-off point")
    airspeed_set = In(unit="m/s", doc="speed through the air")
    aileron = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    elevator = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    rudder = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    throttle = Out(unit="1", low=0.0, high=1.0, doc="command of the motor")
    course_set = Out(unit="rad", doc="over ground")
    roll_set = Out(unit="rad", doc="bank")
    pitch_set = Out(unit="rad", doc="pitch")
    path_error = Out(unit="m", doc="across the path: right of a line, outside a circle")

    roll_sum = State(unit="rad", init="aileron_0", doc="aileron of the integral")
    pitch_sum = State(unit="rad", init=0.0, doc="elevator of the integral")
    balance_sum = State(unit="rad", init=0.0, doc="pitch of the integral")
    energy_sum = State(unit="1", init=0.0, doc="throttle of the integral")

    travel = Param(unit="rad", shape=3, low=1e-3, doc="of aileron, elevator, rudder at full command")
    trim_speed = Param(unit="m/s", low=1.0, doc="airspeed at which gains and trim hold")
    aileron_0 = Param(unit="rad", default=0.0, doc="of the integral at the start")
    elevator_trim = Param(unit="rad", doc="in level flight at the trim speed")
    rudder_trim = Param(unit="rad", default=0.0, doc="in level flight at the trim speed")
    throttle_trim = Param(unit="1", low=0.0, high=1.0, doc="in level flight at the trim speed")
    pitch_trim = Param(unit="rad", doc="in level flight at the trim speed")
    lift_angle = Param(unit="rad", low=0.0, doc="angle of attack from zero lift to level flight: pitch for turns")
    line_gain = Param(unit="1/m", low=0.0, tunable=True, doc="distance from the line to course")
    line_angle = Param(unit="rad", low=0.1, high=1.57, tunable=True, doc="course towards the line from far away")
    orbit_gain = Param(unit="1", low=0.0, tunable=True, doc="distance from the circle over its radius, to course")
    course_gain = Param(unit="1/s", low=0.0, tunable=True, doc="course error to turn rate")
    max_roll = Param(unit="rad", low=0.05, high=1.2, tunable=True, doc="bank")
    height_gain = Param(unit="1/s", low=0.0, tunable=True, doc="energy difference (as height) to climb rate")
    height_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the height gain")
    energy_gain = Param(unit="1/m", low=0.0, tunable=True, doc="energy sum (as height) to throttle")
    energy_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the energy gain")
    max_climb = Param(unit="m/s", low=0.1, tunable=True, doc="climb and sink rate asked for")
    pitch_low = Param(unit="rad", tunable=True, doc="least pitch")
    pitch_high = Param(unit="rad", tunable=True, doc="greatest pitch")
    roll_gain = Param(unit="1", low=0.0, tunable=True, doc="bank error to aileron")
    roll_damping = Param(unit="s", low=0.0, tunable=True, doc="roll rate to aileron")
    roll_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the roll gain")
    pitch_gain = Param(unit="1", low=0.0, tunable=True, doc="pitch error to elevator")
    pitch_damping = Param(unit="s", low=0.0, tunable=True, doc="pitch rate to elevator")
    pitch_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the pitch gain")
    yaw_damping = Param(unit="s", low=0.0, tunable=True, doc="yaw rate to rudder")

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        speed = ca.fmax(u.airspeed, SLOWEST_MPS)
        roll = ca.atan2(u.R_NB[2, 1], u.R_NB[2, 2])
        pitch = ca.asin(clip(-u.R_NB[2, 0], -1, 1))

        # Course: the vector field of [BeardMcLain] Ch. 10
        away = u.p_NB_N[:2] - u.path_origin[:2]
        v = u.v_NB_N[:2]
        across = ca.cos(u.path_course) * away[1] - ca.sin(u.path_course) * away[0]  # right of the line
        on_line = u.path_course - p.line_angle * (2 / ca.pi) * ca.atan(p.line_gain * across)
        radius, sense = ca.fabs(u.path_radius), ca.sign(u.path_radius)
        distance = norm(away)
        outside = distance - radius
        on_orbit = ca.atan2(away[1], away[0]) + sense * (ca.pi / 2 + ca.atan(p.orbit_gain * outside / radius))
        circles = u.path_kind > 0.5
        course_set = wrap_angle(ca.if_else(circles, on_orbit, on_line))
        # What the circle's curvature asks for: the rate at which the centre's bearing turns
        nearest = ca.fmax(distance, 0.5 * radius)
        bearing_rate = ca.if_else(circles, (away[0] * v[1] - away[1] * v[0]) / (nearest * nearest), 0)
        course_error = wrap_angle(course_set - ca.atan2(v[1], v[0]))
        turn_rate = p.course_gain * course_error + bearing_rate
        roll_set = clip(ca.atan(norm(v) * turn_rate / GRAVITY), -p.max_roll, p.max_roll)  # coordinated turn

        # Energy, as height: sum to throttle, difference to pitch [Lambregts1983]
        reach = p.max_climb / ca.fmax(p.height_gain, 1e-3)
        missing = u.height_set + u.p_NB_N[2]
        potential = clip(missing, -reach, reach)
        # A slow aircraft may miss more of its speed than of its height: then the nose goes down first
        kinetic = clip((u.airspeed_set * u.airspeed_set - speed * speed) / (2 * GRAVITY), -reach, 2 * reach)
        total, balance = potential + kinetic, potential - kinetic
        throttle_raw = p.throttle_trim + p.energy_gain * total + x.energy_sum
        load = 1 / ca.cos(clip(roll, -1.2, 1.2)) - 1  # a turn needs so much more lift
        pitch_raw = p.pitch_trim + p.height_gain * balance / speed + p.lift_angle * load + x.balance_sum
        pitch_set = clip(pitch_raw, p.pitch_low, p.pitch_high)

        # Attitude; rates that belong to the turn are not damped
        scale = ca.fmin((p.trim_speed / speed) ** 2, MOST_SCALE)
        turning = GRAVITY / speed * ca.tan(clip(roll, -1.2, 1.2))
        pitch_rate = u.w_NB_B[1] - turning * ca.sin(roll) * ca.cos(pitch)
        yaw_rate = u.w_NB_B[2] - turning * ca.cos(roll) * ca.cos(pitch)
        roll_error, pitch_error = roll_set - roll, pitch_set - pitch
        aileron = scale * (p.roll_gain * roll_error - p.roll_damping * u.w_NB_B[0] + x.roll_sum)
        up = p.pitch_gain * pitch_error - p.pitch_damping * pitch_rate
        elevator = p.elevator_trim - scale * (up + x.pitch_sum)
        rudder = p.rudder_trim + scale * p.yaw_damping * yaw_rate
        return {
            "course_set": course_set, "roll_set": roll_set, "pitch_set": pitch_set, "total": total, "balance": balance,
            "near": ca.if_else(ca.fabs(missing) < reach, 1, 0),
            "throttle_raw": throttle_raw, "pitch_raw": pitch_raw, "roll_error": roll_error,
            "pitch_error": pitch_error, "surfaces": ca.vertcat(aileron, elevator, rudder), "speed": speed,
            "path_error": ca.if_else(circles, outside, across),
        }  # fmt: skip

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        law = self._law(x, u, p)

        def integral(
            value: ca.SX, rate: ca.SX, most: float, raw: ca.SX, low: ca.SX | float, high: ca.SX | float
        ) -> ca.SX:
            """Next value; it does not run further against a limit that its command has reached."""
            pushes = ca.logic_or(ca.logic_and(raw > high, rate > 0), ca.logic_and(raw < low, rate < 0))
            return clip(value + dt * ca.if_else(pushes, 0, rate), -most, most)

        aileron, elevator = law["surfaces"][0], law["surfaces"][1]
        # In a long climb or descent these integrals wait: they would carry the aircraft past its height
        balance_rate = law["near"] * p.height_integral * p.height_gain * law["balance"] / law["speed"]
        energy_rate = law["near"] * p.energy_integral * p.energy_gain * law["total"]
        roll_rate = p.roll_integral * p.roll_gain * law["roll_error"]
        pitch_rate = p.pitch_integral * p.pitch_gain * law["pitch_error"]
        pitch_raw = law["pitch_raw"]
        return {
            "roll_sum": integral(x.roll_sum, roll_rate, MOST_AILERON, aileron, -p.travel[0], p.travel[0]),
            "pitch_sum": integral(x.pitch_sum, pitch_rate, MOST_ELEVATOR, -elevator, -p.travel[1], p.travel[1]),
            "balance_sum": integral(x.balance_sum, balance_rate, MOST_PITCH, pitch_raw, p.pitch_low, p.pitch_high),
            "energy_sum": integral(x.energy_sum, energy_rate, MOST_THROTTLE, law["throttle_raw"], 0.0, 1.0),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        law = self._law(x, u, p)
        surfaces = clip(law["surfaces"] / p.travel, -1, 1)
        return {
            "aileron": surfaces[0],
            "elevator": surfaces[1],
            "rudder": surfaces[2],
            "throttle": clip(law["throttle_raw"], 0, 1),
            "course_set": law["course_set"],
            "roll_set": law["roll_set"],
            "pitch_set": law["pitch_set"],
            "path_error": law["path_error"],
        }
