"""Check of an airspeed tube against the speed from lift and attitude, which replaces it if it fails."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip

LEAST_ANGLE_RAD, LEAST_LOAD = 0.01, 0.2  # of attack from zero lift, and of lift over weight: below, lift gives no speed
LOW_SHARE = 0.35  # a tube that reads too little does less harm, and vertical manoeuvres look like it
WIND_SHARE = 1.5  # the speed by wind may differ by less before it counts
SAME_PA = 1e-9  # a sample that differs by less from the one before repeats it
SLOWEST_SHARE = 0.5  # share of the trim speed: lower bound of the speed by lift, as no wing carries the weight below


class AirspeedCheck(Block):
    """Validates the pitot airspeed by three checks; while one fails, airspeed is estimated without the tube. Sampled.

    Lift gives the speed without wind or tube, [Lie2013]: at an angle of attack a from zero lift the wing carries n
    times the weight at V = V_trim sqrt(n a_trim / a), with n from the accelerometer and the angle of attack from pitch
    less the angle of climb; carried on between gusts by the acceleration along the flow. A wing at a very small angle
    of attack gives no speed this way: with `by_wind` the speed is that over ground less the last valid wind. Checks,
    after those of open autopilots [PX4] (airspeed validator: data stuck, innovation, load factor): the samples are
    fresh and not all the same; the tube does not disagree with both the speed by lift (by `tolerance`) and the speed by
    wind (by two thirds of it): a sideslip or vertical wind disturbs the one, a gust the other. A tube that fails for
    `patience`, or is off by twice that, is not used until it has agreed for `recovery`. The checks run from the end of
    the take-off to the flare. Valid in flight with small sideslip below the stall. Not modelled: flaps, load drops (a
    lighter vehicle looks faster by the root of its mass), ice on the wing, several tubes.
    """

    source = "[Lie2013]; [PX4] airspeed validator; [BeardMcLain] Sec. 4.2.1"
    role = "estimator"

    time = Clock(doc="simulation time")
    airspeed_in = In(unit="m/s", doc="of the tube")
    stamp_in = In(unit="s", doc="time of its sample")
    pressure = In(unit="Pa", doc="dynamic, behind the tap")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground; its vertical part is used")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    accel_B = In(unit="m/s^2", shape=3, frame="B", doc="specific force")
    wind_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity of the air, as estimated")
    mode = In(unit="1", doc="of the navigator, by number")
    throttle_limits = In(
        unit="1", shape=2, default=(0.0, 1.0), doc="of the navigator: closed in the flare and after it"
    )
    airspeed = Out(unit="m/s", doc="that control may use")
    stamp = Out(unit="s", doc="of the tube's last valid sample")
    trusted = Out(unit="1", doc="1 while the tube is valid")
    without = Out(unit="m/s", doc="airspeed without the tube")

    other = State(unit="m/s", init="trim_speed", doc="airspeed without the tube, carried on by the accelerometer")
    wind = State(unit="m/s", shape=2, init=0.0, doc="behind a long lag, while the tube is valid")
    gap = State(unit="1", shape=2, init=0.0, doc="logarithm of the tube over it, and over that by wind, behind a lag")
    last = State(unit="Pa", init=0.0, doc="sample before")
    same = State(unit="s", init=0.0, doc="the samples have repeated for so long")
    bad = State(unit="s", init=0.0, doc="a check has failed for so long")
    good = State(unit="s", init=0.0, doc="all have held for so long, after a failure")
    believed = State(unit="1", init=1.0, doc="0 after a failure")
    used = State(unit="s", init=0.0, doc="time of the last valid sample")

    trim_speed = Param(unit="m/s", low=1.0, doc="airspeed of the trimmed level flight")
    pitch_trim = Param(unit="rad", doc="angle of attack there")
    lift_angle = Param(unit="rad", low=0.0, doc="the same from zero lift on")
    take_off_mode = Param(unit="1", doc="number of the mode up to which the tube is not judged")
    by_wind = Param(unit="1", default=0.0, low=0.0, high=1.0, doc="1 for wings whose lift gives no speed")
    lag = Param(unit="s", default=3.0, low=0.1, tunable=True, doc="of the speed without the tube")
    compare_lag = Param(unit="s", default=1.0, low=0.1, tunable=True, doc="of the comparison")
    wind_lag = Param(unit="s", default=10.0, low=0.1, tunable=True, doc="of the wind")
    tolerance = Param(unit="1", default=0.3, low=0.01, tunable=True, doc="logarithm of the tube over the other")
    patience = Param(unit="s", default=1.0, low=0.0, tunable=True, doc="a failure may last so long")
    recovery = Param(unit="s", default=10.0, low=0.0, tunable=True, doc="the tube is valid again after so long")
    stuck_after = Param(unit="s", default=0.5, low=0.05, tunable=True, doc="equal samples count as stuck")
    late_after = Param(unit="s", default=0.5, low=0.05, tunable=True, doc="an older sample counts as lost")

    def _lift(self, x: View, u: View, p: View) -> ca.SX:
        """Airspeed (m/s) at which the wing carries the load measured by the accelerometer."""
        pitch = ca.asin(clip(-u.R_NB[2, 0], -1, 1))
        climb = ca.asin(clip(-u.v_NB_N[2] / ca.fmax(x.other, SLOWEST_SHARE * p.trim_speed), -0.9, 0.9))
        level = ca.fmax(u.R_NB[2, 2], 0.5) / ca.sqrt(ca.fmax(1 - u.R_NB[2, 0] ** 2, 0.25))  # cosine of the bank
        angle = ca.fmax((pitch - climb) / level - p.pitch_trim + p.lift_angle, LEAST_ANGLE_RAD)
        load = ca.fmax(-u.accel_B[2] / STANDARD_GRAVITY_MPS2, LEAST_LOAD)
        speed = p.trim_speed * ca.sqrt(load * p.lift_angle / angle)  # n W = 1/2 rho V^2 S CL_alpha a
        return clip(speed, SLOWEST_SHARE * p.trim_speed, 2 * p.trim_speed)

    def _acceleration(self, u: View) -> ca.SX:
        """Acceleration (m/s^2) along the nose's direction in the horizontal, by the accelerometer."""
        nose = u.R_NB[:2, 0] / ca.fmax(norm(u.R_NB[:2, 0]), 1e-3)
        return ca.dot((u.R_NB @ u.accel_B)[:2], nose)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        # Before and in the take-off, and on the ground again, the wing does not carry the weight
        begun = u.mode > p.take_off_mode + 0.5
        judged = ca.logic_and(begun, u.throttle_limits[1] > 0)
        over_wind = ca.fmax(norm(ca.vertcat(u.v_NB_N[:2] - x.wind, u.v_NB_N[2])), SLOWEST_SHARE * p.trim_speed)
        target = ca.if_else(p.by_wind > 0.5, over_wind, self._lift(x, u, p))
        other = x.other + dt * (self._acceleration(u) + (target - x.other) / p.lag)
        tube = ca.fmax(u.airspeed_in, 0.1 * p.trim_speed)
        gap = x.gap + dt / p.compare_lag * (ca.log(tube / ca.vertcat(x.other, over_wind)) - x.gap)
        same = ca.if_else(ca.fabs(u.pressure - x.last) < SAME_PA, x.same + dt, 0)
        late = u.time - u.stamp_in > p.late_after
        stuck = ca.logic_and(same > p.stuck_after, ca.logic_not(late))
        each = ca.fmax(gap, -LOW_SHARE * gap) / p.tolerance
        off = ca.if_else(p.by_wind > 0.5, each[1], ca.fmin(each[0], WIND_SHARE * each[1]))
        fails = ca.logic_or(ca.logic_or(stuck, late), off > 1)
        bad = ca.if_else(fails, x.bad + dt, 0)
        good = ca.if_else(fails, 0, x.good + dt)
        lost = ca.logic_or(ca.logic_or(bad > p.patience, off > 2), ca.logic_and(x.believed < 0.5, good < p.recovery))
        believed = ca.if_else(judged, ca.if_else(lost, 0, 1), ca.if_else(begun, x.believed, 1))
        return {
            "other": ca.if_else(begun, clip(other, SLOWEST_SHARE * p.trim_speed, 2 * p.trim_speed), p.trim_speed),
            "wind": x.wind + ca.if_else(x.believed > 0.5, dt / p.wind_lag, 0) * (u.wind_N[:2] - x.wind),
            "gap": ca.if_else(judged, gap, ca.SX.zeros(2)),
            "last": u.pressure,
            "same": ca.if_else(judged, ca.fmin(same, 1e6), 0),
            "bad": ca.if_else(judged, ca.fmin(bad, 1e6), 0),
            "good": ca.if_else(judged, ca.fmin(good, 1e6), 0),
            "believed": believed,
            "used": ca.if_else(believed > 0.5, u.stamp_in, x.used),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        trusted = x.believed > 0.5
        return {
            "airspeed": ca.if_else(trusted, u.airspeed_in, x.other),
            "stamp": ca.if_else(trusted, u.stamp_in, x.used),
            "trusted": x.believed,
            "without": x.other,
        }
