"""L1 path following, total-energy control and attitude control of a fixed wing."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip

SLOWEST_MPS = 5.0  # m/s, lower bound of speeds in divisions
MOST_SCALE = 4.0  # largest factor of deflections at low speed
MOST_AILERON, MOST_ELEVATOR, MOST_PITCH, MOST_THROTTLE = 0.1, 0.2, 0.15, 0.5  # limits of the integrals, rad and 1
STEEPEST = 0.5**0.5  # sine of the angle at which a line is approached from afar, [Park2004] and autopilots
ACCELERATION_FILTER_S = 0.5  # keeps thrust from acting on the throttle at once
SPEED_FILTER_S = 3.0  # below it the airspeed's derivative is that of the accelerometer, above it the airspeed's own
SLOW_BAND = 0.1  # below min_speed by this share, all pitch and throttle go into speed
LINE, ORBIT, BANK = 0.0, 1.0, 2.0  # kinds of path


class FixedWingControl(Block):
    """Controls a fixed-wing aircraft along lines and circles: L1 guidance, total energy control (TECS), attitude loops.
    Sampled.

    Guidance is [Park2004] in the form of open autopilots: the lateral acceleration leads to a point of the path one L1
    length ahead, which is set by a period and a damping ratio of the linear error; on a circle the same second-order
    law of the radius error is added to the turn's own acceleration; from far away the vehicle flies to the centre.
    Velocity is that over ground, which accounts for wind. TECS: errors of height and airspeed become rates of energy;
    their sum moves the throttle, their difference, weighted, the pitch [Lambregts1983]. Below `min_speed` pitch holds
    the speed alone and the throttle opens. The navigator's limits of pitch and throttle produce take-off and flare.
    Inner loops: bank with roll damping, pitch with pitch damping, rudder damps the yaw rate that does not belong to the
    turn; deflections scale with dynamic pressure. Elevator and rudder have the Aerosonde's signs: positive elevator
    pitches down, positive rudder yaws left. Not modelled: stall protection beyond the limits of pitch, bank and speed,
    manual flight.
    """

    source = "[Park2004]; [Lambregts1983]; [BeardMcLain] Ch. 6; [RflyModel] 9.2.2.3"
    role = "controller"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    accel_B = In(unit="m/s^2", shape=3, frame="B", doc="specific force")
    airspeed = In(unit="m/s", doc="speed through the air")
    path_kind = In(unit="1", default=LINE, doc="0 straight line, 1 circle, 2 steady bank without a path")
    path_origin = In(unit="m", shape=3, frame="N", default=0.0, doc="a point of the line, or the circle's centre")
    path_course = In(unit="rad", default=0.0, doc="direction of the line")
    path_radius = In(unit="m", default=100.0, doc="of the circle; negative is counter-clockwise")
    bank_set = In(unit="rad", default=0.0, doc="of path kind 2")
    height_set = In(unit="m", doc="above the take-off point")
    climb_ahead = In(unit="m/s", default=0.0, doc="climb rate of the height asked for")
    airspeed_set = In(unit="m/s", doc="speed through the air")
    speed_weight = In(unit="1", default=1.0, low=0.0, high=2.0, doc="of speed in pitch: 0 none, 1 equal, 2 speed only")
    pitch_limits = In(unit="rad", shape=2, default=(-1.5, 1.5), doc="lowest and highest pitch at present")
    throttle_limits = In(unit="1", shape=2, default=(0.0, 1.0), doc="lowest and highest throttle at present")
    aileron = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    elevator = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    rudder = Out(unit="1", low=-1.0, high=1.0, doc="share of the travel")
    throttle = Out(unit="1", low=0.0, high=1.0, doc="command of the motor")
    roll_set = Out(unit="rad", doc="bank")
    pitch_set = Out(unit="rad", doc="pitch")
    climb_set = Out(unit="m/s", doc="climb rate")
    lateral_set = Out(unit="m/s^2", doc="acceleration to the right, from the guidance")
    path_error = Out(unit="m", doc="across the path: right of a line, outside a circle")

    roll_sum = State(unit="rad", init="aileron_0", doc="aileron of the integral")
    pitch_sum = State(unit="rad", init=0.0, doc="elevator of the integral")
    balance_sum = State(unit="rad", init=0.0, doc="pitch of the integral")
    energy_sum = State(unit="1", init=0.0, doc="throttle of the integral")
    slow_speed = State(unit="m/s", init="trim_speed", doc="airspeed, carried on by the accelerometer")
    acceleration = State(unit="m/s^2", init=0.0, doc="along the flow, behind a lag")

    travel = Param(unit="rad", shape=3, low=1e-3, doc="of aileron, elevator, rudder at full command")
    trim_speed = Param(unit="m/s", low=1.0, doc="airspeed at which gains and trim hold")
    aileron_0 = Param(unit="rad", default=0.0, doc="of the integral at the start")
    elevator_trim = Param(unit="rad", doc="in level flight at the trim speed")
    rudder_trim = Param(unit="rad", default=0.0, doc="in level flight at the trim speed")
    throttle_trim = Param(unit="1", low=0.0, high=1.0, doc="in level flight at the trim speed")
    full_throttle = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="the most that is used")
    pitch_trim = Param(unit="rad", doc="in level flight at the trim speed")
    lift_angle = Param(unit="rad", low=0.0, doc="angle of attack from zero lift to level flight: pitch for turns")
    l1_period = Param(unit="s", low=1.0, tunable=True, doc="of the path error's oscillation")
    l1_damping = Param(unit="1", low=0.1, high=2.0, default=0.75, tunable=True, doc="of the path error's oscillation")
    max_roll = Param(unit="rad", low=0.05, high=1.2, tunable=True, doc="bank")
    height_time = Param(unit="s", low=0.1, tunable=True, doc="height error to climb rate")
    speed_time = Param(unit="s", low=0.1, tunable=True, doc="airspeed error to acceleration")
    max_climb = Param(unit="m/s", low=0.1, tunable=True, doc="climb rate at `full_throttle` and trim speed")
    max_sink = Param(unit="m/s", low=0.1, tunable=True, doc="sink rate at idle and trim speed")
    min_speed = Param(unit="m/s", low=0.1, tunable=True, doc="below it speed goes before height")
    energy_damping = Param(unit="1", low=0.0, tunable=True, doc="error of the total energy's rate to throttle")
    energy_integral = Param(unit="1/s", low=0.0, tunable=True, doc="of that error")
    balance_damping = Param(unit="1", low=0.0, tunable=True, doc="error of the balance's rate to pitch")
    balance_integral = Param(unit="1/s", low=0.0, tunable=True, doc="of that error")
    pitch_low = Param(unit="rad", tunable=True, doc="least pitch")
    pitch_high = Param(unit="rad", tunable=True, doc="greatest pitch")
    roll_gain = Param(unit="1", low=0.0, tunable=True, doc="bank error to aileron")
    roll_damping = Param(unit="s", low=0.0, tunable=True, doc="roll rate to aileron")
    roll_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the roll gain")
    pitch_gain = Param(unit="1", low=0.0, tunable=True, doc="pitch error to elevator")
    pitch_damping = Param(unit="s", low=0.0, tunable=True, doc="pitch rate to elevator")
    pitch_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the pitch gain")
    yaw_damping = Param(unit="s", low=0.0, tunable=True, doc="yaw rate to rudder")

    def _guide(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Commanded acceleration to the right (m/s^2), and the distance from the path (m)."""
        v = u.v_NB_N[:2]
        speed = ca.fmax(norm(v), 1.0)
        length = p.l1_damping * p.l1_period / ca.pi * speed  # [Park2004]: L1 so that period and damping come out
        gain = 4 * p.l1_damping * p.l1_damping
        away = u.p_NB_N[:2] - u.path_origin[:2]

        def towards(angle: ca.SX) -> ca.SX:
            """[Park2004] Eq. 1 for a point at an angle to the right of the velocity."""
            return gain * speed * speed / length * ca.sin(clip(angle, -ca.pi / 2, ca.pi / 2))

        # Line: angle to the point of the line at a distance of L1, less the angle of the velocity
        c, s = ca.cos(u.path_course), ca.sin(u.path_course)
        across = c * away[1] - s * away[0]  # right of the line
        drift = ca.atan2(c * v[1] - s * v[0], c * v[0] + s * v[1])
        on_line = towards(-ca.asin(clip(across / length, -STEEPEST, STEEPEST)) - drift)

        # Circle: a second-order law of the radius on top of the turn, or the nose to the centre if that turns less
        radius, sense = ca.fabs(u.path_radius), ca.sign(u.path_radius)
        distance = norm(away)
        out = away / ca.fmax(distance, 1e-6)
        outside = distance - radius
        leaving = ca.dot(v, out)
        around = sense * (out[0] * v[1] - out[1] * v[0])
        frequency = 2 * ca.pi / p.l1_period
        back = frequency * frequency * outside + 2 * p.l1_damping * frequency * leaving
        wrong_way = ca.logic_and(leaving > 0, around < 0)
        back = ca.if_else(wrong_way, ca.fmax(back, 0), back)
        on_circle = sense * (back + around * around / ca.fmax(0.5 * radius, distance))
        to_centre = towards(ca.atan2(v[1] * out[0] - v[0] * out[1], -leaving))
        captures = ca.logic_and(outside > 0, sense * to_centre < sense * on_circle)
        circle = ca.if_else(captures, to_centre, on_circle)
        is_circle = u.path_kind > 0.5 * ORBIT
        return ca.if_else(is_circle, circle, on_line), ca.if_else(is_circle, outside, across)

    def _acceleration(self, u: View) -> ca.SX:
        """Acceleration along the flow by the accelerometer, m/s^2.

        The direction of flow is that of the nose in the horizontal, inclined by the angle of climb.
        """
        slope = clip(u.v_NB_N[2] / ca.fmax(u.airspeed, SLOWEST_MPS), -0.7, 0.7)
        nose = u.R_NB[:2, 0]
        flat = nose * (ca.sqrt(1 - slope * slope) / ca.fmax(norm(nose), 1e-3))
        return ca.dot(u.R_NB @ u.accel_B + ca.vertcat(0, 0, STANDARD_GRAVITY_MPS2), ca.vertcat(flat, slope))

    def _speed_rate(self, x: View, u: View) -> ca.SX:
        """Derivative of the airspeed (m/s^2): of the airspeed at low, the accelerometer's at high frequencies."""
        return x.acceleration + (u.airspeed - x.slow_speed) / SPEED_FILTER_S

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        speed = ca.fmax(u.airspeed, SLOWEST_MPS)
        roll = ca.atan2(u.R_NB[2, 1], u.R_NB[2, 2])
        pitch = ca.asin(clip(-u.R_NB[2, 0], -1, 1))
        lateral, path_error = self._guide(u, p)
        wanted = ca.if_else(u.path_kind > 0.5 * (ORBIT + BANK), u.bank_set, ca.atan(lateral / STANDARD_GRAVITY_MPS2))
        roll_set = clip(wanted, -p.max_roll, p.max_roll)  # coordinated turn

        # Rates of energy per weight, m/s: potential (climb) and kinetic (V a / g) [Lambregts1983]
        climb = -u.v_NB_N[2]
        climb_set = u.climb_ahead + (u.height_set + u.p_NB_N[2]) / p.height_time
        climb_set = clip(climb_set, -p.max_sink, p.max_climb)
        gaining_set = speed / STANDARD_GRAVITY_MPS2 * (u.airspeed_set - u.airspeed) / p.speed_time
        gaining_set = clip(gaining_set, -p.max_sink, p.max_climb)
        rate = self._speed_rate(x, u)
        gaining = speed / STANDARD_GRAVITY_MPS2 * rate
        free = u.throttle_limits[1] > u.throttle_limits[0]  # the speed is meant to fall in a flare
        slow = ca.if_else(free, clip((p.min_speed - u.airspeed) / (SLOW_BAND * p.min_speed), 0, 1), 0)
        weight = u.speed_weight + (2 - u.speed_weight) * slow
        of_speed, of_height = ca.fmin(weight, 1), ca.fmin(2 - weight, 1)

        # Total to throttle: forward from trim to full or idle, and back from the error
        total_set = clip(climb_set + gaining_set, -p.max_sink, p.max_climb)
        total_error = (total_set - climb - gaining) / p.max_climb
        forward = ca.if_else(
            total_set > 0,
            total_set / p.max_climb * (p.full_throttle - p.throttle_trim),
            total_set / p.max_sink * p.throttle_trim,
        )
        throttle_raw = p.throttle_trim + forward + p.energy_damping * total_error + x.energy_sum
        throttle_raw = ca.fmax(throttle_raw, slow)

        # Balance to pitch: a path angle on top of the angle of attack that turn and speed need
        balance_set = of_height * climb_set - of_speed * gaining_set
        balance_error = (balance_set - of_height * climb + of_speed * gaining) / speed
        slower = p.trim_speed / ca.fmax(u.airspeed_set, p.min_speed)
        load = slower * slower / ca.cos(clip(roll, -1.2, 1.2)) - 1
        pitch_raw = p.pitch_trim + p.lift_angle * load + balance_set / speed
        pitch_raw = pitch_raw + p.balance_damping * balance_error + x.balance_sum
        pitch_low, pitch_high = ca.fmax(p.pitch_low, u.pitch_limits[0]), ca.fmin(p.pitch_high, u.pitch_limits[1])
        pitch_set = clip(pitch_raw, pitch_low, pitch_high)

        # Attitude; rates that belong to the turn are not damped
        scale = ca.fmin((p.trim_speed / speed) ** 2, MOST_SCALE)
        turning = STANDARD_GRAVITY_MPS2 / speed * ca.tan(clip(roll, -1.2, 1.2))
        pitch_rate = u.w_NB_B[1] - turning * ca.sin(roll) * ca.cos(pitch)
        yaw_rate = u.w_NB_B[2] - turning * ca.cos(roll) * ca.cos(pitch)
        roll_error, pitch_error = roll_set - roll, pitch_set - pitch
        aileron = scale * (p.roll_gain * roll_error - p.roll_damping * u.w_NB_B[0] + x.roll_sum)
        up = p.pitch_gain * pitch_error - p.pitch_damping * pitch_rate
        elevator = p.elevator_trim - scale * (up + x.pitch_sum)
        rudder = p.rudder_trim + scale * p.yaw_damping * yaw_rate
        return {
            "roll_set": roll_set,
            "pitch_set": pitch_set,
            "climb_set": climb_set,
            "lateral_set": lateral,
            "total_error": total_error,
            "balance_error": balance_error,
            "throttle_raw": throttle_raw,
            "pitch_raw": pitch_raw,
            "pitch_low": pitch_low,
            "pitch_high": pitch_high,
            "roll_error": roll_error,
            "pitch_error": pitch_error,
            "surfaces": ca.vertcat(aileron, elevator, rudder),
            "path_error": path_error,
        }

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        law = self._law(x, u, p)

        def integral(
            value: ca.SX, rate: ca.SX, most: float, raw: ca.SX, low: ca.SX | float, high: ca.SX | float
        ) -> ca.SX:
            """Next value of an integral; it stops while its command is at a limit that the error would exceed."""
            pushes = ca.logic_or(ca.logic_and(raw > high, rate > 0), ca.logic_and(raw < low, rate < 0))
            return clip(value + dt * ca.if_else(pushes, 0, rate), -most, most)

        aileron, elevator = law["surfaces"][0], law["surfaces"][1]
        # While pitch or throttle is prescribed, the integral behind it waits
        low, high = law["pitch_low"], law["pitch_high"]
        idle, full = u.throttle_limits[0], ca.fmin(u.throttle_limits[1], p.full_throttle)
        balance_rate = ca.if_else(high > low, p.balance_integral * law["balance_error"], 0)
        energy_rate = ca.if_else(full > idle, p.energy_integral * law["total_error"], 0)
        roll_rate = p.roll_integral * p.roll_gain * law["roll_error"]
        pitch_rate = p.pitch_integral * p.pitch_gain * law["pitch_error"]
        return {
            "roll_sum": integral(x.roll_sum, roll_rate, MOST_AILERON, aileron, -p.travel[0], p.travel[0]),
            "pitch_sum": integral(x.pitch_sum, pitch_rate, MOST_ELEVATOR, -elevator, -p.travel[1], p.travel[1]),
            "balance_sum": integral(x.balance_sum, balance_rate, MOST_PITCH, law["pitch_raw"], low, high),
            "energy_sum": integral(x.energy_sum, energy_rate, MOST_THROTTLE, law["throttle_raw"], idle, full),
            "acceleration": x.acceleration + (dt / ACCELERATION_FILTER_S) * (self._acceleration(u) - x.acceleration),
            "slow_speed": x.slow_speed + dt * self._speed_rate(x, u),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        law = self._law(x, u, p)
        surfaces = clip(law["surfaces"] / p.travel, -1, 1)
        return {
            "aileron": surfaces[0],
            "elevator": surfaces[1],
            "rudder": surfaces[2],
            "throttle": clip(clip(law["throttle_raw"], u.throttle_limits[0], u.throttle_limits[1]), 0, p.full_throttle),
            "roll_set": law["roll_set"],
            "pitch_set": law["pitch_set"],
            "climb_set": law["climb_set"],
            "lateral_set": law["lateral_set"],
            "path_error": law["path_error"],
        }
